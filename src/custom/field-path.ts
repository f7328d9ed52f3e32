/** Plain paths of fields such as `.spec.replicas`: reads and sets the value at a path. */
import { goPrint, goType } from '../lib/go-text.ts'
import { getOwn, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'

/** The content at a path: a value, nothing, or a fault where the path leads through something that is no object. */
export type Found = { readonly value: Json | undefined; readonly fault?: string }

/** The names on a path, whose first dot may be left out. */
export const stepsOf = (path: string): string[] => path.replace(/^\./, '').split('.')

function valueAt(object: JsonObject, steps: readonly string[]): Found {
  let value: Json | undefined = object
  for (let i = 0; i < steps.length; i++) {
    if (value === null) return NOTHING
    if (!isObject(value)) return { value: undefined, fault: mismatch(steps.slice(0, i + 1), value, 'map[string]interface{}') }
    value = getOwn(value, steps[i]!)
    if (value === undefined) return NOTHING
  }
  return { value }
}
const NOTHING: Found = { value: undefined }

/** The whole number at a path. */
export function integerAt(object: JsonObject, steps: readonly string[]): { value: number | bigint | undefined; fault?: string } {
  const { value, fault } = valueAt(object, steps)
  if (fault !== undefined || value === undefined) return { value: undefined, ...(fault !== undefined && { fault }) }
  if (typeof value === 'bigint' || Number.isInteger(value)) return { value: value as number | bigint }
  return { value: undefined, fault: mismatch(steps, value, 'int64') }
}

/** The text at a path. */
export function textAt(object: JsonObject, steps: readonly string[]): { value: string | undefined; fault?: string } {
  const { value, fault } = valueAt(object, steps)
  if (fault !== undefined || value === undefined) return { value: undefined, ...(fault !== undefined && { fault }) }
  return typeof value === 'string' ? { value } : { value: undefined, fault: mismatch(steps, value, 'string') }
}

/** Sets the value at a path, making objects on the way; the object is changed in place. */
export function setAt(object: JsonObject, steps: readonly string[], value: Json): void {
  let at = object
  for (const step of steps.slice(0, -1)) {
    const next = getOwn(at, step)
    const inner: JsonObject = isObject(next) ? next : {}
    if (inner !== next) setOwn(at, step, inner)
    at = inner
  }
  setOwn(at, steps.at(-1)!, value)
}

/** Go's words for a value of another type than expected. */
const mismatch = (steps: readonly string[], value: Json, expected: string) =>
  `.${steps.join('.')} accessor error: ${goPrint(value)} is of the type ${goType(value)}, expected ${expected}`
