/**
 * The order of errors. Kubernetes has hand-written and declarative rules in this group, and reports the declarative ones last, with
 * different messages. A rule here tells which it is; `inOrder` sorts them as clients see them.
 */
import { LIMITS } from '../../lib/limits.ts'
import { duplicate, type FieldError, type Ref, tooMany, withValue } from '../../schema/refs.ts'

/** A field error that may be sorted after all others. */
export type Finding = FieldError & { readonly late?: true }

/** Marks errors of declarative validation. */
export function* late(errors: Iterable<FieldError>): Iterable<Finding> {
  for (const error of errors) yield { ...error, late: true }
}

/** The remaining errors where Kubernetes stops hand-written validation but continues declarative validation. */
export function* lateOnly(findings: Iterable<Finding>): Iterable<Finding> {
  for (const finding of findings) if (finding.late) yield finding
}

/** One after the other. */
export function* all(...parts: readonly Iterable<Finding>[]): Iterable<Finding> {
  for (const part of parts) yield* part
}

/** The path of a field in a served version, which errors of declarative validation name; other errors name that of the stored version. */
export type ServedPath = (path: string) => string

/** All errors in the order of kube-apiserver, as many as a response can hold. */
export function* inOrder(findings: Iterable<Finding>, servedPath: ServedPath = path => path): Iterable<FieldError> {
  const last: FieldError[] = []
  for (const finding of findings) {
    const { late: isLate, ...error } = finding
    if (!isLate) yield error
    else if (last.push({ ...error, field: servedPath(error.field) }) === LIMITS.errorCauses) break
  }
  yield* last
}

/** Rules for a list: its maximum length, uniqueness, and the rules of its items. */
export type ListRules<T> = {
  readonly max?: number
  readonly key?: (item: T) => string
  readonly each?: (item: T, at: Ref<T>) => Iterable<Finding>
}

/**
 * A list whose size and uniqueness are declarative rules: errors show whole duplicates, and the items of too long a list are not checked.
 */
export function* validateList<T>(
  items: readonly T[] | null | undefined,
  at: Ref<T[]>,
  { max, key, each }: ListRules<T>,
): Iterable<Finding> {
  if (max !== undefined && (items?.length ?? 0) > max) return yield* late([tooMany(at, items!.length, max)])
  if (key) yield* late(duplicatesIn(items ?? [], key).map(({ index }) => duplicate(at[index]!)))
  yield* validateItems(items, at, each)
}

/** A list whose size and uniqueness are hand-written rules: errors show the keys of duplicates. */
export function* validateCodedList<T>(
  items: readonly T[] | null | undefined,
  at: Ref<T[]>,
  { max, key, each }: ListRules<T>,
): Iterable<Finding> {
  if (max !== undefined && (items?.length ?? 0) > max) return yield tooMany(at, items!.length, max)
  yield* validateItems(items, at, each)
  if (key) for (const { index, shared } of duplicatesIn(items ?? [], key)) yield duplicate(withValue(at[index]!, shared))
}

function* validateItems<T>(items: readonly T[] | null | undefined, at: Ref<T[]>, each: ListRules<T>['each']): Iterable<Finding> {
  if (each) for (const [i, item] of (items ?? []).entries()) yield* each(item, at[i]! as Ref<T>)
}

function duplicatesIn<T>(items: readonly T[], key: (item: T) => string): { index: number; shared: string }[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const shared = key(item)
    if (seen.has(shared)) return { index, shared }
    seen.add(shared)
    return []
  })
}
