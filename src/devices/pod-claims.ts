/** The claims of pods and of their groups: their names, whether they were created for the pod, and their reservations. */
import { queueKey } from '../client/change.ts'
import type { IndexDefinition } from '../client/informer.ts'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { ResourceClaimConsumerReference } from '../kinds/resource/allocation-shapes.ts'
import type { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import type { PodResourceClaim } from '../kinds/rules/pod/spec.ts'
import type { PodGroup } from '../kinds/scheduling/podgroup.ts'

/** On claims that have devices: they stay until these are given back. */
export const CLAIM_FINALIZER = 'resource.kubernetes.io/delete-protection'
/** On a claim that was made for a pod or a group: which of its entries it is for. */
export const POD_CLAIM_ANNOTATION = 'resource.kubernetes.io/pod-claim-name'
/** On a claim that was made for the extended resources of a pod. */
export const EXTENDED_RESOURCE_ANNOTATION = 'resource.kubernetes.io/extended-resource-claim'

/** A pod or a pod group: both declare claims in the same form, and say in their status which were made for them. */
export type ClaimHolder = Pod | PodGroup

/** The name of the claim behind an entry: one that is named, one that was made for it, none that is needed, or none yet. */
export type ClaimName =
  | { readonly type: 'named' | 'made'; readonly name: string }
  | { readonly type: 'not needed' }
  | { readonly type: 'not made' }

export function claimNameOf({ status }: Pick<ClaimHolder, 'status'>, { name, resourceClaimName }: PodResourceClaim): ClaimName {
  if (resourceClaimName !== undefined) return { type: 'named', name: resourceClaimName }
  const made = status.resourceClaimStatuses?.find(each => each.name === name)
  if (!made) return { type: 'not made' }
  return made.resourceClaimName === undefined ? { type: 'not needed' } : { type: 'made', name: made.resourceClaimName }
}

/** The names of the claims behind the entries of a pod or a group, as far as they exist by now. */
export const declaredClaims = (holder: ClaimHolder): string[] =>
  (holder.spec.resourceClaims ?? []).flatMap(entry => {
    const claim = claimNameOf(holder, entry)
    return 'name' in claim ? [claim.name] : []
  })

/** The names of the claims that a pod has by now. */
export function claimNamesOf(pod: Pod): string[] {
  const names = declaredClaims(pod)
  const extended = pod.status.extendedResourceClaimStatus?.resourceClaimName
  return extended ? [...names, extended] : names
}

/** Pods by the claims that they have by now. */
export const CLAIM_INDEX: IndexDefinition<Pod> = {
  name: 'resource-claim',
  valuesOf: ({ namespace, object }) => (object ? claimNamesOf(object).map(name => queueKey({ namespace, name })) : []),
}

/** Whether a claim was made for the pod or the group that has a uid. */
export const isMadeFor = (uid: string | undefined, { metadata: { ownerReferences = [] } }: Pick<ResourceClaim, 'metadata'>): boolean =>
  ownerReferences.some(owner => owner.controller && owner.uid === uid)

const groupNameOf = ({ spec }: Pod): string | undefined => spec.schedulingGroup?.podGroupName

/** Group claims are those that the pods of a group share; whether there are any is up to the gate DRAWorkloadResourceClaims. */
export type GroupClaims = { readonly hasGroupClaims: boolean }

/** Whether a claim was made for a pod or for its group. A pod knows its group by name only. */
export function isMadeForPod(pod: Pod, claim: ResourceClaim, { hasGroupClaims }: GroupClaims): boolean {
  if (isMadeFor(pod.metadata.uid, claim)) return true
  const group = hasGroupClaims ? groupNameOf(pod) : undefined
  const owner = claim.metadata.ownerReferences?.find(({ controller }) => controller)
  return group !== undefined && owner?.name === group && owner.kind === 'PodGroup' && isOfScheduling(owner.apiVersion)
}

/** Why a pod cannot use a claim that should have been made for it. */
export function notMadeFor(pod: Pod, { metadata: claim }: ResourceClaim, { hasGroupClaims }: GroupClaims): string {
  const group = hasGroupClaims ? groupNameOf(pod) : undefined
  const why = group === undefined ? 'Pod is not owner' : `neither Pod nor PodGroup ${group} is the owner`
  return `ResourceClaim ${claim.namespace}/${claim.name} was not created for Pod ${pod.metadata.namespace}/${pod.metadata.name} (${why})`
}

const isOfScheduling = (group: string | undefined): boolean => group?.startsWith('scheduling.') === true

/** Whether a consumer of a claim is a pod group. */
export const isGroupConsumer = ({ apiGroup, resource }: ResourceClaimConsumerReference): boolean =>
  isOfScheduling(apiGroup) && resource === 'podgroups'

export const isReservedFor = (uid: string | undefined, { status }: ResourceClaim): boolean =>
  (status.reservedFor ?? []).some(consumer => consumer.uid === uid)

/** Whether a pod may use a claim, because it is reserved for the pod or for its group. */
export function isReservedForPod(pod: Pod, claim: ResourceClaim, { hasGroupClaims }: GroupClaims): boolean {
  if (isReservedFor(pod.metadata.uid, claim)) return true
  const group = hasGroupClaims ? groupNameOf(pod) : undefined
  return group !== undefined && (claim.status.reservedFor ?? []).some(each => isGroupConsumer(each) && each.name === group)
}

/** The entry of a pod among those that may use a claim. */
export const consumerOf = ({ metadata: { name = '', uid = '' } }: Pod): ResourceClaimConsumerReference => ({
  resource: 'pods',
  name,
  uid,
})

/** Whether a group declares the same claim as a pod: all its pods that do share one. */
export const isOfGroup = (entry: PodResourceClaim, group: PodGroup): boolean =>
  (group.spec.resourceClaims ?? []).some(
    ({ name, resourceClaimName, resourceClaimTemplateName }) =>
      name === entry.name && resourceClaimName === entry.resourceClaimName && resourceClaimTemplateName === entry.resourceClaimTemplateName,
  )

/** The user that the claim of an entry is reserved for: the group of the pod if it declares the claim, too. */
export function consumerFor(pod: Pod, entry: PodResourceClaim, group: PodGroup | undefined): ResourceClaimConsumerReference {
  if (!group || !isOfGroup(entry, group)) return consumerOf(pod)
  const { name = '', uid = '' } = group.metadata
  return { apiGroup: group.apiVersion.split('/')[0]!, resource: 'podgroups', name, uid }
}

/** Whether no container of a pod runs, or ever will. */
export function isPodDone({ metadata, spec, status }: Pod): boolean {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return true
  return metadata.deletionTimestamp !== undefined && !spec.nodeName
}
