/** What is said of a namespace whose content is being deleted, and when it is looked at again. */
import type { AnyObject } from '../../schema/object-meta.ts'

export type Condition = {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime?: string
  readonly reason?: string
  readonly message?: string
}

/** What a pass over the content of a namespace has found. */
export type Findings = {
  readonly remains: readonly Remains[]
  /** What could not be deleted. */
  readonly failures: readonly string[]
}
export type Remains = {
  readonly plural: string
  readonly group: string
  readonly version: string
  readonly count: number
  /** How many of them each finalizer holds back. */
  readonly finalizers: ReadonlyMap<string, number>
}

const WELL: readonly (readonly [type: string, reason: string, message: string])[] = [
  ['NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'],
  ['NamespaceDeletionGroupVersionParsingFailure', 'ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  ['NamespaceDeletionContentFailure', 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
  ['NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'],
  ['NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
]

/** The conditions a namespace should have; undefined when it has them. */
export function conditionsAfter(shown: readonly Condition[], findings: Findings, now: string): Condition[] | undefined {
  const troubles = new Map(troublesOf(findings))
  const conditions = [...shown]
  let isNew = false
  for (const [type, wellReason, wellMessage] of WELL) {
    const [reason, message] = troubles.get(type) ?? [wellReason, wellMessage]
    const status = troubles.has(type) ? 'True' : 'False'
    const at = conditions.findIndex(condition => condition.type === type)
    const old = conditions[at]
    if (old?.status === status && old.reason === reason && old.message === message) continue
    isNew = true
    const lastTransitionTime = old?.status === status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : now
    conditions.splice(at < 0 ? conditions.length : at, 1, { type, status, lastTransitionTime, reason, message })
  }
  return isNew ? conditions : undefined
}

function* troublesOf({ remains, failures }: Findings): Iterable<[type: string, [reason: string, message: string]]> {
  if (failures.length > 0) {
    const message = `Failed to delete all resource types, ${failures.length} remaining: ${[...failures].sort().join(', ')}`
    yield ['NamespaceDeletionContentFailure', ['ContentDeletionFailed', message]]
  }
  if (remains.length > 0) {
    const each = remains.map(({ plural, group, count }) => `${plural}.${group} has ${count} resource instances`).sort()
    yield ['NamespaceContentRemaining', ['SomeResourcesRemain', `Some resources are remaining: ${each.join(', ')}`]]
  }
  const held = new Map<string, number>()
  for (const { finalizers } of remains) for (const [name, count] of finalizers) held.set(name, (held.get(name) ?? 0) + count)
  if (held.size > 0) {
    const each = [...held].map(([name, count]) => `${name} in ${count} resource instances`).sort()
    yield [
      'NamespaceFinalizersRemaining',
      ['SomeFinalizersRemain', `Some content in the namespace has finalizers remaining: ${each.join(', ')}`],
    ]
  }
}

/** What holds back the objects that remain. */
export function finalizersOf(objects: Iterable<AnyObject>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { metadata } of objects) for (const name of metadata.finalizers ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** What takes a known time to go, or is held back, may remain for a while; anything else should be gone. */
export function unexpected({ plural, group, version, finalizers }: Remains, namespace: string, graceSeconds: number): string | undefined {
  if (graceSeconds > 0 || finalizers.size > 0) return undefined
  return `unexpected items still remain in namespace: ${namespace} for gvr: ${group}/${version}, Resource=${plural}`
}

const FINALIZER_SECONDS = 15

/** In how many seconds to look again, although nothing has happened. */
export const secondsToWait = (remains: readonly Remains[], graceSeconds: number): number =>
  Math.floor(Math.max(graceSeconds, remains.some(({ finalizers }) => finalizers.size > 0) ? FINALIZER_SECONDS : 0) / 2) + 1

/** How long pods may take to end, as long as that is not over. */
export function graceOf(pods: Iterable<AnyObject>, secondsSinceDeletion: number): number {
  let grace = 0
  for (const { spec, status } of pods as Iterable<AnyObject>) {
    if (status?.phase === 'Succeeded' || status?.phase === 'Failed') continue
    grace = Math.max(grace, Number(spec?.terminationGracePeriodSeconds ?? 0))
  }
  return secondsSinceDeletion >= grace ? 0 : grace
}
