/** The list functions of cel-go's extension, version 3: slice, flatten, sort, sortBy, lists.range, reverse and distinct. */

import type { Library } from '../checker/library.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  stringType,
  timestampType,
  typeParam,
  uintType,
} from '../checker/types.ts'
import { compareValues, equalValues } from '../runtime/equality.ts'
import { type CelInt, CelList, type CelValue, elementsOf, fault, isInt, listOf, noSuchOverload, runtimeType } from '../runtime/values.ts'
import { accumulator } from '../syntax/ast.ts'
import type { ExpandMacro } from '../syntax/grammar.ts'
import { actualSize, allocation } from './call-costs.ts'
import { fn, global, member } from './declare.ts'

/** The ordered types; overloads are named after them. */
export const sortableTypes = [intType, uintType, doubleType, boolType, durationType, timestampType, stringType, bytesType]

const listOfT = listType(typeParam('T'))
const listOfDyn = listType(dynType)
const MAX_RANGE = 1_000_000

type Args = readonly CelValue[]
const resultCost = (_: Args, result: CelValue): number => allocation(actualSize(result))
const flattenCost = ([list, depth]: Args): number =>
  allocation(actualSize(list), depth !== undefined && isInt(depth) && depth >= 0 ? Number(depth) : 1)
const selfCompareCost = (list: CelValue | undefined): number => {
  if (!(list instanceof CelList) || list.size === 0) return allocation(0)
  const first = list.at(0)
  const factor = typeof first === 'string' || first instanceof Uint8Array ? 2.1 : 2
  return allocation(list.size * list.size, factor)
}

export const listExtensionLibrary = (): Library => ({
  functions: [
    fn('slice', member({ id: 'list_slice', params: [listOfT, intType, intType], result: listOfT, cost: resultCost }, slice)),
    fn(
      'flatten',
      member({ id: 'list_flatten', params: [listType(listOfT)], result: listOfT, cost: flattenCost }, (list: CelValue) => flatten(list, 1)),
      member({ id: 'list_flatten_int', params: [listOfDyn, intType], result: listOfDyn, cost: flattenCost }, flatten),
    ),
    fn(
      'sort',
      ...sortableTypes.map(type =>
        member(
          {
            id: `list_${type.name}_sort`,
            params: [listType(type)],
            result: listType(type),
            cost: ([list]) => selfCompareCost(list),
          },
          (list: CelList) => sortBy(list, list),
        ),
      ),
    ),
    fn(
      SORT_BY_KEYS,
      ...sortableTypes.map(type =>
        member(
          {
            id: `list_${type.name}_sortByAssociatedKeys`,
            params: [listOfT, listType(type)],
            result: listOfT,
            cost: ([, keys]) => selfCompareCost(keys),
          },
          sortBy,
        ),
      ),
    ),
    fn('lists.range', global({ id: 'lists_range', params: [intType], result: listType(intType), cost: resultCost }, range)),
    fn('reverse', member({ id: 'list_reverse', params: [listOfT], result: listOfT, cost: resultCost }, reverse)),
    fn('distinct', member({ id: 'list_distinct', params: [listOfT], result: listOfT, cost: ([list]) => selfCompareCost(list) }, distinct)),
  ],
  macros: [{ function: 'sortBy', args: 2, receiver: true, expand: expandSortBy }],
})

const SORT_BY_KEYS = '@sortByAssociatedKeys'

function slice(list: CelList, start: CelInt, end: CelInt): CelValue {
  const cannot = (why: string) => fault(`cannot slice(${start}, ${end}), ${why}`)
  if (start < 0 || end < 0) return cannot('negative indexes not supported')
  if (start > end) return cannot('start index must be less than or equal to end index')
  if (end > list.size) return cannot(`list is length ${list.size}`)
  const out: CelValue[] = []
  for (let i = Number(start); i < Number(end); i++) out.push(list.at(i))
  return listOf(out)
}

/**
 * Flat lists are returned as they are, and a value that is no list fails with a message of its own: the argument's type is not checked
 * before.
 */
function flatten(list: CelValue, depth: CelValue): CelValue {
  if (!(list instanceof CelList) || !isInt(depth)) return noSuchOverload
  if (depth < 0) return fault('level must be non-negative')
  const out: CelValue[] = []
  gather(list, Number(depth), out)
  return listOf(out)
}

function gather(list: CelList, depth: number, out: CelValue[]): void {
  for (const element of elementsOf(list)) {
    if (element instanceof CelList && depth > 0) gather(element, depth - 1, out)
    else out.push(element)
  }
}

function sortBy(list: CelList, keys: CelList): CelValue {
  if (list.size !== keys.size) {
    const sizes = `${list.size} and ${keys.size} elements respectively`
    return fault(`@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${sizes}`)
  }
  if (list.size === 0) return list
  const ordered = [...elementsOf(keys)]
  const [first] = ordered
  if (compareValues(first!, first!) === noSuchOverload) return fault('list elements must be comparable')
  const { kind } = runtimeType(first!)
  if (ordered.some(key => runtimeType(key).kind !== kind)) return fault('list elements must have the same type')
  const indexes = ordered.map((_, i) => i)
  indexes.sort((i, j) => {
    const compared = compareValues(ordered[i]!, ordered[j]!)
    return typeof compared === 'number' ? compared : 0
  })
  return listOf(indexes.map(index => list.at(index)))
}

function range(count: CelInt): CelValue {
  if (count < 0) return fault(`lists.range: size must be non-negative, got ${count}`)
  if (count > MAX_RANGE) return fault(`lists.range: size ${count} exceeds maximum allowed (${MAX_RANGE})`)
  return listOf(Array.from({ length: Number(count) }, (_, i) => i))
}

const reverse = (list: CelList): CelValue => listOf([...elementsOf(list)].reverse())

function distinct(list: CelList): CelValue {
  const seen: CelValue[] = []
  for (const element of elementsOf(list)) if (!seen.some(other => equalValues(element, other) === true)) seen.push(element)
  return listOf(seen)
}

/** `list.sortBy(e, key)` sorts by the list of keys; the list itself is evaluated once. */
function expandSortBy(...[make, target, [variable, key]]: Parameters<ExpandMacro>): ReturnType<ExpandMacro> {
  if (!target || !variable || !key) return undefined
  if (!['list', 'select', 'ident', 'comprehension', 'call'].includes(target.kind)) {
    return { at: target, problem: 'sortBy can only be applied to a list, identifier, comprehension, call or select expression' }
  }
  if (variable.kind !== 'ident') return { at: variable, problem: 'argument is not an identifier' }
  if (variable.name === accumulator || variable.name === '__result__') {
    return { at: variable, problem: 'iteration variable overwrites accumulator variable' }
  }
  const input = () => make.ident(SORT_BY_INPUT)
  const keys = make.comprehension({
    iterRange: input(),
    iterVar: variable.name,
    accuInit: make.list(),
    loopCondition: make.literal({ type: 'bool', value: true }),
    loopStep: make.call('_+_', make.accumulator(), make.list(key)),
    result: make.accumulator(),
  })
  return make.comprehension({
    iterRange: make.list(),
    iterVar: '#unused',
    accuVar: SORT_BY_INPUT,
    accuInit: target,
    loopCondition: make.literal({ type: 'bool', value: false }),
    loopStep: input(),
    result: make.memberCall(SORT_BY_KEYS, input(), keys),
  })
}

const SORT_BY_INPUT = '@__sortBy_input__'
