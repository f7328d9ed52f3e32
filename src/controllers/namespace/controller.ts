/**
 * Empties namespaces that are to go, and lets them go when they are empty: pods first, then all other content, then what holds the
 * namespace itself. While something remains it is looked at again when the last of it has gone, or after a while.
 */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { type Change, type Feed, wordOf } from '../change.ts'
import { Loop } from '../loop.ts'
import {
  type Condition,
  conditionsAfter,
  type Findings,
  finalizersOf,
  graceOf,
  type Remains,
  secondsToWait,
  unexpected,
} from './reconcile.ts'

/** What the controller asks of the API. Reads hold all that this controller has written. */
export interface Api extends Feed {
  readonly now: Date
  get(resource: Resource, name: { readonly name: string }): AnyObject | undefined
  list(resource: Resource, some: { readonly namespace: string }): Iterable<AnyObject>
  /** How many objects a namespace has, those that cannot be read among them. */
  count(resource: Resource, namespace: string): number
  remove(resource: Resource, object: AnyObject, options: { readonly propagationPolicy: 'Background' }): Promise<boolean>
  removeAll(resource: Resource, namespace: string, options: { readonly propagationPolicy: 'Background' }): Promise<void>
  /** Replaces an object unless it has changed since it was read. False when it has, or is gone. */
  replace(resource: Resource, object: AnyObject, subresource: string): Promise<boolean>
}

export type NamespaceController = {
  readonly api: Api
  readonly namespaces: Resource
  readonly pods: Resource
  /** All that is served, whatever comes and goes. */
  readonly resources: Iterable<Resource>
  readonly onError: (error: unknown, namespace: string) => void
  readonly signal: AbortSignal
}

/** What a namespace is held back by until its content is gone. */
const CONTENT = 'kubernetes'
const AT_ONCE = 10
const HINT = [wordOf('deletionTimestamp')]
// Whatever owns or is owned: all of it goes.
const BACKGROUND = { propagationPolicy: 'Background' } as const

/** Starts the controller; the result settles when all namespaces that can go have gone. */
export async function startNamespaceController(parts: NamespaceController): Promise<void> {
  const { api, namespaces, onError, signal } = parts
  /** How many objects are known to remain in each namespace that is to go. */
  const left = new Map<string, number>()
  const loop = new Loop<string>({ settle: name => settle(parts, name, left), onError, signal, atOnce: AT_ONCE })
  const changed = (change: Change) => {
    if (change.resource.prefix === namespaces.prefix) {
      if (change.deleted) left.delete(change.name)
      else if (change.mayMention(HINT) && change.object()?.metadata.deletionTimestamp) void loop.wake(change.name)
    } else if (change.deleted && left.size > 0) {
      const remaining = left.get(change.namespace)
      if (remaining === undefined) return
      left.set(change.namespace, remaining - 1)
      if (remaining <= 1) void loop.wake(change.namespace)
    }
  }
  api.observe({ changed, joined: () => {} }, signal)
  for (const change of api.noticed(namespaces)) changed(change)
  await loop.settled()
}

/** Says in how many milliseconds to look again, when something remains. */
async function settle(parts: NamespaceController, name: string, left: Map<string, number>): Promise<number | undefined> {
  const { api, namespaces } = parts
  const namespace = api.get(namespaces, { name })
  if (!namespace?.metadata.deletionTimestamp || !namespace['spec'].finalizers?.length) {
    left.delete(name)
    return undefined
  }
  // Before the first deletion, so that the end of the last object is not missed.
  left.set(name, Number.POSITIVE_INFINITY)
  const { findings, grace } = await empty(parts, namespace)
  const remaining = findings.remains.reduce((sum, { count }) => sum + count, 0)
  await report(parts, name, findings)
  if (findings.failures.length > 0) throw new Error(findings.failures.join('; '))
  if (remaining > 0) {
    // Counted again: some may have gone since.
    left.set(
      name,
      sum(contentOf(parts), resource => api.count(resource, name)),
    )
    return left.get(name) === 0 ? 0 : secondsToWait(findings.remains, grace) * 1000
  }
  left.delete(name)
  return (await release(parts, name)) ? undefined : 0
}

type Emptied = { readonly findings: Findings; readonly grace: number }

/** Deletes what there is. Other content stays while there are pods: they may need it to end well. */
async function empty(parts: NamespaceController, { metadata }: AnyObject): Promise<Emptied> {
  const { api, pods } = parts
  const name = metadata.name!
  const since = (api.now.getTime() - Date.parse(metadata.deletionTimestamp!)) / 1000
  const grace = graceOf(api.list(pods, { namespace: name }), since)
  const first = await removeAll(parts, [pods], { name, grace })
  if (first.remains.length > 0 || first.failures.length > 0) return { findings: first, grace }
  const others = contentOf(parts).filter(({ prefix }) => prefix !== pods.prefix)
  return { findings: await removeAll(parts, others, { name, grace: 0 }), grace: 0 }
}

/** Every place where there may be content, once: some objects are served in several forms. */
function contentOf({ resources }: NamespaceController): Resource[] {
  const places = new Map<string, Resource>()
  for (const resource of resources)
    if (
      resource.namespaced &&
      resource.verbs.includes('delete') &&
      resource.verbs.includes('list') &&
      !(resource.hub && places.has(resource.prefix))
    )
      places.set(resource.prefix, resource)
  return [...places.values()]
}

type Of = { readonly name: string; readonly grace: number }

async function removeAll({ api }: NamespaceController, resources: readonly Resource[], { name, grace }: Of): Promise<Findings> {
  const remains: Remains[] = []
  const failures: string[] = []
  const removeOf = async (resource: Resource) => {
    if (api.count(resource, name) === 0) return
    if (resource.verbs.includes('deletecollection')) await api.removeAll(resource, name, BACKGROUND)
    else for (const object of api.list(resource, { namespace: name })) await api.remove(resource, object, BACKGROUND)
    const count = api.count(resource, name)
    if (count === 0) return
    const { plural, group, version } = resource
    const remaining = { plural, group, version, count, finalizers: finalizersOf(api.list(resource, { namespace: name })) }
    remains.push(remaining)
    const failure = unexpected(remaining, name, grace)
    if (failure !== undefined) failures.push(failure)
  }
  await Promise.all(resources.map(resource => removeOf(resource).catch((error: Error) => failures.push(error.message))))
  return { remains, failures }
}

async function report({ api, namespaces }: NamespaceController, name: string, findings: Findings): Promise<void> {
  const namespace = api.get(namespaces, { name })
  if (!namespace) return
  const now = api.now.toISOString().replace(/\.\d+Z$/, 'Z')
  const conditions = conditionsAfter((namespace['status'].conditions ?? []) as Condition[], findings, now)
  // When somebody else came first, that is a change after which it is looked at again.
  if (conditions) await api.replace(namespaces, { ...namespace, status: { ...namespace['status'], conditions } }, 'status')
}

/** False when the namespace has changed meanwhile. */
async function release({ api, namespaces }: NamespaceController, name: string): Promise<boolean> {
  const namespace = api.get(namespaces, { name })
  if (!namespace) return true
  const finalizers = (namespace['spec'].finalizers as string[]).filter(each => each !== CONTENT).sort()
  if (finalizers.length === namespace['spec'].finalizers.length) return true
  const isDone = await api.replace(namespaces, { ...namespace, spec: { ...namespace['spec'], finalizers } }, 'finalize')
  return isDone || api.get(namespaces, { name }) === undefined
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number => items.reduce((total, item) => total + of(item), 0)
