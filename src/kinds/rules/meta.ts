/** Types that many kinds share: label selectors and conditions, with their rules. */
import { isQualifiedName, isValidLabelValue, regexMessage } from '../../lib/names.ts'
import { validateLabelKey, validateLabels } from '../../schema/meta-rules.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  type Ref,
  required,
  tooLong,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import {
  type LabelOperator,
  type LabelTerms,
  labelTerm,
  matchesLabelTerms,
  printLabelSelector,
  sortedByKey,
} from '../../schema/selectors.ts'
import { atomic, int64, mapOf, message, type Static, string, time } from '../../schema/types.ts'

export const LabelSelectorRequirement = message('LabelSelectorRequirement', {
  key: [1, string.always(), 'The label that the requirement applies to.'],
  operator: [2, string.always(), 'How the label is compared: In, NotIn, Exists or DoesNotExist.'],
  values: [3, atomic(string), 'The values that the label is compared with; empty for Exists and DoesNotExist.'],
})
export type LabelSelectorRequirement = Static<typeof LabelSelectorRequirement>

export const LabelSelector = message('LabelSelector', {
  matchLabels: [1, mapOf(string), 'Labels that must be there with exactly these values.'],
  matchExpressions: [2, atomic(LabelSelectorRequirement), 'Further conditions on labels; all must hold.'],
}).atomic()
export type LabelSelector = Static<typeof LabelSelector>

export const Condition = message('Condition', {
  type: [1, string.always(), 'The type of the condition.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  observedGeneration: [3, int64, 'The generation of the object that was looked at.'],
  lastTransitionTime: [4, time.always().expected(), 'When the status last changed.'],
  reason: [5, string.always(), 'A CamelCase reason for the last transition.'],
  message: [6, string.always(), 'The same for people.'],
})
export type Condition = Static<typeof Condition>

export type LabelSelectorOptions = {
  /** Accepts invalid label values, for objects stored before they were checked. */
  readonly allowInvalidValues?: boolean
  /** Accepts unknown operators. */
  readonly allowUnknownOperators?: boolean
}

/** Rules for a selector; an absent one is valid. */
export function* validateLabelSelector(
  selector: LabelSelector | null | undefined,
  at: Ref<LabelSelector>,
  options: LabelSelectorOptions = {},
): Iterable<FieldError> {
  yield* validateLabels(selector?.matchLabels, at.matchLabels)
  for (const [i, requirement] of (selector?.matchExpressions ?? []).entries())
    yield* validateRequirement(requirement, at.matchExpressions[i]!, options)
}

/** Whether a stored selector has invalid values, which updates then may keep. */
export function hasInvalidValues(selector: LabelSelector | null | undefined): boolean {
  return selector?.matchExpressions?.some(({ values }) => values?.some(value => isValidLabelValue(value).length > 0)) ?? false
}

/** Whether a selector matches labels: an absent one matches nothing, an empty one everything, an invalid one nothing. */
export function matchesLabels(
  selector: LabelSelector | null | undefined,
  labels: Readonly<Record<string, string>> | null | undefined,
): boolean {
  const terms = labelTermsOf(selector)
  return terms !== undefined && selector !== undefined && selector !== null && matchesLabelTerms(terms, labels)
}

/** Whether a selector is valid and does not match labels. */
export function rejectsLabels(
  selector: LabelSelector | null | undefined,
  labels: Readonly<Record<string, string>> | null | undefined,
): boolean {
  const terms = labelTermsOf(selector)
  return terms !== undefined && !(selector && matchesLabelTerms(terms, labels))
}

/** Whether a selector is empty, and so matches everything. */
export function isEmptySelector(selector: LabelSelector | null | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length === 0
}

/** A selector in table cells: `<none>` when it is empty, `<error>` when it is invalid. */
export function formatLabelSelector(selector: LabelSelector | null | undefined): string {
  const terms = labelTermsOf(selector)
  return terms === undefined ? '<error>' : printLabelSelector(terms) || '<none>'
}

/** A selector as a string, for scale subresources; empty when it is invalid. */
export function selectorText(selector: LabelSelector | null | undefined): string {
  return printLabelSelector(labelTermsOf(selector) ?? [])
}

/** The requirements of a selector; undefined when one of them is invalid. */
export function labelTermsOf(selector: LabelSelector | null | undefined): LabelTerms | undefined {
  const made = [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => labelTerm(key, '=', [value])),
    ...(selector?.matchExpressions ?? []).map(({ key, operator, values }) =>
      Object.hasOwn(OPERATORS, operator) ? labelTerm(key, OPERATORS[operator as keyof typeof OPERATORS], values ?? []) : undefined,
    ),
  ]
  const terms = made.flatMap(m => (m && m.errors.length === 0 ? [m.term] : []))
  return terms.length === made.length ? sortedByKey(terms) : undefined
}

