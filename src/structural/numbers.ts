/** The limits that a schema sets on a number. */

import { goFloat, plainDecimal } from '../lib/go-text.ts'
import { broken, type Failure, overall, type ValidationResult } from './failure.ts'
import { isInteger, isWhole, truncated } from './integers.ts'
import type { Limits } from './schema.ts'

/** Adds the failures of a number at a path: first its range, then multiples, the least and the greatest. */
export function checkNumber(
  value: number | bigint,
  at: { path: string; types: readonly string[]; limits: Limits },
  out: ValidationResult,
): void {
  const { path, limits, types } = at
  const type = types.length === 1 && (types[0] === 'integer' || types[0] === 'number') ? types[0] : ''
  const inRange = (what: string, number: number | bigint): boolean => {
    const fits = fitsType(number, type, type === '' ? '' : limits.format)
    if (!fits) out.add(overall(`${what} value must be of type ${type} ${formatText(limits.format)} in ${path}`))
    return fits
  }
  const { multipleOf, minimum, maximum } = limits
  inRange('Checked', value)
  if (multipleOf !== undefined) add(out, multipleFault(path, operands(value, multipleOf, inRange('MultipleOf', multipleOf))))
  if (minimum !== undefined) {
    const pair = operands(value, minimum, inRange('Minimum boundary', minimum))
    const exclusive = limits.exclusiveMinimum
    if (exclusive ? pair.value <= pair.limit : pair.value < pair.limit)
      out.add(broken(path, `should be greater than ${exclusive ? '' : 'or equal to '}${numberText(pair.limit)}`, pair.value))
  }
  if (maximum !== undefined) {
    const pair = operands(value, maximum, inRange('Maximum boundary', maximum))
    const exclusive = limits.exclusiveMaximum
    if (exclusive ? pair.value >= pair.limit : pair.value > pair.limit)
      out.add(broken(path, `should be less than ${exclusive ? '' : 'or equal to '}${numberText(pair.limit)}`, pair.value))
  }
  out.fits++
}

type Operands = { readonly value: number | bigint; readonly limit: number | bigint }

/** Integers are compared with the limit as an integer, unless the limit is no number of the type; doubles as doubles. */
function operands(value: number | bigint, limit: number, comparable: boolean): Operands {
  if (comparable && isInteger(value)) return { value, limit: truncated(limit) }
  return { value: Number(value), limit }
}

function multipleFault(path: string, { value, limit: factor }: Operands): Failure | undefined {
  if (factor <= 0) {
    const text = `factor MultipleOf declared for ${path} must be positive: ${numberText(factor)}`
    return { text, field: path, reason: 'FieldValueInvalid', message: `Invalid value: ${numberText(factor)}: ${text}` }
  }
  const multiple =
    typeof factor === 'bigint' ? BigInt(value) % factor === 0n : isWhole(factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor)
  return multiple ? undefined : broken(path, `should be a multiple of ${numberText(factor)}`, value)
}

const numberText = (value: number | bigint) => (typeof value === 'bigint' ? String(value) : goFloat(value))
const formatText = (format: string) => (format === '' ? '(default format)' : `with format ${format}`)

/** Whether a number can be held by the type without loss. */
function fitsType(value: number | bigint, type: string, format: string): boolean {
  if (Number.isSafeInteger(value) && format !== 'int32') return true
  if (type === 'integer') {
    const whole = typeof value === 'bigint' ? value : Number.isInteger(value) ? BigInt(plainDecimal(value)) : undefined
    return whole !== undefined && BigInt.asIntN(format === 'int32' ? 32 : 64, whole) === whole
  }
  return type !== 'number' || format !== 'float' || Number.isFinite(Math.fround(Number(value)))
}

function add(out: ValidationResult, failure: Failure | undefined): void {
  if (failure) out.add(failure)
}
