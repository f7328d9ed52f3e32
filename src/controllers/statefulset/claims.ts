/** The claims of the pods of a StatefulSet, and their owners: these decide which claims are deleted with the set or with a pod. */

import type { Draft } from '../../client/client.ts'
import type { StatefulSet } from '../../kinds/apps/statefulset.ts'
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Envelope, OwnerReference } from '../../schema/object-meta.ts'
import { controllerReference } from '../pods/pod-template.ts'
import { claimNameFor, isInRange, ordinalOf } from './identity.ts'

/** The claim of a name in the namespace of the set. */
export type FindClaim = (name: string) => PersistentVolumeClaim | undefined

/** The claims that a pod should have. */
export function claimsFor(set: StatefulSet, pod: Pod): Draft<PersistentVolumeClaim>[] {
  return (set.spec.volumeClaimTemplates ?? []).map(template => {
    const { metadata, spec } = template
    const labels = { ...metadata.labels, ...set.spec.selector.matchLabels }
    return {
      metadata: { ...metadata, name: claimNameFor(set, template, ordinalOf(pod)), namespace: set.metadata.namespace, labels },
      spec,
    } as Draft<PersistentVolumeClaim>
  })
}

type Reference = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>
/** A pod as an owner, also before it is there. */
const podAsOwner = (pod: Pod): Envelope => ({ apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata })
const names = (owner: Envelope, reference: Reference): boolean =>
  reference.apiVersion === owner.apiVersion && reference.kind === owner.kind && reference.name === owner.metadata.name

const retentionOf = ({ spec }: StatefulSet) => {
  const { whenDeleted, whenScaled } = spec.persistentVolumeClaimRetentionPolicy
  return { isDeletedWithSet: whenDeleted === 'Delete', isDeletedWhenScaled: whenScaled === 'Delete' }
}

/** Whether a claim names an owner of the same name that is another object: it is about to be deleted. */
const isStale = ({ metadata }: PersistentVolumeClaim, owner: Envelope): boolean => {
  const reference = metadata.ownerReferences?.find(each => names(owner, each))
  return reference !== undefined && reference.uid !== owner.metadata.uid
}

/** Whether a new pod has to wait for claims of an earlier one of its name to be gone. */
export function hasStaleClaims(set: StatefulSet, pod: Pod, find: FindClaim): boolean {
  if (!retentionOf(set).isDeletedWhenScaled) return false
  return claimsFor(set, pod).some(({ metadata }) => {
    const claim = find(metadata?.name ?? '')
    return claim !== undefined && isStale(claim, podAsOwner(pod))
  })
}

/** Whether another controller manages a claim, so that the set leaves it alone. */
export function hasOtherController(claim: PersistentVolumeClaim, set: StatefulSet, pod: Pod): boolean {
  const { isDeletedWithSet, isDeletedWhenScaled } = retentionOf(set)
  if (!isDeletedWithSet && !isDeletedWhenScaled) return false
  const owners = [set as Envelope, podAsOwner(pod)]
  return (claim.metadata.ownerReferences ?? []).some(reference => {
    const own = owners.find(owner => names(owner, reference))
    return own ? own.metadata.uid !== reference.uid : reference.controller === true
  })
}

/** The owners that a claim should have; undefined when it has them, or they are not the set's to decide. */
export function ownersOf(claim: PersistentVolumeClaim, set: StatefulSet, pod: Pod): OwnerReference[] | undefined {
  const references = claim.metadata.ownerReferences ?? []
  const owner = podAsOwner(pod)
  if (isStale(claim, set) || isStale(claim, owner)) return undefined
  const ours = references.filter(({ uid }) => uid === set.metadata.uid || uid === pod.metadata.uid)
  const others = references.filter(reference => !names(set, reference) && !names(owner, reference))
  if (hasOtherController(claim, set, pod)) return ours.length > 0 ? others : undefined
  const wanted = wantedOwner(set, pod)
  const isRight =
    ours.every(({ controller }) => controller === true) &&
    ours.length === (wanted ? 1 : 0) &&
    ours.every(({ uid }) => uid === wanted?.metadata.uid)
  return isRight ? undefined : [...others, ...(wanted ? [controllerReference(wanted)] : [])]
}

/** The set while claims go with it; the pod once there should be no such pod. */
function wantedOwner(set: StatefulSet, pod: Pod): Envelope | undefined {
  const { isDeletedWithSet, isDeletedWhenScaled } = retentionOf(set)
  if (isDeletedWhenScaled && !isInRange(set, pod)) return podAsOwner(pod)
  return isDeletedWithSet ? set : undefined
}

/** The claims of a pod that are there and whose owners should be others, as they should be. */
export function* misownedClaims(set: StatefulSet, pod: Pod, find: FindClaim): Iterable<PersistentVolumeClaim> {
  for (const { metadata } of claimsFor(set, pod)) {
    const claim = find(metadata?.name ?? '')
    const ownerReferences = claim && ownersOf(claim, set, pod)
    if (ownerReferences) yield { ...claim, metadata: { ...claim.metadata, ownerReferences } }
  }
}
