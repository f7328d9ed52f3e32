/** DaemonSet runs one copy of a pod on every matching node. */
import { goQuote } from '../../lib/go-text.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { age, formatLabels } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, invalid, type Ref, refTo, required, unsupported, withValue } from '../../schema/refs.ts'
import { badRequest } from '../../schema/status-error.ts'
import { int64, intOrString, keyed, message, type Static, string } from '../../schema/types.ts'
import { formerCondition } from '../rules/former-condition.ts'
import { LabelSelector, validateLabelSelector } from '../rules/meta.ts'
import { dropDisabledTemplateFields } from '../rules/pod/features.ts'
import { PodTemplateSpec } from '../rules/pod/spec.ts'
import {
  amountOf,
  containersColumn,
  count,
  imagesColumn,
  selectorCell,
  validateAmount,
  validateAtMostWhole,
  validateCollisions,
  validateNotEmpty,
  validateTemplate,
  warnAboutTemplate,
} from '../rules/workload.ts'

const RollingUpdateDaemonSet = message('RollingUpdateDaemonSet', {
  maxUnavailable: [1, intOrString.optional(), 'How many pods may be missing during the update, or which part of them.'],
  maxSurge: [2, intOrString.optional(), 'How many nodes may run both an old and a new pod, or which part of them.'],
})
type RollingUpdate = Static<typeof RollingUpdateDaemonSet>

const DaemonSetUpdateStrategy = message(
  'DaemonSetUpdateStrategy',
  {
    type: [
      1,
      string.listed('OnDelete', 'RollingUpdate').default('RollingUpdate'),
      'RollingUpdate, or OnDelete to replace pods only when they are deleted.',
    ],
    rollingUpdate: [2, RollingUpdateDaemonSet, 'How fast pods are replaced; only with RollingUpdate.'],
  },
  {
    defaults(strategy) {
      if (strategy.type === 'RollingUpdate') strategy.rollingUpdate = { maxUnavailable: 1, maxSurge: 0, ...strategy.rollingUpdate }
    },
  },
)
type UpdateStrategy = Static<typeof DaemonSetUpdateStrategy>

const DaemonSetSpec = message('DaemonSetSpec', {
  selector: [1, LabelSelector.always().immutable(), 'Selects its pods; must match the labels of the template.'],
  template: [2, PodTemplateSpec.orEmpty().expected(), 'The pod that every matching node gets.'],
  updateStrategy: [3, DaemonSetUpdateStrategy.orEmpty(), 'How pods are replaced when the template changes.'],
  minReadySeconds: [4, count, 'Seconds a new pod must be ready to count as available.'],
  revisionHistoryLimit: [6, count.optional().default(10), 'How many old revisions are kept.'],
})

const DaemonSetStatus = message('DaemonSetStatus', {
  currentNumberScheduled: [1, count.always(), 'Nodes that run the pod and should.'],
  numberMisscheduled: [2, count.always(), 'Nodes that run the pod and should not.'],
  desiredNumberScheduled: [3, count.always(), 'Nodes that should run the pod.'],
  numberReady: [4, count.always(), 'Nodes that should run the pod and have a ready one.'],
  observedGeneration: [5, int64.min(0), 'The generation this status describes.'],
  updatedNumberScheduled: [6, count, 'Nodes that run a pod of the current template.'],
  numberAvailable: [7, count, 'Nodes that should run the pod and have an available one.'],
  numberUnavailable: [8, count, 'Nodes that should run the pod and have no available one.'],
  collisionCount: [9, count.optional(), 'How often names of revisions collided; keeps new names unique.'],
  conditions: [
    10,
    keyed(formerCondition('DaemonSetCondition', string.always().omittable()), 'type').mergedBy('type'),
    'Latest observations.',
  ],
})

