/** The claims of pods: their names, whether they were created for the pod, and their reservations. */
import { queueKey } from '../client/change.ts'
import type { IndexDefinition } from '../client/informer.ts'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { ResourceClaimConsumerReference } from '../kinds/resource/allocation-shapes.ts'
import type { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import type { PodResourceClaim } from '../kinds/rules/pod/spec.ts'

/** On claims that have devices: they stay until these are given back. */
export const CLAIM_FINALIZER = 'resource.kubernetes.io/delete-protection'
/** On a claim that was made for a pod: which entry of the pod it is for. */
export const POD_CLAIM_ANNOTATION = 'resource.kubernetes.io/pod-claim-name'
/** On a claim that was made for the extended resources of a pod. */
export const EXTENDED_RESOURCE_ANNOTATION = 'resource.kubernetes.io/extended-resource-claim'

/** The name of the claim behind an entry of a pod: one that is named, one that was made for it, none that is needed, or none yet. */
export type ClaimName =
  | { readonly type: 'named' | 'made'; readonly name: string }
  | { readonly type: 'not needed' }
  | { readonly type: 'not made' }

export function claimNameOf({ status }: Pod, { name, resourceClaimName }: PodResourceClaim): ClaimName {
  if (resourceClaimName !== undefined) return { type: 'named', name: resourceClaimName }
  const made = status.resourceClaimStatuses?.find(each => each.name === name)
  if (!made) return { type: 'not made' }
  return made.resourceClaimName === undefined ? { type: 'not needed' } : { type: 'made', name: made.resourceClaimName }
}

/** The names of the claims that a pod has by now. */
export function claimNamesOf(pod: Pod): string[] {
  const names = (pod.spec.resourceClaims ?? []).flatMap(entry => {
    const claim = claimNameOf(pod, entry)
    return 'name' in claim ? [claim.name] : []
  })
  const extended = pod.status.extendedResourceClaimStatus?.resourceClaimName
  return extended ? [...names, extended] : names
}

/** Pods by the claims that they have by now. */
export const CLAIM_INDEX: IndexDefinition<Pod> = {
  name: 'resource-claim',
  valuesOf: ({ namespace, object }) => (object ? claimNamesOf(object).map(name => queueKey({ namespace, name })) : []),
}

/** Whether a claim was made for a pod. */
export const isMadeFor = (uid: string | undefined, { metadata: { ownerReferences = [] } }: Pick<ResourceClaim, 'metadata'>): boolean =>
  ownerReferences.some(owner => owner.controller && owner.uid === uid)

/** Why a pod cannot use a claim that should have been made for it. */
export const notMadeFor = ({ metadata: pod }: Pod, { metadata: claim }: ResourceClaim): string =>
  `ResourceClaim ${claim.namespace}/${claim.name} was not created for Pod ${pod.namespace}/${pod.name} (Pod is not owner)`

export const isReservedFor = (uid: string | undefined, { status }: ResourceClaim): boolean =>
  (status.reservedFor ?? []).some(consumer => consumer.uid === uid)

/** The entry of a pod among those that may use a claim. */
export const consumerOf = ({ metadata: { name = '', uid = '' } }: Pod): ResourceClaimConsumerReference => ({
  resource: 'pods',
  name,
  uid,
})

/** Whether no container of a pod runs, or ever will. */
export function isPodDone({ metadata, spec, status }: Pod): boolean {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return true
  return metadata.deletionTimestamp !== undefined && !spec.nodeName
}
