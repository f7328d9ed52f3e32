/** The contract of @keelson/cel: compiles and evaluates expressions of the Common Expression Language as Kubernetes does. */

/** JSON as JavaScript has it. Whole numbers are CEL ints, other numbers doubles; ints beyond 2^53 are bigints. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * The type of a variable, or of an argument or result of a function. Values are JSON: a timestamp is a string in RFC 3339, a duration a
 * string such as `1h30m`, bytes are a string in base64. The maxima bound the estimated cost of expressions; values are not checked
 * against them.
 */
export type Type =
  | 'dyn'
  | 'bool'
  | 'int'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | { readonly type: 'string' | 'bytes'; readonly maxLength: number }
  | { readonly type: 'list'; readonly items: Type; readonly maxItems?: number }
  | { readonly type: 'map'; readonly values: Type; readonly maxEntries?: number }
  | { readonly type: 'object'; readonly fields: { readonly [name: string]: Type } }

/**
 * The value of an expression: ints and uints are numbers, or bigints beyond 2^53; bytes are a Uint8Array; timestamps and durations are
 * strings; a map whose keys are not all strings is a Map; an empty optional is undefined; a type is its name. Values of Kubernetes'
 * own types, such as `quantity('1Ki')`, are the strings that CEL prints for them.
 */
export type Value =
  | undefined
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Value[]
  | ReadonlyMap<Value, Value>
  | { readonly [key: string]: Value }

/** A function that expressions can call, implemented in JavaScript. An exception fails the evaluation. */
export interface FunctionDeclaration {
  readonly name: string
  readonly params: readonly Type[]
  readonly result: Type
  /** Called as `first.name(others)` instead of `name(first, others)`. */
  readonly member?: boolean
  /** The cost of a call; 1 by default. */
  readonly cost?: number
  call(...args: any[]): JsonValue
}

export interface EnvironmentOptions {
  /**
   * `kubernetes`, the default, has every library of Kubernetes 1.37: strings, lists, sets, regular expressions, URLs, IP addresses,
   * quantities, formats, semantic versions and optionals. `standard` has what CEL itself defines, with optionals and comprehensions over
   * two variables.
   */
  readonly libraries?: 'kubernetes' | 'standard'
  readonly variables?: { readonly [name: string]: Type }
  readonly functions?: readonly FunctionDeclaration[]
}

/** Variables, functions and libraries that expressions are compiled with. It can be used for any number of expressions. */
export interface Environment {
  /** Parses and type-checks an expression. Throws a CelError. */
  compile(expression: string): Program
}

/** A compiled expression, to be evaluated any number of times. */
export interface Program {
  readonly expression: string
  /** The type of its value as CEL writes it: `bool`, `list(int)`. */
  readonly type: string
  /** The bounds of the cost of an evaluation, from the declared maxima; `max` is 2^64 - 1 where nothing bounds it. */
  readonly estimatedCost: { readonly min: bigint; readonly max: bigint }
  evaluate(variables?: { readonly [name: string]: JsonValue }, limits?: Limits): Outcome
}

/** An evaluation that exceeds a limit ends with an error. */
export interface Limits {
  /** The cost as CEL counts it, by default KUBERNETES_COST_LIMIT; Infinity lifts the limit. */
  readonly maxCost?: number
  /** Work that CEL's cost does not show, such as comparing deep values, in steps; 10,000,000 by default, some tenths of a second. */
  readonly maxWork?: number
}

export type Outcome =
  | { readonly ok: true; readonly value: Value; readonly cost: number }
  | { readonly ok: false; readonly error: string; readonly reason: 'failed' | 'cost limit' | 'work limit'; readonly cost: number }

/** A problem in an expression: lines and columns begin with 1, columns count code points. Some problems have no position. */
export interface Issue {
  readonly message: string
  readonly line?: number
  readonly column?: number
}

/** An expression that does not compile. The message is cel-go's, with the line of the expression and a pointer below it. */
export class CelError extends Error {
  readonly issues: readonly Issue[]
  constructor(message: string, issues: readonly Issue[])
}

/** The cost that Kubernetes allows for one evaluation. */
export const KUBERNETES_COST_LIMIT: number

export function createEnvironment(options?: EnvironmentOptions): Environment

/** Compiles one expression in an environment of its own. Throws a CelError. */
export function compile(expression: string, options?: EnvironmentOptions): Program

/** Compiles and evaluates an expression whose variables may be of any type. Throws a CelError, or an Error with what failed. */
export function evaluate(expression: string, variables?: { readonly [name: string]: JsonValue }): Value
