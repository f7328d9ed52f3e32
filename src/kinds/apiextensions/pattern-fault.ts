/** Whether the pattern of a schema is a regular expression. */
import { linearRegex } from '../../lib/linear-regex.ts'
import type { Schema } from './json-schema.ts'

const faults = new WeakMap<Schema, string>()
const NONE = ''

/** What is wrong with the pattern, found out once for each schema; undefined where nothing is or there is none. */
export function patternFault(schema: Schema): string | undefined {
  const { pattern = '' } = schema
  if (pattern === '') return undefined
  let fault = faults.get(schema)
  if (fault === undefined) faults.set(schema, (fault = faultOf(pattern)))
  return fault === NONE ? undefined : fault
}

function faultOf(pattern: string): string {
  try {
    linearRegex(pattern)
    return NONE
  } catch (error) {
    return (error as Error).message
  }
}
