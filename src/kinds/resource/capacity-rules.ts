/** Rules for the capacity that requests may consume of a device with multiple allocations. */
import {
  addQuantity,
  compareQuantity,
  integerValue,
  milliValue,
  parseQuantity,
  type Quantity,
  quantityOf,
  quantitySign,
} from '../../lib/quantity.ts'
import { type FieldError, forbidden, invalid, type Ref, required, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { under } from '../rules/error-paths.ts'
import { validateCodedList } from './findings.ts'
import type { CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity } from './slice-shapes.ts'

const MAX_VALUES = 10
const MAX_INT64 = 2n ** 63n - 1n
const MAX_ZEROS = 100

type Gate = RequestContext['gate']

/** A policy requires a device with multiple allocations, and has either valid values or a valid range. */
export function* validateCapacity(
  { value, requestPolicy: policy }: DeviceCapacity,
  at: Ref<DeviceCapacity>,
  { isShared, gate }: { isShared: boolean; gate: Gate },
): Iterable<FieldError> {
  if (!policy) return
  const here = at.requestPolicy
  const { validValues = [], validRange } = policy
  if (!isShared) yield forbidden(here, 'allowMultipleAllocations must be true')
  else if (validValues.length > 0 && validRange)
    yield forbidden(here, 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time')
  else if (validValues.length > 0) yield* validateValues(policy, here, { capacity: parseQuantity(value), gate })
  else if (validRange) yield* validateRange(policy, here, { capacity: parseQuantity(value), gate })
}

type Limits = { readonly capacity: Quantity; readonly gate: Gate }

/** Values ascend, none exceeds the capacity, and the default is one of them. */
function* validateValues(policy: CapacityRequestPolicy, at: Ref<CapacityRequestPolicy>, { capacity, gate }: Limits): Iterable<FieldError> {
  if (!policy.default) return yield required(at.default, 'required when validValues is defined')
  const preset = parseQuantity(policy.default)
  const values = policy.validValues ?? []
  const parsed = values.map(parseQuantity)
  for (const [i, value] of parsed.entries()) {
    const next = parsed[i + 1]
    if (next && compareQuantity(value, next) > 0) yield invalid(at.validValues[i + 1]!, 'values must be sorted in ascending order')
  }
  yield* validateCodedList(values, at.validValues, {
    max: MAX_VALUES,
    key: gate('DRAFractionalCapacityRange') ? text => decimalText(parseQuantity(text)) : text => String(integerValue(parseQuantity(text))),
    *each(text, here) {
      if (compareQuantity(parseQuantity(text), capacity) > 0) yield invalid(here, `option is larger than capacity value: ${capacity.text}`)
    },
  })
  // Too many values are not searched.
  const known = values.length <= MAX_VALUES && parsed.some(value => compareQuantity(value, preset) === 0)
  if (!known) yield invalid(withValue(at.validValues, preset.text), 'default value is not valid according to the requestPolicy')
}

/** The range is within the capacity, the default within the range, and the default and the maximum are a whole number of steps from the minimum. */
function* validateRange(policy: CapacityRequestPolicy, at: Ref<CapacityRequestPolicy>, { capacity, gate }: Limits): Iterable<FieldError> {
  if (!policy.default) return yield required(at.default, 'required when validRange is defined')
  const range = policy.validRange!
  const here = at.validRange
  if (!range.min) return yield required(here.min, 'required when validRange is defined')
  const [preset, min] = [parseQuantity(policy.default), parseQuantity(range.min)]
  const [max, step] = [range.max, range.step].map(text => (text === undefined ? undefined : parseQuantity(text)))
  yield* validateBounds({ preset, min, max, capacity }, here)
  const parts = { default: preset, min, max, step }
  const isFractional = gate('DRAFractionalCapacityRange') && Object.values(parts).some(part => part && hasFraction(part))
  if (isFractional) {
    const unsafe = [...unsafeParts(parts, here, milliFault)]
    if (unsafe.length > 0) return yield* unsafe
  }
  if (!step) return
  if (quantitySign(step) <= 0) return yield invalid(here.step, 'must be greater than zero')
  const first = addQuantity(min, step)
  if (compareQuantity(first, capacity) > 0)
    yield invalid(here.step, `one step ${first.text} is larger than capacity value: ${capacity.text}`)
  const unsafe = isFractional ? [] : [...unsafeParts(parts, here, integerFault)]
  if (unsafe.length > 0) return yield* unsafe
  const amount = isFractional ? milliValue : integerValue
  for (const value of [preset, ...(max ? [max] : [])])
    if ((amount(value) - amount(min)) % amount(step) !== 0n)
      yield invalid(withValue(here.step, value.text), `value is not a multiple of a given step (${step.text}) from (${min.text})`)
}

type Bounds = { preset: Quantity; min: Quantity; max: Quantity | undefined; capacity: Quantity }

function* validateBounds({ preset, min, max, capacity }: Bounds, at: Ref<CapacityRequestPolicyRange>): Iterable<FieldError> {
  const atDefault = under(at, 'default', preset.text)
  if (compareQuantity(min, capacity) > 0) yield invalid(at.min, `min is larger than capacity value: ${capacity.text}`)
  if (compareQuantity(preset, min) < 0) yield invalid(atDefault, `default is less than min: ${min.text}`)
  if (!max) return
  if (compareQuantity(min, max) > 0) yield invalid(withValue(at.max, min.text), `min is larger than max: ${max.text}`)
  if (compareQuantity(max, capacity) > 0) yield invalid(at.max, `max is larger than capacity value: ${capacity.text}`)
  if (compareQuantity(preset, max) > 0) yield invalid(atDefault, `default is more than max: ${max.text}`)
}

/** Amounts with which steps cannot be counted. */
function* unsafeParts(
  parts: Readonly<Record<string, Quantity | undefined>>,
  at: Ref<CapacityRequestPolicyRange>,
  faultOf: (part: Quantity) => string | undefined,
): Iterable<FieldError> {
  for (const [name, part] of Object.entries(parts)) {
    const fault = part && faultOf(part)
    if (fault) yield invalid(under(at, name, part.text), fault)
  }
}

const milliFault = (part: Quantity) =>
  compareQuantity(part, quantityOf(milliValue(part), -3, part.format)) === 0 ? undefined : 'value cannot be represented as a milli value'

function integerFault(part: Quantity): string | undefined {
  if (quantitySign(part) < 0) return 'must be greater than or equal to 0'
  return compareQuantity(part, quantityOf(MAX_INT64)) > 0 ? `must not be larger than ${MAX_INT64}` : undefined
}

const hasFraction = ({ unscaled, scale }: Quantity): boolean => scale < 0 && unscaled % 10n ** BigInt(-scale) !== 0n

/** A quantity as a plain decimal number, unless it is too large. */
function decimalText({ unscaled, scale }: Quantity): string {
  if (scale > MAX_ZEROS) return `${unscaled}e${scale}`
  if (scale >= 0) return unscaled === 0n ? '0' : `${unscaled}${'0'.repeat(scale)}`
  const [sign, digits] = unscaled < 0n ? ['-', String(-unscaled)] : ['', String(unscaled)]
  const padded = digits.padStart(1 - scale, '0')
  return `${sign}${padded.slice(0, scale)}.${padded.slice(scale)}`
}
