/**
 * Decides the size of the target of an autoscaler from its current size, the metrics and the memory: the size that the target should
 * have, and the conditions and events that tell why.
 */

import type { Notice } from '../../client/event-recorder.ts'
import type { HorizontalPodAutoscaler } from '../../kinds/autoscaling/horizontalpodautoscaler.ts'
import type { MetricIdentifier, MetricSpec, MetricStatus } from '../../kinds/autoscaling/metric-shapes.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { goLabelSelector } from '../../lib/go-text.ts'
import { milliValue, parseQuantity, quantityOf } from '../../lib/quantity.ts'
import { conditionOf, isConditionTrue, transitionTime, withCondition } from '../../schema/conditions.ts'
import { type LabelTerms, matchesLabelTerms, parseLabelSelector } from '../../schema/selectors.ts'
import { afterScaling, type Finding, type Memory, normalize } from './behavior.ts'
import type { Measured } from './measure.ts'
import { averageReplicas, dividedReplicas, MetricError, type Situation, utilizationReplicas, valueReplicas } from './replicas.ts'

type Status = HorizontalPodAutoscaler['status']
type Conditions = NonNullable<Status['conditions']>
type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited' | 'ScaledToZero'

export type Settings = {
  readonly syncMs: number
  readonly downscaleStabilizationMs: number
  readonly cpuInitializationMs: number
  readonly initialReadinessMs: number
  readonly tolerance: number
}

/** The Scale of a target. */
export type TargetScale = { readonly replicas: number; readonly observed: number; readonly selector: string }

export type Circumstances = {
  readonly settings: Settings
  readonly gate: (name: string) => boolean
  readonly nowMs: number
  /** The same, as conditions have it. */
  readonly now: string
}

/** Whether metrics are asked for, or the size of the target alone decides. */
export function needsMetrics({ spec, status }: HorizontalPodAutoscaler, current: number, gate: Circumstances['gate']): boolean {
  const min = spec.minReplicas ?? 1
  if (current > 0) return current <= spec.maxReplicas && current >= min
  // An autoscaler scales up from zero only a target that an autoscaler scaled to zero.
  const wasScaledToZero = gate('HPAScaleToZero') && isConditionTrue(status.conditions, 'ScaledToZero')
  return wasScaledToZero && (min !== 0 || hasOutsideMetric(spec))
}

const hasOutsideMetric = ({ metrics = [] }: HorizontalPodAutoscaler['spec']): boolean =>
  metrics.some(({ type }) => type === 'Object' || type === 'External')

export type Selected =
  | { readonly terms: LabelTerms }
  /** Why the pods cannot be determined, the condition ScalingActive and the event. */
  | { readonly error: string; readonly active: Finding; readonly notice: Notice }

/** The pods that a target counts. They may be those of no other autoscaler. */
export function selectedPods(
  { selector }: TargetScale,
  { own, pods, others }: { readonly own: string; readonly pods: readonly Pod[]; readonly others: ReadonlyMap<string, LabelTerms> },
): Selected {
  const refused = (reason: string, error: string, message = error, active = 'InvalidSelector'): Selected => ({
    error,
    active: { status: 'False', reason: active, message },
    notice: { type: 'Warning', reason, message: error },
  })
  if (selector === '') return refused('SelectorRequired', 'selector is required', "the HPA target's scale is missing a selector")
  let terms: LabelTerms
  try {
    terms = parseLabelSelector(selector)
  } catch (error) {
    return refused(
      'InvalidSelector',
      `couldn't convert selector into a corresponding internal selector object: ${(error as Error).message}`,
    )
  }
  const matching = pods.filter(({ metadata }) => matchesLabelTerms(terms, metadata.labels))
  const rivals = [own]
  for (const [key, theirs] of others) {
    if (rivals.length > 1) break
    if (key !== own && matching.some(({ metadata }) => matchesLabelTerms(theirs, metadata.labels))) rivals.push(key)
  }
  if (rivals.length < 2 || matching.length === 0) return { terms }
  const error = `pods by selector ${selector} are controlled by more than one HPA (e.g. [${rivals.join(' ')}])`
  return refused('AmbiguousSelector', error, error, 'AmbiguousSelector')
}

