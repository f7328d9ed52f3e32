/** Node affinity, pod affinity and anti-affinity of pods. */

import { isDNS1123Label } from '../../../../lib/names.ts'
import { validateLabelKey } from '../../../../schema/meta-rules.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, withValue } from '../../../../schema/refs.ts'
import { atomic, int32, int64, message, type Static, string } from '../../../../schema/types.ts'
import { under } from '../../error-paths.ts'
import { LabelSelector, validateLabelSelector } from '../../meta.ts'
import type { PodOptions } from '../options.ts'
import { NodeSelector, NodeSelectorTerm, validateNodeSelector, validateNodeSelectorTerm } from './node-selector.ts'

const PreferredSchedulingTerm = message('PreferredSchedulingTerm', {
  weight: [1, int32.always(), 'How much a match counts, 1 to 100.'],
  preference: [2, NodeSelectorTerm.orEmpty().expected(), 'The preferred properties of the node.'],
})

export const NodeAffinity = message('NodeAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, NodeSelector, 'The requirements on the node at the time of scheduling.'],
  preferredDuringSchedulingIgnoredDuringExecution: [
    2,
    atomic(PreferredSchedulingTerm),
    'The preferences for nodes at the time of scheduling, with weights.',
  ],
})
export type NodeAffinity = Static<typeof NodeAffinity>

export const PodAffinityTerm = message('PodAffinityTerm', {
  labelSelector: [1, LabelSelector, 'Selects the pods.'],
  namespaces: [2, atomic(string), 'Namespaces to look in; that of the pod if unset.'],
  topologyKey: [3, string.always(), 'The node label whose values are the topology domains.'],
  namespaceSelector: [4, LabelSelector, 'Namespaces to look in, by label.'],
  matchLabelKeys: [5, atomic(string), 'Labels whose values they must share with the pod.'],
  mismatchLabelKeys: [6, atomic(string), 'Labels whose values they must not share with the pod.'],
})
export type PodAffinityTerm = Static<typeof PodAffinityTerm>

const WeightedPodAffinityTerm = message('WeightedPodAffinityTerm', {
  weight: [1, int32.always(), 'How much a match counts, 1 to 100.'],
  podAffinityTerm: [2, PodAffinityTerm.orEmpty().expected(), 'The pods and the topology.'],
})

export const PodAffinity = message('PodAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, atomic(PodAffinityTerm), 'Pods that must be near when the pod is placed.'],
  preferredDuringSchedulingIgnoredDuringExecution: [2, atomic(WeightedPodAffinityTerm), 'Pods to be near if possible, with weights.'],
})
export type PodAffinity = Static<typeof PodAffinity>

const PodAntiAffinity = message('PodAntiAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, atomic(PodAffinityTerm), 'Pods that must not be near when the pod is placed.'],
  preferredDuringSchedulingIgnoredDuringExecution: [
    2,
    atomic(WeightedPodAffinityTerm),
    'Pods to stay away from if possible, with weights.',
  ],
})

export const Affinity = message('Affinity', {
  nodeAffinity: [1, NodeAffinity, 'Rules about nodes.'],
  podAffinity: [2, PodAffinity, 'Pods to be near.'],
  podAntiAffinity: [3, PodAntiAffinity, 'Pods to be away from.'],
})
export type Affinity = Static<typeof Affinity>

export const Toleration = message('Toleration', {
  key: [1, string, 'The taint; all when empty.'],
  operator: [2, string.listed('Equal', 'Exists', 'Gt', 'Lt'), 'Exists, or Equal to compare the value.'],
  value: [3, string, 'The value of the taint, for Equal.'],
  effect: [
    4,
    string.listed('NoExecute', 'NoSchedule', 'PreferNoSchedule'),
    'The effect it accepts: NoSchedule, PreferNoSchedule or NoExecute; all when empty.',
  ],
  tolerationSeconds: [5, int64.optional(), 'Seconds a NoExecute taint is accepted; forever when absent.'],
})
export type Toleration = Static<typeof Toleration>

export const TopologySpreadConstraint = message('TopologySpreadConstraint', {
  maxSkew: [1, int32.always(), 'How uneven the spread may be.'],
  topologyKey: [2, string.always(), 'The node label whose values are the topology domains.'],
  whenUnsatisfiable: [3, string.listed('DoNotSchedule', 'ScheduleAnyway').always(), 'DoNotSchedule, or ScheduleAnyway.'],
  labelSelector: [4, LabelSelector, 'Which pods are counted.'],
  minDomains: [5, int32.optional(), 'The minimum number of eligible domains.'],
  nodeAffinityPolicy: [
    6,
    string.listed('Honor', 'Ignore').optional(),
    'Whether nodes the pod cannot go to by its own rules count: Honor or Ignore.',
  ],
  nodeTaintsPolicy: [
    7,
    string.listed('Honor', 'Ignore').optional(),
    'Whether nodes with taints the pod does not accept count: Honor or Ignore.',
  ],
  matchLabelKeys: [8, atomic(string), 'Labels whose values counted pods share with this one.'],
})
export type TopologySpreadConstraint = Static<typeof TopologySpreadConstraint>

