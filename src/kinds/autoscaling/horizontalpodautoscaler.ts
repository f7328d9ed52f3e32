/** HorizontalPodAutoscaler scales a workload according to its metrics. */

import { copyJson } from '../../lib/json-value.ts'
import { isValidPathSegmentName } from '../../lib/names.ts'
import { parseQuantity, quantitySign } from '../../lib/quantity.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, unsupported } from '../../schema/refs.ts'
import { atomic, int32, int64, keyed, message, quantity, type Static, string, time } from '../../schema/types.ts'
import { validateContainerResourceName, validateNonNegativeQuantity } from '../rules/pod/resources/resource-rules.ts'
import { validateLabelText, validateNonNegative } from '../rules/text-rules.ts'
import {
  CrossVersionObjectReference,
  type MetricIdentifier,
  MetricSpec,
  MetricStatus,
  type MetricTarget,
  type ObjectReference,
} from './metric-shapes.ts'

const HPAScalingPolicy = message('HPAScalingPolicy', {
  type: [1, string.always(), 'The unit of the value: Pods or Percent.'],
  value: [2, int32.always(), 'How much may change in a period.'],
  periodSeconds: [3, int32.always(), 'How long a period is, up to half an hour.'],
})
type ScalingPolicy = Static<typeof HPAScalingPolicy>

const HPAScalingRules = message('HPAScalingRules', {
  stabilizationWindowSeconds: [3, int32.optional(), 'How far back recommendations are looked at, up to an hour.'],
  selectPolicy: [1, string.optional(), 'Which policy counts: Max, Min, or Disabled for no change.'],
  policies: [2, atomic(HPAScalingPolicy), 'How fast the size may change.'],
  tolerance: [4, quantity.optional(), 'Differences up to this part are left alone.'],
})
type ScalingRules = Static<typeof HPAScalingRules>

export const HorizontalPodAutoscalerBehavior = message('HorizontalPodAutoscalerBehavior', {
  scaleUp: [1, HPAScalingRules, 'How it grows.'],
  scaleDown: [2, HPAScalingRules, 'How it shrinks.'],
})

const HorizontalPodAutoscalerSpec = message('HorizontalPodAutoscalerSpec', {
  scaleTargetRef: [1, CrossVersionObjectReference.orEmpty().expected(), 'The object that is scaled.'],
  minReplicas: [2, int32.optional().default(1), 'The least size.'],
  maxReplicas: [3, int32.always(), 'The greatest size.'],
  metrics: [4, atomic(MetricSpec), 'The metrics; the largest number of replicas that any of them proposes is used.'],
  behavior: [5, HorizontalPodAutoscalerBehavior, 'How fast the size changes.'],
})
type Spec = Static<typeof HorizontalPodAutoscalerSpec>

export const HorizontalPodAutoscalerCondition = message('HorizontalPodAutoscalerCondition', {
  type: [1, string.always(), 'The type of the condition.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  lastTransitionTime: [3, time.always(), 'When the status last changed.'],
  reason: [4, string, 'A CamelCase reason for the last transition.'],
  message: [5, string, 'The same for people.'],
  observedGeneration: [6, int64.optional(), 'The generation that was looked at.'],
})

const HorizontalPodAutoscalerStatus = message('HorizontalPodAutoscalerStatus', {
  observedGeneration: [1, int64.optional(), 'The generation this status describes.'],
  lastScaleTime: [2, time.optional(), 'When the size was last changed.'],
  currentReplicas: [3, int32, 'The size last seen.'],
  desiredReplicas: [4, int32.always(), 'The number of replicas last computed.'],
  currentMetrics: [5, atomic(MetricStatus).always().omittable(), 'The last measured values.'],
  conditions: [6, keyed(HorizontalPodAutoscalerCondition, 'type').mergedBy('type'), 'Latest observations.'],
})

export const HorizontalPodAutoscaler = defineKind({
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  scope: 'Namespaced',
  names: { plural: 'horizontalpodautoscalers', short: ['hpa'], categories: ['all'] },
  doc: 'Keeps the size of a workload fit for what is measured of it.',
  spec: HorizontalPodAutoscalerSpec.expected(),
  status: HorizontalPodAutoscalerStatus,
  generation: true,
  generationGate: 'HPAGeneration',

  defaults({ metadata, spec }) {
    dropRoundTripAnnotations(metadata)
    if (!spec.metrics?.length) spec.metrics = [averageCpu(DEFAULT_UTILIZATION)]
    if (!spec.behavior) return
    spec.behavior.scaleUp = { ...copyJson(SCALE_UP), ...given(spec.behavior.scaleUp) }
    spec.behavior.scaleDown = { ...copyJson(SCALE_DOWN), ...given(spec.behavior.scaleDown) }
  },
  prepareForCreate: (o, { gate }) => dropTolerance(o.spec, undefined, gate),
  prepareForUpdate: (o, old, { gate }) => dropTolerance(o.spec, old.spec, gate),
  validate: ({ spec }, { spec: at }, { old, gate }) => validateSpec(spec, at, { old: old?.spec, gate }),

  subresources: {
    status: {
      *validate({ status }, { status: at }) {
        for (const [i, { observedGeneration }] of (status.conditions ?? []).entries())
          yield* validateNonNegative(observedGeneration, at.conditions[i]!.observedGeneration)
        yield* validateNonNegative(status.currentReplicas, at.currentReplicas)
        yield* validateNonNegative(status.desiredReplicas, at.desiredReplicas)
      },
    },
  },

  columns: {
    Reference: [
      'string',
      o => `${o.spec.scaleTargetRef.kind}/${o.spec.scaleTargetRef.name}`,
      'scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.',
    ],
    Targets: [
      'string',
      o => metricsCell(o.spec.metrics ?? [], o.status.currentMetrics ?? []),
      'metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond. If not set, the default metric will be set to 80% average CPU utilization.',
    ],
    MinPods: [
      'string',
      o => String(o.spec.minReplicas),
      'minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available.',
    ],
    MaxPods: [
      'string',
      o => o.spec.maxReplicas,
      'maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas.',
    ],
    Replicas: [
      'string',
      o => o.status.currentReplicas ?? 0,
      'currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.',
    ],
    Age: age,
  },
})

/** An object of the kind HorizontalPodAutoscaler. */
export type HorizontalPodAutoscaler = ObjectOf<typeof HorizontalPodAutoscaler>

export const DEFAULT_UTILIZATION = 80

/** A metric with a target of average CPU utilization. */
export const averageCpu = (percent: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: percent } },
})

