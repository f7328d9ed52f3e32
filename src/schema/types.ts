/**
 * The schema language. A `Type` is an immutable description of a value that carries its static type in the phantom `T`; the server derives
 * decoding, defaults, validation, patches, ownership, protobuf and OpenAPI from it.
 *
 * The type determines how an empty field is written, as in Kubernetes:
 *
 *   string                 zero and absent are the same; neither is written
 *   string.optional()      an explicit zero differs from absent and is kept
 *   string.always()        written even when zero; OpenAPI requires it, unless it is also omittable()
 *   string.required()      as always(), and an empty value is an error
 *   string.default('x')    absent becomes 'x'
 *   Message                absent, or present even when empty
 *   Message.orEmpty()      absent means the empty message: clients may omit it, readers never have to check
 */

import type { Json } from '../lib/json-value.ts'

declare const STATIC: unique symbol
declare const PRESENT: unique symbol

export type Format = (value: string) => readonly string[]
export type Rules = { readonly min?: number; readonly max?: number; readonly enum?: readonly string[]; readonly format?: Format }
export type Flags = {
  /** Written even when zero or absent. */
  readonly always?: true
  readonly required?: true
  /** Always written, but clients need not send it. */
  readonly omittable?: true
  /** Required in OpenAPI, though it may be absent. */
  readonly expected?: true
  /** Explicit zero differs from absent. */
  readonly optional?: true
  readonly orEmpty?: true
  readonly immutable?: true
  readonly default?: unknown
  /** The default in OpenAPI, undefined for none; without this, the zero value that is always written. */
  readonly openapiDefault?: { readonly value: unknown }
  /** Values that OpenAPI lists; the kind's rules decide whether others are refused. */
  readonly openapiEnum?: readonly string[]
  /** OpenAPI does not declare the list type. */
  readonly unmarked?: true
  /** Apply treats the whole value as one field. */
  readonly atomic?: true
  /** Apply merges the value field by field, only here: elsewhere its type is atomic. */
  readonly granular?: true
  /** The strategy of strategic merge patches for the list or map; by default they replace it. */
  readonly merge?: { readonly key?: string; readonly retainKeys?: true; readonly replace?: true }
}

export class Type<T, Present extends boolean = false> {
  declare readonly [STATIC]: T
  declare readonly [PRESENT]: Present
  readonly shape: Shape
  readonly rules: Rules
  readonly flags: Flags

  constructor(shape: Shape, rules: Rules = {}, flags: Flags = {}) {
    this.shape = shape
    this.rules = rules
    this.flags = flags
    Object.freeze(this)
  }

