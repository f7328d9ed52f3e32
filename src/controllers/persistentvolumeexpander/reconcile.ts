/** Says which component has to expand the volume of a claim: no plugin that is left in Kubernetes can. */
import type { Notice } from '../../client/event-recorder.ts'
import { type Claim, hasAnnotation, requestOf, type Volume } from '../../kinds/rules/persistent-volume/binding.ts'
import type { PersistentVolumeSource } from '../../kinds/rules/persistent-volume/volume.ts'
import { getOwn } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import { driverFor } from '../persistentvolume/in-tree.ts'
import { PRE_RESIZE_CAPACITY } from '../persistentvolume/reconcile.ts'

const PLUGINS: readonly (readonly [source: keyof PersistentVolumeSource, plugin: string])[] = [
  ['awsElasticBlockStore', 'kubernetes.io/aws-ebs'],
  ['azureDisk', 'kubernetes.io/azure-disk'],
  ['azureFile', 'kubernetes.io/azure-file'],
  ['cinder', 'kubernetes.io/cinder'],
  ['gcePersistentDisk', 'kubernetes.io/gce-pd'],
  ['portworxVolume', 'kubernetes.io/portworx-volume'],
  ['vsphereVolume', 'kubernetes.io/vsphere-volume'],
]

export type Expansion = { readonly notice: Notice; readonly resizer?: string }

const external = (message: string): Notice => ({ type: 'Normal', reason: 'ExternalExpanding', message })

/** Undefined when the claim has the requested capacity. */
export function expansionOf(claim: Claim, volume: Volume): Expansion | undefined {
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) return undefined
  const held = parseQuantity(getOwn(claim.status.capacity ?? {}, 'storage') ?? '0')
  if (compareQuantity(requestOf(claim), held) <= 0 && !hasAnnotation(volume, PRE_RESIZE_CAPACITY)) return undefined
  const plugin = PLUGINS.find(([source]) => volume.spec[source])?.[1]
  if (!plugin) return { notice: external('waiting for an external controller to expand this PVC') }
  const notice = external(`CSI migration enabled for ${plugin}; waiting for external resizer to expand the pvc`)
  return { notice, resizer: driverFor(plugin)! }
}