/** The status of an autoscaler that does not know the size of its target. */
export function withoutScale(status: Status, why: string, now: string): { readonly status: Status; readonly notices: readonly Notice[] } {
  const message = `the HPA controller was unable to get the target's current scale: ${why}`
  const conditions = withFinding(status.conditions ?? [], 'AbleToScale', { status: 'False', reason: 'FailedGetScale', message }, now)
  return { status: { ...status, conditions }, notices: [{ type: 'Warning', reason: 'FailedGetScale', message: why }] }
}

export type Question = {
  readonly hpa: HorizontalPodAutoscaler
  readonly scale: TargetScale
  readonly memory: Memory
  /** Where metrics are needed: the pods that are scaled and the values of each metric, or why the pods cannot be determined. */
  readonly metrics?: { readonly pods: readonly Pod[]; readonly measured: readonly Measured[] } | Extract<Selected, { error: string }>
}

export type Decision = {
  /** Undefined when the size stays as it is. */
  readonly resize?: { readonly replicas: number; readonly reason: string }
  readonly conditions: Conditions
  readonly currentMetrics: readonly MetricStatus[] | undefined
  /** Before the status is written. */
  readonly notices: readonly Notice[]
  /** No number was found: the status says only that. */
  readonly failure?: string
  readonly memory: Memory
}

const GOT_SCALE: Finding = {
  status: 'True',
  reason: 'SucceededGetScale',
  message: "the HPA controller was able to get the target's current scale",
}

export function decide({ hpa, scale, memory: remembered, metrics }: Question, circumstances: Circumstances): Decision {
  const { gate, now, nowMs, settings } = circumstances
  const { spec, status } = hpa
  const current = scale.replicas
  const min = spec.minReplicas ?? 1
  const wasScaledToZero = gate('HPAScaleToZero') && isConditionTrue(status.conditions, 'ScaledToZero')
  let conditions = withFinding(status.conditions ?? [], 'AbleToScale', GOT_SCALE, now)
  const memory: Memory =
    remembered.recommendations.length > 0 ? remembered : { ...remembered, recommendations: [{ replicas: current, atMs: nowMs }] }
  const plain = { currentMetrics: undefined, notices: [], memory }
  if (!metrics) {
    if (current > spec.maxReplicas)
      return { ...plain, conditions, resize: { replicas: spec.maxReplicas, reason: 'Current number of replicas above Spec.MaxReplicas' } }
    if (current > 0) return { ...plain, conditions, resize: { replicas: min, reason: 'Current number of replicas below Spec.MinReplicas' } }
    conditions = withFinding(conditions, 'ScalingActive', DISABLED, now)
    if (!gate('HPAScaleToZero')) conditions = conditions.filter(({ type }) => type !== 'ScaledToZero')
    return { ...plain, conditions }
  }
  if ('error' in metrics) {
    conditions = withFinding(conditions, 'ScalingActive', metrics.active, now)
    return { ...plain, conditions, notices: [metrics.notice], failure: metrics.error }
  }
  const proposed = proposals(hpa, scale, metrics, circumstances)
  const { notices, statuses: currentMetrics } = proposed
  conditions = withFinding(conditions, 'ScalingActive', proposed.active, now)
  if (proposed.replicas === undefined) return { conditions, currentMetrics, notices, memory, failure: proposed.failure }
  const wanted = Math.max(0, proposed.replicas)
  let reason = wanted > current ? `${proposed.name} above target` : wanted < current ? 'All metrics below target' : ''
  const limits = {
    current,
    min,
    max: spec.maxReplicas,
    behavior: spec.behavior,
    nowMs,
    downscaleStabilizationMs: settings.downscaleStabilizationMs,
  }
  const normalized = normalize(wanted, memory, limits as Parameters<typeof normalize>[2])
  conditions = withFinding(conditions, 'AbleToScale', normalized.able, now)
  conditions = withFinding(conditions, 'ScalingLimited', normalized.limited, now)
  let { desired } = normalized
  if (current === 0 && min !== 0 && wasScaledToZero && desired < min) {
    desired = min
    reason ||= 'Current number of replicas below Spec.MinReplicas'
  }
  const decided = { conditions, currentMetrics, notices, memory: normalized.memory }
  return desired === current ? decided : { ...decided, resize: { replicas: desired, reason } }
}

