/** Shorthands for declaring the functions of a library. */

import { messageOf } from '../../lib/error-message.ts'
import type { FunctionDecl, Overload } from '../checker/library.ts'
import type { CelType } from '../checker/types.ts'
import { type CelValue, fault, noSuchOverload, runtimeType } from '../runtime/values.ts'

type Cost = NonNullable<Overload['cost']>

/** Computes a call; the caller has checked that the arguments are of the declared types. */
type Apply = (...args: any[]) => CelValue

export interface Signature {
  readonly id: string
  readonly params: readonly CelType[]
  readonly result: CelType
  /** The default is 1. */
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

// Objects of type dyn pass as any object type until here; those of a library are its own values.
const isOfLibrary = (param: CelType, value: CelValue): boolean => param.kind !== 'object' || runtimeType(value).name === param.name

/** An overload that is called on its first argument. */
export const member = (signature: Signature, apply: Apply): Overload => ({ ...global(signature, apply), member: true })

export const fn = (name: string, ...overloads: Overload[]): FunctionDecl => ({ name, overloads })

/** The result of a function that may throw, or a fault with the message of its error. */
export function attempt(run: () => CelValue, describe: (message: string) => string = message => message): CelValue {
  try {
    return run()
  } catch (error) {
    return fault(describe(messageOf(error)))
  }
}