/** Node affinity, pod affinity and pod anti-affinity. */
export function* validateAffinity(
  { nodeAffinity, podAffinity, podAntiAffinity }: Affinity,
  at: Ref<Affinity>,
  options: PodOptions,
): Iterable<FieldError> {
  if (nodeAffinity) yield* validateNodeAffinity(nodeAffinity, at.nodeAffinity, options)
  if (podAffinity) yield* validatePodAffinity(podAffinity, at.podAffinity, options)
  if (podAntiAffinity) yield* validatePodAffinity(podAntiAffinity, at.podAntiAffinity, options)
}

function* validateNodeAffinity(affinity: NodeAffinity, at: Ref<NodeAffinity>, options: PodOptions): Iterable<FieldError> {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution
  if (required)
    yield* validateNodeSelector(required, at.requiredDuringSchedulingIgnoredDuringExecution, {
      allowInvalidValues: options.allowInvalidNodeAffinityValues,
    })
  for (const [i, { weight, preference }] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const itemAt = at.preferredDuringSchedulingIgnoredDuringExecution[i]!
    yield* validateWeight(weight, itemAt.weight)
    // Preferred terms may have values that are invalid in labels.
    yield* validateNodeSelectorTerm(preference ?? {}, itemAt.preference, { allowInvalidValues: true })
  }
}

function* validatePodAffinity(affinity: PodAffinity, at: Ref<PodAffinity>, options: PodOptions): Iterable<FieldError> {
  for (const [i, term] of (affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries())
    yield* validateTerm(term, at.requiredDuringSchedulingIgnoredDuringExecution[i]!, options)
  for (const [i, { weight, podAffinityTerm }] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const itemAt = at.preferredDuringSchedulingIgnoredDuringExecution[i]!
    yield* validateWeight(weight, itemAt.weight)
    yield* validateTerm(podAffinityTerm, itemAt.podAffinityTerm, options)
  }
}

function* validateWeight(weight: number | undefined, at: Ref<number>): Iterable<FieldError> {
  if (!weight || weight < 0 || weight > 100) yield invalid(withValue(at, weight ?? 0), 'must be in the range 1-100')
}

function* validateTerm(term: PodAffinityTerm, at: Ref<PodAffinityTerm>, options: PodOptions): Iterable<FieldError> {
  yield* validateTermSelectors(term, at, { allowInvalidValues: options.allowInvalidAffinitySelectors })
  for (const namespace of term.namespaces ?? []) yield* invalidEach(under(at, 'namespace', namespace), isDNS1123Label(namespace))
  yield* validateLabelKeys(term, at)
  if (!term.topologyKey) yield required(at.topologyKey, 'can not be empty')
  yield* validateLabelKey(at.topologyKey, term.topologyKey ?? '')
}

/** The two selectors of a term. */
export function* validateTermSelectors(
  { labelSelector, namespaceSelector }: PodAffinityTerm,
  at: Ref<PodAffinityTerm>,
  { allowInvalidValues = false }: { readonly allowInvalidValues?: boolean } = {},
): Iterable<FieldError> {
  if (labelSelector) yield* validateLabelSelector(labelSelector, at.labelSelector, { allowInvalidValues })
  if (namespaceSelector) yield* validateLabelSelector(namespaceSelector, at.namespaceSelector, { allowInvalidValues })
}

/** A selector, and the keys that are merged into it. */
export type KeyedSelector = { matchLabelKeys?: string[]; mismatchLabelKeys?: string[]; labelSelector?: LabelSelector }

/** Keys whose values come from the pod: they need a selector, must not be in it already, and exclude each other. */
export function* validateLabelKeys(term: KeyedSelector, at: Ref<KeyedSelector>): Iterable<FieldError> {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term
  yield* validateKeys(matchLabelKeys, at.matchLabelKeys, labelSelector)
  yield* validateKeys(mismatchLabelKeys, at.mismatchLabelKeys, labelSelector)
  if (labelSelector) {
    const positions = new Map(matchLabelKeys.map((key, i) => [key, i]))
    const selected = new Set(Object.keys(labelSelector.matchLabels ?? {}))
    for (const { key } of labelSelector.matchExpressions ?? []) {
      // The selector already has a requirement for each key, so a key that the user also has in the selector is a duplicate.
      const position = positions.get(key)
      if (position !== undefined && selected.has(key))
        yield invalid(indexed(at, position, key), 'exists in both matchLabelKeys and labelSelector')
      selected.add(key)
    }
  }
  const mismatched = new Set(mismatchLabelKeys)
  for (const [i, key] of matchLabelKeys.entries())
    if (mismatched.has(key)) yield invalid(at.matchLabelKeys[i]!, 'exists in both matchLabelKeys and mismatchLabelKeys')
}

function* validateKeys(keys: readonly string[], at: Ref<string[]>, selector: LabelSelector | undefined): Iterable<FieldError> {
  if (keys.length === 0) return
  if (!selector) return yield forbidden(at, 'must not be specified when labelSelector is not set')
  for (const [i, key] of keys.entries()) yield* validateLabelKey(at[i]!, key)
}

/** Errors name the position under the term itself, not under its list. */
const indexed = (at: Ref<any>, position: number, key: string): Ref<string> => withValue((at as unknown as Ref<any>[])[position]!, key)