/** Annotations in which versions with fewer fields keep the other fields. */
export const FORM_ANNOTATIONS = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  scaleUpTolerance: 'autoscaling.alpha.kubernetes.io/scale-up-tolerance',
  scaleDownTolerance: 'autoscaling.alpha.kubernetes.io/scale-down-tolerance',
} as const

/** Removes them from an object that has the fields themselves. */
export function dropRoundTripAnnotations(metadata: ObjectMeta): void {
  const { annotations } = metadata
  if (!annotations || !hasRoundTripAnnotations(metadata)) return
  for (const key of Object.values(FORM_ANNOTATIONS)) delete annotations[key]
  if (Object.keys(annotations).length === 0) delete metadata.annotations
}

/** Whether there is anything to remove: there can be very many other annotations, which then need not be copied. */
export const hasRoundTripAnnotations = ({ annotations }: ObjectMeta): boolean =>
  annotations !== undefined && Object.values(FORM_ANNOTATIONS).some(key => Object.hasOwn(annotations, key))

const SCALE_UP: ScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
}
const SCALE_DOWN: ScalingRules = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] }

const given = (rules: ScalingRules | undefined): ScalingRules =>
  Object.fromEntries(Object.entries(rules ?? {}).filter(([, value]) => value !== undefined && value !== null))

function dropTolerance({ behavior }: Spec, old: Spec | undefined, gate: (name: string) => boolean): void {
  const inUse = old?.behavior?.scaleUp?.tolerance !== undefined || old?.behavior?.scaleDown?.tolerance !== undefined
  if (gate('HPAConfigurableTolerance') || inUse) return
  delete behavior?.scaleUp?.tolerance
  delete behavior?.scaleDown?.tolerance
}

type Write = { readonly old: Spec | undefined; readonly gate: (name: string) => boolean }

function* validateSpec(spec: Spec, at: Ref<Spec>, { old, gate }: Write): Iterable<FieldError> {
  const { minReplicas, maxReplicas, scaleTargetRef: target, metrics = [], behavior } = spec
  if (maxReplicas < minReplicas) yield invalid(at.maxReplicas, 'must be greater than or equal to `minReplicas`')
  const isStored = old?.scaleTargetRef.apiVersion === target.apiVersion && old?.scaleTargetRef.kind === target.kind
  const allowNoGroup = target.kind === 'ReplicationController'
  yield* validateReference(target, at.scaleTargetRef, { allowAnyVersion: old !== undefined && isStored, allowNoGroup })
  for (const [i, metric] of metrics.entries()) yield* validateMetric(metric, at.metrics[i]!, describedOptions(old))
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    yield forbidden(at.metrics, 'must specify at least one Object or External metric to support scaling to zero replicas')
  for (const side of ['scaleUp', 'scaleDown'] as const) if (behavior?.[side]) yield* validateRules(behavior[side], at.behavior[side])
  const least = gate('HPAScaleToZero') || old?.minReplicas === 0 ? 0 : 1
  if (minReplicas < least) yield invalid(at.minReplicas, `must be greater than or equal to ${least}`)
  if (maxReplicas === 0) yield required(at.maxReplicas)
  else if (maxReplicas < 1) yield invalid(at.maxReplicas, 'must be greater than or equal to 1')
}

