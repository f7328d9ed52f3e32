/** What a StatefulSet is made of. */
import { atomic, int32, int64, intOrString, keyed, message, type Static, string } from '../../schema/types.ts'
import { LabelSelector } from '../shapes/meta.ts'
import { EmbeddedPersistentVolumeClaim } from '../shapes/persistent-volume/claim-status.ts'
import { PodTemplateSpec } from '../shapes/pod/spec.ts'
import { count, workloadCondition } from '../shapes/workload.ts'

const RollingUpdateStatefulSetStrategy = message('RollingUpdateStatefulSetStrategy', {
  partition: [1, count.optional(), 'Pods with a lower ordinal keep the old template.'],
  maxUnavailable: [2, intOrString.optional(), 'How many pods may be missing during the update, or which part of them.'],
})

const StatefulSetUpdateStrategy = message(
  'StatefulSetUpdateStrategy',
  {
    type: [1, string, 'RollingUpdate, or OnDelete to replace pods only when they are deleted.'],
    rollingUpdate: [2, RollingUpdateStatefulSetStrategy, 'How fast pods are replaced; only with RollingUpdate.'],
  },
  {
    defaults(strategy) {
      if (!strategy.type) {
        strategy.type = 'RollingUpdate'
        strategy.rollingUpdate ??= {}
      }
      if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate)
        strategy.rollingUpdate = { partition: 0, maxUnavailable: 1, ...strategy.rollingUpdate }
    },
  },
)
export type UpdateStrategy = Static<typeof StatefulSetUpdateStrategy>

const StatefulSetPersistentVolumeClaimRetentionPolicy = message('StatefulSetPersistentVolumeClaimRetentionPolicy', {
  whenDeleted: [1, string.default('Retain'), 'What becomes of claims when the set is deleted: Retain or Delete.'],
  whenScaled: [2, string.default('Retain'), 'What becomes of claims when the set shrinks: Retain or Delete.'],
})

const StatefulSetOrdinals = message('StatefulSetOrdinals', {
  start: [1, count.always().omittable(), 'The ordinal of the first pod.'],
})

export const StatefulSetSpec = message('StatefulSetSpec', {
  replicas: [1, count.optional().default(1), 'How many pods should exist.'],
  selector: [2, LabelSelector.required().immutable(), 'Which pods belong to it; must match the labels of the template.'],
  template: [3, PodTemplateSpec.orEmpty().expected(), 'What pods are made from.'],
  volumeClaimTemplates: [4, atomic(EmbeddedPersistentVolumeClaim), 'Claims that every pod gets. Cannot change.'],
  serviceName: [5, string.always().omittable(), 'The service that gives pods their host names. Cannot change.'],
  podManagementPolicy: [6, string.default('OrderedReady'), 'OrderedReady, or Parallel to start and end all pods at once. Cannot change.'],
  updateStrategy: [7, StatefulSetUpdateStrategy.orEmpty(), 'How pods are replaced when the template changes.'],
  revisionHistoryLimit: [8, int32.optional().default(10), 'How many old revisions are kept.'],
  minReadySeconds: [9, count, 'Seconds a new pod must be ready to count as available.'],
  persistentVolumeClaimRetentionPolicy: [
    10,
    StatefulSetPersistentVolumeClaimRetentionPolicy.default({ whenDeleted: 'Retain', whenScaled: 'Retain' }),
    'What becomes of claims that are no longer used.',
  ],
  ordinals: [11, StatefulSetOrdinals, 'How pods are numbered.'],
})
export type StatefulSetSpec = Static<typeof StatefulSetSpec>

export const StatefulSetStatus = message('StatefulSetStatus', {
  observedGeneration: [1, int64.min(0), 'The generation this status describes.'],
  replicas: [2, count.always(), 'Pods that exist.'],
  readyReplicas: [3, count, 'Those of them that are ready.'],
  currentReplicas: [4, count, 'Those of them of the current revision.'],
  updatedReplicas: [5, count, 'Those of them of the update revision.'],
  currentRevision: [6, string, 'The revision that pods come from.'],
  updateRevision: [7, string, 'The revision that pods go to.'],
  collisionCount: [9, count.optional(), 'How often names of revisions collided; keeps new names apart.'],
  conditions: [
    10,
    keyed(workloadCondition('StatefulSetCondition', string.always().omittable()), 'type').mergedBy('type'),
    'Latest observations.',
  ],
  availableReplicas: [11, count.always().omittable(), 'Those that have been ready for minReadySeconds.'],
})
export type StatefulSetStatus = Static<typeof StatefulSetStatus>
