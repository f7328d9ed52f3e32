/** The life of volumes that the driver provisions: created for a claim, deleted after its release. */
import type { Notice } from '../../client/event-recorder.ts'
import { annotationOf, type Claim, PROVISIONED_BY, SELECTED_NODE, type Volume } from '../../kinds/rules/persistent-volume/binding.ts'
import type { StorageClass } from '../../kinds/storage/storageclass.ts'
import type { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { getOwn } from '../../lib/json-value.ts'
import { DRIVER, PROVISIONER_FINALIZER } from './driver.ts'

const PROVISIONER = 'volume.kubernetes.io/storage-provisioner'

/** The fields of a VolumeAttributesClass that provisioning and resizing read. */
export type AttributesClass = Pick<VolumeAttributesClass, 'driverName'>

export type ProvisionStep =
  /** The volume of the claim, which may exist already. */
  | { readonly step: 'make'; readonly volume: VolumeDraft }
  | { readonly step: 'report'; readonly notice: Notice }
  /** The selected node is gone: the scheduler has to select another. */
  | { readonly step: 'unselect'; readonly notice: Notice }

/** The fields of a StorageClass that provisioning reads. */
type Class = Pick<StorageClass, 'metadata' | 'reclaimPolicy' | 'volumeBindingMode' | 'mountOptions'>

export type ProvisionSurroundings = {
  readonly storageClass: Class | undefined
  readonly attributesClass: (name: string) => AttributesClass | undefined
  readonly hasNode: (name: string) => boolean
}

/** The next step of a claim; undefined when it has its volume, or has to wait for others. */
export function provisionStep(claim: Claim, { storageClass, attributesClass, hasNode }: ProvisionSurroundings): ProvisionStep | undefined {
  const { metadata, spec } = claim
  if (annotationOf(claim, PROVISIONER) !== DRIVER || spec.volumeName || metadata.deletionTimestamp || !storageClass) return undefined
  // A volume populator creates the volumes of its data sources.
  if (spec.dataSourceRef && !FILLED_HERE.has(spec.dataSourceRef.kind)) return undefined
  const node = annotationOf(claim, SELECTED_NODE)
  if (node === undefined && storageClass.volumeBindingMode === 'WaitForFirstConsumer') return undefined
  const failed = (why: string): Notice => ({
    type: 'Warning',
    reason: 'ProvisioningFailed',
    message: `failed to provision volume with StorageClass "${storageClass.metadata.name}": ${why}`,
  })
  if (node !== undefined && !hasNode(node))
    return {
      step: 'unselect',
      notice: failed(`error getting CSINode for selected node "${node}": csinode.storage.k8s.io "${node}" not found`),
    }
  const attributes = spec.volumeAttributesClassName
  if (attributes) {
    const found = attributesClass(attributes)
    if (!found) return { step: 'report', notice: failed(`volumeattributesclass.storage.k8s.io "${attributes}" not found`) }
    if (found.driverName !== DRIVER)
      return {
        step: 'report',
        notice: failed(`VAC ${attributes} referenced in PVC is for driver ${found.driverName} which does not match driver name ${DRIVER}`),
      }
  }
  return { step: 'make', volume: volumeFor(claim, storageClass) }
}
const FILLED_HERE: ReadonlySet<string> = new Set(['PersistentVolumeClaim', 'VolumeSnapshot'])

export type VolumeDraft = ReturnType<typeof volumeFor>

function volumeFor({ metadata, spec }: Claim, storageClass: Class) {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata
  const volumeName = `pvc-${uid}`
  const isDeleted = storageClass.reclaimPolicy === 'Delete'
  return {
    metadata: {
      name: volumeName,
      annotations: { [PROVISIONED_BY]: DRIVER },
      ...(isDeleted && { finalizers: [PROVISIONER_FINALIZER] }),
    },
    spec: {
      accessModes: [...(spec.accessModes ?? [])],
      capacity: { storage: getOwn(spec.resources.requests ?? {}, 'storage') ?? '0' },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion },
      csi: { driver: DRIVER, volumeHandle: volumeName },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy,
      storageClassName: storageClass.metadata.name ?? '',
      volumeMode: spec.volumeMode ?? 'Filesystem',
      ...(storageClass.mountOptions && { mountOptions: [...storageClass.mountOptions] }),
      ...(spec.volumeAttributesClassName && { volumeAttributesClassName: spec.volumeAttributesClassName }),
    },
  }
}

/** Whether a volume belongs to the driver. */
export const isOurs = (volume: Volume): boolean => volume.spec.csi?.driver === DRIVER
/** Whether this driver provisioned it, so that it is deleted when released. */
const isMadeHere = (volume: Volume): boolean => isOurs(volume) && annotationOf(volume, PROVISIONED_BY) === DRIVER

export type VolumeStep =
  | { readonly step: 'finalizers'; readonly finalizers: string[] }
  | { readonly step: 'delete' }
  | { readonly step: 'report'; readonly notice: Notice }

/** The next step of a volume of the driver, given the nodes that it is attached to. */
export function volumeStep(volume: Volume, attachedTo: readonly string[]): VolumeStep | undefined {
  if (!isMadeHere(volume)) return undefined
  const { finalizers = [], deletionTimestamp, name } = volume.metadata
  const isHeld = finalizers.includes(PROVISIONER_FINALIZER)
  const without = () => finalizers.filter(each => each !== PROVISIONER_FINALIZER)
  if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') return isHeld ? { step: 'finalizers', finalizers: without() } : undefined
  const isFree = volume.status.phase === 'Released' || volume.status.phase === 'Failed'
  if (!isFree) return isHeld || deletionTimestamp ? undefined : { step: 'finalizers', finalizers: [...finalizers, PROVISIONER_FINALIZER] }
  if (attachedTo.length > 0)
    return {
      step: 'report',
      notice: {
        type: 'Warning',
        reason: 'VolumeFailedDelete',
        message: `persistentvolume ${name} is still attached to node ${attachedTo[0]}`,
      },
    }
  if (!deletionTimestamp) return { step: 'delete' }
  return isHeld ? { step: 'finalizers', finalizers: without() } : undefined
}
