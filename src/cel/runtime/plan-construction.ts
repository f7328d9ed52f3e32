/** Plans the construction of values: lists, maps, objects and comprehensions. */

import { accumulator, type ComprehensionExpr, type ListExpr, type MapExpr, type StructExpr } from '../syntax/ast.ts'
import type { Frame, Step } from './frame.ts'
import { settled } from './lists.ts'
import { goTypeOf } from './plan-selection.ts'
import { constant, type Planned, type Planner } from './planner.ts'
import { listCost, mapCost, structCost } from './runtime-cost.ts'
import { showValue } from './show-value.ts'
import { ArrayList, CelFault, CelList, CelMap, CelOptional, type CelValue, EntryMap, fault, GatheredList, GatheredMap } from './values.ts'

/** Plans `[a, ?b]`. */
export function planList(planner: Planner, expr: ListExpr): Planned {
  const planned = expr.elements.map(element => planner.plan(element))
  if (planner.options.optimize && planned.every(element => element.constant !== undefined)) {
    return constant(new ArrayList(planned.map(element => element.constant!)))
  }
  const steps = planned.map(element => element.step)
  const optional = new Set(expr.optional)
  const make = (frame: Frame): CelValue => {
    const elements: CelValue[] = []
    for (let i = 0; i < steps.length; i++) {
      const value = steps[i]!(frame)
      if (value instanceof CelFault) return value
      if (!optional.has(i)) elements.push(value)
      else if (!(value instanceof CelOptional)) {
        return fault(`cannot initialize optional list element from non-optional value ${showValue(value)}`)
      } else if (value.value !== undefined) elements.push(value.value)
    }
    return new ArrayList(elements)
  }
  return { step: afterwards(make, listCost) }
}

/** The cost of creating a value is added also when it fails. */
const afterwards =
  (make: Step, cost: number): Step =>
  frame => {
    const value = make(frame)
    frame.cost += cost
    return value
  }

/** Plans `{key: value, ?key: value}`. */
export function planMap(planner: Planner, expr: MapExpr): Planned {
  const entries = expr.entries.map(entry => ({
    key: planner.plan(entry.key),
    value: planner.plan(entry.value),
    optional: entry.optional,
  }))
  const make = (frame: Frame): CelValue => {
    const map = new EntryMap()
    for (const entry of entries) {
      const key = entry.key.step(frame)
      if (key instanceof CelFault) return key
      const value = entry.value.step(frame)
      const failed = setEntry(map, key, value, entry.optional)
      if (failed) return failed
    }
    return map
  }
  const literal = entries.every(({ key, value }) => key.constant !== undefined && value.constant !== undefined)
  if (planner.options.optimize && literal) {
    const map = new EntryMap()
    const failed = entries.map(entry => setEntry(map, entry.key.constant!, entry.value.constant!, entry.optional)).find(Boolean)
    if (!failed) return constant(map)
  }
  return { step: afterwards(make, mapCost) }
}

function setEntry(map: EntryMap, key: CelValue, value: CelValue, optional: boolean): CelFault | undefined {
  if (value instanceof CelFault) return value
  if (!optional) return map.set(key, value)
  if (!(value instanceof CelOptional)) return notOptional(showValue(key), value)
  if (value.value !== undefined) return map.set(key, value.value)
  map.delete(key)
  return undefined
}

const notOptional = (key: string, value: CelValue): CelFault =>
  fault(`cannot initialize optional entry '${key}' from non-optional value ${showValue(value)}`)

/** Plans `Type{field: value}`. */
export function planStruct(planner: Planner, expr: StructExpr): Planned {
  const fields = expr.fields.map(field => ({ name: field.name, step: planner.plan(field.value).step, optional: field.optional }))
  const unknown = fault(`unknown type '${expr.type}'`)
  const make = (frame: Frame): CelValue => {
    const values = new Map<string, CelValue>()
    for (const { name, step, optional } of fields) {
      const value = step(frame)
      if (value instanceof CelFault) return value
      if (!optional) values.set(name, value)
      else if (!(value instanceof CelOptional)) return notOptional(name, value)
      else if (value.value !== undefined) values.set(name, value.value)
    }
    const made = planner.env.types.construct?.(expr.type, values)
    return made === undefined ? unknown : made
  }
  return { step: afterwards(make, structCost) }
}

/** Plans a loop. Its accumulator is initialized when first read, and grows in place, as only the loop can see it. */
export function planComprehension(planner: Planner, expr: ComprehensionExpr): Planned {
  const range = planner.plan(expr.iterRange).step
  const init = planner.plan(expr.accuInit).step
  const gathered = planner.open(expr.accuVar, expr.accuVar === accumulator ? frame => growing(init(frame)) : init)
  const first = planner.open(expr.iterVar)
  const second = expr.iterVar2 === undefined ? undefined : planner.open(expr.iterVar2)
  const condition = planner.plan(expr.loopCondition).step
  const step = planner.plan(expr.loopStep).step
  planner.close(expr.iterVar)
  if (expr.iterVar2 !== undefined) planner.close(expr.iterVar2)
  const result = planner.plan(expr.result).step
  planner.close(expr.accuVar)
  const iterate = (frame: Frame): boolean => {
    frame.checkCost()
    if (condition(frame) === false) return false
    frame.slots[gathered] = step(frame)
    return true
  }
  const loop = second === undefined ? oneVariable(first, iterate) : twoVariables(first, second, iterate)
  return {
    step(frame) {
      const over = range(frame)
      if (over instanceof CelFault) return over
      frame.slots[gathered] = undefined
      const failed = loop(frame, over)
      if (failed) return failed
      const value = result(frame)
      return value instanceof GatheredList ? settled(value) : value
    },
  }
}

/** An empty list or map that can grow, in the place of a literal one. */
function growing(value: CelValue): CelValue {
  if (value instanceof CelList && value.size === 0) return new GatheredList()
  return value instanceof CelMap && value.size === 0 ? new GatheredMap() : value
}

type Loop = (frame: Frame, over: CelValue) => CelFault | undefined
type Iterate = (frame: Frame) => boolean

function oneVariable(slot: number, iterate: Iterate): Loop {
  return (frame, over) => {
    if (over instanceof CelList) {
      const { size } = over
      for (let i = 0; i < size; i++) {
        frame.slots[slot] = over.at(i)
        if (!iterate(frame)) break
      }
      return undefined
    }
    if (!(over instanceof CelMap)) return fault(`got '${goTypeOf(over)}', expected iterable type`)
    for (const key of over.keys()) {
      frame.slots[slot] = key
      if (!iterate(frame)) break
    }
    return undefined
  }
}

function twoVariables(first: number, second: number, iterate: Iterate): Loop {
  return (frame, over) => {
    if (over instanceof CelList) {
      const { size } = over
      for (let i = 0; i < size; i++) {
        frame.slots[first] = i
        frame.slots[second] = over.at(i)
        if (!iterate(frame)) break
      }
      return undefined
    }
    if (!(over instanceof CelMap)) return fault(`unsupported comprehension range type: ${goTypeOf(over)}`)
    for (const key of over.keys()) {
      frame.slots[first] = key
      frame.slots[second] = over.find(key)!
      if (!iterate(frame)) break
    }
    return undefined
  }
}
