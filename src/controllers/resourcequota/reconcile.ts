/** What the status of a quota should say, by what there is. */
import type { Evaluator } from '../../admission/resource-quota/evaluator.ts'
import { inScopes } from '../../admission/resource-quota/evaluator.ts'
import { addLists, amountsOf, listOf, only, type ResourceList, sameList, ZERO } from '../../admission/resource-quota/resource-list.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { type Quantity, quantityOf } from '../../lib/quantity.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

/** The objects of one resource in the namespace of a quota. */
export type Measured = { readonly evaluator: Evaluator; count(): number; objects(): Iterable<AnyObject> }

type Amounts = Readonly<Record<string, string>>
const hardOf = (quota: AnyObject): Amounts => (quota['spec']?.hard ?? {}) as Amounts

/** What all objects use of a quota together, and what is reserved of it for objects that are about to be stored. */
export function measure(quota: AnyObject, resources: Iterable<Measured>, reserved: readonly ResourceList[]): ResourceList {
  const hard = Object.keys(hardOf(quota))
  let used: ResourceList = new Map()
  for (const { evaluator, count, objects } of resources) {
    const names = hard.filter(name => evaluator.limits(name))
    if (names.length === 0) continue
    used = addLists(used, new Map(names.map(name => [name, ZERO])))
    const hasScopes = (quota['spec']?.scopes?.length ?? 0) > 0 || quota['spec']?.scopeSelector !== undefined
    if (evaluator.isUniform && !hasScopes) {
      const number: Quantity = quantityOf(BigInt(count()))
      used = addLists(used, new Map(names.map(name => [name, number])))
      continue
    }
    for (const object of objects()) if (inScopes(evaluator, quota, object)) used = addLists(used, only(evaluator.usage(object), names))
  }
  for (const list of reserved) used = addLists(used, only(list, used.keys()))
  return used
}

/** The quota with another status, or undefined when its status is right. What cannot be measured stays as it is. */
export function withMeasured(quota: AnyObject, measured: ResourceList): AnyObject | undefined {
  const hard = hardOf(quota)
  const { status = {} } = quota
  const before = listOf(status.used)
  const used = only(new Map([...before, ...measured]), Object.keys(hard))
  if (status.hard && status.used && sameList(used, before) && deepEqual(status.hard, hard)) return undefined
  return { ...quota, status: { hard, used: amountsOf(used) } }
}
