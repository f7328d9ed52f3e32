/** Opens the audit that the configuration asks for: its policy, its log and its webhook. Loaded only where there is one. */
import { readFileSync } from 'node:fs'
import { Auditor } from '../../audit/auditor.ts'
import { BatchingSink } from '../../audit/batching-sink.ts'
import { type AuditEvent, eventLine } from '../../audit/event.ts'
import { LogFile } from '../../audit/log-file.ts'
import { type Grouping, type LineWriter, LogSink } from '../../audit/log-sink.ts'
import { AUDIT_POLICY, AuditPolicy, type PolicyDocument, validatePolicy } from '../../audit/policy.ts'
import { type AuditSink, everySink, type LostEvents, lenient } from '../../audit/sink.ts'
import { TruncatingSink } from '../../audit/truncating-sink.ts'
import { WebhookSink } from '../../audit/webhook-sink.ts'
import { ConfigurationError, configurationOf, readDocument } from '../../codec/configuration-document.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Clock } from '../../lib/clock.ts'
import { chance } from '../../lib/environment.ts'
import { aggregate } from '../../lib/go-text.ts'
import type { JsonObject } from '../../lib/json-value.ts'
import { writeWhole } from '../../lib/write-whole.ts'
import type { Dial } from '../../transport/egress.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import type { AuditBackendConfig, AuditConfig } from '../audit-config.ts'
import { type Config, ConfigError } from '../config.ts'
import { endpointOfKubeconfig } from '../files/webhook-kubeconfig.ts'
import type { Siblings } from '../processes/siblings.ts'

export type AuditParts = {
  /** Opens connections to the webhook, where they are not direct. */
  readonly dial?: Dial | undefined
  readonly log: Log
  readonly clock: Clock
  /** The other processes of this server. */
  readonly siblings?: Pick<Siblings, 'isFirst' | 'ask' | 'answer' | 'alone'> | undefined
  /** A further sink, which gets every event. */
  readonly watcher?: AuditSink | undefined
}

const DAY_MS = 24 * 3_600_000
const MB = 1024 * 1024
/** How many lost events are named in the log at a time; all are counted. */
const MAX_NAMED = 10

/** The auditor; undefined without a policy, or where events would go nowhere. Throws ConfigError. */
export function openAudit({ audit }: Pick<Config, 'audit'>, parts: AuditParts): Auditor | undefined {
  const policy = policyOf(audit)
  if (!policy) {
    parts.log.warn({}, 'there is no audit policy, so no request is recorded: see --audit-policy-file')
    return undefined
  }
  if (!audit.log.path && !audit.webhook.configFile && !parts.watcher) return undefined
  const sinkFor = (counted: (plugin: string, events: readonly AuditEvent[]) => void) => {
    const lost: LostEvents = (plugin, why, events) => {
      counted(plugin, events)
      report(parts.log, { plugin, why, events })
    }
    const watchers = parts.watcher ? [parts.watcher] : []
    return everySink([...logSinks(audit, { ...parts, lost }), ...webhookSinks(audit, { ...parts, lost }), ...watchers])
  }
  return new Auditor(policy, sinkFor, () => parts.clock.now())
}

/** Lost events are named in the server's log, so that somebody can find out what they were about. */
function report(
  log: Log,
  { plugin, why, events }: { readonly plugin: string; readonly why: string; readonly events: readonly AuditEvent[] },
): void {
  const lines = events.slice(0, MAX_NAMED).map(eventLine)
  log.error({ plugin, events: events.length, why, impacted: lines }, 'audit events could not be kept')
}

function policyOf({ policyFile: file, policy }: AuditConfig): AuditPolicy | undefined {
  if (policy !== undefined) return read(policy as JsonObject, '')
  if (file === undefined) return undefined
  try {
    return read(readDocument(readPolicy(file)), `: from file ${file}`)
  } catch (error) {
    if (error instanceof ConfigurationError)
      throw new ConfigError(`loading audit policy file: failed decoding: ${error.message}: from file ${file}`)
    throw error
  }
}

function read(policy: JsonObject, source: string): AuditPolicy {
  const fail = (why: string) => new ConfigError(`loading audit policy file: ${why}${source}`)
  let document: PolicyDocument
  try {
    document = configurationOf(policy, AUDIT_POLICY)
  } catch (error) {
    if (error instanceof ConfigurationError) throw fail(`failed decoding: ${error.message}`)
    throw error
  }
  const errors = [...validatePolicy(document)].map(({ field, message }) => `${field}: ${message}`)
  if (errors.length > 0) throw fail(aggregate(errors))
  if ((document.rules ?? []).length === 0) throw fail('loaded illegal policy with 0 rules')
  return new AuditPolicy(document)
}

function readPolicy(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`loading audit policy file: failed to read file path "${file}": ${(error as Error).message}`)
  }
}

type SinkParts = AuditParts & { readonly lost: LostEvents }

