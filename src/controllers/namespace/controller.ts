/**
 * Deletes the content of namespaces whose deletion has been asked for, pods first, and finalizes them when they are empty. While
 * something remains they are looked at again when the last of it is gone, or after a while.
 */
import type { ApiAccess } from '../../client/api-access.ts'
import type { Change } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { DEFAULT_BACK_OFF } from '../../client/work-queue.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import type { Resource } from '../../schema/resource.ts'
import { type Controller, defineController, watch, watchAll } from '../controller.ts'
import { type AggregatedParts, deleteAggregated } from './aggregated-content.ts'
import { conditionsAfter, type Findings, finalizersOf, graceOf, type Remaining, secondsToWait, unexpected } from './reconcile.ts'

type Stored = Namespace

/** The finalizer in the spec of a namespace that stands for its content. */
const CONTENT = 'kubernetes'
/** Owners are deleted as well, so there is nothing to wait for. */
const BACKGROUND = { propagationPolicy: 'Background' } as const

export type NamespaceParts = { readonly api: ApiAccess }

export const namespaceController = ({ api }: NamespaceParts): Controller =>
  defineController({
    name: 'namespace-controller',
    identity: 'namespace-controller',
    workers: 10,
    // A deletion is tried again at least every minute.
    backOff: { ...DEFAULT_BACK_OFF, lastMs: 60_000 },
    create({ client, enqueue, signal }) {
      const aggregated = { api, identity: client.identity, signal }
      /** How many objects are known to remain in each namespace that is being deleted. */
      const remaining = new Map<string, number>()
      const onDeleted = (_: Resource, { type, current: { namespace } }: Change) => {
        const count = type === 'deleted' && remaining.size > 0 ? remaining.get(namespace) : undefined
        if (count === undefined) return
        remaining.set(namespace, count - 1)
        if (count <= 1) enqueue(namespace)
      }
      // A server that could not be asked holds up every deletion.
      api.onElsewhereChange(() => {
        for (const namespace of remaining.keys()) enqueue(namespace)
      }, signal)
      return {
        watches: [
          watch(Namespace, ({ type, current }) => {
            if (type === 'deleted') remaining.delete(current.name)
            return type !== 'deleted' && current.terminating ? current.name : undefined
          }),
          watchAll({ changed: onDeleted, joined: () => {} }),
        ],
        async reconcile(name) {
          const namespace = client.of(Namespace).get({ name })
          if (!namespace?.metadata.deletionTimestamp || !namespace.spec.finalizers?.length) {
            remaining.delete(name)
            return undefined
          }
          // Before the first deletion, so that the end of the last object is not missed.
          remaining.set(name, Number.POSITIVE_INFINITY)
          const { findings, graceSeconds } = await deleteContent(client, namespace, aggregated)
          await report(client, name, findings)
          const failures = [...(findings.undiscovered ?? []), ...findings.failures]
          if (failures.length > 0) throw new Error(failures.join('; '))
          if (findings.remaining.length > 0) {
            // Counted again: some may be gone by now.
            const own = contentOf(client).reduce((sum, resource) => sum + client.of(resource).count({ namespace: name }), 0)
            // Nobody tells when the rest of another server's is gone.
            const count = findings.remaining.some(({ isElsewhere }) => isElsewhere) ? Number.POSITIVE_INFINITY : own
            remaining.set(name, count)
            return count === 0 ? 0 : secondsToWait(findings.remaining, graceSeconds) * 1000
          }
          remaining.delete(name)
          await finalize(client, name)
          return undefined
        },
      }
    },
  })

/** Deletes the content of a namespace. Other content stays while there are pods: they may need it to shut down. */
async function deleteContent(
  client: Client,
  { metadata }: Stored,
  aggregated: AggregatedParts,
): Promise<{ findings: Findings; graceSeconds: number }> {
  // A server without pods has no kubelets to wait for.
  const pods = client.findNamed('', 'v1', 'pods')
  const name = metadata.name!
  const secondsSince = (client.now.getTime() - millisecondsAt(metadata.deletionTimestamp)) / 1000
  const graceSeconds = graceOf(pods?.list({ namespace: name }) ?? [], secondsSince)
  const first = await deleteAll(client, pods ? [pods.resource] : [], { name, graceSeconds })
  if (first.remaining.length > 0) return { findings: { ...first, isPodsOnly: true }, graceSeconds }
  const others = contentOf(client).filter(({ prefix }) => prefix !== pods?.resource.prefix)
  const [rest, remote] = await Promise.all([deleteAll(client, others, { name, graceSeconds: 0 }), deleteAggregated(aggregated, name)])
  const findings = {
    remaining: [...rest.remaining, ...remote.remaining],
    failures: [...first.failures, ...rest.failures, ...remote.failures],
    undiscovered: remote.undiscovered ?? [],
  }
  return { findings, graceSeconds: 0 }
}

const contentOf = (client: Client): Resource[] =>
  [...client.resources()].filter(({ namespaced, verbs }) => namespaced && verbs.includes('delete') && verbs.includes('list'))

type Of = { readonly name: string; readonly graceSeconds: number }

async function deleteAll(client: Client, resources: readonly Resource[], { name, graceSeconds }: Of): Promise<Findings> {
  const remaining: Remaining[] = []
  const failures: string[] = []
  const deleteOf = async (resource: Resource) => {
    const objects = client.of(resource)
    const selection = { namespace: name }
    if (objects.count(selection) === 0) return
    if (resource.verbs.includes('deletecollection')) await objects.deleteCollection(name, BACKGROUND)
    else for (const object of objects.list(selection)) await objects.delete(object, BACKGROUND)
    const count = objects.count(selection)
    if (count === 0) return
    const { plural, group, version } = resource
    const rest = { plural, group, version, count, finalizers: finalizersOf(objects.list(selection)) }
    remaining.push(rest)
    const failure = unexpected(rest, name, graceSeconds)
    if (failure !== undefined) failures.push(failure)
  }
  await Promise.all(resources.map(resource => deleteOf(resource).catch((error: Error) => failures.push(error.message))))
  return { remaining, failures }
}

async function report(client: Client, name: string, findings: Findings): Promise<void> {
  const namespaces = client.of(Namespace)
  const namespace = namespaces.get({ name })
  const conditions = namespace && conditionsAfter(namespace.status.conditions ?? [], findings, timestampOf(client.now))
  if (conditions) await namespaces.updateStatus({ ...namespace, status: { ...namespace.status, conditions } })
}

async function finalize(client: Client, name: string): Promise<void> {
  const namespaces = client.of(Namespace)
  const namespace = namespaces.get({ name })
  if (!namespace?.spec.finalizers?.includes(CONTENT)) return
  const finalizers = namespace.spec.finalizers.filter(each => each !== CONTENT).sort()
  await namespaces.update({ ...namespace, spec: { ...namespace.spec, finalizers } }, { subresource: 'finalize' })
}
