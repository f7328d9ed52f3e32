/** Lists seen as sets: sets.contains, sets.equivalent and sets.intersects. */

import type { Library } from '../checker/library.ts'
import { boolType, listType, typeParam } from '../checker/types.ts'
import { listContains } from '../runtime/equality.ts'
import { type CelList, type CelValue, elementsOf } from '../runtime/values.ts'
import { actualSize } from './call-costs.ts'
import { fn, global } from './declare.ts'

const params = [listType(typeParam('T')), listType(typeParam('T'))]

const costOf =
  (factor: number) =>
  ([a, b]: readonly CelValue[]): number =>
    1 + Math.trunc(actualSize(a) * actualSize(b) * factor)

export const setsLibrary = (): Library => ({
  functions: [
    fn('sets.contains', global({ id: 'list_sets_contains_list', params, result: boolType, cost: costOf(1) }, contains)),
    fn('sets.equivalent', global({ id: 'list_sets_equivalent_list', params, result: boolType, cost: costOf(2) }, equivalent)),
    fn('sets.intersects', global({ id: 'list_sets_intersects_list', params, result: boolType, cost: costOf(1) }, intersects)),
  ],
})

function contains(list: CelList, other: CelList): CelValue {
  for (const element of elementsOf(other)) {
    const found = listContains(list, element)
    if (found !== true) return found
  }
  return true
}

function equivalent(a: CelList, b: CelList): CelValue {
  const contained = contains(a, b)
  return contained === true ? contains(b, a) : contained
}

function intersects(a: CelList, b: CelList): CelValue {
  for (const element of elementsOf(a)) if (listContains(b, element) === true) return true
  return false
}
