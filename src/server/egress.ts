/** The egress selector: which connections of the server go through a proxy, as EgressSelectorConfiguration states it. */
import { existsSync, readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ConfigurationError, readConfiguration } from '../codec/configuration-document.ts'
import { aggregate } from '../lib/go-text.ts'
import { duplicate, type FieldError, invalid, type Ref, refTo, required, unsupported, withValue } from '../schema/refs.ts'
import { atomic, message, type Static, string } from '../schema/types.ts'
import { DialMetrics } from '../transport/dial-metrics.ts'
import { type Dial, dialThrough, type ProxyAddress } from '../transport/egress.ts'
import { dialKonnectivity } from '../transport/konnectivity.ts'
import { ConfigError } from './config.ts'

/** Connections by their target; those without a proxy are direct. */
export type Egress = {
  readonly cluster?: Dial
  readonly controlplane?: Dial
  readonly etcd?: Dial
  /** The targets that the configuration names, also to connect to them directly; undefined without a configuration. */
  readonly named?: ReadonlySet<string>
  readonly metrics?: DialMetrics
}

const NAMES = ['cluster', 'controlplane', 'etcd'] as const

const TLSConfig = message('TLSConfig', {
  caBundle: [1, string, 'Certificates that the proxy is verified with.'],
  clientKey: [2, string, 'Key of the client certificate.'],
  clientCert: [3, string, 'Certificate for the proxy.'],
  tlsServerName: [4, string, 'The name that the certificate of the proxy is verified for, instead of its host.'],
})
const TCPTransport = message('TCPTransport', { url: [1, string, 'http:// or https://'], tlsConfig: [2, TLSConfig, 'For https.'] })
const UDSTransport = message('UDSTransport', { udsName: [1, string, 'The path of the socket.'] })
const Connection = message('Connection', {
  proxyProtocol: [1, string, 'Direct, HTTPConnect or GRPC.'],
  transport: [2, message('Transport', { tcp: [1, TCPTransport, ''], uds: [2, UDSTransport, ''] }), 'Where the proxy is.'],
})
const EgressSelection = message('EgressSelection', {
  name: [1, string, 'cluster, controlplane or etcd.'],
  connection: [2, Connection.orEmpty(), 'How it is connected to.'],
})
const Configuration = message('EgressSelectorConfiguration', { egressSelections: [1, atomic(EgressSelection), 'The selections.'] })
type Selection = Static<typeof EgressSelection>
type Transport = NonNullable<Selection['connection']['transport']>

const CONFIGURATION = {
  accepts: {
    'apiserver.k8s.io/v1beta1': 'EgressSelectorConfiguration',
    'apiserver.k8s.io/v1alpha1': 'EgressSelectorConfiguration',
  },
  type: Configuration,
} as const

/** Reads the file of `--egress-selector-config-file`. Throws ConfigError. */
export function readEgress(file: string | undefined): Egress {
  if (file === undefined) return {}
  const selections = selectionsIn(file)
  const errors = [...validate(selections)]
  if (errors.length > 0)
    throw new ConfigError(
      `failed to validate egress selector configuration: ${aggregate(errors.map(({ field, message }) => `${field}: ${message}`))}`,
    )
  const metrics = new DialMetrics()
  const dials = selections.flatMap(({ name = '', connection: { proxyProtocol, transport } }) => {
    if (proxyProtocol === 'Direct') return []
    const dial =
      proxyProtocol === 'GRPC' ? dialKonnectivity(transport!.uds!.udsName!, metrics) : dialThrough(proxyOf(transport!, name), metrics)
    return [[name.toLowerCase(), dial]]
  })
  return { ...Object.fromEntries(dials), named: new Set(selections.map(({ name = '' }) => name.toLowerCase())), metrics }
}

function selectionsIn(file: string): readonly Selection[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`unable to read egress selector configuration from "${file}" [open ${file}: ${fileProblem(error)}]`)
  }
  try {
    return readConfiguration(text, CONFIGURATION).egressSelections ?? []
  } catch (error) {
    if (error instanceof ConfigurationError) throw new ConfigError(`--egress-selector-config-file: ${error.message}`)
    throw error
  }
}

