/** The state of the plugin DynamicResources about a pod, from the filter to the reservation. */
import type { Choice } from '../../devices/allocate.ts'
import type { PreparedClaim } from '../../devices/claim-requests.ts'
import type { ResourceClaimConsumerReference } from '../../kinds/resource/allocation-shapes.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { NodeTest } from '../../kinds/rules/pod/scheduling/node-match.ts'
import type { NodeAllocatableResourceClaimStatus, PodExtendedResourceClaimStatus } from '../../kinds/rules/pod/status/status.ts'
import type { Cycle, Rejection } from '../plugin.ts'
import type { PodRequests } from '../resources.ts'
import type { ClaimDraft } from './claim-writer.ts'
import { SharedAllocations } from './shared-allocations.ts'

export const NAME = 'DynamicResources'

/** The state of the plugin about a pod. */
export type State = {
  readonly claims: readonly ResourceClaim[]
  /** For whom each claim is reserved: the pod, or the group that shares it. */
  readonly consumers: readonly ResourceClaimConsumerReference[]
  /** Claims that have devices which cannot be used from every node, or not yet, with where they can. */
  readonly nodeTests: ReadonlyMap<ResourceClaim, NodeTest>
  /** The claim for the extended resources of the pod that an earlier attempt has made. */
  readonly stale: ResourceClaim | undefined
  /** Extended resources of the pod, which devices may stand for. */
  readonly resources: readonly string[]
  readonly verdicts: Map<string, Verdict>
  /** Claims whose devices cannot be used from some node. */
  readonly unavailable: Set<ResourceClaim>
}

export type Verdict = { readonly rejection: Rejection } | { readonly found: Found }

/** The devices of a node for the claims of a pod. */
export type Found = {
  /** Claims without devices, and which of the node they can have. */
  readonly open: readonly UnallocatedClaim[]
  readonly choices: readonly Choice[]
  readonly extended: Extended | undefined
  /** The share of the node's own resources that the devices take, if they take any. */
  readonly taken: Taken | undefined
}
export type Taken = { readonly statuses: readonly NodeAllocatableResourceClaimStatus[]; readonly requests: PodRequests }
/** A claim for extended resources is not there yet. */
export type UnallocatedClaim = { readonly claim: ResourceClaim | undefined; readonly prepared: PreparedClaim }
export type Extended = { readonly draft: ClaimDraft; readonly mappings: PodExtendedResourceClaimStatus['requestMappings'] }

export const stateOf = ({ state }: Cycle): State | undefined => state.get(NAME) as State | undefined

/** The allocations that the pods of a group are about to write, once one of them has chosen devices. */
export const knownIn = ({ shared }: Cycle): SharedAllocations | undefined => shared?.get(NAME) as SharedAllocations | undefined

/** The same, or those of this pod alone. */
export function pendingIn(cycle: Cycle): SharedAllocations {
  const pending = knownIn(cycle) ?? new SharedAllocations(cycle.lookups.devices.usage)
  cycle.shared?.set(NAME, pending)
  return pending
}
