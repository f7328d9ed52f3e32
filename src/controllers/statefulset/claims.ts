/** The claims of the pods of a StatefulSet, and who owns them: that decides what is deleted with the set, or with a pod. */
import type { Draft } from '../../client/client.ts'
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import type { ObjectOf } from '../../schema/kind.ts'
import type { Envelope, OwnerReference } from '../../schema/object-meta.ts'
import type { PodObject } from '../pods/pod-state.ts'
import { controllerReference } from '../pods/pod-template.ts'
import { claimNameFor, isInRange, ordinalOf, type StatefulSetObject } from './identity.ts'

export type ClaimObject = ObjectOf<typeof PersistentVolumeClaim>
/** The claim of a name in the namespace of the set. */
export type FindClaim = (name: string) => ClaimObject | undefined

/** The claims that a pod should have. */
export function claimsFor(set: StatefulSetObject, pod: PodObject): Draft<ClaimObject>[] {
  return (set.spec.volumeClaimTemplates ?? []).map(template => {
    const { metadata, spec } = template
    const labels = { ...metadata.labels, ...set.spec.selector.matchLabels }
    return {
      metadata: { ...metadata, name: claimNameFor(set, template, ordinalOf(pod)), namespace: set.metadata.namespace, labels },
      spec,
    } as Draft<ClaimObject>
  })
}

type Reference = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>
/** A pod as an owner, also before it is there. */
const podAsOwner = (pod: PodObject): Envelope => ({ apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata })
const names = (owner: Envelope, reference: Reference): boolean =>
  reference.apiVersion === owner.apiVersion && reference.kind === owner.kind && reference.name === owner.metadata.name

const retentionOf = ({ spec }: StatefulSetObject) => {
  const { whenDeleted, whenScaled } = spec.persistentVolumeClaimRetentionPolicy
  return { isDeletedWithSet: whenDeleted === 'Delete', isDeletedWhenScaled: whenScaled === 'Delete' }
}

/** Whether a claim names an owner of the same name that is another object: it is about to be deleted. */
const isStale = ({ metadata }: ClaimObject, owner: Envelope): boolean => {
  const reference = metadata.ownerReferences?.find(each => names(owner, each))
  return reference !== undefined && reference.uid !== owner.metadata.uid
}

/** Whether a new pod has to wait for claims of an earlier one of its name to be gone. */
export function hasStaleClaims(set: StatefulSetObject, pod: PodObject, find: FindClaim): boolean {
  if (!retentionOf(set).isDeletedWhenScaled) return false
  return claimsFor(set, pod).some(({ metadata }) => {
    const claim = find(metadata?.name ?? '')
    return claim !== undefined && isStale(claim, podAsOwner(pod))
  })
}

/** Whether another controller manages a claim, so that the set leaves it alone. */
export function hasOtherController(claim: ClaimObject, set: StatefulSetObject, pod: PodObject): boolean {
  const { isDeletedWithSet, isDeletedWhenScaled } = retentionOf(set)
  if (!isDeletedWithSet && !isDeletedWhenScaled) return false
  const owners = [set as Envelope, podAsOwner(pod)]
  return (claim.metadata.ownerReferences ?? []).some(reference => {
    const own = owners.find(owner => names(owner, reference))
    return own ? own.metadata.uid !== reference.uid : reference.controller === true
  })
}

/** The owners that a claim should have; undefined when it has them, or they are not the set's to decide. */
export function ownersOf(claim: ClaimObject, set: StatefulSetObject, pod: PodObject): OwnerReference[] | undefined {
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
function wantedOwner(set: StatefulSetObject, pod: PodObject): Envelope | undefined {
  const { isDeletedWithSet, isDeletedWhenScaled } = retentionOf(set)
  if (isDeletedWhenScaled && !isInRange(set, pod)) return podAsOwner(pod)
  return isDeletedWithSet ? set : undefined
}

/** The claims of a pod that are there and whose owners should be others, as they should be. */
export function* misownedClaims(set: StatefulSetObject, pod: PodObject, find: FindClaim): Iterable<ClaimObject> {
  for (const { metadata } of claimsFor(set, pod)) {
    const claim = find(metadata?.name ?? '')
    const ownerReferences = claim && ownersOf(claim, set, pod)
    if (ownerReferences) yield { ...claim, metadata: { ...claim.metadata, ownerReferences } }
  }
}
