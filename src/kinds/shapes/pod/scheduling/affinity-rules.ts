/** Rules on which nodes and neighbours a pod wants or avoids. */
import { isDNS1123Label } from '../../../../lib/names.ts'
import { validateLabelKey } from '../../../../schema/meta-rules.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, withValue } from '../../../../schema/refs.ts'
import { under } from '../../error-values.ts'
import { type LabelSelector, validateLabelSelector } from '../../meta.ts'
import type { PodOptions } from '../options.ts'
import type { Affinity, NodeAffinity, PodAffinity, PodAffinityTerm } from './affinity.ts'
import { validateNodeSelector, validateNodeSelectorTerm } from './node-selector-rules.ts'

/** Affinity to nodes, to pods and against pods. */
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
    const place = at.preferredDuringSchedulingIgnoredDuringExecution[i]!
    yield* validateWeight(weight, place.weight)
    // What is merely preferred may ask for values no label can have.
    yield* validateNodeSelectorTerm(preference ?? {}, place.preference, { allowInvalidValues: true })
  }
}

function* validatePodAffinity(affinity: PodAffinity, at: Ref<PodAffinity>, options: PodOptions): Iterable<FieldError> {
  for (const [i, term] of (affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries())
    yield* validateTerm(term, at.requiredDuringSchedulingIgnoredDuringExecution[i]!, options)
  for (const [i, { weight, podAffinityTerm }] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const place = at.preferredDuringSchedulingIgnoredDuringExecution[i]!
    yield* validateWeight(weight, place.weight)
    yield* validateTerm(podAffinityTerm, place.podAffinityTerm, options)
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

/** Keys whose values are taken from the pod: they need a selector to go into, must not be in it already, and exclude each other. */
export function* validateLabelKeys(term: KeyedSelector, at: Ref<KeyedSelector>): Iterable<FieldError> {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term
  yield* validateKeys(matchLabelKeys, at.matchLabelKeys, labelSelector)
  yield* validateKeys(mismatchLabelKeys, at.mismatchLabelKeys, labelSelector)
  if (labelSelector) {
    const positions = new Map(matchLabelKeys.map((key, i) => [key, i]))
    const selected = new Set(Object.keys(labelSelector.matchLabels ?? {}))
    for (const { key } of labelSelector.matchExpressions ?? []) {
      // The selector has got a requirement for each key by now, so a key of the user's is one that comes again.
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