  /** The minimum of a number, or of the length of a string, list or map. */
  min(min: number): Type<T, Present> {
    return this.#with({ min })
  }
  /** The maximum of a number, or of the length of a string, list or map. */
  max(max: number): Type<T, Present> {
    return this.#with({ max })
  }
  /** A rule for strings that returns error messages. */
  format(format: Format): Type<T, Present> {
    return this.#with({ format })
  }
  required(): Type<T, true> {
    return this.#flag({ required: true, always: true })
  }
  always(): Type<T, true> {
    return this.#flag({ always: true })
  }
  /** Clients need not send the field although it is always written; OpenAPI does not require it. Absent lists and structures are null. */
  omittable(): Type<T extends object ? T | null : T, Present> {
    return this.#flag({ omittable: true })
  }
  /** OpenAPI requires the field; whether it has to be present is left to the rules. */
  expected(): Type<T, Present> {
    return this.#flag({ expected: true })
  }
  optional(): Type<T, false> {
    return this.#flag({ optional: true })
  }
  orEmpty(): Type<T, true> {
    return this.#flag({ orEmpty: true })
  }
  default(value: T): Type<T, true> {
    return this.#flag({ default: value })
  }
  /** A default that OpenAPI shows, too. */
  publishedDefault(value: T): Type<T, true> {
    return this.#flag({ default: value, openapiDefault: { value } })
  }
  /** Values that OpenAPI lists, without a rule that refuses others. */
  listed(...values: readonly string[]): this {
    return this.#flag({ openapiEnum: values }) as unknown as this
  }
  /** OpenAPI does not declare the list type. */
  unmarked(): this {
    return this.#flag({ unmarked: true }) as unknown as this
  }
  /** The default that OpenAPI shows, whatever an absent value becomes; without an argument, none. */
  openapiDefault(value?: T): Type<T, Present> {
    return this.#flag({ openapiDefault: { value } })
  }
  immutable(): Type<T, Present> {
    return this.#flag({ immutable: true })
  }
  atomic(): Type<T, Present> {
    return this.#flag({ atomic: true })
  }
  /** Apply merges this one field by field, although its type is atomic elsewhere. */
  granular(): Type<T, Present> {
    const { atomic: _, ...flags } = this.flags
    return new Type(this.shape, this.rules, { ...flags, granular: true })
  }
  /** Strategic merge patches merge this list by a key of its items; without a key, as a set of plain values. */
  mergedBy(key?: string): Type<T, Present> {
    return this.#flag({ merge: { ...this.flags.merge, ...(key === undefined ? {} : { key }) } })
  }
  /** Strategic merge patches may list the fields to keep in `$retainKeys`. */
  retainingKeys(): Type<T, Present> {
    return this.#flag({ merge: { ...this.flags.merge, retainKeys: true } })
  }
  /** Strategic merge patches replace the whole message. */
  replacedByPatches(): Type<T, Present> {
    return this.#flag({ merge: { ...this.flags.merge, replace: true } })
  }

  #with(rules: Rules): Type<any, any> {
    return new Type(this.shape, { ...this.rules, ...rules }, this.flags)
  }
  #flag(flags: Flags): Type<any, any> {
    return new Type(this.shape, this.rules, { ...this.flags, ...flags })
  }
}

export type AnyType = Type<any, boolean>
/** Protobuf number of a field; a pair for a field that JSON inlines and protobuf keeps in an embedded message, which may nest. */
export type Wire = number | readonly [embedded: number, inner: Wire]
/** A field: its protobuf number, its type, and its description. */
export type Field = readonly [wire: Wire, type: AnyType, doc?: string]
export type Fields = Readonly<Record<string, Field>>

export type ScalarName =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'double'
  | 'bytes'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'quantity'
  | 'intOrString'
  | 'raw'
export type MessageShape = {
  readonly kind: 'message'
  readonly name: string
  readonly fields: Fields
  /** Fills in fields that depend on others of the same message; runs after the fields' own defaults, innermost message first. */
  readonly defaults?: (value: any) => void
  /** At most one of its fields is set; `by` is the discriminator, which is not one of them. */
  readonly union?: { readonly by?: string }
  /** The type of undeclared members, where they are allowed. */
  readonly others?: AnyType
}
export type ListShape = { readonly kind: 'list'; readonly item: AnyType; readonly list: 'atomic' | 'set' | readonly string[] }
/** A value of one of several types: the value distinguishes them in JSON, the field of a message in protobuf. */
export type EitherShape = {
  readonly kind: 'either'
  readonly name: string
  /** The type of objects. */
  readonly object: readonly [wire: number, type: AnyType]
  /** The type of lists. */
  readonly list?: readonly [wire: number, type: AnyType]
  /** The type of booleans. Protobuf writes true beside an object, too. */
  readonly bool?: readonly [wire: number, type: AnyType]
  /** The error for any other value; without it, any other value counts as absent. */
  readonly otherwise?: string
}
/** A scalar; `as` is the name of its definition in OpenAPI, where that is not the one of all such scalars. */
export type ScalarShape = { readonly kind: 'scalar'; readonly name: ScalarName; readonly as?: string }
export type Shape = ScalarShape | MessageShape | ListShape | { readonly kind: 'map'; readonly value: AnyType } | EitherShape

