/** Decides about claims of pods and pod groups: their creation from templates, reservations, deallocation and deletion. */

import type { Draft } from '../../client/client.ts'
import { CLAIM_FINALIZER, type ClaimHolder, claimNameOf, isMadeFor, isPodDone, POD_CLAIM_ANNOTATION } from '../../devices/pod-claims.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { ResourceClaimConsumerReference } from '../../kinds/resource/allocation-shapes.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { ResourceClaimTemplate } from '../../kinds/resource/resourceclaimtemplate.ts'
import type { PodResourceClaim } from '../../kinds/rules/pod/spec.ts'
import { getOwn } from '../../lib/json-value.ts'

/** The step for a claim entry of a pod or a group: none, a created claim is recorded in the status, or a claim is created. */
export type EntryPlan = { readonly type: 'done' } | { readonly type: 'made'; readonly claim: string } | { readonly type: 'make' }

export type EntryClaims = {
  /** The claim of a name. */
  readonly existing: (name: string) => ResourceClaim | undefined
  /** Whether a claim was made for the holder. */
  readonly isMade: (claim: ResourceClaim) => boolean
  /** The uid of the object that the claim of the entry is made for: the holder, or the group that a pod shares it with. */
  readonly owner: string
  /** The claims that this object owns. */
  readonly own: Iterable<ResourceClaim>
}

export function planEntry(holder: ClaimHolder, entry: PodResourceClaim, { existing, isMade, owner, own }: EntryClaims): EntryPlan {
  const named = claimNameOf(holder, entry)
  if (named.type === 'not needed' || entry.resourceClaimTemplateName === undefined) return { type: 'done' }
  if (named.type !== 'not made') {
    const claim = existing(named.name)
    // One that was made for another pod of the same name does not count.
    if (claim && isMade(claim)) return { type: 'done' }
  }
  for (const claim of own) {
    const isFor = getOwn(claim.metadata.annotations ?? {}, POD_CLAIM_ANNOTATION) === entry.name
    if (isFor && isMadeFor(owner, claim)) return { type: 'made', claim: claim.metadata.name ?? '' }
  }
  return { type: 'make' }
}

/** A claim for an entry of a pod or a group. */
export function claimDraft(
  { apiVersion, kind, metadata: holder }: ClaimHolder,
  { name: entry }: PodResourceClaim,
  { spec }: ResourceClaimTemplate,
): Draft<ResourceClaim> {
  const { name = '', namespace = '', uid = '' } = holder
  return {
    metadata: {
      namespace,
      generateName: generatedName(name, entry),
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
      annotations: { ...spec.metadata.annotations, [POD_CLAIM_ANNOTATION]: entry },
      labels: spec.metadata.labels,
    },
    spec: spec.spec,
  }
}

/** With five more characters, no longer than a label: both names are cut to their share. */
function generatedName(holder: string, entry: string): string {
  const whole = `${holder}-${entry}-`
  if (whole.length <= MAX_BASE_LENGTH) return whole
  const cut = (name: string) => name.slice(0, Math.floor((name.length * MAX_BASE_LENGTH) / whole.length))
  return `${cut(holder)}-${cut(entry)}`
}
const MAX_BASE_LENGTH = 57

/** The claims in the status of a pod or a group, with those that have been made now. */
export function claimStatuses(
  { status }: Pick<ClaimHolder, 'status'>,
  made: ReadonlyMap<string, string>,
): { name: string; resourceClaimName: string }[] {
  const all = new Map<string, string>()
  for (const { name, resourceClaimName } of status.resourceClaimStatuses ?? []) if (resourceClaimName) all.set(name, resourceClaimName)
  for (const [name, claim] of made) all.set(name, claim)
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, resourceClaimName]) => ({ name, resourceClaimName }))
}

/**
 * Whether claims of a pod may have to be created or reserved. Kubernetes 1.37 asks only whether the pod is deleted: there a claim from a
 * template, which is deleted when its pod is done, is created and deleted again without end.
 */
export const mayNeedClaims = (pod: Pod): boolean => !pod.metadata.deletionTimestamp && !isPodDone(pod)

/** Whether a pod keeps its reservation: as long as it is there and may run. */
export const keepsReservation = (pod: Pod | undefined, uid: string): boolean => pod?.metadata.uid === uid && !isPodDone(pod)

export type ClaimPlan = {
  /** The status to be written first. */
  readonly status?: ResourceClaim['status']
  /** Then the claim may go, if it is to. */
  readonly dropsFinalizer: boolean
  readonly deletes: boolean
}

/**
 * The next step for a claim, given its remaining users. Devices are given back when the last one stops using the claim, not when
 * nobody has begun; `ownerIsDone` tells that the pod it was made for needs it no longer.
 */
export function planClaim(claim: ResourceClaim, remaining: readonly ResourceClaimConsumerReference[], ownerIsDone: boolean): ClaimPlan {
  const { metadata, status } = claim
  const isProtected = metadata.finalizers?.includes(CLAIM_FINALIZER) ?? false
  const deletes = remaining.length === 0 && ownerIsDone
  if (remaining.length < (status.reservedFor?.length ?? 0)) {
    const isOver = remaining.length === 0 && isProtected
    return { status: withConsumers(claim, remaining, isOver), dropsFinalizer: isProtected && (isOver || !status.allocation), deletes }
  }
  if (isProtected && metadata.deletionTimestamp && remaining.length === 0)
    return { ...(status.allocation && { status: withConsumers(claim, remaining, true) }), dropsFinalizer: true, deletes }
  return { dropsFinalizer: false, deletes }
}

function withConsumers(
  { status: { reservedFor: _, allocation, ...rest } }: ResourceClaim,
  remaining: readonly ResourceClaimConsumerReference[],
  isOver: boolean,
): ResourceClaim['status'] {
  return { ...rest, ...(allocation && !isOver && { allocation }), ...(remaining.length > 0 && { reservedFor: [...remaining] }) }
}

/** The pod that a claim was made for. */
export const owningPod = ({ metadata: { ownerReferences = [] } }: ResourceClaim) =>
  ownerReferences.find(({ controller, apiVersion, kind }) => controller && apiVersion === 'v1' && kind === 'Pod')