/** Rules for a list of conditions, one of each type. */
export function* validateConditions(conditions: readonly Condition[] | null | undefined, at: Ref<Condition[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, condition] of (conditions ?? []).entries()) {
    if (seen.has(condition.type)) yield duplicate(withValue(at[i]!, condition.type))
    seen.add(condition.type)
    yield* validateCondition(condition, at[i]!)
  }
}

/** Rules for one condition. */
function* validateCondition(condition: Condition, at: Ref<Condition>): Iterable<FieldError> {
  const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition
  if (!type) yield required(at.type, 'is required')
  else yield* invalidEach(at.type, isQualifiedName(type))
  if (!status) yield required(at.status)
  else if (!CONDITION_STATUSES.includes(status)) yield unsupported(at.status, ...CONDITION_STATUSES)
  if (observedGeneration < 0) yield invalid(at.observedGeneration, 'must be greater than or equal to zero')
  if (!lastTransitionTime) yield required(at.lastTransitionTime)
  if (!reason) yield required(at.reason)
  else {
    yield* invalidEach(at.reason, conditionReasonFaults(reason))
    if (Buffer.byteLength(reason) > MAX_REASON_BYTES) yield tooLong(at.reason, MAX_REASON_BYTES)
  }
  if (Buffer.byteLength(message ?? '') > MAX_MESSAGE_BYTES) yield tooLong(at.message, MAX_MESSAGE_BYTES)
}

/** The errors of a condition's reason. */
export const conditionReasonFaults = (reason: string): string[] => (REASON.test(reason) ? [] : [REASON_MESSAGE])

/** The valid values of a condition's status. */
export const CONDITION_STATUSES: readonly string[] = ['False', 'True', 'Unknown']
const MAX_REASON_BYTES = 1024
const MAX_MESSAGE_BYTES = 32 * 1024
const REASON_PATTERN = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?'
const REASON = new RegExp(`^${REASON_PATTERN}$`)
const REASON_MESSAGE = regexMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  REASON_PATTERN,
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
)

const OPERATORS = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' } satisfies Record<string, LabelOperator>

/** Rules for one requirement of a selector. */
export function* validateRequirement(
  { key, operator, values }: LabelSelectorRequirement,
  at: Ref<LabelSelectorRequirement>,
  { allowInvalidValues, allowUnknownOperators }: LabelSelectorOptions,
): Iterable<FieldError> {
  const given = values ?? []
  if (operator === 'In' || operator === 'NotIn') {
    if (given.length === 0) yield required(at.values, "must be specified when `operator` is 'In' or 'NotIn'")
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (given.length > 0) yield forbidden(at.values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
  } else if (!allowUnknownOperators) yield invalid(at.operator, 'not a valid selector operator')
  yield* validateLabelKey(at.key, key)
  if (allowInvalidValues) return
  for (const [i, value] of given.entries()) {
    const faults = isValidLabelValue(value)
    if (faults.length > 0) yield* invalidEach(at.values[i]!, faults)
  }
}