/** If the stored reference is irregular, irregular ones are accepted. */
function describedOptions(old: Spec | undefined): ReferenceOptions {
  const isOdd = ({ object }: MetricSpec) =>
    object && apiVersionFault(object.describedObject.apiVersion ?? '', { allowNoGroup: true }) !== undefined
  return { allowNoGroup: true, allowAnyVersion: (old?.metrics ?? []).some(isOdd) }
}

const MAX_WINDOW_SECONDS = 3600
const MAX_PERIOD_SECONDS = 1800

function* validateRules(rules: ScalingRules, at: Ref<ScalingRules>): Iterable<FieldError> {
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [], tolerance } = rules
  if (window < 0) yield invalid(at.stabilizationWindowSeconds, 'must be greater than or equal to zero')
  if (window > MAX_WINDOW_SECONDS) yield invalid(at.stabilizationWindowSeconds, `must be less than or equal to ${MAX_WINDOW_SECONDS}`)
  if (selectPolicy !== undefined && !['Disabled', 'Max', 'Min'].includes(selectPolicy))
    yield unsupported(at.selectPolicy, 'Disabled', 'Max', 'Min')
  if (policies.length === 0) yield required(at.policies, 'must specify at least one Policy')
  for (const [i, policy] of policies.entries()) yield* validatePolicy(policy, at.policies[i]!)
  if (tolerance !== undefined) yield* validateNonNegativeQuantity(tolerance, at.tolerance)
}

function* validatePolicy({ type, value, periodSeconds }: ScalingPolicy, at: Ref<ScalingPolicy>): Iterable<FieldError> {
  if (type !== 'Pods' && type !== 'Percent') yield unsupported(at.type, 'Percent', 'Pods')
  if (value <= 0) yield invalid(at.value, 'must be greater than zero')
  if (periodSeconds <= 0) yield invalid(at.periodSeconds, 'must be greater than zero')
  if (periodSeconds > MAX_PERIOD_SECONDS) yield invalid(at.periodSeconds, `must be less than or equal to ${MAX_PERIOD_SECONDS}`)
}

/** Options for the API version of a referenced object. */
type ReferenceOptions = { readonly allowNoGroup?: boolean; readonly allowAnyVersion?: boolean }

/** Rules for a reference to an object. */
function* validateReference(ref: ObjectReference, at: Ref<ObjectReference>, options: ReferenceOptions): Iterable<FieldError> {
  for (const field of ['kind', 'name'] as const)
    if (!ref[field]) yield required(at[field])
    else yield* invalidEach(at[field], isValidPathSegmentName(ref[field]))
  const fault = apiVersionFault(ref.apiVersion ?? '', options)
  if (fault !== undefined) yield invalid(at.apiVersion, fault)
}

/** The error of a reference's API version. */
function apiVersionFault(apiVersion: string, { allowNoGroup, allowAnyVersion }: ReferenceOptions): string | undefined {
  if (allowAnyVersion) return undefined
  const slashes = apiVersion.split('/').length - 1
  if (slashes > 1) return `unexpected GroupVersion string: ${apiVersion}`
  const group = slashes === 1 ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return group === '' && !allowNoGroup ? 'apiVersion must specify API group' : undefined
}

const SOURCES = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
} as const
const TYPES = Object.keys(SOURCES).sort()

/** Rules for one metric: it has exactly the source that its type names. */
function* validateMetric(metric: MetricSpec, at: Ref<MetricSpec>, options: ReferenceOptions): Iterable<FieldError> {
  const { type } = metric
  const isKnown = Object.hasOwn(SOURCES, type)
  if (!type) yield required(at.type, 'must specify a metric source type')
  if (!isKnown) yield unsupported(at.type, ...TYPES)
  const present = Object.values(SOURCES).filter(source => metric[source] !== undefined)
  if (present.length > 0) yield* validateSource(metric, at, { source: present[0]!, options })
  if (!isKnown) yield unsupported(at.type, ...TYPES)
  const own = isKnown ? SOURCES[type as keyof typeof SOURCES] : undefined
  if (own && !metric[own]) yield required(at[own], 'must populate information for the given metric source')
  if (present.length === 1) return
  for (const source of present) if (source !== own) yield forbidden(at[source], 'must populate the given metric source only')
}

type Source = { readonly source: (typeof SOURCES)[keyof typeof SOURCES]; readonly options: ReferenceOptions }