function logSinks({ log: config }: AuditConfig, parts: SinkParts): AuditSink[] {
  if (!config.path) return []
  const writer = config.path === '-' ? standardOutput(parts.siblings) : openLog(config.path, config, parts)
  const { lost } = parts
  const grouping = groupingOf(config)
  const sink = new LogSink(writer, { format: config.format, lost, grouping })
  // A sink that has its lines wait is a buffer itself.
  if (grouping === 'delay') return [truncated(lenient(sink), { config, lost })]
  return [behind(sink, { config, isConcurrent: false, ...parts })]
}

function groupingOf({ mode, path, batchMaxSize, batchThrottleEnable }: AuditConfig['log']): Grouping {
  // A request that is refused when its event is lost has to know that at once.
  if (mode === 'blocking-strict') return 'none'
  // A file takes lines as fast as they come: unless the size or the rate of batches is set, nothing has to wait for room.
  const isFree = mode === 'batch' && path !== '-' && batchMaxSize === 1 && !batchThrottleEnable
  return isFree ? 'delay' : 'iteration'
}

function openLog(path: string, config: AuditConfig['log'], { log, clock, siblings }: SinkParts): LineWriter {
  try {
    const file = new LogFile(path, {
      rotation: {
        maxBytes: config.maxSize * MB,
        maxBackups: config.maxBackup,
        maxAgeMs: config.maxAge * DAY_MS,
        isCompressed: config.compress,
      },
      now: () => clock.now(),
      failed: why => log.error({ why }, 'old audit logs could not be compressed or removed'),
      others: siblings && { isRotator: siblings.isFirst, askToRotate: () => siblings.ask(ROTATION) },
    })
    siblings?.answer(ROTATION, () => {
      file.rotateFull()
      return ''
    })
    return file
  } catch (error) {
    throw new ConfigError(`--audit-log-path: ${(error as Error).message}`)
  }
}

/** The question of a process that has found the log full. */
const ROTATION = 'audit log rotation'

const STDOUT = 1

/** Processes that share an output write in turn: a pipe mixes long lines that are written at the same time. */
function standardOutput(siblings: AuditParts['siblings']): LineWriter {
  const write = (lines: Uint8Array) => writeWhole(STDOUT, lines)
  let last = Promise.resolve()
  const writeAlone = (lines: Uint8Array) => siblings!.alone('audit output', async () => ({ result: write(lines) }))
  return {
    append(lines) {
      if (!siblings) return write(lines)
      const own = Uint8Array.from(lines)
      last = last.catch(() => {}).then(() => writeAlone(own))
      return last
    },
    async close() {},
  }
}

function webhookSinks({ webhook: config }: AuditConfig, parts: SinkParts): AuditSink[] {
  if (!config.configFile) return []
  const transport = new WebhookTransport({ dial: parts.dial })
  const { clock, lost } = parts
  const sink = new WebhookSink({
    endpoint: endpointOfKubeconfig(config.configFile),
    transport,
    initialBackoffMs: config.initialBackoffMs,
    clock,
    random: chance,
    lost,
  })
  const whole = behind(sink, { config, isConcurrent: true, ...parts })
  return [
    {
      write: events => whole.write(events),
      async close() {
        await whole.close()
        transport[Symbol.dispose]()
      },
    },
  ]
}

/** Puts before a sink what its mode and its limits ask for. */
function behind(
  sink: AuditSink,
  { config, isConcurrent, clock, lost }: SinkParts & { readonly config: AuditBackendConfig; readonly isConcurrent: boolean },
): AuditSink {
  return truncated(inMode(sink, { config, isConcurrent, clock, lost }), { config, lost })
}

function truncated(sink: AuditSink, { config, lost }: Pick<SinkParts, 'lost'> & { readonly config: AuditBackendConfig }): AuditSink {
  if (!config.truncateEnabled) return sink
  return new TruncatingSink(sink, {
    limits: { maxEventBytes: config.truncateMaxEventSize, maxBatchBytes: config.truncateMaxBatchSize },
    lost,
  })
}

function inMode(
  sink: AuditSink,
  {
    config,
    isConcurrent,
    clock,
    lost,
  }: Pick<SinkParts, 'clock' | 'lost'> & { readonly config: AuditBackendConfig; readonly isConcurrent: boolean },
): AuditSink {
  if (config.mode === 'blocking-strict') return sink
  if (config.mode === 'blocking') return lenient(sink)
  const throttle = config.batchThrottleEnable ? { perSecond: config.batchThrottleQps, burst: config.batchThrottleBurst } : undefined
  const { batchBufferSize: bufferSize, batchMaxSize: maxSize, batchMaxWaitMs: maxWaitMs } = config
  return new BatchingSink(sink, { batching: { bufferSize, maxSize, maxWaitMs, throttle, isConcurrent }, clock, lost })
}
