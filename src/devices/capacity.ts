/** Computes the consumption of the capacities of a device by a request, and whether enough is left. */
import type { CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity } from '../kinds/resource/slice-shapes.ts'
import { getOwn } from '../lib/json-value.ts'
import {
  addQuantity,
  compareQuantity,
  integerValue,
  milliValue,
  parseQuantity,
  type Quantity,
  quantityOf,
  quantitySign,
} from '../lib/quantity.ts'

/** Amounts that cannot be worked out: something is wrong with the request or the device, whichever else there are. */
export class CapacityError extends Error {}

export type Capacities = Readonly<Record<string, DeviceCapacity>>
export type Amounts = ReadonlyMap<string, Quantity>

export type CapacityDemand = {
  readonly capacities: Capacities
  /** The capacity in the request; the device decides about capacities that it leaves out. */
  readonly requests: Readonly<Record<string, string>> | undefined
  readonly fractional: boolean
}

/** The consumption of each capacity of the device by the request; undefined when the device lacks one, or does not allow the amount. */
export function consumedCapacity({ capacities, requests = {}, fractional }: CapacityDemand): Amounts | undefined {
  if (Object.keys(requests).some(name => !Object.hasOwn(capacities, name))) return undefined
  const consumed = new Map<string, Quantity>()
  for (const [name, capacity] of Object.entries(capacities)) {
    const amount = amountOf(name, getOwn(requests, name), capacity, fractional)
    if (quantitySign(amount) < 0) throw new CapacityError(`capacity "${name}": capacity value is negative`)
    consumed.set(name, amount)
  }
  for (const [name, { requestPolicy }] of Object.entries(capacities))
    if (requestPolicy && !isAllowed(consumed.get(name)!, requestPolicy, fractional)) return undefined
  return consumed
}

/** Whether amounts fit into a device beside what others take of it. */
export function fits(capacities: Capacities, amounts: Amounts, taken: readonly (Amounts | undefined)[]): boolean {
  for (const [name, { value }] of Object.entries(capacities)) {
    let total = amounts.get(name)!
    for (const each of taken) {
      const more = each?.get(name)
      if (more) total = addQuantity(total, more)
    }
    if (compareQuantity(total, parseQuantity(value)) > 0) return false
  }
  return true
}

function amountOf(name: string, request: string | undefined, { value, requestPolicy }: DeviceCapacity, fractional: boolean): Quantity {
  if (request === undefined) return parseQuantity(requestPolicy?.default ?? value)
  const wanted = parseQuantity(request)
  const { validRange, validValues } = requestPolicy ?? {}
  if (validRange?.min !== undefined && validRange.min !== null) return roundUp(name, wanted, validRange, fractional)
  const larger = (validValues ?? []).map(parseQuantity).find(each => compareQuantity(wanted, each) <= 0)
  return larger ?? wanted
}

const MAX_INT64 = 2n ** 63n - 1n

/** The least amount of a range that is enough: the minimum and some steps more. */
function roundUp(name: string, wanted: Quantity, range: CapacityRequestPolicyRange, fractional: boolean): Quantity {
  const min = parseQuantity(range.min!)
  if (compareQuantity(wanted, min) < 0) return min
  if (range.step === undefined) return wanted
  const step = parseQuantity(range.step)
  const isMilli = countsInMilli(range, fractional)
  const whole = isMilli ? milliValue : integerValue
  const refuse = (why: string): never => {
    throw new CapacityError(`capacity "${name}": capacity request cannot be represented in the device's range arithmetic: ${why}`)
  }
  if (isMilli && !isExactMilli(wanted)) refuse(`request ${wanted.text} is not a representable milli value`)
  if (!isMilli && compareQuantity(wanted, quantityOf(MAX_INT64)) > 0) refuse(`request ${wanted.text} exceeds MaxInt64`)
  const [least, by] = [whole(min), whole(step)]
  if (by <= 0n) return wanted
  const above = whole(wanted) - least
  const steps = above / by + (above % by === 0n ? 0n : 1n)
  const rounded = least + by * steps
  if (least >= 0n && rounded > MAX_INT64)
    refuse(`rounding request ${wanted.text} up to the next step passes ${isMilli ? 'the milli-value range' : 'MaxInt64'}`)
  if (!isMilli) return quantityOf(rounded, 0, step.format)
  return rounded % 1000n === 0n ? quantityOf(rounded / 1000n, 0, step.format) : quantityOf(rounded, -3, step.format)
}

function isAllowed(amount: Quantity, { default: standard, validRange, validValues }: CapacityRequestPolicy, fractional: boolean): boolean {
  if (standard && compareQuantity(amount, parseQuantity(standard)) === 0) return true
  if (validRange) return isInRange(amount, validRange, fractional)
  if (validValues?.length) return validValues.some(value => compareQuantity(amount, parseQuantity(value)) === 0)
  return true
}

function isInRange(amount: Quantity, range: CapacityRequestPolicyRange, fractional: boolean): boolean {
  const { min, max, step } = range
  if (max !== undefined && compareQuantity(amount, parseQuantity(max)) > 0) return false
  if (step === undefined || min === undefined || min === null) return true
  const isMilli = countsInMilli(range, fractional)
  if (isMilli && !isExactMilli(amount)) return false
  const whole = isMilli ? milliValue : integerValue
  const by = whole(parseQuantity(step))
  return by <= 0n || (whole(amount) - whole(parseQuantity(min))) % by === 0n
}

/** Whether a range is counted in thousandths: where fractions are on and everything fits. */
function countsInMilli({ min, max, step }: CapacityRequestPolicyRange, fractional: boolean): boolean {
  if (!fractional) return false
  const given = [min, max, step].flatMap(text => (text === undefined || text === null ? [] : [parseQuantity(text)]))
  return given.every(isExactMilli) && (step === undefined || milliValue(parseQuantity(step)) >= 1n)
}

const isExactMilli = (quantity: Quantity): boolean => compareQuantity(quantity, quantityOf(milliValue(quantity), -3)) === 0
