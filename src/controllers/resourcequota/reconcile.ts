/** Computes the status of a quota from the stored objects. */
import { type Evaluator, inScopes, scopesOf } from '../../admission/plugins/resource-quota/evaluator.ts'
import {
  addLists,
  amountsOf,
  listOf,
  only,
  type ResourceList,
  sameList,
  ZERO,
} from '../../admission/plugins/resource-quota/resource-list.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { quantityOf } from '../../lib/quantity.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

const hardOf = (quota: AnyObject): Readonly<Record<string, string>> => quota['spec']?.hard ?? {}

/** The names in a quota that objects of a kind may use something of. */
export const limitedNames = (quota: AnyObject, evaluator: Evaluator): readonly string[] =>
  Object.keys(hardOf(quota)).filter(name => evaluator.limits(name))

/** Counts how much of a quota the objects of a kind use; resources without use are listed as zero. */
export function usedBy(quota: AnyObject, evaluator: Evaluator, objects: Iterable<AnyObject>): ResourceList {
  const names = limitedNames(quota, evaluator)
  let used: ResourceList = new Map(names.map(name => [name, ZERO]))
  for (const object of objects) if (inScopes(evaluator, quota, object)) used = addLists(used, only(evaluator.usage(object), names))
  return used
}

/** The same for a number of objects, where it does not matter which they are; undefined where it does. */
export function usedByNumber(quota: AnyObject, evaluator: Evaluator, number: number): ResourceList | undefined {
  if (!evaluator.isUniform || scopesOf(quota).length > 0) return undefined
  return new Map(limitedNames(quota, evaluator).map(name => [name, quantityOf(BigInt(number))]))
}

/** Whether an added or changed object changes the usage of a quota. */
export function changesUsage(
  quota: AnyObject,
  evaluator: Evaluator,
  change: { readonly from?: AnyObject | undefined; readonly to: AnyObject },
) {
  const { from, to } = change
  const isIn = inScopes(evaluator, quota, to)
  if (!from) return isIn
  if (evaluator.isUniform) return false
  if (isIn !== inScopes(evaluator, quota, from)) return true
  return isIn && !sameList(evaluator.usage(to), evaluator.usage(from))
}

/** The quota with another status, or undefined when its status is right. Amounts that cannot be measured stay as they are. */
export function withMeasured(quota: AnyObject, measured: ResourceList): AnyObject | undefined {
  const hard = hardOf(quota)
  const { status = {} } = quota
  const before = listOf(status.used)
  const used = only(new Map([...before, ...measured]), Object.keys(hard))
  if (status.hard && status.used && sameList(used, before) && deepEqual(status.hard, hard)) return undefined
  return { ...quota, status: { hard, used: amountsOf(used) } }
}
