/** Gives pods and pod groups the claims that they declare. */

import type { namedBy } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import {
  claimNameOf,
  consumerFor,
  type GroupClaims,
  isGroupConsumer,
  isMadeFor,
  isMadeForPod,
  isOfGroup,
  isReservedForPod,
  notMadeFor,
} from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { claimMaker } from './claim-maker.ts'
import { mayNeedClaims } from './reconcile.ts'

export type ClaimHolderParts = GroupClaims & {
  readonly client: Client
  readonly recorder: EventRecorder
  /** Undefined when the server does not have groups. */
  readonly groups: ResourceClient<PodGroup> | undefined
}

type Named = ReturnType<typeof namedBy>

export class ClaimHolders {
  readonly #parts: ClaimHolderParts
  readonly #pods: ResourceClient<Pod>
  readonly #claims: ResourceClient<ResourceClaim>
  readonly #makeClaims: ReturnType<typeof claimMaker>

  constructor(parts: ClaimHolderParts) {
    this.#parts = parts
    this.#pods = parts.client.of(Pod)
    this.#claims = parts.client.of(ResourceClaim)
    this.#makeClaims = claimMaker(parts)
  }

  async syncPod(named: Named): Promise<void> {
    const pod = this.#pods.get(named)
    if (!pod || !mayNeedClaims(pod)) return
    const { groups, hasGroupClaims } = this.#parts
    const groupName = pod.spec.schedulingGroup?.podGroupName
    const group = groupName === undefined ? undefined : groups?.get({ namespace: named.namespace, name: groupName })
    // Only its group tells which claims are for the pod alone. When the group comes, the pod is looked at again.
    if (groupName !== undefined && !group) return
    const status = await this.#makeClaims(pod, {
      shown: `pod ${named.namespace}/${named.name}`,
      entryType: 'PodResourceClaim',
      isMade: claim => isMadeForPod(pod, claim, { hasGroupClaims }),
      ownerOf(entry) {
        if (!group || !isOfGroup(entry, group)) return pod
        return hasGroupClaims ? group : undefined
      },
    })
    if (status) await this.#pods.apply({ metadata: named, status }, BY_CONTROLLER)
    if (pod.spec.nodeName) await this.#reserve(this.#pods.get(named) ?? pod, group)
  }

  async syncGroup(named: Named): Promise<void> {
    const { groups } = this.#parts
    const group = groups?.get(named)
    if (!group || group.metadata.deletionTimestamp) return
    const status = await this.#makeClaims(group, {
      shown: `PodGroup ${named.namespace}/${named.name}`,
      entryType: 'PodGroupResourceClaim',
      isMade: claim => isMadeFor(group.metadata.uid, claim),
      ownerOf: () => group,
    })
    if (status) await groups!.apply({ metadata: named, status }, BY_CONTROLLER)
  }

  /** A pod that was bound without the scheduler gets reservations of claims that are already allocated. */
  async #reserve(pod: Pod, group: PodGroup | undefined): Promise<void> {
    const { hasGroupClaims } = this.#parts
    for (const entry of pod.spec.resourceClaims ?? []) {
      const named = claimNameOf(pod, entry)
      if (!('name' in named)) continue
      const claim = this.#claims.get({ namespace: pod.metadata.namespace ?? '', name: named.name })
      if (!claim) return
      if (named.type === 'made' && !isMadeForPod(pod, claim, { hasGroupClaims }))
        throw new Error(notMadeFor(pod, claim, { hasGroupClaims }))
      if (!claim.status.allocation || isReservedForPod(pod, claim, { hasGroupClaims })) continue
      const consumer = consumerFor(pod, entry, group)
      if (isGroupConsumer(consumer) && !hasGroupClaims) continue
      const reservedFor = [...(claim.status.reservedFor ?? []), consumer]
      await this.#claims.updateStatus({ ...claim, status: { ...claim.status, reservedFor } })
    }
  }
}

const BY_CONTROLLER = { manager: 'ResourceClaimController', subresource: 'status' }
