/** Removes pods that no node will ever end: so that what is deleted goes although nobody runs it. */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { type Change, type Feed, wordOf } from '../change.ts'
import { Loop } from '../loop.ts'
import { failedStatus, isOutOfService, verdictOn } from './reconcile.ts'

type Name = { readonly namespace?: string; readonly name: string }

/** What the controller asks of the API. Reads hold all that this controller has written. */
export interface Api extends Feed {
  readonly now: Date
  get(resource: Resource, name: Name): AnyObject | undefined
  /** Whether there is an object of that name, be it one that cannot be read. */
  exists(resource: Resource, name: Name): boolean
  remove(resource: Resource, object: AnyObject, options: { readonly gracePeriodSeconds: 0 }): Promise<boolean>
  patch(resource: Resource, name: Name, patch: object, how: { readonly type: string; readonly subresource: string }): Promise<boolean>
}

export type PodGarbageCollector = {
  readonly api: Api
  readonly pods: Resource
  readonly nodes: Resource
  readonly onError: (error: unknown, pod: string) => void
  readonly signal: AbortSignal
}

/** By pod: the node that it is bound to and that is not there, and since when. */
type Missing = Map<string, { readonly node: string; readonly since: number }>

const AT_ONCE = 20
const DELETED = [wordOf('deletionTimestamp')]
const TAINTED = [wordOf('node.kubernetes.io/out-of-service')]
const MERGE = { type: 'application/strategic-merge-patch+json', subresource: 'status' }

/** Starts the controller; the result settles when all pods that can go at once have gone. */
export async function startPodGarbageCollector(parts: PodGarbageCollector): Promise<void> {
  const { api, pods, nodes, onError, signal } = parts
  const missing: Missing = new Map()
  const loop = new Loop<string>({ settle: key => settle(parts, key, missing), onError, signal, atOnce: AT_ONCE })
  const onPod = (change: Change) => {
    const key = `${change.namespace}/${change.name}`
    if (change.deleted) {
      missing.delete(key)
      return
    }
    const node = change.fields['spec.nodeName'] ?? ''
    const isAlone = node !== '' && !api.exists(nodes, { name: node })
    if (isAlone || (change.mayMention(DELETED) && change.object()?.metadata.deletionTimestamp)) void loop.wake(key)
  }
  const onNode = (change: Change) => {
    for (const [key, { node }] of missing) if (node === change.name) missing.delete(key)
    if (!change.deleted && !(change.mayMention(TAINTED) && isOutOfService(change.object()))) return
    for (const pod of api.noticed(pods)) if (pod.fields['spec.nodeName'] === change.name) onPod(pod)
  }
  const changed = (change: Change) => {
    if (change.resource.prefix === pods.prefix) onPod(change)
    else if (change.resource.prefix === nodes.prefix) onNode(change)
  }
  api.observe({ changed, joined: () => {} }, signal)
  for (const pod of api.noticed(pods)) onPod(pod)
  await loop.settled()
}

/** Says in how many milliseconds to look again, when the node of a pod may still come back. */
async function settle({ api, pods, nodes }: PodGarbageCollector, key: string, missing: Missing): Promise<number | undefined> {
  const [namespace = '', name = ''] = key.split('/')
  const pod = api.get(pods, { namespace, name })
  if (!pod) return undefined
  const nodeName: string = pod['spec'].nodeName ?? ''
  const node = nodeName === '' ? undefined : api.get(nodes, { name: nodeName })
  // A node that cannot be read is there.
  if (nodeName !== '' && !node && api.exists(nodes, { name: nodeName })) return undefined
  const now = api.now.getTime()
  const since = missing.get(key)?.since ?? now
  const verdict = verdictOn(pod, node, now - since)
  if (!verdict) return undefined
  if (verdict.step === 'wait') {
    missing.set(key, { node: nodeName, since })
    return verdict.ms
  }
  const patch = failedStatus(pod, verdict.isLost, api.now.toISOString().replace(/\.\d+Z$/, 'Z'))
  if (patch) await api.patch(pods, { namespace, name }, patch, MERGE)
  await api.remove(pods, pod, { gracePeriodSeconds: 0 })
  return undefined
}
