/** Ends the reservations of users that are gone, and gives back devices that nobody uses. */

import type { namedBy } from '../../client/change.ts'
import type { ResourceClient } from '../../client/client.ts'
import { CLAIM_FINALIZER, isGroupConsumer } from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { ResourceClaimConsumerReference } from '../../kinds/resource/allocation-shapes.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { ClaimHolderParts } from './claim-holders.ts'
import { keepsReservation, owningPod, planClaim } from './reconcile.ts'

type Parts = Omit<ClaimHolderParts, 'recorder'>

export class ClaimReservations {
  readonly #parts: Parts
  readonly #pods: ResourceClient<Pod>
  readonly #claims: ResourceClient<ResourceClaim>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#pods = parts.client.of(Pod)
    this.#claims = parts.client.of(ResourceClaim)
  }

  async syncClaim(named: ReturnType<typeof namedBy>): Promise<void> {
    const claim = this.#claims.get(named)
    if (!claim) return
    const remaining: ResourceClaimConsumerReference[] = []
    for (const consumer of claim.status.reservedFor ?? []) if (await this.#isKept(named.namespace, consumer)) remaining.push(consumer)
    const owner = owningPod(claim)
    const pod = owner && this.#pods.get({ namespace: named.namespace, name: owner.name })
    const { status, dropsFinalizer, deletes } = planClaim(claim, remaining, pod !== undefined && !keepsReservation(pod, owner!.uid))
    // Updated, not patched: if anything has changed in the meantime it must be looked at again.
    const written = status ? (await this.#claims.updateStatus({ ...claim, status }))?.object : claim
    if (dropsFinalizer && written) await this.#claims.update(withoutFinalizer(written))
    if (deletes) await this.#claims.delete(claim)
  }

  /** A user that another replica has just given the claim may not be known here yet. An empty patch reads the current object. */
  async #isKept(namespace: string | undefined, consumer: ResourceClaimConsumerReference): Promise<boolean> {
    const { groups, hasGroupClaims } = this.#parts
    const { apiGroup, resource, name, uid } = consumer
    const named = { namespace: namespace ?? '', name }
    if (hasGroupClaims && isGroupConsumer(consumer)) {
      const group = groups!.get(named) ?? (await groups!.patch(named, {}, { subresource: 'status' }))?.object
      return group?.metadata.uid === uid
    }
    if (apiGroup || resource !== 'pods') return true
    const pod = this.#pods.get(named) ?? (await this.#pods.patch(named, {}, { subresource: 'status' }))?.object
    return keepsReservation(pod, uid)
  }
}

const withoutFinalizer = (claim: ResourceClaim): ResourceClaim => ({
  ...claim,
  metadata: { ...claim.metadata, finalizers: (claim.metadata.finalizers ?? []).filter(each => each !== CLAIM_FINALIZER) },
})
