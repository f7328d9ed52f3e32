/** The conditions of a namespace whose content is being deleted, and when it is looked at again. */
import { conditionOf, isSameCondition, transitionTime, withCondition } from '../../schema/conditions.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

export type Condition = {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime: string
  readonly reason?: string
  readonly message?: string
}

/** The findings of one pass over the content of a namespace. */
export type Findings = {
  readonly remaining: readonly Remaining[]
  /** Messages about content that could not be deleted. */
  readonly failures: readonly string[]
  /** Group versions of other servers that could not be discovered, and why. */
  readonly undiscovered?: readonly string[]
  /** Pods remain, so that other content was not looked at: Kubernetes does not say in the conditions what remains then. */
  readonly isPodsOnly?: true
}
export type Remaining = {
  readonly plural: string
  readonly group: string
  readonly version: string
  readonly count: number
  /** How many of them have each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>
  /** Whether another server has them. */
  readonly isElsewhere?: true
}

const OK: readonly (readonly [type: string, reason: string, message: string])[] = [
  ['NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'],
  ['NamespaceDeletionGroupVersionParsingFailure', 'ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  ['NamespaceDeletionContentFailure', 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
  ['NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'],
  ['NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
]

/** The conditions a namespace should have; undefined when it has them. */
export function conditionsAfter(shown: readonly Condition[], findings: Findings, now: string): Condition[] | undefined {
  const failing = new Map(failingConditions(findings))
  let conditions = shown
  for (const [type, okReason, okMessage] of OK) {
    const [reason, message] = failing.get(type) ?? [okReason, okMessage]
    const status = failing.has(type) ? 'True' : 'False'
    const before = conditionOf(conditions, type)
    if (isSameCondition(before, { status, reason, message })) continue
    conditions = withCondition(conditions, { type, status, lastTransitionTime: transitionTime(before, status, now), reason, message })
  }
  return conditions === shown ? undefined : [...conditions]
}

function* failingConditions(findings: Findings): Iterable<[type: string, [reason: string, message: string]]> {
  const { remaining, failures, undiscovered = [], isPodsOnly } = findings
  if (undiscovered.length > 0) {
    const message = `Discovery failed for some groups, ${undiscovered.length} failing: unable to retrieve the complete list of server APIs: ${undiscovered.join(', ')}`
    yield ['NamespaceDeletionDiscoveryFailure', ['DiscoveryFailed', message]]
  }
  if (failures.length > 0) {
    const message = `Failed to delete all resource types, ${failures.length} remaining: ${[...failures].sort().join(', ')}`
    yield ['NamespaceDeletionContentFailure', ['ContentDeletionFailed', message]]
  }
  if (isPodsOnly) return
  if (remaining.length > 0) {
    const each = remaining.map(({ plural, group, count }) => `${plural}.${group} has ${count} resource instances`).sort()
    yield ['NamespaceContentRemaining', ['SomeResourcesRemain', `Some resources are remaining: ${each.join(', ')}`]]
  }
  const byFinalizer = new Map<string, number>()
  for (const { finalizers } of remaining)
    for (const [name, count] of finalizers) byFinalizer.set(name, (byFinalizer.get(name) ?? 0) + count)
  if (byFinalizer.size > 0) {
    const each = [...byFinalizer].map(([name, count]) => `${name} in ${count} resource instances`).sort()
    yield [
      'NamespaceFinalizersRemaining',
      ['SomeFinalizersRemain', `Some content in the namespace has finalizers remaining: ${each.join(', ')}`],
    ]
  }
}

/** The finalizers of the objects that remain. */
export function finalizersOf(objects: Iterable<AnyObject>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { metadata } of objects) for (const name of metadata.finalizers ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Objects with a grace period or finalizers may remain for a while; all others should be gone. */
export function unexpected({ plural, group, version, finalizers }: Remaining, namespace: string, graceSeconds: number): string | undefined {
  if (graceSeconds > 0 || finalizers.size > 0) return undefined
  return `unexpected items still remain in namespace: ${namespace} for gvr: ${group}/${version}, Resource=${plural}`
}

const FINALIZER_SECONDS = 15

/** In how many seconds to look again, although nothing has happened. */
export const secondsToWait = (remaining: readonly Remaining[], graceSeconds: number): number =>
  Math.floor(Math.max(graceSeconds, remaining.some(({ finalizers }) => finalizers.size > 0) ? FINALIZER_SECONDS : 0) / 2) + 1

/** The longest grace period of the pods, until it is over. */
export function graceOf(pods: Iterable<AnyObject>, secondsSinceDeletion: number): number {
  let grace = 0
  for (const { spec, status } of pods as Iterable<AnyObject>) {
    if (status?.phase === 'Succeeded' || status?.phase === 'Failed') continue
    grace = Math.max(grace, Number(spec?.terminationGracePeriodSeconds ?? 0))
  }
  return secondsSinceDeletion >= grace ? 0 : grace
}
