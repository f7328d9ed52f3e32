/** PodDisruptionBudget limits how many pods of an application may be disrupted voluntarily at once. */

import { deepEqual } from '../../lib/json-value.ts'
import { nameIsPathSegment } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, hasErrors, invalid, type Ref, refTo, unsupported, withValue } from '../../schema/refs.ts'
import { int32, int64, intOrString, keyed, mapOf, message, type Static, string, time } from '../../schema/types.ts'
import { Condition, isEmptySelector, LabelSelector, validateConditions, validateLabelSelector } from '../rules/meta.ts'
import { validateNonNegative } from '../rules/text-rules.ts'
import { validateAmount, validateAtMostWhole } from '../rules/workload.ts'

const PodDisruptionBudgetSpec = message('PodDisruptionBudgetSpec', {
  minAvailable: [1, intOrString.optional(), 'How many pods must stay available, or which part of them.'],
  selector: [2, LabelSelector.replacedByPatches(), 'Which pods are counted; all of the namespace when empty, none when absent.'],
  maxUnavailable: [3, intOrString.optional(), 'How many pods may be away, or which part of them; instead of minAvailable.'],
  unhealthyPodEvictionPolicy: [
    4,
    string.listed('AlwaysAllow', 'IfHealthyBudget').optional(),
    'When pods that are not ready may be evicted: IfHealthyBudget or AlwaysAllow.',
  ],
})
type Spec = Static<typeof PodDisruptionBudgetSpec>

const PodDisruptionBudgetStatus = message('PodDisruptionBudgetStatus', {
  observedGeneration: [1, int64, 'The generation this status describes.'],
  disruptedPods: [2, mapOf(time), 'Pods whose eviction was granted and that are not deleted yet, with the time of the eviction.'],
  disruptionsAllowed: [3, int32.always().omittable(), 'How many pods may be evicted now.'],
  currentHealthy: [4, int32.always().omittable(), 'Pods that are healthy.'],
  desiredHealthy: [5, int32.always().omittable(), 'Pods that must stay healthy.'],
  expectedPods: [6, int32.always().omittable(), 'Pods that are counted.'],
  conditions: [7, keyed(Condition, 'type').mergedBy('type'), 'Latest observations.'],
})

export const PodDisruptionBudget = defineKind({
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  scope: 'Namespaced',
  names: { plural: 'poddisruptionbudgets', short: ['pdb'] },
  name: nameIsPathSegment,
  doc: 'How many pods of an application may be away at once by choice.',
  unqualifiedFinalizers: true,
  spec: PodDisruptionBudgetSpec,
  status: PodDisruptionBudgetStatus,
  generation: true,
  allowUnconditionalUpdate: false,

  prepareForCreate: ({ spec }) => dropMarker(spec),
  prepareForUpdate({ spec }, old) {
    if (!deepEqual(spec.selector, old.spec.selector)) dropMarker(spec)
  },
  validate: ({ spec }, { spec: at }, { old }) => validateSpec(spec, at, old?.spec),

  subresources: {
    status: {
      *validate({ status }, { status: at }) {
        yield* validateConditions(status.conditions, at.conditions)
        for (const field of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const)
          yield* validateNonNegative(status[field], at[field])
      },
    },
  },

  columns: {
    'Min Available': ['string', o => String(o.spec.minAvailable ?? 'N/A'), 'The minimum number of pods that must be available.'],
    'Max Unavailable': ['string', o => String(o.spec.maxUnavailable ?? 'N/A'), 'The maximum number of pods that may be unavailable.'],
    'Allowed Disruptions': ['integer', o => o.status.disruptionsAllowed, 'Calculated number of pods that may be disrupted at this time.'],
    Age: age,
  },
})

/** An object of the kind PodDisruptionBudget. */
export type PodDisruptionBudget = ObjectOf<typeof PodDisruptionBudget>

function* validateSpec(spec: Spec, at: Ref<Spec>, old: Spec | undefined): Iterable<FieldError> {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    // kube-apiserver shows the spec with the field names of its internal type.
    const shown = {
      MinAvailable: minAvailable,
      Selector: selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: policy ?? null,
    }
    yield invalid(withValue(at, shown), 'minAvailable and maxUnavailable cannot be both set')
  }
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    const amount = spec[field]
    if (amount === undefined) continue
    yield* validateAmount(amount, at[field])
    yield* validateAtMostWhole(amount, at[field])
  }
  const allowInvalidValues = old?.selector !== undefined && hasErrors(validateLabelSelector(old.selector, refTo(old.selector)))
  yield* validateLabelSelector(selector, at.selector, { allowInvalidValues })
  if (policy !== undefined && policy !== 'AlwaysAllow' && policy !== 'IfHealthyBudget')
    yield unsupported(at.unhealthyPodEvictionPolicy, 'AlwaysAllow', 'IfHealthyBudget')
}

/** The label key that v1beta1 conversions used for selectors that match everything or nothing: an empty selector had the opposite meaning. */
const MARKER = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match'
const SELECTS_NOTHING: LabelSelector = { matchExpressions: [{ key: MARKER, operator: 'Exists' }] }

/** The marker is allowed alone, but not beside requirements of the user. */
function dropMarker({ selector }: Spec): void {
  if (!selector || isEmptySelector(selector) || deepEqual(selector, SELECTS_NOTHING)) return
  const others = selector.matchExpressions?.filter(({ key }) => key !== MARKER) ?? []
  if (others.length > 0) selector.matchExpressions = others
  else delete selector.matchExpressions
}
