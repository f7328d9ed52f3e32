/** Checks that the patterns of a definition are valid regular expressions. */

import { LIMITS } from '../../lib/limits.ts'
import { linearRegex } from '../../lib/linear-regex.ts'
import { tooLarge } from '../../schema/status-error.ts'
import type { Schema } from './json-schema.ts'

const faults = new WeakMap<Schema, string>()
const NONE = ''

/** The error of the pattern, computed once for each schema; undefined if it is valid or absent. */
export function patternFault(schema: Schema): string | undefined {
  const { pattern = '' } = schema
  if (pattern === '') return undefined
  let fault = faults.get(schema)
  if (fault === undefined) faults.set(schema, (fault = compiled(pattern).fault))
  return fault === NONE ? undefined : fault
}

/** Checks the patterns of many schemas, for `patternFault` to report. Each pattern is compiled once. */
export class PatternChecks {
  readonly #known = new Map<string, string>()
  #size = 0

  /** Whether a pattern had to be compiled. Throws a StatusError when all of them together are too large. */
  add(schema: Schema): boolean {
    const { pattern = '' } = schema
    if (pattern === '') return false
    const known = this.#known.get(pattern)
    if (known !== undefined) {
      faults.set(schema, known)
      return false
    }
    const { fault, size } = compiled(pattern)
    this.#known.set(pattern, fault)
    faults.set(schema, fault)
    this.#size += size
    if (this.#size > LIMITS.patternInstructions)
      throw tooLarge(`Request entity too large: the patterns of the schemas have more than ${LIMITS.patternInstructions} instructions`)
    return true
  }
}

function compiled(pattern: string): { readonly fault: string; readonly size: number } {
  try {
    return { fault: NONE, size: linearRegex(pattern).size }
  } catch (error) {
    return { fault: (error as Error).message, size: pattern.length }
  }
}
