/** The rules of the arguments of plugins, with the messages of kube-scheduler. */

import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../kinds/rules/pod/scheduling/node-selector.ts'
import { parseDuration } from '../../lib/duration.ts'
import { isQualifiedName } from '../../lib/names.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  pathOf,
  type Ref,
  required,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import { labelTerm } from '../../schema/selectors.ts'
import type { Gate } from './args.ts'
import type { Args, ArgsName, ResourceSpec, UtilizationShapePoint } from './types.ts'

type Rules<T> = (args: T, at: Ref<T>, gate: Gate) => Iterable<FieldError>

/** The arguments of NodeResourcesFit are checked when the plugin is made, as in kube-scheduler: see `validateFit`. */
const RULES: { readonly [N in Exclude<ArgsName, 'NodeResourcesFit'>]: Rules<Args[N]> } = {
  *DefaultPreemption({ minCandidateNodesPercentage: percentage = 0, minCandidateNodesAbsolute: absolute = 0 }, at) {
    const [percentageAt, absoluteAt] = [at.minCandidateNodesPercentage, at.minCandidateNodesAbsolute]
    if (percentage < 0 || percentage > 100) yield invalid(percentageAt, 'not in valid range [0, 100]')
    if (absolute < 0) yield invalid(absoluteAt, 'not in valid range [0, inf)')
    if (percentage !== 0 || absolute !== 0) return
    yield invalid(percentageAt, 'cannot be zero at the same time as minCandidateNodesAbsolute')
    yield invalid(absoluteAt, 'cannot be zero at the same time as minCandidateNodesPercentage')
  },
  *DynamicResources({ filterTimeout, bindingTimeout }, at, gate) {
    if (!gate('DRASchedulerFilterTimeout')) {
      if (filterTimeout !== undefined) yield forbidden(at.filterTimeout, 'DRASchedulingFilterTimeout feature gate is disabled')
    } else if (filterTimeout !== undefined && parseDuration(filterTimeout) < 0n) yield invalid(at.filterTimeout, 'must be zero or positive')
    if (!gate('DRADeviceBindingConditions') || !gate('DRAResourceClaimDeviceStatus')) {
      if (bindingTimeout !== undefined)
        yield forbidden(at.bindingTimeout, 'DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled')
    } else if (bindingTimeout !== undefined && parseDuration(bindingTimeout) < 1_000_000_000n)
      yield invalid(at.bindingTimeout, 'must be at least 1 second')
  },
  *InterPodAffinity({ hardPodAffinityWeight: weight = 0 }, at) {
    if (weight < 0 || weight > 100) yield invalid(at.hardPodAffinityWeight, 'not in valid range [0, 100]')
  },
  *NodeAffinity({ addedAffinity }, at) {
    const { requiredDuringSchedulingIgnoredDuringExecution: needed, preferredDuringSchedulingIgnoredDuringExecution: preferred } =
      addedAffinity ?? {}
    const neededAt = at.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution
    for (const [i, term] of (needed?.nodeSelectorTerms ?? []).entries()) yield* validateTerm(term, neededAt.nodeSelectorTerms[i]!)
    const preferredAt = at.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution
    for (const [i, { weight, preference }] of (preferred ?? []).entries())
      if (weight !== 0) yield* validateTerm(preference, preferredAt[i]! as unknown as Ref<NodeSelectorTerm>)
  },
  *NodeResourcesBalancedAllocation({ resources = [] }, at) {
    const seen = new Set<string>()
    for (const [i, { name, weight }] of resources.entries()) {
      if (seen.has(name)) yield duplicate(at.resources[i]!.name)
      seen.add(name)
      if (Number(weight) !== 1) yield invalid(at.resources[i]!.weight, 'must be 1')
    }
  },
  *PodTopologySpread({ defaultingType = '', defaultConstraints = [] }, at) {
    if (defaultingType !== 'System' && defaultingType !== 'List') yield unsupported(at.defaultingType, 'System', 'List')
    else if (defaultingType === 'System' && defaultConstraints.length > 0)
      yield invalid(at.defaultingType, 'when .defaultConstraints are not empty')
    for (const [i, { maxSkew, topologyKey, whenUnsatisfiable: action, labelSelector }] of defaultConstraints.entries()) {
      const here = at.defaultConstraints[i]!
      if (maxSkew <= 0) yield invalid(here.maxSkew, 'not in valid range (0, inf)')
      if (topologyKey === '') yield required(here.topologyKey, 'can not be empty')
      else yield* invalidEach(here.topologyKey, isQualifiedName(topologyKey))
      if (action === '') yield required(here.whenUnsatisfiable, 'can not be empty')
      else if (action !== 'DoNotSchedule' && action !== 'ScheduleAnyway')
        yield unsupported(here.whenUnsatisfiable, 'DoNotSchedule', 'ScheduleAnyway')
      if (labelSelector) yield forbidden(here.labelSelector, 'constraint must not define a selector, as they deduced for each pod')
      const isRepeated = defaultConstraints
        .slice(0, i)
        .some(other => other.topologyKey === topologyKey && other.whenUnsatisfiable === action)
      if (isRepeated) yield duplicate(withValue(here, `{${topologyKey}, ${action}}`))
    }
  },
  *VolumeBinding({ bindTimeoutSeconds = 0, shape }, at, gate) {
    if (bindTimeoutSeconds < 0) yield invalid(at.bindTimeoutSeconds, 'invalid BindTimeoutSeconds, should not be a negative value')
    if (gate('StorageCapacityScoring')) yield* validateShape(shape, at.shape)
    else if (shape)
      yield invalid(
        withValue(
          at.shape,
          shape.map(({ utilization, score }) => ({ Utilization: utilization, Score: score })),
        ),
        'unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring',
      )
  },
}

