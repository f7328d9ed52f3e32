/** Waits until an object meets a condition. */
import type { Client } from '../client/client.ts'
import type { ObjectReference } from '../public.d.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { findNamed } from './object-reference.ts'

export type Condition = string | ((object: any) => unknown)
export type WaitOptions = { readonly timeoutMs?: number; readonly namespace?: string }

const TIMEOUT_MS = 10_000
/** The length of an object in a message. */
const MAX_SHOWN = 4000

/**
 * Resolves with the object, or with undefined if it was deleted. Rejects immediately if the condition can never be met, and after the
 * timeout with the last state of the object.
 */
export async function waitFor(
  client: Client,
  reference: ObjectReference | string,
  condition: Condition = 'exists',
  { timeoutMs = TIMEOUT_MS, namespace }: WaitOptions = {},
): Promise<AnyObject | undefined> {
  const isMet = isMetBy(condition)
  if (!(timeoutMs >= 0)) throw new TypeError(`timeoutMs must be a number, 0 or more, not ${timeoutMs}`)
  const { kind, name, resource, key } = findNamed(client, reference, namespace)
  const current = () => resource()?.get(key())
  const end = new AbortController()
  try {
    return await new Promise<AnyObject | undefined>((resolve, reject) => {
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
      client.watchAll({ changed: (_, change) => change.current.name === name && look(), joined: look }, end.signal)
      look()
    })
  } finally {
    end.abort()
  }

  function late(object: AnyObject | undefined): string {
    const { namespace } = key()
    const missed =
      condition === 'exists' ? 'did not exist' : `was not ${typeof condition === 'string' ? condition : 'as the function wants it'}`
    return `${kind} ${namespace ? `${namespace}/` : ''}${name} ${missed} within ${timeoutMs} ms; ${stateOf(object)}`
  }
}

/** The current object, for a message: its conditions first, since most waits are for one of them. */
function stateOf(object: AnyObject | undefined): string {
  if (!object) return 'it is not there'
  const conditions = conditionsIn(object).map(({ type, status, reason }) => `${type}=${status}${reason ? ` (${reason})` : ''}`)
  const { managedFields: _, ...metadata } = object.metadata
  const json = JSON.stringify({ ...object, metadata }, undefined, 2)
  const shown = json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN)}…` : json
  return `${conditions.length > 0 ? `its conditions are ${conditions.join(', ')}` : 'it has no conditions'}:\n${shown}`
}

type ObjectCondition = { readonly type: string; readonly status: string; readonly reason?: string }
const conditionsIn = (object: AnyObject | undefined): readonly ObjectCondition[] =>
  (object as { status?: { conditions?: readonly ObjectCondition[] } } | undefined)?.status?.conditions ?? []

/** `exists`, `deleted`, a condition that must be True, or `Condition=Status`. */
function isMetBy(condition: Condition): (object: AnyObject | undefined) => boolean {
  if (typeof condition === 'function') return object => object !== undefined && Boolean(condition(object))
  if (typeof condition !== 'string' || condition === '')
    throw new TypeError("a condition is 'exists', 'deleted', the type of a condition, 'TYPE=STATUS', or a function of the object")
  if (condition === 'exists') return object => object !== undefined
  if (condition === 'deleted') return object => object === undefined
  const [name = '', value = 'True'] = condition.split('=')
  const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  return object => conditionsIn(object).some(({ type, status }) => isSame(type, name) && isSame(status, value))
}
