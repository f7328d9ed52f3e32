/** Lists with set or map semantics: sets, and lists whose elements have key fields. */

import { equalValues } from './equality.ts'
import { showValue } from './show-value.ts'
import { ArrayList, CelFault, CelList, CelMap, type CelValue, elementsOf, fault, noSuchOverload, runtimeType } from './values.ts'

const scalarsOnly = fault('listSet operations are only supported on lists of scalar values')

/** A list without duplicates: equal to any list with the same elements, and `+` is a union. */
export class SetList extends CelList {
  readonly #list: CelList
  constructor(list: CelList) {
    super()
    this.#list = list
  }
  get size(): number {
    return this.#list.size
  }
  at(index: number): CelValue {
    return this.#list.at(index)
  }
  override equalTo(other: CelValue): boolean | CelFault {
    if (!(other instanceof CelList)) return noSuchOverload
    if (this.size !== other.size) return false
    const mine = scalarKeys(this)
    if (mine instanceof CelFault) return mine
    const theirs = scalarKeys(other)
    if (theirs instanceof CelFault) return theirs
    return mine.size === theirs.size && [...mine].every(key => theirs.has(key))
  }
  override plus(other: CelList): CelValue {
    const seen = scalarKeys(this)
    if (seen instanceof CelFault) return seen
    const elements = [...elementsOf(this)]
    for (const element of elementsOf(other)) {
      const key = scalarKey(element)
      if (key instanceof CelFault) return key
      if (seen.has(key)) continue
      seen.add(key)
      elements.push(element)
    }
    return new SetList(new ArrayList(elements))
  }
}

function scalarKeys(list: CelList): Set<string> | CelFault {
  const keys = new Set<string>()
  for (const element of elementsOf(list)) {
    const key = scalarKey(element)
    if (key instanceof CelFault) return key
    keys.add(key)
  }
  return keys
}

function scalarKey(value: CelValue): string | CelFault {
  return value instanceof CelList || value instanceof CelMap ? scalarsOnly : typedText(value)
}

const typedText = (value: CelValue | undefined): string =>
  value === undefined ? 'absent' : `${runtimeType(value).name}:${showValue(value)}`

/** A list of objects with key fields: equal in any order, and `+` replaces elements with the same keys. */
export class KeyedList extends CelList {
  readonly #list: CelList
  readonly #keys: readonly string[]
  constructor(list: CelList, keys: readonly string[]) {
    super()
    this.#list = list
    this.#keys = keys
  }
  get size(): number {
    return this.#list.size
  }
  at(index: number): CelValue {
    return this.#list.at(index)
  }
  override equalTo(other: CelValue): boolean | CelFault {
    if (!(other instanceof CelList)) return noSuchOverload
    if (this.size !== other.size) return false
    const mine = new Map(Array.from(elementsOf(this), element => [this.#keyOf(element), element]))
    const seen = new Set<string>()
    for (const theirs of elementsOf(other)) {
      const key = this.#keyOf(theirs)
      const element = mine.get(key)
      if (element === undefined) return false
      const equal = equalValues(element, theirs)
      if (equal !== true) return equal
      seen.add(key)
    }
    return seen.size === mine.size
  }
  override plus(other: CelList): CelValue {
    const elements = [...elementsOf(this)]
    const indexes = new Map(elements.map((element, index) => [this.#keyOf(element), index]))
    for (const element of elementsOf(other)) {
      const index = indexes.get(this.#keyOf(element))
      if (index === undefined) elements.push(element)
      else elements[index] = element
    }
    return new KeyedList(new ArrayList(elements), this.#keys)
  }
  #keyOf(element: CelValue): string {
    if (!(element instanceof CelMap)) return typedText(element)
    return JSON.stringify(this.#keys.map(key => typedText(element.find(key))))
  }
}
