/** Keeps objects that are to go until nobody uses them any more, by a finalizer. What use is, is the caller's to say. */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { type Change, type Feed, wordOf } from '../change.ts'
import { Loop } from '../loop.ts'
import { nextStep } from './reconcile.ts'

type Name = { readonly namespace: string; readonly name: string }

/** What the controller asks of the API. Reads hold all that this controller has written. */
export interface Api extends Feed {
  get(resource: Resource, name: Name): AnyObject | undefined
  patch(resource: Resource, name: Name, patch: object, how: { readonly type: string }): Promise<boolean>
}

export type Protection = {
  readonly api: Api
  readonly resource: Resource
  readonly finalizer: string
  readonly isUsed: (object: AnyObject) => boolean
  /** Those that may use the objects: when they change, an object may be free. */
  readonly users: readonly Resource[]
  readonly onError: (error: unknown, name: string) => void
  readonly signal: AbortSignal
}

const MERGE = { type: 'application/merge-patch+json' }
const DELETED = [wordOf('deletionTimestamp')]

/** Starts the controller; the result settles when all that was known at the call has been dealt with. */
export async function startProtection(parts: Protection): Promise<void> {
  const { api, resource, finalizer, users, onError, signal } = parts
  /** Those that are to go and are used. */
  const held = new Set<string>()
  const loop = new Loop<string>({ settle: key => settle(parts, key, held), onError, signal })
  const own = [wordOf(finalizer)]
  const needsLook = (change: Change) => {
    const metadata = change.object()?.metadata
    return metadata !== undefined && nextStep(metadata, finalizer, () => true) !== undefined
  }
  const usersAt = new Set(users.map(({ prefix }) => prefix))
  const onOwn = (change: Change) => {
    const key = `${change.namespace}/${change.name}`
    if (change.deleted) held.delete(key)
    else if ((change.mayMention(DELETED) || !change.mayMention(own)) && needsLook(change)) void loop.wake(key)
  }
  const changed = (change: Change) => {
    if (change.resource.prefix === resource.prefix) onOwn(change)
    else if (held.size > 0 && usersAt.has(change.resource.prefix)) void loop.wakeAll(held)
  }
  api.observe({ changed, joined: () => {} }, signal)
  for (const change of api.noticed(resource)) onOwn(change)
  await loop.settled()
}

async function settle({ api, resource, finalizer, isUsed }: Protection, key: string, held: Set<string>): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  const object = api.get(resource, { namespace, name })
  const step = object && nextStep(object.metadata, finalizer, () => isUsed(object))
  if (step === 'wait') held.add(key)
  else held.delete(key)
  if (!step || step === 'wait') return
  const { uid, resourceVersion, finalizers = [] } = object!.metadata
  const next = step === 'protect' ? [...finalizers, finalizer] : finalizers.filter(each => each !== finalizer)
  await api.patch(resource, { namespace, name }, { metadata: { uid, resourceVersion, finalizers: next } }, MERGE)
}
