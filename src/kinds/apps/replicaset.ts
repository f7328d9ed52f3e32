/** ReplicaSet keeps a set of identical pods at a desired size. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { refTo } from '../../schema/refs.ts'
import { int64, keyed, message, string } from '../../schema/types.ts'
import { formerCondition } from '../rules/former-condition.ts'
import { LabelSelector, selectorText } from '../rules/meta.ts'
import { dropDisabledTemplateFields } from '../rules/pod/features.ts'
import { PodTemplateSpec } from '../rules/pod/spec.ts'
import {
  containersColumn,
  count,
  dropTerminating,
  imagesColumn,
  REPLICAS_SCALE,
  selectorCell,
  validateReplicaCounts,
  validateReplicated,
  warnAboutName,
  warnAboutTemplate,
} from '../rules/workload.ts'

const ReplicaSetSpec = message('ReplicaSetSpec', {
  replicas: [1, count.optional().default(1), 'How many pods should exist.'],
  minReadySeconds: [4, count, 'Seconds a pod must be ready to count as available.'],
  selector: [2, LabelSelector.required().immutable(), 'Which pods are counted; must match the labels of the template.'],
  template: [3, PodTemplateSpec.orEmpty(), 'The template of missing pods.'],
})

const ReplicaSetStatus = message('ReplicaSetStatus', {
  replicas: [1, count.always(), 'Pods that exist and are not being deleted.'],
  fullyLabeledReplicas: [2, count, 'Those of them with every label of the template.'],
  readyReplicas: [4, count, 'Those of them that are ready.'],
  availableReplicas: [5, count, 'Those of them that have been ready for minReadySeconds.'],
  terminatingReplicas: [7, count.optional(), 'Pods being deleted.'],
  observedGeneration: [3, int64.min(0), 'The generation this status describes.'],
  conditions: [
    6,
    keyed(formerCondition('ReplicaSetCondition', string.always().omittable()), 'type').mergedBy('type'),
    'Latest observations.',
  ],
})

export const ReplicaSet = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  scope: 'Namespaced',
  names: { plural: 'replicasets', short: ['rs'], categories: ['all'] },
  blank: { spec: { replicas: 0 } },
  doc: 'Keeps a set of identical pods at a wanted size.',
  spec: ReplicaSetSpec.expected(),
  status: ReplicaSetStatus,
  generation: true,

  prepareForCreate: ({ spec }, ctx) => dropDisabledTemplateFields(spec.template, undefined, ctx.gate),
  prepareForUpdate: ({ spec }, old, ctx) => dropDisabledTemplateFields(spec.template, old.spec.template, ctx.gate),
  validate: ({ spec }, { spec: at }, { old, gate }) => validateReplicated(spec, at, { old: old?.spec.template, gate }),
  *warn(o, old) {
    if (old === undefined) yield* warnAboutName(o.metadata)
    if (old === undefined || o.metadata.generation !== old.metadata.generation)
      yield* warnAboutTemplate(o.spec.template, refTo(o.spec.template, 'spec.template'))
  },

  subresources: {
    status: {
      prepareForUpdate: ({ status }, old, ctx) => dropTerminating(status, old.status, ctx),
      validate: ({ status }, { status: at }) => validateReplicaCounts(status, at, 'fullyLabeledReplicas'),
      *validateUpdate() {},
    },
    scale: { ...REPLICAS_SCALE, selector: o => selectorText(o.spec.selector) },
  },

  columns: {
    Desired: [
      'integer',
      o => o.spec.replicas,
      'Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset',
    ],
    Current: [
      'integer',
      o => o.status.replicas,
      'Replicas is the most recently observed number of non-terminating pods. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset',
    ],
    Ready: [
      'integer',
      o => o.status.readyReplicas ?? 0,
      'The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition.',
    ],
    Age: age,
    Containers: containersColumn,
    Images: imagesColumn,
    Selector: [
      'string',
      selectorCell,
      "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
      'wide',
    ],
  },
})

/** An object of the kind ReplicaSet. */
export type ReplicaSet = ObjectOf<typeof ReplicaSet>