const DISABLED: Finding = {
  status: 'False',
  reason: 'ScalingDisabled',
  message: 'scaling is disabled since the replica count of the target is zero',
}

export type Settled = { readonly status: Status; readonly memory: Memory; readonly notices: readonly Notice[] }

/** The status after a decision was carried out, or could not be: `failed` is why. */
export function settle({ hpa, scale }: Question, decision: Decision, { failed, gate, now, nowMs }: Carried): Settled {
  const { resize, failure, memory } = decision
  const { spec, status } = hpa
  const current = scale.replicas
  const base = {
    ...(gate('HPAGeneration') && { observedGeneration: hpa.metadata.generation ?? 0 }),
    ...(status.lastScaleTime && { lastScaleTime: status.lastScaleTime }),
    currentReplicas: current,
    currentMetrics: decision.currentMetrics as Status['currentMetrics'],
  }
  const of = (desiredReplicas: number, conditions: Conditions, more: Partial<Status> = {}): Status =>
    ({ ...base, desiredReplicas, conditions, ...more }) as Status
  if (failure !== undefined)
    return {
      status: of(status.desiredReplicas ?? 0, decision.conditions),
      memory,
      notices: [{ type: 'Warning', reason: 'FailedComputeMetricsReplicas', message: failure }],
    }
  if (!resize) return { status: of(current, decision.conditions), memory, notices: [] }
  const { replicas, reason } = resize
  if (failed !== undefined) {
    const message = `the HPA controller was unable to update the target scale: ${failed}`
    const conditions = withFinding(decision.conditions, 'AbleToScale', { status: 'False', reason: 'FailedUpdateScale', message }, now)
    const summary = `New size: ${replicas}; reason: ${reason}; error: ${failed}`
    return {
      status: of(status.desiredReplicas ?? 0, conditions),
      memory,
      notices: [{ type: 'Warning', reason: 'FailedRescale', message: summary }],
    }
  }
  const message = `the HPA controller was able to update the target scale to ${replicas}`
  let conditions = withFinding(decision.conditions, 'AbleToScale', { status: 'True', reason: 'SucceededRescale', message }, now)
  if (gate('HPAScaleToZero')) {
    const isZero = current > 0 && replicas === 0 && spec.minReplicas === 0 && hasOutsideMetric(spec)
    conditions = withFinding(conditions, 'ScaledToZero', isZero ? TO_ZERO : NOT_TO_ZERO, now)
  } else conditions = conditions.filter(({ type }) => type !== 'ScaledToZero')
  return {
    status: of(replicas, conditions, { lastScaleTime: now }),
    memory: afterScaling(memory, spec.behavior as Parameters<typeof afterScaling>[1], { from: current, to: replicas, nowMs }),
    notices: [{ type: 'Normal', reason: 'SuccessfulRescale', message: `New size: ${replicas}; reason: ${reason}` }],
  }
}
export type Carried = Pick<Circumstances, 'gate' | 'now' | 'nowMs'> & { readonly failed?: string | undefined }

const TO_ZERO: Finding = { status: 'True', reason: 'ScaledToZero', message: 'the HPA controller scaled the workload to zero' }
const NOT_TO_ZERO: Finding = {
  status: 'False',
  reason: 'NotScaledToZero',
  message: 'the HPA controller did not scale the workload to zero',
}