export const DaemonSet = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  scope: 'Namespaced',
  names: { plural: 'daemonsets', short: ['ds'], categories: ['all'] },
  blank: { metadata: { annotations: { 'deprecated.daemonset.template.generation': '0' } } },
  doc: 'Runs one copy of a pod on every matching node.',
  spec: DaemonSetSpec.expected(),
  status: DaemonSetStatus,
  generation: true,
  bodyAnnotations: ['deprecated.daemonset.template.generation'],

  defaults({ metadata }) {
    const text = metadata.annotations?.[TEMPLATE_GENERATION]
    if (text !== undefined && !/^[+-]?\d+$/.test(text))
      throw badRequest(
        `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`,
      )
    // Set even before the server increments it, so the field manager of the write owns it.
    setTemplateGeneration(metadata, templateGeneration(metadata))
  },
  prepareForCreate({ metadata, spec }, ctx) {
    setTemplateGeneration(metadata, Math.max(1, templateGeneration(metadata)))
    dropDisabledTemplateFields(spec.template, undefined, ctx.gate)
  },
  prepareForUpdate({ metadata, spec }, old, ctx) {
    dropDisabledTemplateFields(spec.template, old.spec.template, ctx.gate)
    const changed = !deepEqual(spec.template, old.spec.template)
    setTemplateGeneration(metadata, templateGeneration(old.metadata) + (changed ? 1 : 0))
  },

  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateLabelSelector(spec.selector, at.selector)
    yield* validateTemplate(spec, at, { owner: 'DaemonSet', old: old?.spec.template, gate })
    yield* validateNotEmpty(spec.selector, at.selector, 'daemonset')
    yield* validateUpdateStrategy(spec.updateStrategy, at.updateStrategy)
  },
  *warn(o, old) {
    if (old === undefined || templateGeneration(o.metadata) !== templateGeneration(old.metadata))
      yield* warnAboutTemplate(o.spec.template, refTo(o.spec.template, 'spec.template'))
  },

  subresources: {
    status: {
      *validate() {},
      validateUpdate: ({ status }, old, { status: at }) => validateCollisions(status, old.status, at),
    },
  },

  columns: {
    Desired: [
      'integer',
      o => o.status.desiredNumberScheduled,
      'The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/',
    ],
    Current: [
      'integer',
      o => o.status.currentNumberScheduled,
      'The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/',
    ],
    Ready: [
      'integer',
      o => o.status.numberReady,
      'numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod running with a Ready Condition.',
    ],
    'Up-to-date': ['integer', o => o.status.updatedNumberScheduled ?? 0, 'The total number of nodes that are running updated daemon pod'],
    Available: [
      'integer',
      o => o.status.numberAvailable ?? 0,
      'The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available (ready for at least spec.minReadySeconds)',
    ],
    'Node Selector': [
      'string',
      o => formatLabels(o.spec.template.spec.nodeSelector),
      "NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a node's labels for the pod to be scheduled on that node. More info: https://kubernetes.io/docs/concepts/configuration/assign-pod-node/",
    ],
    Age: age,
    Containers: containersColumn,
    Images: imagesColumn,
    Selector: [
      'string',
      selectorCell,
      "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
      'wide',
    ],
  },
})

/** An object of the kind DaemonSet. */
export type DaemonSet = ObjectOf<typeof DaemonSet>

/** Counts changes of the template; an annotation since its field was removed. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'
const templateGeneration = ({ annotations }: ObjectMeta) => Number(annotations?.[TEMPLATE_GENERATION] ?? 0)
function setTemplateGeneration(metadata: ObjectMeta, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) }
}

function* validateUpdateStrategy({ type, rollingUpdate }: UpdateStrategy, at: Ref<UpdateStrategy>): Iterable<FieldError> {
  if (type === 'RollingUpdate') {
    if (rollingUpdate) yield* validateRollingUpdate(rollingUpdate, at.rollingUpdate)
    else yield required(at.rollingUpdate)
  } else if (type !== 'OnDelete') {
    // kube-apiserver shows the strategy with the field names of its internal type.
    const shown = rollingUpdate ? { MaxUnavailable: rollingUpdate.maxUnavailable ?? 0, MaxSurge: rollingUpdate.maxSurge ?? 0 } : null
    yield unsupported(withValue(at, { Type: type, RollingUpdate: shown }), 'RollingUpdate', 'OnDelete')
  }
}

/** Exactly one of maxUnavailable and maxSurge is not zero. */
function* validateRollingUpdate({ maxUnavailable = 0, maxSurge = 0 }: RollingUpdate, at: Ref<RollingUpdate>): Iterable<FieldError> {
  yield* validateAmount(maxUnavailable, at.maxUnavailable)
  yield* validateAmount(maxSurge, at.maxSurge)
  yield* validateAtMostWhole(maxUnavailable, at.maxUnavailable)
  yield* validateAtMostWhole(maxSurge, at.maxSurge)
  const [missing, more] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0]
  if (missing && more) yield invalid(at.maxSurge, 'may not be set when maxUnavailable is non-zero')
  if (!missing && !more) yield required(at.maxUnavailable, 'cannot be 0 when maxSurge is 0')
}
