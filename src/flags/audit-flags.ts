/** The flags of the audit, with kube-apiserver's names. */
import { AUDIT_DEFAULTS, AUDIT_MODES, type AuditConfig } from '../server/audit-config.ts'
import { type Draft, type Flag, readBool, readDecimal, readDuration, readOneOf, readWholeNumber } from './flag.ts'

type Backend = 'log' | 'webhook'
type Read<T> = (value: string, flag: string) => T

/** A flag whose last value is a setting of the log or the webhook. */
function setting<B extends Backend, K extends keyof AuditConfig[B] & string>(
  backend: B,
  key: K,
  {
    takes,
    doc,
    read,
    isSwitch,
    name,
  }: Pick<Flag, 'takes' | 'doc' | 'name'> & { readonly read: Read<AuditConfig[B][K]>; readonly isSwitch?: true },
): Flag {
  return {
    name: `audit-${backend}-${name}`,
    takes,
    doc,
    ...(isSwitch && { isSwitch }),
    read: (values, draft: Draft, flag) => {
      const { audit } = draft
      draft.audit = { ...audit, [backend]: { ...audit[backend], [key]: read(values.at(-1)!, flag) } }
    },
  }
}

const text: Read<string> = value => value
const file: Read<string | undefined> = value => value || undefined

function backendFlags(backend: Backend): readonly Flag[] {
  const defaults = AUDIT_DEFAULTS[backend]
  const sink = backend === 'log' ? 'the audit log' : 'the audit webhook'
  return [
    setting(backend, 'mode', {
      name: 'mode',
      takes: 'MODE',
      doc: `how events reach ${sink}: batch buffers them, blocking has requests wait, blocking-strict also refuses requests whose event is lost (default ${defaults.mode})`,
      read: readOneOf(AUDIT_MODES),
    }),
    setting(backend, 'version', {
      name: 'version',
      takes: 'VERSION',
      doc: `API version of the events of ${sink} (default ${defaults.version})`,
      read: text,
    }),
    setting(backend, 'batchBufferSize', {
      name: 'batch-buffer-size',
      takes: 'N',
      doc: `batch mode: events that may wait for ${sink}; more are lost and counted (default ${defaults.batchBufferSize})`,
      read: readWholeNumber,
    }),
    setting(backend, 'batchMaxSize', {
      name: 'batch-max-size',
      takes: 'N',
      doc: `batch mode: events of a batch (default ${defaults.batchMaxSize})`,
      read: readWholeNumber,
    }),
    setting(backend, 'batchMaxWaitMs', {
      name: 'batch-max-wait',
      takes: 'DURATION',
      doc: `batch mode: how long a batch waits for more events (default ${defaults.batchMaxWaitMs / 1000}s)`,
      read: readDuration,
    }),
    setting(backend, 'batchThrottleEnable', {
      name: 'batch-throttle-enable',
      takes: 'BOOL',
      doc: `batch mode: limit the batches in a second (default ${defaults.batchThrottleEnable})`,
      isSwitch: true,
      read: readBool,
    }),
    setting(backend, 'batchThrottleQps', {
      name: 'batch-throttle-qps',
      takes: 'NUMBER',
      doc: `batch mode: batches in a second (default ${defaults.batchThrottleQps})`,
      read: readDecimal,
    }),
    setting(backend, 'batchThrottleBurst', {
      name: 'batch-throttle-burst',
      takes: 'N',
      doc: `batch mode: batches at once after a pause (default ${defaults.batchThrottleBurst})`,
      read: readWholeNumber,
    }),
    setting(backend, 'truncateEnabled', {
      name: 'truncate-enabled',
      takes: 'BOOL',
      doc: `drop the bodies of large events of ${sink} and split large batches (default false)`,
      isSwitch: true,
      read: readBool,
    }),
    setting(backend, 'truncateMaxBatchSize', {
      name: 'truncate-max-batch-size',
      takes: 'BYTES',
      doc: `bytes of a batch, with --audit-${backend}-truncate-enabled (default ${defaults.truncateMaxBatchSize})`,
      read: readWholeNumber,
    }),
    setting(backend, 'truncateMaxEventSize', {
      name: 'truncate-max-event-size',
      takes: 'BYTES',
      doc: `bytes of an event, with --audit-${backend}-truncate-enabled (default ${defaults.truncateMaxEventSize})`,
      read: readWholeNumber,
    }),
  ]
}

export const AUDIT_FLAGS: readonly Flag[] = [
  {
    name: 'audit-policy-file',
    takes: 'FILE',
    doc: 'Policy of audit.k8s.io/v1: which requests are recorded, and how much of them; without it none is',
    read: (values, draft) => {
      draft.audit = { ...draft.audit, policyFile: file(values.at(-1)!, '') }
    },
  },
  setting('log', 'path', { name: 'path', takes: 'FILE', doc: 'file that audit events are appended to; - for standard output', read: file }),
  setting('log', 'format', {
    name: 'format',
    takes: 'FORMAT',
    doc: 'how the audit log is written: json (default), or legacy for a line of text',
    read: readOneOf(['json', 'legacy']),
  }),
  setting('log', 'maxAge', {
    name: 'maxage',
    takes: 'DAYS',
    doc: `days that rotated audit logs are kept; 0 for ever (default ${AUDIT_DEFAULTS.log.maxAge})`,
    read: readWholeNumber,
  }),
  setting('log', 'maxBackup', {
    name: 'maxbackup',
    takes: 'N',
    doc: `rotated audit logs that are kept; 0 for all (default ${AUDIT_DEFAULTS.log.maxBackup})`,
    read: readWholeNumber,
  }),
  setting('log', 'maxSize', {
    name: 'maxsize',
    takes: 'MB',
    doc: `megabytes after which the audit log is rotated; 0 for never (default ${AUDIT_DEFAULTS.log.maxSize})`,
    read: readWholeNumber,
  }),
  setting('log', 'compress', {
    name: 'compress',
    takes: 'BOOL',
    doc: 'compress rotated audit logs (default false)',
    isSwitch: true,
    read: readBool,
  }),
  ...backendFlags('log'),
  setting('webhook', 'configFile', {
    name: 'config-file',
    takes: 'FILE',
    doc: 'kubeconfig that says where audit events are sent',
    read: file,
  }),
  setting('webhook', 'initialBackoffMs', {
    name: 'initial-backoff',
    takes: 'DURATION',
    doc: 'how long to wait after the first failed call of the audit webhook; later pauses are longer (default 10s)',
    read: readDuration,
  }),
  ...backendFlags('webhook'),
]