type Proposals = {
  readonly active: Finding
  readonly statuses: readonly MetricStatus[]
  readonly notices: readonly Notice[]
} & ({ readonly replicas: number; readonly name: string } | { readonly replicas: undefined; readonly failure: string })

/** The highest number that a metric proposes. Metrics that fail stop the size from shrinking, since one of them might ask for more. */
function proposals(
  hpa: HorizontalPodAutoscaler,
  scale: TargetScale,
  { pods, measured }: Extract<Question['metrics'], { pods: unknown }>,
  circumstances: Circumstances,
): Proposals {
  const specs = hpa.spec.metrics ?? []
  const situation = situationOf(hpa, pods, circumstances)
  const notices: Notice[] = []
  let invalid: { readonly active: Finding; readonly message: string } | undefined
  let failures = 0
  let best: { readonly replicas: number; readonly name: string } | undefined
  const statuses = specs.map((spec, i): MetricStatus => {
    try {
      const { replicas, name, status } = proposalOf(spec, measured[i]!, { hpa, scale, situation })
      if (!best || best.replicas === 0 || replicas > best.replicas) best = { replicas, name }
      return status
    } catch (error) {
      if (!(error instanceof ProposalError)) throw error
      const { reason, message, wrapped } = error
      notices.push({ type: 'Warning', reason, message })
      const active: Finding = { status: 'False', reason, message: `the HPA was unable to compute the replica count: ${message}` }
      invalid ??= { active, message: wrapped }
      failures++
      return { type: '' } as MetricStatus
    }
  })
  const found = best?.replicas ?? 0
  if (invalid && (failures >= specs.length || found < scale.replicas))
    return {
      replicas: undefined,
      failure: `invalid metrics (${failures} invalid out of ${specs.length}), first error is: ${invalid.message}`,
      active: invalid.active,
      statuses,
      notices,
    }
  const name = best?.name ?? ''
  const message = `the HPA was able to successfully calculate a replica count from ${name}`
  return { replicas: found, name, active: { status: 'True', reason: 'ValidMetricFound', message }, statuses, notices }
}

function situationOf({ spec }: HorizontalPodAutoscaler, pods: readonly Pod[], { settings, gate, nowMs }: Circumstances): Situation {
  const given = gate('HPAConfigurableTolerance') ? spec.behavior : undefined
  const toleranceOf = (text: string | undefined) => {
    if (text === undefined) return settings.tolerance
    const { unscaled, scale } = parseQuantity(text)
    return Number(unscaled) * 10 ** scale
  }
  const tolerances = { down: toleranceOf(given?.scaleDown?.tolerance), up: toleranceOf(given?.scaleUp?.tolerance) }
  const { cpuInitializationMs, initialReadinessMs } = settings
  return { pods, tolerances, nowMs, cpuInitializationMs, initialReadinessMs, usesPodLevel: gate('PodLevelResources') }
}

/** `message` is for the condition and the event, `wrapped` for the summary of all metrics. */
class ProposalError extends Error {
  readonly reason: string
  readonly wrapped: string
  constructor(reason: string, message: string, wrapped: string) {
    super(message)
    this.reason = reason
    this.wrapped = wrapped
  }
}

type Proposal = { readonly replicas: number; readonly name: string; readonly status: MetricStatus }
type Of = { readonly hpa: HorizontalPodAutoscaler; readonly scale: TargetScale; readonly situation: Situation }

function proposalOf(spec: MetricSpec, measured: Measured, of: Of): Proposal {
  switch (spec.type) {
    case 'Resource':
      return resourceProposal(spec.resource!, measured, { ...of, container: '', isContainer: false })
    case 'ContainerResource':
      return resourceProposal(spec.containerResource!, measured, { ...of, container: spec.containerResource!.container, isContainer: true })
    case 'Pods':
      return podsProposal(spec.pods!, measured, of)
    case 'Object':
      return objectProposal(spec.object!, measured, of)
    case 'External':
      return externalProposal(spec.external!, measured, of)
    default: {
      const message = `unknown metric source type ${JSON.stringify(spec.type)}`
      throw new ProposalError('InvalidMetricSourceType', message, message)
    }
  }
}

