/** Concatenates lists without copying them. */

import { intOverflow } from './int64.ts'
import { ArrayList, CelList, type CelValue, GatheredList } from './values.ts'
import { countWork } from './work.ts'

/** Up to this size a concatenation is flattened when it is read; beyond it, each read descends to the part it is in. */
const MAX_FLAT_SIZE = 1_000_000

/** Two concatenated lists. */
class JoinedList extends CelList {
  readonly size: number
  readonly left: CelList
  readonly right: CelList
  #flat: CelValue[] | undefined
  constructor(left: CelList, right: CelList) {
    super()
    this.left = left
    this.right = right
    this.size = left.size + right.size
  }
  at(index: number): CelValue {
    if (this.size <= MAX_FLAT_SIZE) {
      this.#flat ??= flatten(this)
      return this.#flat[index]!
    }
    let list: CelList = this
    let within = index
    while (list instanceof JoinedList) {
      if (within < list.left.size) list = list.left
      else {
        within -= list.left.size
        list = list.right
      }
    }
    return list.at(within)
  }
}

function flatten(list: CelList): CelValue[] {
  countWork(list.size >> 1)
  const flat: CelValue[] = []
  const waiting = [list]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (next instanceof JoinedList) waiting.push(next.right, next.left)
    else for (let i = 0; i < next.size; i++) flat.push(next.at(i))
  }
  return flat
}

/** The elements of both lists; the accumulator of a comprehension grows in place instead. */
export function addLists(a: CelList, b: CelList): CelValue {
  if (a instanceof GatheredList) {
    const count = b.size
    for (let i = 0; i < count; i++) a.elements.push(b.at(i))
    return a
  }
  if (a.plus) return a.plus(b)
  if (a.size === 0) return b
  if (a.size + b.size > Number.MAX_SAFE_INTEGER) return intOverflow
  return b.size === 0 ? a : new JoinedList(a, b)
}

/** The finished list of an accumulator. */
export const settled = (list: GatheredList): CelList => new ArrayList(list.elements)
