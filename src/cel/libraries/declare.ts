/** Shorthand for declaring the functions of a library. */

import type { FunctionDecl, Overload } from '../checker/library.ts'
import type { CelType } from '../checker/types.ts'
import { type CelValue, fault, noSuchOverload, runtimeType } from '../runtime/values.ts'

type Cost = NonNullable<Overload['cost']>

/** What a call gives; the arguments are of the declared types, which the caller has seen to. */
type Apply = (...args: any[]) => CelValue

export interface Signature {
  readonly id: string
  readonly params: readonly CelType[]
  readonly result: CelType
  /** Without one a call costs 1. */
  readonly cost?: Cost
}

/** An overload that is called as a function. */
export const global = ({ id, params, result, cost }: Signature, apply: Apply): Overload => ({
  id,
  params,
  result,
  evaluate: args => (params.every((param, i) => isOfLibrary(param, args[i]!)) ? apply(...args) : noSuchOverload),
  ...(cost && { cost }),
})

// Objects of dyn pass for any object type until here; those of a library are values of its own.
const isOfLibrary = (param: CelType, value: CelValue): boolean => param.kind !== 'object' || runtimeType(value).name === param.name

/** An overload that is called on its first argument. */
export const member = (signature: Signature, apply: Apply): Overload => ({ ...global(signature, apply), member: true })

export const fn = (name: string, ...overloads: Overload[]): FunctionDecl => ({ name, overloads })

/** What a function that throws gives: its result, or a fault with the message of what it threw. */
export function attempt(run: () => CelValue, describe: (message: string) => string = message => message): CelValue {
  try {
    return run()
  } catch (error) {
    return fault(describe(error instanceof Error ? error.message : String(error)))
  }
}
