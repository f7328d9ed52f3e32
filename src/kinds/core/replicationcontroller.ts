/** ReplicationController keeps a set of identical pods at a desired size; ReplicaSet succeeded it. */

import { deepEqual } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain, ofNamesAlone } from '../../lib/names.ts'
import { age, formatLabels } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, notFoundValue, type Ref, refTo, required, withValue } from '../../schema/refs.ts'
import { printLabelSelector, sortedByKey } from '../../schema/selectors.ts'
import { int64, keyed, mapOf, message, type Static, string } from '../../schema/types.ts'
import { formerCondition } from '../rules/former-condition.ts'
import { dropDisabledTemplateFields } from '../rules/pod/features.ts'
import { PodTemplateSpec } from '../rules/pod/spec.ts'
import {
  count,
  REPLICAS_SCALE,
  type Stored,
  validateLastingTemplate,
  validateReplicaCounts,
  warnAboutName,
  warnAboutTemplate,
} from '../rules/workload.ts'

const ReplicationControllerSpec = message('ReplicationControllerSpec', {
  replicas: [1, count.optional().publishedDefault(1), 'How many pods should exist.'],
  minReadySeconds: [4, count.openapiDefault(0), 'Seconds a pod must be ready to count as available.'],
  selector: [2, mapOf(string).atomic(), 'Labels of the pods that are counted; defaults to those of the template.'],
  template: [3, PodTemplateSpec, 'The template of missing pods.'],
})
type Spec = Static<typeof ReplicationControllerSpec>

const ReplicationControllerStatus = message('ReplicationControllerStatus', {
  replicas: [1, count.always(), 'Pods that exist and are not being deleted.'],
  fullyLabeledReplicas: [2, count, 'Those of them with every label of the template.'],
  readyReplicas: [4, count, 'Those of them that are ready.'],
  availableReplicas: [5, count, 'Those of them that have been ready for minReadySeconds.'],
  observedGeneration: [3, int64.min(0), 'The generation this status describes.'],
  conditions: [6, keyed(formerCondition('ReplicationControllerCondition'), 'type').mergedBy('type'), 'Latest observations.'],
})

export const ReplicationController = defineKind({
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  scope: 'Namespaced',
  names: { plural: 'replicationcontrollers', short: ['rc'], categories: ['all'] },
  keptUnder: 'controllers',
  name: ofNamesAlone(nameIsDNSSubdomain),
  doc: 'Keeps a set of identical pods at a wanted size.',
  spec: ReplicationControllerSpec,
  status: ReplicationControllerStatus,
  generation: true,

  defaults({ metadata, spec }) {
    const labels = spec.template?.metadata.labels
    if (!labels || Object.keys(labels).length === 0) return
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels }
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels }
  },
  prepareForCreate({ spec }, ctx) {
    if (spec.template) dropDisabledTemplateFields(spec.template, undefined, ctx.gate)
  },
  prepareForUpdate({ spec }, old, ctx) {
    if (spec.template) dropDisabledTemplateFields(spec.template, old.spec.template, ctx.gate)
  },
  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateSpec(spec, at, { old: old?.spec.template, gate })
    if (old) yield* validateUnconverted(spec, at, old)
  },
  *warn({ metadata, spec: { template } }, old) {
    if (old === undefined) yield* warnAboutName(metadata)
    if (template && (old === undefined || metadata.generation !== old.metadata.generation))
      yield* warnAboutTemplate(template, refTo(template, 'spec.template'))
  },

  deletion: { propagation: 'Orphan' },

  subresources: {
    status: { validate: ({ status }, { status: at }) => validateReplicaCounts(status, at, 'fullyLabeledReplicas') },
    scale: { ...REPLICAS_SCALE, selector: o => selectorText(o.spec.selector) },
  },

  selectable: { 'status.replicas': o => o.status.replicas },
  columns: {
    Desired: [
      'integer',
      o => o.spec.replicas,
      'Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller',
    ],
    Current: [
      'integer',
      o => o.status.replicas,
      'Replicas is the most recently observed number of replicas. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller',
    ],
    Ready: ['integer', o => o.status.readyReplicas ?? 0, 'The number of ready replicas for this replication controller.'],
    Age: age,
    Containers: ['string', o => containers(o.spec, 'name'), 'Names of each container in the template.', 'wide'],
    Images: ['string', o => containers(o.spec, 'image'), 'Images referenced by each container in the template.', 'wide'],
    Selector: [
      'string',
      o => formatLabels(o.spec.selector),
      'Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is defaulted to the labels present on the Pod template. Label keys and values that must match in order to be controlled by this replication controller, if empty defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
      'wide',
    ],
  },
})

/** An object of the kind ReplicationController. */
export type ReplicationController = ObjectOf<typeof ReplicationController>

function* validateSpec({ selector = {}, template }: Spec, at: Ref<Spec>, stored: Stored): Iterable<FieldError> {
  if (Object.keys(selector).length === 0) yield required(at.selector)
  if (!template) return yield required(at.template)
  const { labels } = template.metadata
  const matches = Object.entries(selector).every(([key, value]) => Object.hasOwn(labels ?? {}, key) && labels![key] === value)
  if (!matches) yield invalid(withValue(at.template.metadata.labels, labels ?? null), '`selector` does not match template `labels`')
  yield* validateLastingTemplate(template, at.template, { owner: 'ReplicationController', ...stored })
}

/** Annotations left by conversions that could not represent a field; that field is then immutable. */
const UNCONVERTED = 'non-convertible.kubernetes.io'

function* validateUnconverted(
  spec: Spec,
  at: Ref<Spec>,
  old: { readonly metadata: { readonly annotations?: Record<string, string> }; readonly spec: Spec },
): Iterable<FieldError> {
  for (const [key, value] of Object.entries(old.metadata.annotations ?? {})) {
    const [, field, ...more] = key.split('/')
    if (!key.startsWith(UNCONVERTED) || field === undefined || more.length > 0) continue
    if (!field.includes('selector')) {
      const error = notFoundValue(refTo(value, field))
      yield { ...error, message: `${error.message}: unknown non-convertible field` }
    } else if (!deepEqual(spec.selector, old.spec.selector)) yield invalid(at.selector, 'cannot update non-convertible selector')
  }
}

const containers = ({ template }: Spec, part: 'name' | 'image') => template?.spec.containers?.map(c => c[part] ?? '').join(',') ?? ''

const selectorText = (selector: Record<string, string> = {}) =>
  printLabelSelector(sortedByKey(Object.entries(selector).map(([key, value]) => ({ key, operator: '=', values: [value] }))))
