/**
 * Rules that Kubernetes declares on the fields of a type instead of writing them by hand. They have an order and messages of their own, and
 * on an update they skip whatever has not changed.
 */
import { deepEqual } from '../../lib/json-value.ts'
import { duplicate, type FieldError, forbidden, invalid, type Ref, required, tooMany, withValue } from '../../schema/refs.ts'

/** The rules of a structure. */
export type Declared<T> = {
  /** Fields of which exactly one must be set. */
  readonly union?: readonly (keyof T & string)[]
  readonly fields?: { readonly [K in keyof T]?: FieldRules<NonNullable<T[K]>> }
}

/** The rules of a field. The first group decides whether the others are checked. */
export type FieldRules<V> = {
  /** The feature gate without which the field must not be set. */
  readonly gate?: string
  readonly immutable?: true
  readonly maxItems?: number
  readonly required?: true
  /** Zero differs from absent. */
  readonly pointer?: true
  readonly update?: readonly UpdateRule[]

  /** The key that identifies an item of a list. */
  readonly key?: (item: ItemOf<V>) => string
  /** The rules of each item. */
  readonly each?: () => Declared<ItemOf<V>>
  /** The rules of a structure. */
  readonly inside?: () => Declared<V>
  readonly check?: (value: V, at: Ref<V>, old: V | undefined) => Iterable<FieldError>
}
type ItemOf<V> = V extends readonly (infer E)[] ? E : never

export type UpdateRule = 'NoSet' | 'NoUnset' | 'NoModify' | 'NoAddItem' | 'NoRemoveItem'

export type DeclaredContext = { readonly isUpdate: boolean; readonly gate: (name: string) => boolean }

/** A value, where it is, and the stored value that it replaces. */
export type Change<V> = { readonly value: V; readonly at: Ref<V>; readonly old: V | undefined }

/** The errors of a structure, in the order of the rules. */
export function* validateDeclared<T extends object>(
  { union, fields = {} }: Declared<T>,
  change: Change<T>,
  ctx: DeclaredContext,
): Iterable<FieldError> {
  if (union) yield* validateUnion(union, change, ctx)
  const { value, at, old } = change
  for (const [name, rules] of Object.entries(fields) as [keyof T & string, FieldRules<any>][]) {
    const field = { value: value[name], at: (at as Record<string, Ref<any>>)[name]!, old: old?.[name] }
    if (ctx.isUpdate && old !== undefined && isSame(field.value, field.old)) continue
    yield* validateField(rules, field, ctx)
  }
}

/** Absent and empty lists are the same. */
const isSame = (a: unknown, b: unknown): boolean => deepEqual(listOrNothing(a), listOrNothing(b))
const listOrNothing = (value: unknown): any => (value === null || (Array.isArray(value) && value.length === 0) ? undefined : value)

function* validateUnion<T extends object>(members: readonly (keyof T & string)[], { value, at, old }: Change<T>, ctx: DeclaredContext) {
  const set = members.filter(name => isPresent(value[name]))
  if (ctx.isUpdate && old !== undefined && members.every(name => isPresent(value[name]) === isPresent(old[name]))) return
  const names = members.map(name => `\`${name}\``).join(', ')
  if (set.length > 1) yield invalid(withValue(at, `{${set.join(', ')}}`), `must specify exactly one of: ${names}`)
  if (set.length === 0) yield invalid(withValue(at, ''), `must specify one of: ${names}`)
}
const isPresent = (value: unknown): boolean => listOrNothing(value) !== undefined

function* validateField(rules: FieldRules<any>, { value, at, old }: Change<any>, ctx: DeclaredContext): Iterable<FieldError> {
  const present = isPresent(value) && (rules.pointer || (value !== '' && value !== 0))
  const first: FieldError[] = []
  if (present && rules.gate && !ctx.gate(rules.gate)) first.push(forbidden(at, ''))
  if (rules.immutable && ctx.isUpdate) first.push(invalid(withValue(at, null), 'field is immutable'))
  if (rules.maxItems !== undefined && present && value.length > rules.maxItems) first.push(tooMany(at, value.length, rules.maxItems))
  if (rules.required && !present) first.push(required(at))
  if (ctx.isUpdate) first.push(...updateErrors(rules, { value, at, old }))
  yield* first
  if (first.length > 0 || !present) return
  if (rules.check) yield* rules.check(value, at, old)
  if (rules.inside) yield* validateDeclared(rules.inside(), { value, at, old }, ctx)
  if (rules.key || rules.each) yield* validateItems(rules, { value, at, old }, ctx)
}

function* updateErrors({ update = [], key }: FieldRules<any>, { value, at, old }: Change<any>): Iterable<FieldError> {
  const [was, is] = [isPresent(old), isPresent(value)]
  const nothing = withValue(at, null)
  for (const rule of update) {
    if (rule === 'NoSet' && !was && is) yield invalid(nothing, 'field cannot be set once created')
    if (rule === 'NoUnset' && was && !is) yield invalid(nothing, 'field cannot be cleared once set')
    if (rule === 'NoModify' && was && is) yield invalid(nothing, 'field cannot be modified once set')
    if (rule === 'NoAddItem') {
      const known = new Set((old ?? []).map(key))
      for (const [i, item] of (value ?? []).entries()) if (!known.has(key!(item))) yield forbidden(itemsOf(at)[i]!, 'item may not be added')
    }
    if (rule === 'NoRemoveItem') {
      const kept = new Set((value ?? []).map(key))
      for (const item of old ?? []) if (!kept.has(key!(item))) yield forbidden(at, 'item may not be removed')
    }
  }
}

/** The items of a list, as paths. */
const itemsOf = (at: Ref<any>) => at as unknown as readonly Ref<any>[]

function* validateItems(
  { key, each }: FieldRules<any>,
  { value, at, old }: Change<readonly any[]>,
  ctx: DeclaredContext,
): Iterable<FieldError> {
  const items = itemsOf(at)
  if (key) {
    const seen = new Set<string>()
    for (const [i, item] of value.entries()) {
      if (seen.has(key(item as never))) yield duplicate(items[i]!)
      seen.add(key(item as never))
    }
  }
  if (!each) return
  const stored = new Map(key && (old ?? []).map(item => [key(item as never), item]))
  for (const [i, item] of value.entries()) {
    const before = key && stored.get(key(item as never))
    if (before !== undefined && deepEqual(before, item)) continue
    yield* validateDeclared(each() as Declared<any>, { value: item, at: items[i]!, old: before }, ctx)
  }
}
