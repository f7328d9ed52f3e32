/** Amounts of resources by name, and how they are added up and compared. */
import { addQuantity, compareQuantity, parseQuantity, type Quantity, quantityOf, quantitySign } from '../../../lib/quantity.ts'

export type ResourceList = ReadonlyMap<string, Quantity>

export const ZERO = quantityOf(0n)
export const ONE = quantityOf(1n)

/** Reads amounts as objects have them. */
export const listOf = (amounts: Readonly<Record<string, string>> | undefined): ResourceList =>
  new Map(Object.entries(amounts ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]))

/** Amounts as objects have them. */
export const amountsOf = (list: ResourceList): Record<string, string> =>
  Object.fromEntries([...list].map(([name, { text }]) => [name, text]))

/** The sum; resources that only one of them names are taken over. */
export function addLists(a: ResourceList, b: ResourceList): ResourceList {
  const sum = new Map(a)
  for (const [name, amount] of b) {
    const present = sum.get(name)
    sum.set(name, present ? sumOf(present, amount) : amount)
  }
  return sum
}

/** The difference, zero where it would be negative. Names what either of them names. */
export function subtractLists(a: ResourceList, b: ResourceList): ResourceList {
  const difference = new Map<string, Quantity>()
  for (const [name, amount] of a) {
    const taken = b.get(name)
    const left = taken ? sumOf(amount, negative(taken)) : amount
    difference.set(name, quantitySign(left) > 0 ? left : ZERO)
  }
  for (const name of b.keys()) if (!a.has(name)) difference.set(name, ZERO)
  return difference
}

/** The part that is about some names. */
export function only(list: ResourceList, names: Iterable<string>): ResourceList {
  const wanted = new Set(names)
  return new Map([...list].filter(([name]) => wanted.has(name)))
}

export const withoutZeros = (list: ResourceList): ResourceList => new Map([...list].filter(([, amount]) => quantitySign(amount) !== 0))

/** The names whose amount is above the bound, where there is one. */
export const namesAbove = (list: ResourceList, bounds: ResourceList): string[] =>
  [...list].filter(([name, amount]) => bounds.has(name) && compareQuantity(amount, bounds.get(name)!) > 0).map(([name]) => name)

export const negativeNames = (list: ResourceList): string[] =>
  [...list].filter(([, amount]) => quantitySign(amount) < 0).map(([name]) => name)

/** Whether both name the same resources with the same amounts, however these are written. */
export const sameList = (a: ResourceList, b: ResourceList): boolean =>
  a.size === b.size && [...a].every(([name, amount]) => b.has(name) && compareQuantity(amount, b.get(name)!) === 0)

/** `cpu=1,memory=1Gi`, by name. */
export const printList = (list: ResourceList): string =>
  [...list.keys()]
    .sort()
    .map(name => `${name}=${list.get(name)!.text}`)
    .join(',')

/** A sum has its own format, whatever the format of its parts. */
const sumOf = (a: Quantity, b: Quantity): Quantity => {
  const sum = addQuantity(a, b)
  return sum === a || sum === b ? quantityOf(sum.unscaled, sum.scale, sum.format) : sum
}

const negative = ({ unscaled, scale, format }: Quantity): Quantity => quantityOf(-unscaled, scale, format)