/** Runs a calculation; a failure becomes one message, after those of earlier metrics. */
function attempt<T>(reason: string, tell: (why: string) => readonly [message: string, wrapped: string], calculate: () => T): T {
  try {
    return calculate()
  } catch (error) {
    if (error instanceof MetricError) throw new ProposalError(reason, ...tell(error.message))
    throw error
  }
}

const podMetricsIn = (measured: Measured, tried: string) => {
  if (measured.type === 'pods') return measured.metrics
  throw new MetricError(`${tried}: ${measured.type === 'failed' ? measured.message : ''}`)
}
const valuesIn = (measured: Measured, tried: string) => {
  if (measured.type === 'values') return measured.values
  throw new MetricError(`${tried}: ${measured.type === 'failed' ? measured.message : ''}`)
}

const milli = (text: string): bigint => milliValue(parseQuantity(text))
const inMilli = (value: bigint, format: 'DecimalSI' | 'BinarySI' = 'DecimalSI'): string => quantityOf(value, -3, format).text

type ResourceSource = NonNullable<MetricSpec['resource']>

function resourceProposal(
  { name, target }: ResourceSource,
  measured: Measured,
  { scale, situation, container, isContainer }: Of & { container: string; isContainer: boolean },
): Proposal {
  const reason = isContainer ? 'FailedGetContainerResourceMetric' : 'FailedGetResourceMetric'
  const summary = isContainer ? `failed to get ${container} container metric value` : `failed to get ${name} resource metric value`
  const tell = (inner: string) => [inner, `${summary}: ${inner}`] as const
  const tried = `unable to get metrics for resource ${name}`
  // Memory is told in binary units, as metrics servers do.
  const format = name === 'memory' ? 'BinarySI' : 'DecimalSI'
  const statusOf = (current: NonNullable<MetricStatus['resource']>['current']): MetricStatus =>
    isContainer
      ? { type: 'ContainerResource', containerResource: { name, container, current } }
      : { type: 'Resource', resource: { name, current } }
  if (target.averageValue !== undefined) {
    const { replicas, usage } = attempt(
      reason,
      why => tell(`failed to get ${name} usage: ${why}`),
      () =>
        averageReplicas(scale.replicas, podMetricsIn(measured, tried), {
          ...situation,
          target: milli(target.averageValue!),
          resource: name,
        }),
    )
    return { replicas, name: `${name} resource`, status: statusOf({ averageValue: inMilli(usage, format) }) }
  }
  const percent = target.averageUtilization
  if (percent === undefined)
    throw new ProposalError(
      reason,
      ...tell('invalid resource metric source: neither an average utilization target nor an average value (usage) target was set'),
    )
  const { replicas, utilization, average } = attempt(
    reason,
    why => tell(`failed to get ${name} utilization: ${why}`),
    () => utilizationReplicas(scale.replicas, podMetricsIn(measured, tried), { ...situation, target: percent, resource: name, container }),
  )
  return {
    replicas,
    name: `${name} ${isContainer ? 'container ' : ''}resource utilization (percentage of request)`,
    status: statusOf({ averageUtilization: utilization, averageValue: inMilli(average, format) }),
  }
}

function podsProposal({ metric, target }: NonNullable<MetricSpec['pods']>, measured: Measured, { scale, situation }: Of): Proposal {
  const tell = (why: string) => [why, `failed to get pods metric value: ${why}`] as const
  const { replicas, usage } = attempt('FailedGetPodsMetric', tell, () =>
    averageReplicas(scale.replicas, podMetricsIn(measured, `unable to get metric ${metric.name}`), {
      ...situation,
      target: milli(target.averageValue ?? '0'),
      resource: '',
    }),
  )
  return {
    replicas,
    name: `pods metric ${metric.name}`,
    status: { type: 'Pods', pods: { metric, current: { averageValue: inMilli(usage) } } },
  }
}

