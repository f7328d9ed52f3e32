/** Whether quotas leave room for a write, and what it takes of each. */
import type { AnyObject } from '../../schema/object-meta.ts'
import { type EvaluatedWrite, type Evaluator, inScopes } from './evaluator.ts'
import {
  addLists,
  listOf,
  namesAbove,
  negativeNames,
  only,
  printList,
  type ResourceList,
  subtractLists,
  withoutZeros,
} from './resource-list.ts'

/** A quota, and what it says is used with all that has been admitted since it was read. */
export type RunningQuota = { readonly quota: AnyObject; readonly used: ResourceList }

/** What a write takes of each quota, by the name of the quota; or why it may not. */
export type Verdict =
  | { readonly ok: true; readonly takes: ReadonlyMap<string, ResourceList> }
  | { readonly ok: false; readonly why: string }

const hardOf = (quota: AnyObject): ResourceList => listOf(quota['status']?.hard)

/** Whether a quota counts an object: by what is in force, which its status says. */
export const counts = (evaluator: Evaluator, quota: AnyObject, object: AnyObject): boolean =>
  Object.keys(quota['status']?.hard ?? {}).some(name => evaluator.limits(name)) && inScopes(evaluator, quota, object)

export function checkWrite(quotas: readonly RunningQuota[], write: EvaluatedWrite, evaluator: Evaluator): Verdict {
  const object = write.object!
  const concerned = quotas.filter(({ quota }) => counts(evaluator, quota, object))
  for (const { quota, used } of concerned) {
    const name = quota.metadata.name!
    const limited = [...hardOf(quota).keys()].filter(each => evaluator.limits(each)).sort()
    const unstated = evaluator.unstated?.(limited, object)
    if (unstated) return refuse(`failed quota: ${name}: ${unstated}`)
    if (limited.some(each => !used.has(each))) return refuse(`status unknown for quota: ${name}, resources: ${limited.join(',')}`)
  }
  if (concerned.length === 0) return { ok: true, takes: new Map() }

  const usage = evaluator.usage(object)
  const negative = negativeNames(usage)
  if (negative.length > 0) return refuse(`quota usage is negative for resource(s): ${negative.sort().join(',')}`)
  const takes = new Map<string, ResourceList>()
  for (const { quota, used } of concerned) {
    const name = quota.metadata.name!
    const hard = hardOf(quota)
    const taken = only(withoutZeros(additional(usage, write, { evaluator, quota })), hard.keys())
    if (taken.size === 0) continue
    const exceeded = namesAbove(only(addLists(used, taken), taken.keys()), hard)
    // What the status says has happened: it is counted though it is too much.
    if (exceeded.length > 0 && write.subresource !== 'status')
      return refuse(
        `exceeded quota: ${name}, requested: ${printList(only(taken, exceeded))}, used: ${printList(only(used, exceeded))}, limited: ${printList(only(hard, exceeded))}`,
      )
    takes.set(name, taken)
  }
  return { ok: true, takes }
}

/** What a write takes beyond what the object has of the quota already. Less is given back when the object is counted again. */
function additional(
  usage: ResourceList,
  { operation, oldObject }: EvaluatedWrite,
  { evaluator, quota }: { readonly evaluator: Evaluator; readonly quota: AnyObject },
): ResourceList {
  if (operation !== 'UPDATE' || !oldObject || !counts(evaluator, quota, oldObject)) return usage
  return subtractLists(usage, evaluator.usage(oldObject))
}

const refuse = (why: string): Verdict => ({ ok: false, why })
