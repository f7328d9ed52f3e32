/** Counters that devices of a pool share: their values, and the rest beside the allocated devices. */
import type { CounterSet, DeviceCounterConsumption } from '../kinds/resource/slice-shapes.ts'
import { addQuantity, compareQuantity, parseQuantity, type Quantity, subtractQuantity } from '../lib/quantity.ts'

/** Amounts by counter set and counter. */
export type Counters = ReadonlyMap<string, Quantity>

const keyOf = (set: string, counter: string): string => `${set}/${counter}`

export function countersOf(sets: readonly CounterSet[]): Counters {
  const found = new Map<string, Quantity>()
  for (const { name, counters } of sets)
    for (const [counter, { value }] of Object.entries(counters ?? {})) found.set(keyOf(name, counter), parseQuantity(value))
  return found
}

/** The counters that a device consumes. */
export function consumptionOf(consumptions: readonly DeviceCounterConsumption[]): [string, Quantity][] {
  return consumptions.flatMap(({ counterSet, counters }) =>
    Object.entries(counters ?? {}).map(([counter, { value }]): [string, Quantity] => [keyOf(counterSet, counter), parseQuantity(value)]),
  )
}

/** Takes amounts from counters that may become negative by that; counters that are not there are left out. */
export function takeFrom(counters: Map<string, Quantity>, amounts: readonly (readonly [string, Quantity])[]): void {
  for (const [key, amount] of amounts) {
    const left = counters.get(key)
    if (left) counters.set(key, subtractQuantity(left, amount))
  }
}

export function giveBack(counters: Map<string, Quantity>, amounts: readonly (readonly [string, Quantity])[]): void {
  for (const [key, amount] of amounts) {
    const left = counters.get(key)
    if (left) counters.set(key, addQuantity(left, amount))
  }
}

/** Whether all of the amounts are there, together. */
export function isLeft(counters: Counters, amounts: readonly (readonly [string, Quantity])[]): boolean {
  const rest = new Map<string, Quantity>()
  for (const [key, amount] of amounts) {
    const left = rest.get(key) ?? counters.get(key)
    if (!left || compareQuantity(left, amount) < 0) return false
    rest.set(key, subtractQuantity(left, amount))
  }
  return true
}
