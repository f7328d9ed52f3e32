/** PersistentVolume is a piece of storage that outlives the pods which use it. */
import { getOwn } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, forbidden, type Ref, refTo } from '../../schema/refs.ts'
import { message, string, time } from '../../schema/types.ts'
import { type PersistentVolumeSource, PersistentVolumeSpec } from '../rules/persistent-volume/volume.ts'
import { validatePersistentVolumeChange, validatePersistentVolumeSpec } from '../rules/persistent-volume/volume-rules.ts'
import { deprecatedNodeLabel } from '../rules/pod/scheduling/node-labels.ts'
import { hasInvalidNodeValues } from '../rules/pod/scheduling/node-selector.ts'
import { CLASS_ANNOTATION, classOf, formatAccessModes, OLD_CLASS_ADVICE } from '../rules/storage-class.ts'

const PersistentVolumeStatus = message('PersistentVolumeStatus', {
  phase: [
    1,
    string.listed('Available', 'Bound', 'Failed', 'Pending', 'Released').default('Pending'),
    'Pending, Available, Bound, Released or Failed.',
  ],
  message: [2, string, 'For people: why it is in this phase.'],
  reason: [3, string, 'A CamelCase reason for the failure.'],
  lastPhaseTransitionTime: [4, time.optional(), 'When the phase last changed.'],
})

const MOUNT_OPTIONS_ANNOTATION = 'volume.beta.kubernetes.io/mount-options'

export const PersistentVolume = defineKind({
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  scope: 'Cluster',
  names: { plural: 'persistentvolumes', short: ['pv'] },
  doc: 'A piece of storage that outlives the pods which use it.',
  spec: PersistentVolumeSpec,
  status: PersistentVolumeStatus,

  defaults({ spec }) {
    spec.persistentVolumeReclaimPolicy ??= 'Retain'
    spec.volumeMode ??= 'Filesystem'
  },
  prepareForCreate({ status }, { now }) {
    status.lastPhaseTransitionTime = timestampOf(now)
  },
  *validate({ metadata, spec }, at, { old, gate }) {
    const name = metadata.name ?? ''
    const allowInvalidNodeValues = hasInvalidNodeValues(old?.spec.nodeAffinity?.required)
    yield* validatePersistentVolumeSpec(spec, at.spec, { name, allowInvalidNodeValues })
    yield* validateMountOptions(metadata.annotations, spec)
    if (old) yield* validatePersistentVolumeChange(spec, old.spec, at.spec, { mutableNodeAffinity: gate('MutablePVNodeAffinity') })
  },
  *warn({ metadata, spec }) {
    const { annotations } = metadata
    if (annotations && Object.hasOwn(annotations, CLASS_ANNOTATION)) yield `metadata.annotations[${CLASS_ANNOTATION}]: ${OLD_CLASS_ADVICE}`
    if (annotations && Object.hasOwn(annotations, MOUNT_OPTIONS_ANNOTATION))
      yield `metadata.annotations[${MOUNT_OPTIONS_ANNOTATION}]: deprecated since v1.31; use "mountOptions" attribute instead`
    if (spec.persistentVolumeReclaimPolicy === 'Recycle')
      yield 'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.'
    for (const [i, { matchExpressions }] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries())
      for (const [j, { key }] of (matchExpressions ?? []).entries()) {
        const advice = deprecatedNodeLabel(key)
        const at = `spec.nodeAffinity.required.nodeSelectorTerms[${i}].matchExpressions[${j}].key`
        if (advice !== undefined) yield `${at}: ${key} is ${advice}`
      }
    for (const [source, advice, shown = source] of OUTDATED) if (spec[source]) yield `spec.${shown}: ${advice}`
  },

  deletion: { returns: 'object' },

  subresources: {
    status: {
      prepareForUpdate({ status }, old, { now }) {
        const { phase, lastPhaseTransitionTime: before } = old.status
        if (status.phase === phase) {
          if (before !== undefined) status.lastPhaseTransitionTime ??= before
        } else if (status.lastPhaseTransitionTime === undefined || status.lastPhaseTransitionTime === before)
          status.lastPhaseTransitionTime = timestampOf(now)
      },
      *validate() {},
    },
  },

  columns: {
    Capacity: [
      'string',
      o => getOwn(o.spec.capacity ?? {}, 'storage') ?? '0',
      "capacity is the description of the persistent volume's resources and capacity. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#capacity",
    ],
    'Access Modes': [
      'string',
      o => formatAccessModes(o.spec.accessModes),
      'accessModes contains all ways the volume can be mounted. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes',
    ],
    'Reclaim Policy': [
      'string',
      o => o.spec.persistentVolumeReclaimPolicy,
      'persistentVolumeReclaimPolicy defines what happens to a persistent volume when released from its claim. Valid options are Retain (default for manually created PersistentVolumes), Delete (default for dynamically provisioned PersistentVolumes), and Recycle (deprecated). Recycle must be supported by the volume plugin underlying this PersistentVolume. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#reclaiming',
    ],
    Status: [
      'string',
      o => (o.metadata.deletionTimestamp ? 'Terminating' : o.status.phase),
      'phase indicates if a volume is available, bound to a claim, or released by a claim. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#phase',
    ],
    Claim: [
      'string',
      ({ spec: { claimRef: c } }) => (c ? `${c.namespace ?? ''}/${c.name ?? ''}` : ''),
      'claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding',
    ],
    StorageClass: ['string', o => classOf(o) ?? '', 'StorageClass of the pv'],
    VolumeAttributesClass: ['string', o => o.spec.volumeAttributesClassName ?? '<unset>', 'VolumeAttributesClass of the pv'],
    Reason: [
      'string',
      o => o.status.reason ?? '',
      'reason is a brief CamelCase string that describes any failure and is meant for machine parsing and tidy display in the CLI.',
    ],
    Age: age,
    VolumeMode: [
      'string',
      o => o.spec.volumeMode ?? '<unset>',
      'volumeMode defines if a volume is intended to be used with a formatted filesystem or to remain in raw block state. Value of Filesystem is implied when not included in spec.',
      'wide',
    ],
  },
})

/** An object of the kind PersistentVolume. */
export type PersistentVolume = ObjectOf<typeof PersistentVolume>

const OUTDATED: readonly (readonly [source: keyof PersistentVolumeSource, advice: string, shown?: string])[] = [
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

/** Volume sources that support the mount options annotation, the predecessor of the field. */
const TAKES_MOUNT_OPTIONS: readonly (keyof PersistentVolumeSource)[] = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cinder',
  'cephfs',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
]

function* validateMountOptions(annotations: Record<string, string> | undefined, spec: PersistentVolumeSpec): Iterable<FieldError> {
  if (TAKES_MOUNT_OPTIONS.some(source => spec[source])) return
  const at: Ref<unknown> = refTo(undefined, `metadata.annotations.${MOUNT_OPTIONS_ANNOTATION}`)
  if (annotations && Object.hasOwn(annotations, MOUNT_OPTIONS_ANNOTATION))
    yield forbidden(at, 'may not specify mount options for this volume type')
}
