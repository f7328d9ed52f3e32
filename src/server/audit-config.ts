/** The settings of the audit, their defaults and errors, as kube-apiserver has them. */
import { EVENT_VERSION } from '../audit/event.ts'
import { LOG_FORMATS } from '../audit/log-sink.ts'
import type { AuditBackendOptions, AuditLogOptions, AuditWebhookOptions } from '../public.d.ts'

export const AUDIT_MODES = ['batch', 'blocking', 'blocking-strict'] as const

export type AuditBackendConfig = Required<AuditBackendOptions>
export type AuditConfig = {
  readonly policyFile?: string | undefined
  readonly policy?: object | undefined
  readonly log: Required<AuditLogOptions>
  readonly webhook: Required<AuditWebhookOptions>
}

const EVERY_BACKEND = {
  version: EVENT_VERSION,
  batchBufferSize: 10_000,
  truncateEnabled: false,
  truncateMaxBatchSize: 10 * 1024 * 1024,
  truncateMaxEventSize: 100 * 1024,
}

export const AUDIT_DEFAULTS: AuditConfig = {
  policyFile: undefined,
  log: {
    ...EVERY_BACKEND,
    path: undefined,
    format: 'json',
    maxAge: 366,
    maxBackup: 100,
    maxSize: 100,
    compress: false,
    mode: 'blocking',
    batchMaxSize: 1,
    batchMaxWaitMs: 0,
    batchThrottleEnable: false,
    batchThrottleQps: 0,
    batchThrottleBurst: 0,
  },
  webhook: {
    ...EVERY_BACKEND,
    configFile: undefined,
    initialBackoffMs: 10_000,
    mode: 'batch',
    batchMaxSize: 400,
    batchMaxWaitMs: 30_000,
    batchThrottleEnable: true,
    batchThrottleQps: 10,
    batchThrottleBurst: 15,
  },
}

/** Whether there is anything to open: without a policy nothing is recorded, but whoever names a log gets a message. */
export const isAudited = ({ policyFile, policy, log, webhook }: AuditConfig): boolean =>
  (policyFile ?? policy ?? log.path ?? webhook.configFile) !== undefined

/** The mistakes in settings, one message each. Settings of a backend that is not used are ignored. */
export function* auditProblems({ log, webhook }: AuditConfig): Iterable<string> {
  if (log.path) {
    yield* backendProblems('log', log)
    if (!(LOG_FORMATS as readonly string[]).includes(log.format))
      yield `invalid audit log format ${log.format}, allowed formats are "${LOG_FORMATS.join(',')}"`
    for (const [flag, value] of [
      ['maxage', log.maxAge],
      ['maxbackup', log.maxBackup],
      ['maxsize', log.maxSize],
    ] as const)
      if (!(value >= 0)) yield `--audit-log-${flag} ${value} can't be a negative number`
  }
  if (webhook.configFile) yield* backendProblems('webhook', webhook)
}

function* backendProblems(backend: 'log' | 'webhook', config: AuditBackendConfig): Iterable<string> {
  const positive = (what: string, value: number) => `invalid audit batch ${backend} ${what} ${value}, must be a positive number`
  const { mode, version, truncateMaxBatchSize, truncateMaxEventSize } = config
  if (!(AUDIT_MODES as readonly string[]).includes(mode))
    yield `invalid audit ${backend} mode ${mode}, allowed modes are "${AUDIT_MODES.join(',')}"`
  else if (mode === 'batch') {
    if (!(config.batchBufferSize > 0)) yield positive('buffer size', config.batchBufferSize)
    else if (!(config.batchMaxSize > 0)) yield positive('max batch size', config.batchMaxSize)
    else if (config.batchThrottleEnable && !(config.batchThrottleQps > 0)) yield positive('throttle QPS', config.batchThrottleQps)
    else if (config.batchThrottleEnable && !(config.batchThrottleBurst > 0)) yield positive('throttle burst', config.batchThrottleBurst)
  }
  if (!(truncateMaxEventSize > 0))
    yield `invalid audit truncate ${backend} max event size ${truncateMaxEventSize}, must be a positive number`
  else if (truncateMaxBatchSize < truncateMaxEventSize)
    yield `invalid audit truncate ${backend} max batch size ${truncateMaxBatchSize}, must be greater than max event size (${truncateMaxEventSize})`
  if (version !== EVENT_VERSION) yield `invalid group version, allowed versions are ["${EVENT_VERSION}"]`
}
