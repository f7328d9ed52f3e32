/** Common rules for devices and their allocations: binding conditions, and operations that nodes skip. */
import { validateLabelKey } from '../../schema/meta-rules.ts'
import { duplicate, type FieldError, invalid, type Ref, unsupported, withValue } from '../../schema/refs.ts'
import { type Finding, late, validateList } from './findings.ts'

const MAX_BINDING_CONDITIONS = 4

type Bound = { bindingConditions?: string[]; bindingFailureConditions?: string[] }

/** Conditions of success and of failure are set together, limited in number, and disjoint. */
export function* validateBindingConditions(
  { bindingConditions: wanted = [], bindingFailureConditions: failures = [] }: Bound,
  at: Ref<Bound>,
): Iterable<Finding> {
  const [atWanted, atFailures] = [at.bindingConditions, at.bindingFailureConditions]
  const rules = { max: MAX_BINDING_CONDITIONS, each: (name: string, here: Ref<string>) => validateLabelKey(here, name) }
  yield* validateList(wanted, atWanted, rules)
  yield* validateList(failures, atFailures, rules)
  yield* repeated(wanted, atWanted)
  const isWanted = new Set(wanted)
  const seen = new Set<string>()
  for (const [i, name] of failures.entries()) {
    if (seen.has(name)) yield duplicate(atFailures[i]!)
    seen.add(name)
    if (isWanted.has(name)) yield invalid(atFailures[i]!, 'bindingFailureConditions must not overlap with bindingConditions')
  }
  if (wanted.length === 0 && failures.length > 0)
    yield invalid(withValue(atWanted, null), 'bindingConditions are required to use bindingFailureConditions')
  if (failures.length === 0 && wanted.length > 0)
    yield invalid(withValue(atFailures, null), 'bindingFailureConditions are required to use bindingConditions')
}

function* repeated(names: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, name] of names.entries()) {
    if (seen.has(name)) yield duplicate(at[i]!)
    seen.add(name)
  }
}

const OPERATIONS = ['*', 'NodePrepareResources', 'NodeUnprepareResources']

/** Unprepare may be skipped only if prepare is skipped, too. */
export function* validateSkippedOperations(skipped: readonly string[] | undefined, at: Ref<string[]>): Iterable<Finding> {
  if (skipped?.includes('NodePrepareResources') && !skipped.includes('NodeUnprepareResources') && !skipped.includes('*'))
    yield invalid(at, 'NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped')
  yield* validateList(skipped, at, {
    key: operation => operation,
    *each(operation, here) {
      if (!OPERATIONS.includes(operation)) yield* late([unsupported(here, ...OPERATIONS)])
    },
  })
}