const fileProblem = (error: unknown) =>
  (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file or directory' : (error as Error).message

/** The unusual paths are those of kube-apiserver. */
function* validate(selections: readonly Selection[]): Iterable<FieldError> {
  for (const { connection } of selections) yield* validateConnection(connection)
  const seen = new Set<string>()
  for (const [i, selection] of selections.entries()) {
    const name = (selection.name ?? '').toLowerCase()
    if (seen.has(name)) yield duplicate(refTo(name, `service.connection[${i}]`))
    else if (!(NAMES as readonly string[]).includes(name)) yield unsupported(refTo(name, 'service.connection'), ...NAMES)
    seen.add(name)
  }
}

const at = (field: string): Ref<any> => refTo(undefined, `service.connection.${field}`)

function* validateConnection({ proxyProtocol = '', transport }: Selection['connection']): Iterable<FieldError> {
  if (proxyProtocol === 'Direct') {
    if (transport) yield invalid(withValue(at('transport'), 'direct'), 'config must be absent for direct connect')
  } else if (proxyProtocol === 'HTTPConnect') yield* validateHttpConnect(transport)
  else if (proxyProtocol === 'GRPC') {
    if (!transport) yield required(at('transport'), 'transport must be set for GRPC')
    else if (!transport.uds) yield required(at('uds'), 'UDS must be set with GRPC')
    else yield* validateSocket(transport.uds)
  } else yield unsupported(withValue(at('protocol'), proxyProtocol), 'Direct', 'HTTPConnect', 'GRPC')
}

function* validateHttpConnect(transport: Transport | undefined): Iterable<FieldError> {
  if (!transport) return yield required(at('transport'), 'transport must be set for HTTPConnect')
  const { tcp, uds } = transport
  if (tcp && uds) yield invalid(withValue(at('tcp'), tcp), 'TCP and UDS cannot both be set')
  else if (!tcp && !uds) yield required(at('tcp'), 'One of TCP or UDS must be set')
  else if (uds) yield* validateSocket(uds)
  else if (tcp) yield* validateTcp(tcp)
}

function* validateSocket({ udsName }: NonNullable<Transport['uds']>): Iterable<FieldError> {
  if (!udsName) yield invalid(withValue(at('udsName'), 'nil'), 'must be present for UDS connections')
}

function* validateTcp({ url = '', tlsConfig }: NonNullable<Transport['tcp']>): Iterable<FieldError> {
  if (url.startsWith('http://')) {
    if (tlsConfig) yield invalid(withValue(at('tlsConfig'), 'nil'), 'config must not be present when using HTTP')
  } else if (!url.startsWith('https://'))
    yield invalid(withValue(at('url'), url), 'supported connection protocols are http:// and https://')
  else if (!tlsConfig) yield required(at('tlsConfig'), 'TLSConfig must be present when using HTTPS')
  else {
    const { caBundle, clientCert, clientKey } = tlsConfig
    if (caBundle && !existsSync(caBundle))
      yield invalid(withValue(at('tlsConfig.caBundle'), caBundle), 'TLS config ca bundle does not exist')
    yield* validateFile(clientCert, 'clientCert', 'TLS client cert does not exist')
    yield* validateFile(clientKey, 'clientKey', 'TLS client key does not exist')
  }
}

function* validateFile(file: string | undefined, name: string, missing: string): Iterable<FieldError> {
  const here = at(`tlsConfig.${name}`)
  if (!file) yield invalid(withValue(here, 'nil'), `Using TLS requires ${name === 'clientKey' ? 'requires ' : ''}${name}`)
  else if (!existsSync(file)) yield invalid(withValue(here, file), missing)
}

function proxyOf({ tcp, uds }: Transport, name: string): ProxyAddress {
  if (uds) return { type: 'unix', path: uds.udsName! }
  const { url = '', tlsConfig } = tcp!
  const parsed = new URL(url)
  const host = parsed.hostname.replace(/^\[|\]$/g, '')
  const port = Number(parsed.port || (tlsConfig ? 443 : 80))
  if (!tlsConfig) return { type: 'tcp', host, port }
  const { client, ca } = credentialsOf(tlsConfig, name)
  return { type: 'tcp', host, port, trust: { host, ca, servername: tlsConfig.tlsServerName ?? '', client, skipsVerification: false } }
}

function credentialsOf(
  { clientCert = '', clientKey = '', caBundle }: NonNullable<NonNullable<Transport['tcp']>['tlsConfig']>,
  name: string,
) {
  const fail = (why: string) => new ConfigError(`failed to create dialer for egressSelection "${name.toLowerCase()}": ${why}`)
  const read = (file: string, failed: string) => {
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      throw fail(`${failed}, got ${(error as Error).message}`)
    }
  }
  const pair = `failed to read key pair ${clientCert} & ${clientKey}`
  const client = { cert: read(clientCert, pair), key: read(clientKey, pair) }
  try {
    createSecureContext(client)
  } catch (error) {
    throw fail(`${pair}, got ${(error as Error).message}`)
  }
  const ca = caBundle ? read(caBundle, `failed to read cert file ${caBundle}`) : ''
  if (caBundle && !ca.includes('-----BEGIN CERTIFICATE-----')) throw fail('failed to append CA cert to the cert pool')
  return { client, ca }
}
