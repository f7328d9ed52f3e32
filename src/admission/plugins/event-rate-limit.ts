/** EventRateLimit: how many events the server takes per second, in all or per namespace, user, or source and object. */

import { aggregate } from '../../lib/go-text.ts'
import { TokenBucket } from '../../lib/token-bucket.ts'
import { invalid, refTo, unsupported, withValue } from '../../schema/refs.ts'
import { StatusError } from '../../schema/status-error.ts'
import { atomic, int32, message, type Static, string } from '../../schema/types.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import { pluginConfiguration } from '../plugin-configuration.ts'

const Limit = message('Limit', {
  type: [1, string],
  qps: [2, int32],
  burst: [3, int32],
  cacheSize: [4, int32],
})
export type Limit = Static<typeof Limit>

const DEFAULT_CACHE_SIZE = 4096

/** Events of one key share a bucket. */
const KEYS: Readonly<Record<string, (attributes: Attributes) => string>> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ ctx }) => ctx.user.name,
  SourceAndObject({ object }) {
    const { component = '', host = '' } = object?.['source'] ?? {}
    const { kind = '', namespace = '', name = '', uid = '', apiVersion = '' } = object?.['involvedObject'] ?? {}
    return component + host + kind + namespace + name + uid + apiVersion
  },
}

export const EVENT_RATE_LIMIT_CONFIGURATION = pluginConfiguration({
  plugin: 'EventRateLimit',
  accepts: { 'eventratelimit.admission.{group_domain}/v1alpha1': 'Configuration' },
  type: message('Configuration', { limits: [1, atomic(Limit)] }),
  *validate({ limits }) {
    const at = refTo({ limits }).limits
    if (!limits?.length) yield invalid(withValue(at, limits ?? null), 'must not be empty')
    for (const [i, { type = '', qps = 0, burst = 0, cacheSize = 0 }] of (limits ?? []).entries()) {
      const here = at[i]!
      if (!Object.hasOwn(KEYS, type)) yield unsupported(withValue(here.type, type), ...Object.keys(KEYS).sort())
      if (burst <= 0) yield invalid(withValue(here.burst, burst), 'must be positive')
      if (qps <= 0) yield invalid(withValue(here.qps, qps), 'must be positive')
      if (type !== 'Server' && cacheSize < 0) yield invalid(withValue(here.cacheSize, cacheSize), 'must not be negative')
    }
  },
  settings: ({ limits = [] }): readonly Limit[] => limits,
})

/** Every limit has a say in every event, also one that another limit rejects. */
export function eventRateLimit(limits: readonly Limit[], now: () => number): Plugin {
  const enforcers = limits.map(enforcerOf)
  return {
    name: 'EventRateLimit',
    validate(attributes) {
      const { operation, kind, dryRun } = attributes
      if (kind.group !== '' || kind.kind !== 'Event' || dryRun || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      const reached = enforcers.flatMap(refusalOf => refusalOf(attributes, now()) ?? [])
      if (reached.length > 0) throw new StatusError(429, 'TooManyRequests', `Too many requests: ${aggregate(reached)}`)
    },
  }
}

/** Tells why an event is one too many. The bucket that has not been used for the longest time is forgotten first. */
function enforcerOf({ type = '', qps = 0, burst = 0, cacheSize = 0 }: Limit) {
  const buckets = new Map<string, TokenBucket>()
  const most = cacheSize || DEFAULT_CACHE_SIZE
  return (attributes: Attributes, nowMs: number): string | undefined => {
    const key = KEYS[type]!(attributes)
    const bucket = buckets.get(key) ?? new TokenBucket(qps, burst)
    buckets.delete(key)
    buckets.set(key, bucket)
    if (buckets.size > most) buckets.delete(buckets.keys().next().value!)
    return bucket.take(nowMs) ? undefined : `limit reached on type ${type} for key ${key}`
  }
}