export type Static<X> = X extends Type<infer T, boolean> ? T : never
type FieldType<F> = F extends readonly [unknown, infer X, ...unknown[]] ? X : never
type IsPresent<F> = FieldType<F> extends Type<any, true> ? true : false
type Simplify<T> = { [K in keyof T]: T[K] } & {}
export type Message<F> = Simplify<
  { -readonly [K in keyof F as IsPresent<F[K]> extends true ? K : never]: Static<FieldType<F[K]>> } & {
    -readonly [K in keyof F as IsPresent<F[K]> extends true ? never : K]?: Static<FieldType<F[K]>>
  }
>

const scalar = <T>(name: ScalarName) => new Type<T>({ kind: 'scalar', name })
export const string = scalar<string>('string')
export const bool = scalar<boolean>('bool')
export const int32 = scalar<number>('int32')
/** Values beyond 2^53 are bigint, so that nothing is rounded. */
export const int64 = scalar<number | bigint>('int64')
export const double = scalar<number>('double')
/** Base64. */
export const bytes = scalar<string>('bytes')
/** RFC 3339 with seconds, in UTC. */
export const time = scalar<string>('time')
/** RFC 3339 with microseconds, in UTC. */
export const microTime = scalar<string>('microTime')
/** A duration in Go's format, such as `1m30s`. */
export const duration = scalar<string>('duration')
/** A resource quantity such as `500m` or `2Gi`, always in canonical form. */
export const quantity = scalar<string>('quantity')
export const intOrString = scalar<number | string>('intOrString')
/** Any JSON, kept unchanged. */
export const raw = scalar<Json>('raw')
/** Any JSON, with a definition of its own in OpenAPI. */
export const rawAs = (definition: string) => new Type<Json>({ kind: 'scalar', name: 'raw', as: definition })

export const oneOf = <const V extends readonly string[]>(...values: V) =>
  new Type<V[number]>({ kind: 'scalar', name: 'string' }, { enum: values })

/** A structure. `defaults` fills in fields that depend on others of the same message; only one field of a `union` may be set. */
export const message = <const F extends Fields>(name: string, fields: F, more: MessageTraits<F> = {}) =>
  new Type<Message<F>>({ kind: 'message', name, fields, ...more })
type MessageTraits<F> = { readonly defaults?: (value: Message<F>) => void; readonly union?: { readonly by?: keyof F & string } }
/** A recursive structure: `fields` receives the type itself. */
export function recursive<T>(name: string, fields: (self: Type<T>) => Fields): Type<T> {
  const own: Record<string, Field> = {}
  const self = new Type<T>({ kind: 'message', name, fields: own })
  Object.assign(own, fields(self))
  Object.freeze(own)
  return self
}
/** Either an object or a list, or either an object or a boolean. */
export const either = <T>(name: string, alternatives: Omit<EitherShape, 'kind' | 'name'>) =>
  new Type<T>({ kind: 'either', name, ...alternatives })
/** A list that apply replaces as a whole. */
export const atomic = <T>(item: Type<T, boolean>) => new Type<T[]>({ kind: 'list', item, list: 'atomic' })
/** A list of unique plain values that apply merges. */
export const set = <T>(item: Type<T, boolean>) => new Type<T[]>({ kind: 'list', item, list: 'set' })
/** A list of messages identified by key fields, which apply merges. */
export const keyed = <T>(item: Type<T, boolean>, ...keys: (keyof T & string)[]) => new Type<T[]>({ kind: 'list', item, list: keys })
export const mapOf = <T>(value: Type<T, boolean>) => new Type<Record<string, T>>({ kind: 'map', value })

/** Fields that JSON writes in the parent and protobuf in an embedded message at `wire`: `...inlined(2, volumeSources)`. */
export const inlined = <const F extends Fields>(wire: number, fields: F): { readonly [K in keyof F]: Inlined<F[K]> } =>
  Object.fromEntries(Object.entries(fields).map(([name, [inner, ...rest]]) => [name, [[wire, inner], ...rest]])) as never
type Inlined<F> = F extends readonly [unknown, ...infer Rest] ? readonly [Wire, ...Rest] : never
