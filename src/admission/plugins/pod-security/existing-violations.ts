/** Warnings about the pods of a namespace that violate the standard which it is to enforce from now on. */
import type { AnyObject } from '../../../schema/object-meta.ts'
import { formatPolicy } from './namespace-policy.ts'
import { type LevelVersion, type Pod, reasonsOf, violations } from './standards.ts'

const MAX_PODS_CHECKED = 3000

export function existingViolations(namespace: string, enforce: LevelVersion, existing: readonly AnyObject[]): string[] {
  const pods = byPriority(existing)
  const checked = pods.slice(0, MAX_PODS_CHECKED)
  const each = violationsByReason(enforce, checked)
  const incomplete = `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`
  const violated = `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(formatPolicy(enforce))}`
  return [...(checked.length < pods.length ? [incomplete] : []), ...(each.length > 0 ? [violated] : []), ...each]
}

/** One line for all pods with the same violations, which names the first of them. */
function violationsByReason(enforce: LevelVersion, pods: readonly AnyObject[]): string[] {
  const found = new Map<string, { first: string; count: number }>()
  for (const pod of pods) {
    const reasons = reasonsOf(violations(enforce, pod as unknown as Pod))
    const { name = '' } = pod.metadata
    const known = found.get(reasons)
    if (known) found.set(reasons, { first: name < known.first ? name : known.first, count: known.count + 1 })
    else if (reasons !== '') found.set(reasons, { first: name, count: 1 })
  }
  const lines = Array.from(found, ([reasons, { first, count }]) => `${first}${others(count - 1)}: ${reasons}`)
  return lines.sort((a, b) => (a < b ? -1 : 1))
}

const others = (count: number): string => (count === 0 ? '' : count === 1 ? ' (and 1 other pod)' : ` (and ${count} other pods)`)

/** One pod of each controller first: its other pods are most likely the same. */
function byPriority(pods: readonly AnyObject[]): AnyObject[] {
  const controllers = new Set<string>()
  const [first, rest]: [AnyObject[], AnyObject[]] = [[], []]
  for (const pod of pods) {
    const uid = pod.metadata.ownerReferences?.find(({ controller }) => controller)?.uid
    if (uid !== undefined && controllers.has(uid)) rest.push(pod)
    else first.push(pod)
    if (uid !== undefined) controllers.add(uid)
  }
  return [...first, ...rest]
}
