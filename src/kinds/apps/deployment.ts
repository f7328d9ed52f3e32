/** Deployment keeps identical pods running and replaces them step by step when their template changes. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, forbidden, invalid, type Ref, refTo, required, unsupported, withValue } from '../../schema/refs.ts'
import { bool, int64, intOrString, keyed, message, type Static, string, time } from '../../schema/types.ts'
import { LabelSelector, labelTermsOf, selectorText } from '../rules/meta.ts'
import { dropDisabledTemplateFields } from '../rules/pod/features.ts'
import { PodTemplateSpec } from '../rules/pod/spec.ts'
import {
  amountOf,
  containersColumn,
  count,
  dropTerminating,
  imagesColumn,
  REPLICAS_SCALE,
  validateAmount,
  validateAtMostWhole,
  validateCollisions,
  validateReplicaCounts,
  validateReplicated,
  warnAboutName,
  warnAboutTemplate,
} from '../rules/workload.ts'

const RollingUpdateDeployment = message('RollingUpdateDeployment', {
  maxUnavailable: [1, intOrString.optional(), 'How many pods may be missing during the update, or which part of them.'],
  maxSurge: [2, intOrString.optional(), 'How many pods there may be too many, or which part of them.'],
})
type RollingUpdate = Static<typeof RollingUpdateDeployment>

const DeploymentStrategy = message(
  'DeploymentStrategy',
  {
    type: [
      1,
      string.listed('Recreate', 'RollingUpdate').default('RollingUpdate'),
      'RollingUpdate, or Recreate to end all old pods before any new one.',
    ],
    rollingUpdate: [2, RollingUpdateDeployment, 'How fast pods are replaced; only with RollingUpdate.'],
  },
  {
    defaults(strategy) {
      if (strategy.type === 'RollingUpdate') strategy.rollingUpdate = { maxUnavailable: '25%', maxSurge: '25%', ...strategy.rollingUpdate }
    },
  },
)
type Strategy = Static<typeof DeploymentStrategy>

const DeploymentSpec = message('DeploymentSpec', {
  replicas: [1, count.optional().default(1), 'How many pods should exist.'],
  selector: [2, LabelSelector.required().immutable(), 'Selects its pods; must match the labels of the template.'],
  template: [3, PodTemplateSpec.orEmpty().expected(), 'The template of pods.'],
  strategy: [4, DeploymentStrategy.retainingKeys().orEmpty(), 'How pods are replaced when the template changes.'],
  minReadySeconds: [5, count, 'Seconds a new pod must be ready to count as available.'],
  revisionHistoryLimit: [6, count.optional().default(10), 'How many old ReplicaSets are kept.'],
  paused: [7, bool, 'Whether changes of the template wait.'],
  progressDeadlineSeconds: [9, count.optional().default(600), 'Seconds without progress after which the deployment has failed.'],
})

const DeploymentCondition = message('DeploymentCondition', {
  type: [1, string.always().omittable(), 'The type of the condition.'],
  status: [2, string.always().omittable(), 'Whether it holds: True, False or Unknown.'],
  lastUpdateTime: [6, time.always(), 'When it was last written.'],
  lastTransitionTime: [7, time.always(), 'When the status last changed.'],
  reason: [4, string, 'A CamelCase reason for the last transition.'],
  message: [5, string, 'The same for people.'],
})

const DeploymentStatus = message('DeploymentStatus', {
  observedGeneration: [1, int64.min(0), 'The generation this status describes.'],
  replicas: [2, count, 'Pods that exist and are not being deleted.'],
  updatedReplicas: [3, count, 'Those of them that are of the current template.'],
  readyReplicas: [7, count, 'Those of them that are ready.'],
  availableReplicas: [4, count, 'Those of them that have been ready for minReadySeconds.'],
  unavailableReplicas: [5, count, 'Pods still needed to be complete.'],
  terminatingReplicas: [9, count.optional(), 'Pods being deleted.'],
  conditions: [6, keyed(DeploymentCondition, 'type').mergedBy('type'), 'Latest observations.'],
  collisionCount: [8, count.optional(), 'How often names of ReplicaSets collided; keeps new names unique.'],
})

export const Deployment = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  scope: 'Namespaced',
  names: { plural: 'deployments', short: ['deploy'], categories: ['all'] },
  blank: { spec: { replicas: 0 } },
  doc: 'Keeps identical pods running and replaces them step by step.',
  spec: DeploymentSpec.expected(),
  status: DeploymentStatus,
  // Annotations count, because they are copied to the ReplicaSets.
  generation: o => [o.spec, o.metadata.annotations],

  prepareForCreate: ({ spec }, ctx) => dropDisabledTemplateFields(spec.template, undefined, ctx.gate),
  prepareForUpdate: ({ spec }, old, ctx) => dropDisabledTemplateFields(spec.template, old.spec.template, ctx.gate),
  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateReplicated(spec, at, { old: old?.spec.template, gate })
    yield* validateStrategy(spec.strategy, at.strategy)
    if (spec.progressDeadlineSeconds <= (spec.minReadySeconds ?? 0))
      yield invalid(at.progressDeadlineSeconds, 'must be greater than minReadySeconds')
  },
  *warn(o, old) {
    if (old === undefined) yield* warnAboutName(o.metadata)
    if (old === undefined || o.metadata.generation !== old.metadata.generation)
      yield* warnAboutTemplate(o.spec.template, refTo(o.spec.template, 'spec.template'))
  },

  subresources: {
    status: {
      resetFields: ['spec', 'metadata.labels'],
      prepareForUpdate({ metadata, status }, old, ctx) {
        if (old.metadata.labels) metadata.labels = old.metadata.labels
        else delete metadata.labels
        dropTerminating(status, old.status, ctx)
      },
      validate: ({ status }, { status: at }) => validateReplicaCounts(status, at, 'updatedReplicas'),
      validateUpdate: ({ status }, old, { status: at }) => validateCollisions(status, old.status, at),
    },
    scale: { ...REPLICAS_SCALE, selector: o => selectorText(o.spec.selector) },
  },

  columns: {
    Ready: ['string', o => `${o.status.readyReplicas ?? 0}/${o.spec.replicas}`, 'Number of the pod with ready state'],
    'Up-to-date': [
      'string',
      o => o.status.updatedReplicas ?? 0,
      'Total number of non-terminating pods targeted by this deployment that have the desired template spec.',
    ],
    Available: [
      'string',
      o => o.status.availableReplicas ?? 0,
      'Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.',
    ],
    Age: age,
    Containers: containersColumn,
    Images: imagesColumn,
    Selector: [
      'string',
      o => (labelTermsOf(o.spec.selector) ? selectorText(o.spec.selector) : '<invalid>'),
      "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
      'wide',
    ],
  },
})

/** An object of the kind Deployment. */
export type Deployment = ObjectOf<typeof Deployment>