/** The rules of one plugin's arguments; those of other plugins are not known. */
export function* validateArgs(
  { name, args }: { readonly name: string; readonly args: unknown },
  at: Ref<any>,
  gate: Gate,
): Iterable<FieldError> {
  if (Object.hasOwn(RULES, name)) yield* (RULES[name as keyof typeof RULES] as unknown as Rules<unknown>)(args, at, gate)
}

const STRATEGIES = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio'] as const

export function* validateFit(
  { ignoredResources = [], ignoredResourceGroups = [], scoringStrategy = {} }: Args['NodeResourcesFit'],
  at: Ref<Args['NodeResourcesFit']>,
): Iterable<FieldError> {
  for (const [i, name] of ignoredResources.entries()) yield* invalidEach(at.ignoredResources[i]!, isQualifiedName(name))
  for (const [i, group] of ignoredResourceGroups.entries()) {
    const here = at.ignoredResourceGroups[i]!
    if (group.includes('/')) yield invalid(here, "resource group name can't contain '/'")
    yield* invalidEach(here, isQualifiedName(group))
  }
  const { type = '', resources, requestedToCapacityRatio: ratio } = scoringStrategy
  const here = at.scoringStrategy
  if (!(STRATEGIES as readonly string[]).includes(type)) yield unsupported(withValue(here.type, type), ...STRATEGIES)
  yield* validateWeights(resources, here.resources)
  if (type === 'RequestedToCapacityRatio') {
    if (!ratio) yield required(here.requestedToCapacityRatio, 'must be specified when type is RequestedToCapacityRatio')
    else yield* validateShape(ratio.shape, here.requestedToCapacityRatio.shape)
  } else if (ratio) yield forbidden(here.requestedToCapacityRatio, 'must be nil when type is not RequestedToCapacityRatio')
}

function* validateWeights(resources: readonly ResourceSpec[] = [], at: Ref<ResourceSpec[]>): Iterable<FieldError> {
  for (const [i, { name, weight = 0 }] of resources.entries())
    if (weight <= 0 || weight > 100) yield invalid(at[i]!.weight, `resource weight of ${name} not in valid range (0, 100]`)
}

function* validateShape(shape: readonly UtilizationShapePoint[] = [], at: Ref<UtilizationShapePoint[]>): Iterable<FieldError> {
  if (shape.length === 0) return yield required(at, 'at least one point must be specified')
  const unsorted = shape.findIndex(({ utilization }, i) => i > 0 && shape[i - 1]!.utilization >= utilization)
  if (unsorted > 0) yield invalid(at[unsorted]!.utilization, 'values must be sorted in increasing order')
  for (const [i, { utilization, score }] of shape.entries()) {
    if (utilization < 0 || utilization > 100) yield invalid(at[i]!.utilization, 'not in valid range [0, 100]')
    if (score < 0 || score > 10) yield invalid(at[i]!.score, 'not in valid range [0, 10]')
  }
}

const LABEL_OPERATORS = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!', Gt: 'gt', Lt: 'lt' } as const

/** A term is checked as it is parsed for use, not as that of a pod. */
function* validateTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, at: Ref<NodeSelectorTerm>): Iterable<FieldError> {
  for (const [i, requirement] of matchExpressions.entries()) yield* validateLabelRequirement(requirement, at.matchExpressions[i]!)
  for (const [i, { operator, values = [] }] of matchFields.entries()) {
    const here = at.matchFields[i]!
    if (operator !== 'In' && operator !== 'NotIn') yield unsupported(here.operator, 'In', 'NotIn')
    else if (values.length !== 1) yield invalid(withValue(here.values, values), 'must have one element')
  }
}

function* validateLabelRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  at: Ref<NodeSelectorRequirement>,
): Iterable<FieldError> {
  if (!Object.hasOwn(LABEL_OPERATORS, operator)) return yield unsupported(at.operator, ...Object.keys(LABEL_OPERATORS))
  const { errors } = labelTerm(key, LABEL_OPERATORS[operator as keyof typeof LABEL_OPERATORS], values)
  // No values at all are shown as null.
  for (const { field, ...error } of errors)
    yield { ...error, field: `${pathOf(at)}.${field}`, message: error.message.replace('Invalid value: []', 'Invalid value: null') }
}
