/** The status of a persistent volume claim, and the whole claim as it is embedded in other objects. */
import { ObjectMeta } from '../../../schema/object-meta.ts'
import { atomic, keyed, mapOf, message, quantity, type Static, string, time } from '../../../schema/types.ts'
import { roundAmounts } from '../pod/resources/resources.ts'
import { PersistentVolumeClaimSpec } from './claim.ts'

const PersistentVolumeClaimCondition = message('PersistentVolumeClaimCondition', {
  type: [1, string.always(), 'The type of the condition.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  lastProbeTime: [3, time.always(), 'When it was last looked at.'],
  lastTransitionTime: [4, time.always(), 'When the status last changed.'],
  reason: [5, string, 'A CamelCase reason for the last transition.'],
  message: [6, string, 'The same for people.'],
})

const ModifyVolumeStatus = message('ModifyVolumeStatus', {
  targetVolumeAttributesClassName: [1, string, 'The class that is being applied.'],
  status: [2, string.listed('InProgress', 'Infeasible', 'Pending').always(), 'How far that is: Pending, InProgress or Infeasible.'],
})

const VolumeHealthCondition = message('VolumeHealthCondition', {
  status: [1, string.listed('DataLoss', 'Degraded', 'Inaccessible').always(), 'How healthy the volume is.'],
  reason: [2, string.always(), 'A CamelCase reason for the status.'],
  message: [3, string, 'The same for people.'],
})

const VolumeHealthStatus = message('VolumeHealthStatus', {
  healthConditions: [1, keyed(VolumeHealthCondition, 'status', 'reason').mergedBy('status'), 'Problems of the volume.'],
  lastTransitionTime: [2, time, 'When that last changed.'],
})

export const PersistentVolumeClaimStatus = message(
  'PersistentVolumeClaimStatus',
  {
    phase: [1, string.listed('Bound', 'Lost', 'Pending').default('Pending'), 'Pending, Bound or Lost.'],
    accessModes: [
      2,
      atomic(string.listed('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod')),
      'How the bound volume can be mounted.',
    ],
    capacity: [3, mapOf(quantity), 'The capacity of the bound volume.'],
    conditions: [4, keyed(PersistentVolumeClaimCondition, 'type').mergedBy('type'), 'Latest observations.'],
    allocatedResources: [5, mapOf(quantity), 'The allocated amounts, which may be more than requested.'],
    allocatedResourceStatuses: [
      7,
      mapOf(
        string.listed(
          'ControllerResizeInProgress',
          'ControllerResizeInfeasible',
          'NodeResizeInProgress',
          'NodeResizeInfeasible',
          'NodeResizePending',
        ),
      ).granular(),
      'How far resizes are, by resource.',
    ],
    currentVolumeAttributesClassName: [8, string.optional(), 'The class of attributes the volume has.'],
    modifyVolumeStatus: [9, ModifyVolumeStatus, 'How far a change of that class is.'],
    healthStatus: [10, VolumeHealthStatus, 'How healthy the volume is.'],
  },
  { defaults: ({ capacity, allocatedResources }) => roundAmounts(capacity, allocatedResources) },
)
export type PersistentVolumeClaimStatus = Static<typeof PersistentVolumeClaimStatus>

/** A claim inside another object, always with apiVersion and kind. */
export const EmbeddedPersistentVolumeClaim = message(
  'PersistentVolumeClaim',
  {
    kind: [0, string, 'Always PersistentVolumeClaim.'],
    apiVersion: [0, string, 'Always v1.'],
    metadata: [1, ObjectMeta.orEmpty(), 'Name, labels and annotations of the claim.'],
    spec: [2, PersistentVolumeClaimSpec.orEmpty(), 'The requested storage.'],
    status: [3, PersistentVolumeClaimStatus.orEmpty(), 'The observed state.'],
  },
  {
    defaults(claim) {
      claim.kind = 'PersistentVolumeClaim'
      claim.apiVersion = 'v1'
    },
  },
)
export type EmbeddedPersistentVolumeClaim = Static<typeof EmbeddedPersistentVolumeClaim>
