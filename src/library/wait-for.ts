/** Waits until an object meets a condition. */
import type { Client } from '../client/client.ts'
import type { AnyObject } from '../schema/object-meta.ts'

export type Target = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}
export type Wanted = string | ((object: any) => unknown)

const TIMEOUT_MS = 10_000

/** Resolves with the object, or with undefined where it was to be deleted. Rejects with what it was last. */
export function waitFor(
  client: Client,
  { apiVersion, kind, metadata }: Target,
  wanted: Wanted = 'exists',
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): Promise<AnyObject | undefined> {
  const isMet = conditionOf(wanted)
  const current = () => {
    const resource = client.ofKind(apiVersion, kind)
    const namespace = resource?.resource.namespaced ? (metadata.namespace ?? 'default') : ''
    return resource?.get({ namespace, name: metadata.name })
  }
  const end = new AbortController()
  return new Promise<AnyObject | undefined>((resolve, reject) => {
    const look = () => {
      try {
        const object = current()
        if (isMet(object)) resolve(object)
      } catch (error) {
        reject(error)
      }
    }
    const timer = setTimeout(() => reject(new Error(late(current()))), timeoutMs)
    end.signal.addEventListener('abort', () => clearTimeout(timer))
    client.watchAll({ changed: (_, { current: { name } }) => name === metadata.name && look(), joined: look }, end.signal)
    look()
  }).finally(() => end.abort())

  function late(object: AnyObject | undefined): string {
    const what = typeof wanted === 'string' ? wanted : 'what was asked for'
    const conditions = conditionsIn(object).map(({ type, status, reason }) => `${type}=${status}${reason ? ` (${reason})` : ''}`)
    const state = object
      ? conditions.length > 0
        ? `its conditions are ${conditions.join(', ')}`
        : 'it has no conditions'
      : 'it is not there'
    return `${kind} ${metadata.namespace ? `${metadata.namespace}/` : ''}${metadata.name} was not ${what} within ${timeoutMs} ms; ${state}`
  }
}

type Condition = { readonly type: string; readonly status: string; readonly reason?: string }
const conditionsIn = (object: AnyObject | undefined): readonly Condition[] =>
  (object as { status?: { conditions?: readonly Condition[] } } | undefined)?.status?.conditions ?? []

/** `exists`, `deleted`, a condition that is to be True, or `Condition=Status`. */
function conditionOf(wanted: Wanted): (object: AnyObject | undefined) => boolean {
  if (typeof wanted === 'function') return object => object !== undefined && Boolean(wanted(object))
  if (wanted === 'exists') return object => object !== undefined
  if (wanted === 'deleted') return object => object === undefined
  const [name = '', value = 'True'] = wanted.split('=')
  const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  return object => conditionsIn(object).some(({ type, status }) => isSame(type, name) && isSame(status, value))
}