function* validateSource(metric: MetricSpec, at: Ref<MetricSpec>, { source, options }: Source): Iterable<FieldError> {
  const { target } = metric[source]!
  const here = at[source]
  if (source === 'object') yield* validateReference(metric.object!.describedObject, at.object.describedObject, options)
  if (source === 'resource' || source === 'containerResource') yield* validateResource(metric, at, source)
  else yield* validateIdentifier(metric[source]!.metric, at[source].metric)
  yield* validateTarget(target, here.target)
  yield* validateAim(target, here.target, source)
}

function* validateResource(metric: MetricSpec, at: Ref<MetricSpec>, source: 'resource' | 'containerResource'): Iterable<FieldError> {
  const { name } = metric[source]!
  if (!name) yield required(at[source].name, 'must specify a resource name')
  if (source === 'resource') return
  if (name) yield* validateContainerResourceName(name, at.containerResource.name)
  const { container } = metric.containerResource!
  if (!container) yield required(at.containerResource.container, 'must specify a container')
  else yield* validateLabelText(container, at.containerResource.container)
}

function* validateIdentifier({ name }: MetricIdentifier, at: Ref<MetricIdentifier>): Iterable<FieldError> {
  if (!name) yield required(at.name, 'must specify a metric name')
  else yield* invalidEach(at.name, isValidPathSegmentName(name))
}

function* validateTarget({ type, value, averageValue, averageUtilization }: MetricTarget, at: Ref<MetricTarget>): Iterable<FieldError> {
  if (!type) yield required(at.type, 'must specify a metric target type')
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) yield invalid(at.type, 'must be either Utilization, Value, or AverageValue')
  if (value !== undefined && !isPositive(value)) yield invalid(at.value, 'must be positive')
  if (averageValue !== undefined && !isPositive(averageValue)) yield invalid(at.averageValue, 'must be positive')
  if (averageUtilization !== undefined && averageUtilization < 1) yield invalid(at.averageUtilization, 'must be greater than 0')
}

const isPositive = (amount: string) => quantitySign(parseQuantity(amount)) > 0

/** Each source allows certain types of targets. */
function* validateAim(
  { value, averageValue, averageUtilization }: MetricTarget,
  at: Ref<MetricTarget>,
  source: Source['source'],
): Iterable<FieldError> {
  switch (source) {
    case 'object':
      if (value === undefined && averageValue === undefined)
        yield required(at.averageValue, 'must set either a target value or averageValue')
      return
    case 'external':
      if (value === undefined && averageValue === undefined)
        yield required(at.averageValue, 'must set either a target value for metric or a per-pod target')
      if (value !== undefined && averageValue !== undefined)
        yield forbidden(at.value, 'may not set both a target value for metric and a per-pod target')
      return
    case 'pods':
      if (averageValue === undefined) yield required(at.averageValue, 'must specify a positive target averageValue')
      return
    default:
      if (averageUtilization === undefined && averageValue === undefined)
        yield required(at.averageUtilization, 'must set either a target raw value or a target utilization')
      if (averageUtilization !== undefined && averageValue !== undefined)
        yield forbidden(at.averageValue, 'may not set both a target raw value and a target utilization')
  }
}

const SHOWN = 2
const UNKNOWN = '<unknown>'

/** The first metrics, each with the status at the same index. */
function metricsCell(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return '<none>'
  const shown = specs.slice(0, SHOWN).map((spec, i) => metricText(spec, statuses[i]))
  const more = specs.length > SHOWN ? ` + ${specs.length - SHOWN} more...` : ''
  return shown.join(', ') + more
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case 'External':
      return valueText(spec.external?.target, status?.external?.current)
    case 'Object':
      return valueText(spec.object?.target, status?.object?.current)
    case 'Pods':
      return `${status?.pods ? (status.pods.current.averageValue ?? NOTHING) : UNKNOWN}/${spec.pods?.target.averageValue ?? NOTHING}`
    case 'Resource':
      return resourceText(spec.resource, status?.resource?.current)
    case 'ContainerResource':
      return resourceText(spec.containerResource, status?.containerResource?.current)
    default:
      return '<unknown type>'
  }
}

const NOTHING = '<nil>'

type Aim = { readonly value?: string; readonly averageValue?: string; readonly averageUtilization?: number }

function valueText(target: Aim = {}, current: Aim | undefined): string {
  if (target.averageValue !== undefined) return `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`
  return `${current ? (current.value ?? NOTHING) : UNKNOWN}/${target.value ?? NOTHING}`
}

function resourceText(source: { readonly name: string; readonly target: Aim } | undefined, current: Aim | undefined): string {
  const { name = '', target = {} } = source ?? {}
  if (target.averageValue !== undefined) return `${name}: ${current ? (current.averageValue ?? NOTHING) : UNKNOWN}/${target.averageValue}`
  const percent = (value: number | undefined, otherwise: string) => (value === undefined ? otherwise : `${value}%`)
  return `${name}: ${percent(current?.averageUtilization, UNKNOWN)}/${percent(target.averageUtilization, '<auto>')}`
}
