/** Answers which attachable volumes the pods of a node use, and which pods use a volume there. */

import { namedBy, queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { CLAIM_INDEX, claimsOf, isOver } from '../protection/usage.ts'
import type { Needed } from './reconcile.ts'

export class VolumeUsage {
  readonly #pods: ResourceClient<Pod>
  readonly #claims: ResourceClient<PersistentVolumeClaim>
  readonly #volumes: ResourceClient<PersistentVolume>
  readonly #drivers: ResourceClient<CSIDriver>

  constructor(client: Client) {
    this.#pods = client.of(Pod)
    this.#claims = client.of(PersistentVolumeClaim)
    this.#volumes = client.of(PersistentVolume)
    this.#drivers = client.of(CSIDriver)
  }

  /** The volumes that have to be attached to a node for its pods. */
  neededOn(node: string): Needed[] {
    const found = new Map<string, { volume: PersistentVolume; pods: string[] }>()
    for (const pod of this.#pods.byIndex(NODE_INDEX, node)) {
      if (isDone(pod)) continue
      for (const key of claimsOf(pod)) {
        const volume = this.#boundVolume(key)
        if (!volume || !this.#isAttachable(volume)) continue
        const known = found.get(volume.metadata.name ?? '')
        if (known) known.pods.push(queueKey(pod.metadata))
        else found.set(volume.metadata.name ?? '', { volume, pods: [queueKey(pod.metadata)] })
      }
    }
    return [...found.values()]
  }

  /** The pods on a node that use a volume. */
  usersOn(node: string, { spec: { claimRef } }: Pick<Needed['volume'], 'spec'>): Pod[] {
    return claimRef ? this.usersOfClaim(queueKey(claimRef)).filter(pod => pod.spec.nodeName === node && !isDone(pod)) : []
  }

  /** The pods that name a claim, wherever they are. */
  usersOfClaim(key: string): Pod[] {
    return [...this.#pods.byIndex(CLAIM_INDEX, key)]
  }

  hasClaims(namespace: string): boolean {
    for (const _ of this.#claims.revisions({ namespace })) return true
    return false
  }

  #boundVolume(key: string): PersistentVolume | undefined {
    const claim = this.#claims.get(namedBy(key))
    if (claim?.status.phase !== 'Bound' || !claim.spec.volumeName) return undefined
    const volume = this.#volumes.get({ name: claim.spec.volumeName })
    return volume && volume.spec.claimRef?.uid === claim.metadata.uid ? volume : undefined
  }

  #isAttachable({ spec: { csi } }: PersistentVolume): boolean {
    return csi !== undefined && this.#drivers.get({ name: csi.driver })?.spec?.attachRequired !== false
  }
}

/** Whether a pod no longer needs its volumes: it has ended, or it is terminating and none of its containers runs. */
function isDone({ metadata, status }: Pod): boolean {
  if (isOver(status.phase)) return true
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  return metadata.deletionTimestamp !== undefined && containers.length > 0 && containers.every(({ state }) => !state?.running)
}
