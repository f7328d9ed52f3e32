/**
 * Binds claims and volumes to each other, requests volumes from provisioners, and reclaims released ones. A binding is four writes,
 * the volume's first, and each is made only of the object that was read: after a conflict everything is read again.
 */

import { namedBy } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { defineController, type Watch, watch } from '../controller.ts'
import { claimsOf, isOver } from '../protection/usage.ts'
import { ClaimReconciler } from './claim-reconciler.ts'
import {
  CLAIM_PREFIX,
  CLAIMS_BY_VOLUME_OR_CLASS,
  claimKey,
  classKey,
  UNCLASSED,
  VOLUME_PREFIX,
  VOLUMES_BY_CLAIM_OR_CLASS,
  volumeKey,
} from './indexes.ts'
import { RECYCLER_NAMESPACE, recycledBy } from './recycle.ts'
import { VolumeReconciler } from './volume-reconciler.ts'
import { VolumeRecycler } from './volume-recycler.ts'
import { VolumeWriter } from './volume-writer.ts'

export const persistentVolumeBinder = defineController({
  name: 'persistentvolume-binder-controller',
  identity: 'persistent-volume-binder',
  component: 'persistentvolume-controller',
  workers: 4,
  create({ client, recorder, enqueue }) {
    const writer = new VolumeWriter(client.of(PersistentVolume), recorder)
    const recycler = new VolumeRecycler({ client, recorder, writer })
    const claimReconciler = new ClaimReconciler({ client, recorder, writer, enqueue })
    const volumeReconciler = new VolumeReconciler({ client, recorder, writer, recycler, enqueue })
    return {
      watches: [...bindingWatches(client), podWatch(client, recycler)],
      async reconcile(key) {
        if (key.startsWith(VOLUME_PREFIX)) return volumeReconciler.reconcile(key.slice(VOLUME_PREFIX.length))
        await claimReconciler.reconcile(namedBy(key.slice(CLAIM_PREFIX.length)))
        return undefined
      },
    }
  },
})

/** A changed claim, volume or class concerns itself and the claims or volumes that name it or wait for it. */
function bindingWatches(client: Client): Watch[] {
  const [claims, volumes] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume)]
  function* claimsBy(value: string): Iterable<string> {
    for (const { metadata } of claims.byIndex(CLAIMS_BY_VOLUME_OR_CLASS, value)) yield claimKey(metadata)
  }
  return [
    watch(PersistentVolumeClaim, ({ current }) => {
      const keys = [claimKey(current)]
      for (const { metadata } of volumes.byIndex(VOLUMES_BY_CLAIM_OR_CLASS, claimKey(current))) keys.push(volumeKey(metadata.name ?? ''))
      return keys
    }),
    watch(PersistentVolume, ({ current, type }) => {
      const keys = [volumeKey(current.name), ...claimsBy(volumeKey(current.name))]
      const claimRef = type === 'deleted' ? current.object?.spec.claimRef : undefined
      if (claimRef) keys.push(claimKey(claimRef))
      return keys
    }),
    watch(StorageClass, ({ current, type }) => (type === 'deleted' ? [] : [...claimsBy(classKey(current.name)), ...claimsBy(UNCLASSED)])),
  ]
}

/** A pod can be the first consumer of claims, the last user of a volume that has to be recycled, or a recycler. */
function podWatch(client: Client, recycler: VolumeRecycler): Watch {
  const claims = client.of(PersistentVolumeClaim)
  const hasClaims = (namespace: string): boolean => {
    for (const _ of claims.revisions({ namespace })) return true
    return false
  }
  /** The claims of a pod that are not there or pending. */
  const unboundClaims = (pod: Pod | undefined): string[] =>
    (pod ? claimsOf(pod) : []).flatMap(key => {
      const claim = claims.get(namedBy(key))
      return !claim || claim.status.phase === 'Pending' ? [`${CLAIM_PREFIX}${key}`] : []
    })
  return watch(Pod, ({ current, type }) => {
    if (type === 'updated' && current.fields['spec.nodeName'] && !isOver(current.fields['status.phase'])) return undefined
    const recycled = current.namespace === RECYCLER_NAMESPACE ? recycledBy(current.name) : undefined
    if (recycled !== undefined) return volumeKey(recycled)
    if (!recycler.isHoldingBack && !hasClaims(current.namespace)) return undefined
    return unboundClaims(current.object).flatMap(key => {
      const volume = recycler.takeHeldBack(key)
      return volume === undefined ? [key] : [key, volumeKey(volume)]
    })
  })
}