function objectProposal(
  { describedObject, metric, target }: NonNullable<MetricSpec['object']>,
  measured: Measured,
  { hpa, scale, situation }: Of,
): Proposal {
  const reason = 'FailedGetObjectMetric'
  const tried = `unable to get metric ${metric.name} on ${describedObject.kind} ${hpa.metadata.namespace}/${describedObject.name}`
  const summary = 'failed to get object metric value'
  if (target.type === 'Value' && target.value !== undefined) {
    const tell = (why: string) => [why, `${summary}: ${why}`] as const
    const { replicas, usage } = attempt(reason, tell, () =>
      valueReplicas(scale.replicas, valuesIn(measured, tried), milli(target.value!), situation),
    )
    const status: MetricStatus = { type: 'Object', object: { metric, current: { value: inMilli(usage) }, describedObject } }
    return { replicas, name: `${describedObject.kind} metric ${metric.name}`, status }
  }
  if (target.type === 'AverageValue' && target.averageValue !== undefined) {
    const tell = (why: string) => [why, `${summary}: failed to get ${metric.name} object metric: ${why}`] as const
    const { replicas, usage } = attempt(reason, tell, () =>
      dividedReplicas(scale.observed, valuesIn(measured, tried), milli(target.averageValue!), situation),
    )
    const status: MetricStatus = { type: 'Object', object: { metric, current: { averageValue: inMilli(usage) }, describedObject } }
    return { replicas, name: outsideName(metric), status }
  }
  const message = 'invalid object metric source: neither a value target nor an average value target was set'
  throw new ProposalError(reason, message, `${summary}: ${message}`)
}

function externalProposal(
  { metric, target }: NonNullable<MetricSpec['external']>,
  measured: Measured,
  { hpa, scale, situation }: Of,
): Proposal {
  const reason = 'FailedGetExternalMetric'
  const tried = `unable to get external metric ${hpa.metadata.namespace}/${metric.name}/${printed(metric.selector)}`
  const summary = `failed to get ${metric.name} external metric value`
  if (target.averageValue !== undefined) {
    const tell = (why: string) => [why, `${summary}: failed to get ${metric.name} external metric: ${why}`] as const
    const { replicas, usage } = attempt(reason, tell, () =>
      dividedReplicas(scale.observed, valuesIn(measured, tried), milli(target.averageValue!), situation),
    )
    return {
      replicas,
      name: outsideName(metric),
      status: { type: 'External', external: { metric, current: { averageValue: inMilli(usage) } } },
    }
  }
  if (target.value !== undefined) {
    const tell = (why: string) => [why, `${summary}: failed to get external metric ${metric.name}: ${why}`] as const
    const { replicas, usage } = attempt(reason, tell, () =>
      valueReplicas(scale.replicas, valuesIn(measured, tried), milli(target.value!), situation),
    )
    return { replicas, name: outsideName(metric), status: { type: 'External', external: { metric, current: { value: inMilli(usage) } } } }
  }
  const message = 'invalid external metric source: neither a value target nor an average value target was set'
  throw new ProposalError(reason, message, `${summary}: ${message}`)
}

const outsideName = ({ name, selector }: MetricIdentifier) => `external metric ${name}(${printed(selector)})`

const printed = (selector: MetricIdentifier['selector']): string => (selector ? goLabelSelector(selector) : 'nil')

/** Sets a condition to a finding. */
function withFinding(conditions: Conditions, type: ConditionType, { status, reason, message }: Finding, now: string): Conditions {
  const before = conditionOf(conditions, type)
  return withCondition(conditions, { ...before, type, status, lastTransitionTime: transitionTime(before, status, now), reason, message })
}
