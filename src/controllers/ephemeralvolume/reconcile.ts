/** The claims that a pod owns: one for each of its volumes that lives and dies with it. */

import type { Draft } from '../../client/client.ts'
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'

type Claim = PersistentVolumeClaim

/** A claim that is missing, or why one that is there will not do. */
export type OwnedClaim = { readonly volume: string } & ({ readonly create: Draft<Claim> } | { readonly refused: string })

export const hasOwnClaims = ({ metadata, spec }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && (spec.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined)

export function* missingClaims(pod: Pod, claimNamed: (name: string) => Claim | undefined): Iterable<OwnedClaim> {
  if (!hasOwnClaims(pod)) return
  const { namespace = '', name: podName = '', uid = '' } = pod.metadata
  for (const { name: volume, ephemeral } of pod.spec.volumes ?? []) {
    if (!ephemeral) continue
    const name = `${podName}-${volume}`
    const found = claimNamed(name)
    const { metadata: { annotations, labels } = {}, spec } = ephemeral.volumeClaimTemplate ?? {}
    if (!found) {
      const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true, blockOwnerDeletion: true }
      const metadata = { namespace, name, ownerReferences: [owner], ...(annotations && { annotations }), ...(labels && { labels }) }
      yield { volume, create: { metadata, ...(spec && { spec }) } as Draft<Claim> }
    } else if (!found.metadata.ownerReferences?.some(owner => owner.controller === true && owner.uid === uid))
      yield { volume, refused: `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)` }
  }
}
