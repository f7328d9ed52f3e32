/** Opens the export of traces: reads the TracingConfiguration and connects to its collector. Loaded only where there is one. */
import { readFileSync } from 'node:fs'
import { ConfigurationError, readConfiguration } from '../../codec/configuration-document.ts'
import type { Log } from '../../http/observability/log.ts'
import { Exporter } from '../../http/tracing/exporter.ts'
import { type Collector, grpcSender, httpSender } from '../../http/tracing/senders.ts'
import { Tracer } from '../../http/tracing/tracer.ts'
import type { Clock } from '../../lib/clock.ts'
import { newUuid } from '../../lib/environment.ts'
import { aggregate, goQuote } from '../../lib/go-text.ts'
import { parseUrl } from '../../lib/url.ts'
import { int32, message, type Static, string } from '../../schema/types.ts'
import { VERSION } from '../../version.ts'
import { type Config, ConfigError } from '../config.ts'

export type TracingParts = { readonly log: Log; readonly clock: Clock }

const TracingConfiguration = message('TracingConfiguration', {
  endpoint: [1, string.optional()],
  samplingRatePerMillion: [2, int32.optional()],
})
type TracingConfiguration = Static<typeof TracingConfiguration>

const ACCEPTS = {
  'apiserver.config.{group_domain}/v1': 'TracingConfiguration',
  'apiserver.config.{group_domain}/v1beta1': 'TracingConfiguration',
  'apiserver.config.{group_domain}/v1alpha1': 'TracingConfiguration',
}

const MILLION = 1_000_000

/** Throws ConfigError, with kube-apiserver's messages. */
export function openTracing({ tracingConfigFile = '' }: Pick<Config, 'tracingConfigFile'>, { log, clock }: TracingParts): Tracer {
  const { endpoint, samplingRatePerMillion } = readFile(tracingConfigFile)
  const errors = [...samplingProblems(samplingRatePerMillion), ...endpointProblems(endpoint)]
  if (errors.length > 0) throw new ConfigError(`failed to validate tracing configuration: ${aggregate(errors)}`)
  // The variables that OpenTelemetry's own libraries read; the configuration itself knows gRPC alone.
  const protocol = process.env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'grpc'
  if (protocol !== 'grpc' && protocol !== 'http/protobuf')
    throw new ConfigError(`OTEL_EXPORTER_OTLP_PROTOCOL takes grpc or http/protobuf, not ${goQuote(protocol)}`)
  const isGrpc = protocol === 'grpc'
  const collector = collectorAt(endpoint, isGrpc ? 4317 : 4318)
  const exporter = new Exporter({
    sender: isGrpc ? grpcSender(collector) : httpSender(collector),
    source: {
      resource: { 'service.name': 'apiserver', 'service.instance.id': newUuid() },
      scope: { name: 'keelson', version: VERSION },
    },
    clock,
    log,
  })
  return new Tracer({ exporter, ratio: (samplingRatePerMillion ?? 0) / MILLION })
}

function readFile(file: string): TracingConfiguration {
  const fail = (why: string) => new ConfigError(`failed to read tracing config: ${why}`)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message: why } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'no such file or directory' : why
    throw fail(`unable to read tracing configuration from ${goQuote(file)}: open ${file}: ${reason}`)
  }
  try {
    return readConfiguration(text, { accepts: ACCEPTS, type: TracingConfiguration })
  } catch (error) {
    if (error instanceof ConfigurationError) throw fail(`unable to decode tracing configuration data: ${error.message}`)
    throw error
  }
}

function* samplingProblems(rate: number | null | undefined): Iterable<string> {
  const wrong = (why: string) => `samplingRatePerMillion: Invalid value: ${rate}: ${why}`
  if (typeof rate !== 'number') return
  if (rate < 0) yield wrong('sampling rate must be positive')
  if (rate > MILLION) yield wrong('sampling rate per million must be less than or equal to one million')
}

const withScheme = (endpoint: string) => (endpoint.includes('//') ? endpoint : `dns://${endpoint}`)

function* endpointProblems(endpoint: string | null | undefined): Iterable<string> {
  if (typeof endpoint !== 'string') return
  const full = withScheme(endpoint)
  const wrong = (why: string) => `endpoint: Invalid value: ${goQuote(full)}: ${why}`
  const url = parseUrl(full)
  if ('problem' in url) yield wrong(url.problem)
  else if (!['dns', 'unix', 'unix-abstract'].includes(url.scheme))
    yield wrong(
      `unsupported scheme: ${url.scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`,
    )
}

/** The address that an endpoint names: `HOST:PORT`, `dns:///HOST:PORT`, `unix:///PATH` or `unix-abstract:NAME`. */
function collectorAt(endpoint: string | null | undefined, defaultPort: number): Collector {
  const [, scheme = '', rest = ''] = /^(dns|unix|unix-abstract):(.*)$/s.exec(withScheme(endpoint ?? 'localhost')) ?? []
  const path = rest.replace(/^\/\//, '')
  if (scheme === 'unix') return { socket: path }
  if (scheme === 'unix-abstract') return { socket: `\0${path}` }
  // The name server that may be named before the host is not asked.
  const address = path.includes('/') ? path.slice(path.indexOf('/') + 1) : path
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(address) ?? []
  return { host: bracketed ?? plain ?? address, port: port === undefined ? defaultPort : Number(port) }
}