function* validateStrategy({ type, rollingUpdate }: Strategy, at: Ref<Strategy>): Iterable<FieldError> {
  switch (type) {
    case 'Recreate':
      if (rollingUpdate) yield forbidden(at.rollingUpdate, "may not be specified when strategy `type` is 'Recreate'")
      break
    case 'RollingUpdate':
      if (rollingUpdate) yield* validateRollingUpdate(rollingUpdate, at.rollingUpdate)
      else yield required(at.rollingUpdate, 'this should be defaulted and never be nil')
      break
    default: {
      // kube-apiserver shows the strategy with the field names of its internal type.
      const shown = rollingUpdate ? { MaxUnavailable: rollingUpdate.maxUnavailable ?? 0, MaxSurge: rollingUpdate.maxSurge ?? 0 } : null
      yield unsupported(withValue(at, { Type: type, RollingUpdate: shown }), 'Recreate', 'RollingUpdate')
    }
  }
}

function* validateRollingUpdate({ maxUnavailable = 0, maxSurge = 0 }: RollingUpdate, at: Ref<RollingUpdate>): Iterable<FieldError> {
  yield* validateAmount(maxUnavailable, at.maxUnavailable)
  yield* validateAmount(maxSurge, at.maxSurge)
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) yield invalid(at.maxUnavailable, 'may not be 0 when `maxSurge` is 0')
  yield* validateAtMostWhole(maxUnavailable, at.maxUnavailable)
}
