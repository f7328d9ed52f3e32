/** The content of a namespace on aggregated API servers, found by their discovery. */
import type { ApiAccess, DiscoveredResource } from '../../client/api-access.ts'
import type { Identity } from '../../client/identity.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { type Findings, finalizersOf, type Remaining, unexpected } from './reconcile.ts'

export type AggregatedParts = { readonly api: ApiAccess; readonly identity: Identity; readonly signal: AbortSignal }

/** Deletes the objects on other servers, and returns what remains, what failed, and which group versions could not be discovered. */
export async function deleteAggregated({ api, identity, signal }: AggregatedParts, namespace: string): Promise<Findings> {
  const { resources, unknown } = api.elsewhere()
  const remaining: Remaining[] = []
  const failures: string[] = []
  const deleteOf = async (resource: DiscoveredResource) => {
    const { group, version, plural, verbs } = resource
    const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`
    const list = async () => itemsOf(await api.send(identity, { method: 'GET', path }, signal))
    const found = await list()
    if (found.length === 0) return
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
    if (verbs.includes('deletecollection')) await api.send(identity, { method: 'DELETE', path, body }, signal)
    else
      for (const { metadata } of found)
        await api.send(identity, { method: 'DELETE', path: `${path}/${encodeURIComponent(metadata.name ?? '')}`, body }, signal)
    const left = await list()
    if (left.length === 0) return
    const rest = { plural, group, version, count: left.length, finalizers: finalizersOf(left), isElsewhere: true } as const
    remaining.push(rest)
    const failure = unexpected(rest, namespace, 0)
    if (failure !== undefined) failures.push(failure)
  }
  const deletable = resources.filter(({ namespaced, verbs }) => namespaced && verbs.includes('delete') && verbs.includes('list'))
  await Promise.all(deletable.map(resource => deleteOf(resource).catch((error: Error) => failures.push(error.message))))
  return { remaining, failures, undiscovered: unknown.map(at => `${at}: stale GroupVersion discovery: ${at}`) }
}

function itemsOf(list: Json): AnyObject[] {
  const items = isObject(list) ? list['items'] : undefined
  const complete = (item: JsonObject) => (isObject(item['metadata']) ? item : { ...item, metadata: {} })
  return Array.isArray(items) ? (items.filter(isObject).map(complete) as unknown as AnyObject[]) : []
}
