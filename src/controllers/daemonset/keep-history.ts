/** Keeps the revisions of a DaemonSet's template: creates and numbers the current one, and merges those that are the same. */
import type { ResourceClient } from '../../client/client.ts'
import type { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import type { DaemonSet } from '../../kinds/apps/daemonset.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { hashOf } from '../pods/template-hash.ts'
import { createRevision, POD_REVISION_LABEL, revisionFor } from '../revisions/revision.ts'
import { historyOf } from './history.ts'

export type HistoryClients = {
  readonly sets: ResourceClient<DaemonSet>
  readonly pods: ResourceClient<Pod>
  readonly revisions: ResourceClient<ControllerRevision>
}
/** A set with the revisions and pods that belong to it. */
export type Owned = { readonly set: DaemonSet; readonly revisions: readonly ControllerRevision[]; readonly pods: readonly Pod[] }
/** The hash of the current revision, and the older ones. */
export type KeptHistory = { readonly hash: string; readonly old: readonly ControllerRevision[] }

/** Undefined when another revision has the name of the current one, which gets another next time. */
export async function keepHistory(
  clients: HistoryClients,
  { set, revisions: claimed, pods: own }: Owned,
): Promise<KeptHistory | undefined> {
  const { sets, pods, revisions } = clients
  const known: ControllerRevision[] = []
  for (const revision of claimed) known.push(await labelled(revisions, revision))
  const { current, duplicates, old, number } = historyOf(set, known)
  if (!current) {
    const { collisionCount } = set.status
    const { template } = set.spec
    const hash = hashOf(template, collisionCount)
    const draft = revisionFor(set, { template, revision: number, hash, hashLabel: POD_REVISION_LABEL })
    const created = await createRevision(revisions, draft, template)
    if (created) return { hash: created.metadata.labels?.[POD_REVISION_LABEL] ?? hash, old }
    await sets.updateStatus({ ...set, status: { ...set.status, collisionCount: (collisionCount ?? 0) + 1 } })
    return undefined
  }
  const hash = current.metadata.labels![POD_REVISION_LABEL]!
  const merged = new Set(duplicates.map(({ metadata }) => metadata.labels?.[POD_REVISION_LABEL]))
  for (const { metadata } of own)
    if (merged.has(metadata.labels?.[POD_REVISION_LABEL]))
      await pods.patch(metadata, { metadata: { labels: { [POD_REVISION_LABEL]: hash } } })
  for (const revision of duplicates) await revisions.delete(revision)
  if (Number(current.revision) < number) await revisions.update({ ...current, revision: number })
  return { hash, old }
}

/** Revisions of old servers have no hash: their name tells them apart as well. */
async function labelled(revisions: ResourceClient<ControllerRevision>, revision: ControllerRevision): Promise<ControllerRevision> {
  const { metadata } = revision
  if (metadata.labels?.[POD_REVISION_LABEL] !== undefined) return revision
  const labels = { ...metadata.labels, [POD_REVISION_LABEL]: metadata.name! }
  return (await revisions.update({ ...revision, metadata: { ...metadata, labels } }))?.object ?? revision
}
