/** Whether quotas leave room for a write, and how much it takes of each. */
import type { AnyObject } from '../../../schema/object-meta.ts'
import type { LimitedResource } from './configuration.ts'
import { type EvaluatedWrite, type Evaluator, inScopes, type ScopeRequirement, scopesOf } from './evaluator.ts'
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

/** A quota, and its use with all writes that were admitted since it was read. */
export type RunningQuota = { readonly quota: AnyObject; readonly used: ResourceList }

/** The amounts that a write takes of each quota, by the name of the quota; or why it may not. */
export type Verdict =
  | { readonly ok: true; readonly takes: ReadonlyMap<string, ResourceList> }
  | {
      readonly ok: false
      readonly why: string /** Whether kube-apiserver has no status for it, and answers 500. */
      readonly isPlain?: true
    }

export type CheckedWrite = EvaluatedWrite & {
  readonly resource: { readonly group: string; readonly plural: string }
}

const hardOf = (quota: AnyObject): ResourceList => listOf(quota['status']?.hard)

/** Whether a quota counts an object, by the limits in force, which are in its status. */
const counts = (evaluator: Evaluator, quota: AnyObject, object: AnyObject): boolean =>
  Object.keys(quota['status']?.hard ?? {}).some(name => evaluator.limits(name)) && inScopes(evaluator, quota, object)

export function checkWrite(
  quotas: readonly RunningQuota[],
  write: CheckedWrite,
  { evaluator, limited = [] }: { readonly evaluator: Evaluator; readonly limited?: readonly LimitedResource[] },
): Verdict {
  const object = write.object!
  const concerned = quotas.filter(({ quota }) => counts(evaluator, quota, object))
  const covered = new Set<string>()
  for (const { quota, used } of concerned) {
    const name = quota.metadata.name!
    const names = [...hardOf(quota).keys()].filter(each => evaluator.limits(each)).sort()
    const unstated = evaluator.unstated?.(names, object)
    if (unstated) return refuse(`failed quota: ${name}: ${unstated}`)
    if (names.some(each => !used.has(each))) return refuse(`status unknown for quota: ${name}, resources: ${names.join(',')}`)
    for (const each of names) covered.add(each)
  }
  if (concerned.length === 0 && limited.length === 0) return { ok: true, takes: new Map() }

  const usage = evaluator.usage(object)
  const negative = negativeNames(usage)
  if (negative.length > 0) return refuse(`quota usage is negative for resource(s): ${negative.sort().join(',')}`)
  const asked = concerned.map(running => ({
    ...running,
    added: withoutZeros(additional(usage, write, { evaluator, quota: running.quota })),
  }))
  const changesNothing =
    concerned.length > 0 ? asked.every(({ added }) => added.size === 0) : withoutZeros(additional(usage, write, { evaluator })).size === 0
  if (changesNothing) return { ok: true, takes: new Map() }
  const uncovered = limitedNames(usage, write, limited).filter(name => !covered.has(name))
  if (uncovered.length > 0) return refuse(`insufficient quota to consume: ${uncovered.join(',')}`)
  const scopes = uncoveredScopes(quotas, object, { evaluator, limited })
  if (scopes.length > 0) return { ...refuse(`insufficient quota to match these scopes: [${scopes.map(shown).join(' ')}]`), isPlain: true }

  const takes = new Map<string, ResourceList>()
  for (const { quota, used, added } of asked) {
    const name = quota.metadata.name!
    const hard = hardOf(quota)
    const taken = only(added, hard.keys())
    if (taken.size === 0) continue
    const exceeded = namesAbove(only(addLists(used, taken), taken.keys()), hard)
    // A status reports facts: it is counted even if it is too much.
    if (exceeded.length > 0 && write.subresource !== 'status')
      return refuse(
        `exceeded quota: ${name}, requested: ${printList(only(taken, exceeded))}, used: ${printList(only(used, exceeded))}, limited: ${printList(only(hard, exceeded))}`,
      )
    takes.set(name, taken)
  }
  return { ok: true, takes }
}

/** The names that a write uses and that only quotas allow to use, in their order. */
function limitedNames(usage: ResourceList, { resource }: CheckedWrite, limited: readonly LimitedResource[]): string[] {
  const parts = limited
    .filter(({ apiGroup = '', resource: plural }) => apiGroup === resource.group && plural === resource.plural)
    .flatMap(({ matchContains = [] }) => matchContains)
  return [...withoutZeros(usage).keys()].filter(name => parts.some(part => name.includes(part))).sort()
}

/** The scopes that an object is in, that only quotas allow to be in, and that no quota of the namespace names. */
function uncoveredScopes(
  quotas: readonly RunningQuota[],
  object: AnyObject,
  { evaluator, limited }: { readonly evaluator: Evaluator; readonly limited: readonly LimitedResource[] },
): ScopeRequirement[] {
  const matching = (scopes: readonly ScopeRequirement[]) => scopes.filter(scope => evaluator.inScope?.(scope, object) ?? false)
  const wanted = matching(limited.flatMap(({ matchScopes = [] }) => matchScopes))
  if (wanted.length === 0) return []
  const covered = new Set(quotas.flatMap(({ quota }) => matching(scopesOf(quota))).map(({ scopeName }) => scopeName))
  return wanted.filter(({ scopeName }) => !covered.has(scopeName))
}

/** As Go prints it. */
const shown = ({ scopeName, operator, values = [] }: ScopeRequirement): string => `{${scopeName} ${operator} [${values.join(' ')}]}`

/** The amounts that a write takes beyond those of the stored object, of a quota or at all. Less is given back when the object is counted again. */
function additional(
  usage: ResourceList,
  { operation, oldObject }: EvaluatedWrite,
  { evaluator, quota }: { readonly evaluator: Evaluator; readonly quota?: AnyObject },
): ResourceList {
  if (operation !== 'UPDATE' || !oldObject || (quota && !counts(evaluator, quota, oldObject))) return usage
  return subtractLists(usage, evaluator.usage(oldObject))
}

const refuse = (why: string) => ({ ok: false as const, why })
