/** Rules on what failed pods lead to, and on when a job is a success. */
import { goQuote } from '../../lib/go-text.ts'
import {
  duplicate,
  type FieldError,
  invalid,
  invalidUnshown,
  type Ref,
  required,
  tooLong,
  tooMany,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import { CONDITION_STATUSES } from '../shapes/meta.ts'
import { validateNonNegative, validateQualifiedName } from '../shapes/text-rules.ts'
import { countIndexes } from './indexes.ts'
import type { FailureRule, JobSpec, OnExitCodes, OnPodCondition, SuccessRule } from './job-shapes.ts'

const MOST_RULES = 20
const MOST_CONDITIONS = 20
const MOST_EXIT_CODES = 255
const LONGEST_INDEXES = 64 * 1024
const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const OPERATORS = ['In', 'NotIn']

/** Rules on the failure policy of a job. */
export function* validateFailurePolicy(spec: JobSpec, { podFailurePolicy: at }: Ref<JobSpec>): Iterable<FieldError> {
  const rules = spec.podFailurePolicy?.rules ?? []
  if (rules.length > MOST_RULES) yield tooMany(at.rules, rules.length, MOST_RULES)
  const { containers = [], initContainers = [] } = spec.template.spec
  const names = new Set([...(containers ?? []), ...(initContainers ?? [])].map(c => c.name))
  for (const [i, rule] of rules.entries()) yield* validateFailureRule(rule, at.rules[i]!, { spec, names })
}

type Job = { readonly spec: JobSpec; readonly names: ReadonlySet<string> }

function* validateFailureRule({ action, onExitCodes, onPodConditions = [] }: FailureRule, at: Ref<FailureRule>, { spec, names }: Job) {
  if (!action) yield required(at.action, validValues(ACTIONS))
  else if (action === 'FailIndex') {
    if (spec.backoffLimitPerIndex === undefined) yield invalid(at.action, 'requires the backoffLimitPerIndex to be set')
  } else if (!ACTIONS.includes(action)) yield unsupported(at.action, ...ACTIONS)
  if (onExitCodes) yield* validateExitCodes(onExitCodes, at.onExitCodes, names)
  if (onPodConditions.length > MOST_CONDITIONS) yield tooMany(at.onPodConditions, onPodConditions.length, MOST_CONDITIONS)
  for (const [i, pattern] of onPodConditions.entries()) yield* validateCondition(pattern, at.onPodConditions[i]!)
  if (onExitCodes && onPodConditions.length > 0)
    yield invalidUnshown(at, 'specifying both OnExitCodes and OnPodConditions is not supported')
  if (!onExitCodes && onPodConditions.length === 0)
    yield invalidUnshown(at, 'specifying one of OnExitCodes and OnPodConditions is required')
}

function* validateExitCodes({ operator, containerName, values }: OnExitCodes, at: Ref<OnExitCodes>, names: ReadonlySet<string>) {
  if (!operator) yield required(at.operator, validValues(OPERATORS))
  else if (!OPERATORS.includes(operator)) yield unsupported(at.operator, ...OPERATORS)
  if (containerName !== undefined && !names.has(containerName))
    yield invalid(at.containerName, 'must be one of the container or initContainer names in the pod template')
  const codes = values ?? []
  if (codes.length === 0) yield invalid(withValue(at.values, values ?? null), 'at least one value is required')
  else if (codes.length > MOST_EXIT_CODES) yield tooMany(at.values, codes.length, MOST_EXIT_CODES)
  const seen = new Set<number>()
  for (const [i, code] of codes.entries()) {
    if (operator === 'In' && code === 0) yield invalid(at.values[i]!, 'must not be 0 for the In operator')
    if (seen.has(code)) yield duplicate(at.values[i]!)
    seen.add(code)
  }
  if (codes.some((code, i) => i > 0 && codes[i - 1]! > code)) yield invalid(at.values, 'must be ordered')
}

function* validateCondition({ type, status }: OnPodCondition, at: Ref<OnPodCondition>): Iterable<FieldError> {
  yield* validateQualifiedName(type, at.type)
  if (!CONDITION_STATUSES.includes(status)) yield unsupported(at.status, ...CONDITION_STATUSES)
}

const validValues = (values: readonly string[]) => `valid values: [${values.map(goQuote).join(' ')}]`

/** Rules on the success policy of an indexed job. */
export function* validateSuccessPolicy(
  { successPolicy, completions = 0 }: JobSpec,
  { successPolicy: at }: Ref<JobSpec>,
): Iterable<FieldError> {
  const rules = successPolicy?.rules ?? []
  if (rules.length === 0) yield required(at.rules, 'at least one rules must be specified when the successPolicy is specified')
  if (rules.length > MOST_RULES) yield tooMany(at.rules, rules.length, MOST_RULES)
  for (const [i, rule] of rules.entries()) yield* validateSuccessRule(rule, at.rules[i]!, completions)
}

function* validateSuccessRule({ succeededIndexes, succeededCount }: SuccessRule, at: Ref<SuccessRule>, completions: number) {
  if (succeededCount === undefined && succeededIndexes === undefined)
    yield required(at, 'at least one of succeededCount or succeededIndexes must be specified')
  const indexes = succeededIndexes === undefined ? undefined : countIndexes(succeededIndexes, completions)
  if (Buffer.byteLength(succeededIndexes ?? '') > LONGEST_INDEXES) yield tooLong(at.succeededIndexes, LONGEST_INDEXES)
  if (indexes?.ok === false) yield invalid(at.succeededIndexes, `error parsing succeededIndexes: ${indexes.fault}`)
  if (succeededCount === undefined) return
  yield* validateNonNegative(succeededCount, at.succeededCount)
  if (succeededCount > completions)
    yield invalid(at.succeededCount, `must be less than or equal to ${completions} (the number of specified completions)`)
  const named = indexes?.ok ? indexes.value : 0
  if (indexes && succeededCount > named)
    yield invalid(
      at.succeededCount,
      `must be less than or equal to ${named} (the number of indexes in the specified succeededIndexes field)`,
    )
}
