/** Rules for topology spread constraints. */

import { validateLabelKey } from '../../../../schema/meta-rules.ts'
import { duplicate, type FieldError, forbidden, invalid, type Ref, required, unsupported, withValue } from '../../../../schema/refs.ts'
import { under } from '../../error-paths.ts'
import { validateLabelSelector } from '../../meta.ts'
import { validatePositive } from '../../text-rules.ts'
import type { PodOptions } from '../options.ts'
import type { TopologySpreadConstraint } from './affinity.ts'
import { type KeyedSelector, validateLabelKeys } from './affinity.ts'

/** Each constraint is complete and unique. */
export function* validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[] | null | undefined,
  at: Ref<TopologySpreadConstraint[]>,
  options: PodOptions,
): Iterable<FieldError> {
  const last = new Map((constraints ?? []).map((constraint, i) => [identityOf(constraint), i]))
  for (const [i, constraint] of (constraints ?? []).entries()) {
    const { maxSkew, topologyKey, whenUnsatisfiable = '', minDomains, labelSelector } = constraint
    const itemAt = at[i]!
    yield* validatePositive(maxSkew, itemAt.maxSkew)
    if (!topologyKey) yield required(itemAt.topologyKey, 'can not be empty')
    if (whenUnsatisfiable !== 'DoNotSchedule' && whenUnsatisfiable !== 'ScheduleAnyway')
      yield unsupported(itemAt.whenUnsatisfiable, 'DoNotSchedule', 'ScheduleAnyway')
    // The error is about the earlier of two.
    if (last.get(identityOf(constraint)) !== i)
      yield duplicate(under(itemAt, '{topologyKey, whenUnsatisfiable}', `{${topologyKey}, ${whenUnsatisfiable}}`))
    if (minDomains !== undefined) {
      yield* validatePositive(minDomains, itemAt.minDomains)
      if (whenUnsatisfiable !== 'DoNotSchedule')
        yield invalid(itemAt.minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`)
    }
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const)
      if (constraint[policy] !== undefined && constraint[policy] !== 'Honor' && constraint[policy] !== 'Ignore')
        yield unsupported(itemAt[policy], 'Honor', 'Ignore')
    yield* validateSpreadKeys(constraint, itemAt, options)
    if (labelSelector && !options.allowInvalidSpreadSelectors) yield* validateLabelSelector(labelSelector, itemAt.labelSelector)
  }
}

const identityOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint): string =>
  JSON.stringify([topologyKey, whenUnsatisfiable])

/** Keys that are merged into the selector are checked as in affinity; others must not be in it. */
function* validateSpreadKeys(
  constraint: TopologySpreadConstraint,
  at: Ref<TopologySpreadConstraint>,
  options: PodOptions,
): Iterable<FieldError> {
  if (options.matchLabelKeysMerge !== options.allowOtherSpreadKeyRule)
    yield* validateLabelKeys(constraint, withValue<KeyedSelector>(at, constraint))
  else yield* validateUnmergedKeys(constraint, at)
}

/** Keys that are not merged into the selector must not be in it. */
export function* validateUnmergedKeys(
  { matchLabelKeys = [], labelSelector }: TopologySpreadConstraint,
  at: Ref<TopologySpreadConstraint>,
): Iterable<FieldError> {
  if (matchLabelKeys.length === 0) return
  if (!labelSelector) yield forbidden(at.matchLabelKeys, 'must not be specified when labelSelector is not set')
  const selected = new Set([
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map(({ key }) => key),
  ])
  for (const [i, key] of matchLabelKeys.entries()) {
    yield* validateLabelKey(at.matchLabelKeys[i]!, key)
    if (selected.has(key)) yield invalid(withValue(at.matchLabelKeys[i]!, key), 'exists in both matchLabelKeys and labelSelector')
  }
}
