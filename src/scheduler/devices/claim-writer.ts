/** The writes of the scheduler to ResourceClaims: allocations and reservations, and their removal. */

import type { Client } from '../../client/client.ts'
import type { SeriesRecorder } from '../../client/series-recorder.ts'
import { CLAIM_FINALIZER, isReservedFor } from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { AllocationResult, ResourceClaimConsumerReference } from '../../kinds/resource/allocation-shapes.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { NodeAllocatableResourceClaimStatus, PodExtendedResourceClaimStatus } from '../../kinds/rules/pod/status/status.ts'
import { messageOf } from '../../lib/error-message.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import { mayHaveHappened, notFound, StatusError } from '../../schema/status-error.ts'

export type ClaimDraft = Pick<ResourceClaim, 'metadata' | 'spec'>

/** The pod or the group that a claim is reserved for. */
type Consumer = ResourceClaimConsumerReference

/** Nobody knows whether an allocation was written, or still will be. */
export class AllocationUndecided extends Error {
  /** The revision of the claim that the write replaces. */
  readonly replaces: number
  override readonly name = 'AllocationUndecided'

  constructor(message: string, { metadata }: ResourceClaim) {
    super(message)
    this.replaces = Number(metadata.resourceVersion)
  }
}

export interface ClaimWriter {
  /** The claim as it is now; undefined when it is gone or another has its name. */
  read(claim: ResourceClaim): ResourceClaim | undefined
  /**
   * Reserves a claim for a pod or a group, and allocates it if an allocation is given. Gives the claim as it is stored then. Throws
   * when it cannot be: the claim is gone, allocated or not, or somebody else was first. Then the pod must be tried again. Throws
   * `AllocationUndecided` when the allocation may be stored nevertheless.
   */
  bind(claim: ResourceClaim, consumer: Consumer, allocation: AllocationResult | undefined): Promise<ResourceClaim>
  /** The same for an allocation that the pods of a group share: another one may have written it. */
  share(claim: ResourceClaim, consumer: Consumer, allocation: AllocationResult): Promise<ResourceClaim>
  /** Takes a reservation back. */
  unreserve(claim: ResourceClaim, holder: Pick<Pod, 'metadata'>): Promise<void>
  /** Deallocates a claim that no other pod uses. */
  deallocate(claim: ResourceClaim): Promise<void>
  create(draft: ClaimDraft): Promise<ResourceClaim>
  /** Deletes a claim with the devices it has. */
  remove(claim: ResourceClaim): Promise<void>
  /** Says in the status of a pod which claim its extended resources come from. */
  reportExtended(pod: Pod, status: PodExtendedResourceClaimStatus): Promise<void>
  /** Says in the status of a pod how much its claims take of the resources of its node; with an empty list, that they take nothing. */
  reportNodeResources(pod: Pod, statuses: readonly NodeAllocatableResourceClaimStatus[]): Promise<void>
  /** An event that says that devices have to get ready. */
  announceWaiting(pod: Pod, node: string): void
}

export type ClaimWriterParts = {
  readonly client: Client
  readonly eventsOf: (pod: Pod) => SeriesRecorder
  readonly recordsTime: boolean
}

/** How often a write is tried that others have come before without taking anything away. */
const ATTEMPTS = 5

export function claimWriter({ client, eventsOf, recordsTime }: ClaimWriterParts): ClaimWriter {
  const claims = claimsOf(client)
  const read = (claim: ResourceClaim) => currentOf(claims, claim)
  const binding = new ClaimBinding(client, recordsTime)
  const inOrder = writesInOrder()

  return {
    read,
    bind: (claim, consumer, allocation) => inOrder(claim, () => binding.bind(claim, consumer, allocation)),
    share: (claim, consumer, allocation) => inOrder(claim, () => binding.share(claim, consumer, allocation)),
    unreserve: (claim, holder) =>
      inOrder(claim, async () => {
        const patch = { metadata: { uid: claim.metadata.uid }, status: { reservedFor: [{ $patch: 'delete', uid: holder.metadata.uid }] } }
        await claims.patch(claim.metadata, patch, { type: 'strategic', subresource: 'status' })
      }),
    async deallocate(claim) {
      const { allocation: _, reservedFor: __, devices: ___, ...status } = claim.status
      await claims.updateStatus({ ...claim, status })
    },
    async create(draft) {
      const written = await claims.create(draft)
      if (!written) throw new Error(`create claim for extended resources ${draft.metadata.namespace}/: the name is taken`)
      return written.object
    },
    remove: claim =>
      inOrder(claim, async () => {
        const current = read(claim)
        if (!current) return
        const finalizers = (current.metadata.finalizers ?? []).filter(each => each !== CLAIM_FINALIZER)
        if (current.metadata.finalizers?.includes(CLAIM_FINALIZER))
          await claims.update({ ...current, metadata: { ...current.metadata, finalizers } })
        await claims.delete(current)
      }),
    async reportExtended({ metadata: { namespace = '', name = '', uid } }, extendedResourceClaimStatus) {
      const patch = { metadata: { uid }, status: { extendedResourceClaimStatus } }
      await client.of(Pod).patch({ namespace, name }, patch, { type: 'strategic', subresource: 'status' })
    },
    async reportNodeResources({ metadata: { namespace = '', name = '', uid } }, nodeAllocatableResourceClaimStatuses) {
      const patch = { metadata: { uid }, status: { nodeAllocatableResourceClaimStatuses } }
      await client.of(Pod).patch({ namespace, name }, patch, { type: 'merge', subresource: 'status' })
    },
    announceWaiting(pod, node) {
      const note = `waiting for binding conditions for device on node ${node}`
      eventsOf(pod).event(pod, { type: 'Normal', reason: 'BindingConditionsPending', action: 'Scheduling', note })
    },
  }
}

type Claims = ReturnType<typeof claimsOf>
const claimsOf = (client: Client) => client.of(ResourceClaim)

function currentOf(claims: Claims, { metadata: { namespace = '', name = '', uid } }: ResourceClaim): ResourceClaim | undefined {
  const claim = claims.get({ namespace, name })
  return claim?.metadata.uid === uid ? claim : undefined
}

/** Makes the writes of this scheduler to one claim one after another. */
function writesInOrder(): <T>(claim: ResourceClaim, write: () => Promise<T>) => Promise<T> {
  /** The last write to a claim, by uid. */
  const lastWrites = new Map<string, Promise<unknown>>()
  return async ({ metadata: { uid = '' } }, write) => {
    const writing = (lastWrites.get(uid) ?? Promise.resolve()).catch(() => {}).then(write)
    lastWrites.set(uid, writing)
    try {
      return await writing
    } finally {
      if (lastWrites.get(uid) === writing) lastWrites.delete(uid)
    }
  }
}

/** Allocates and reserves claims. */
class ClaimBinding {
  readonly #client: Client
  readonly #claims: Claims
  readonly #recordsTime: boolean

  constructor(client: Client, recordsTime: boolean) {
    this.#client = client
    this.#claims = claimsOf(client)
    this.#recordsTime = recordsTime
  }

  async bind(claim: ResourceClaim, consumer: Consumer, allocation: AllocationResult | undefined): Promise<ResourceClaim> {
    const shown = nameOf(claim)
    for (let attempt = 1; ; attempt++) {
      const before = currentOf(this.#claims, claim)
      if (!before)
        throw new Error(`get updated claim ${shown} after conflict: ${this.#claims.resource.qualified} "${claim.metadata.name}" not found`)
      if (before.metadata.deletionTimestamp) throw new Error(`claim ${shown} got deleted in the meantime`)
      if (allocation && before.status.allocation) throw new Error(`claim ${shown} got allocated elsewhere in the meantime`)
      if (!allocation && !deepEqual(before.status.allocation, claim.status.allocation))
        throw new Error(`claim ${shown} got deallocated elsewhere in the meantime`)
      // Another pod of the group has reserved it for all of them.
      if (!allocation && isReservedFor(consumer.uid, before)) return before
      try {
        return await this.#write(before, consumer, allocation)
      } catch (error) {
        if (!isConflict(error) || attempt === ATTEMPTS || isLost(before, currentOf(this.#claims, claim))) throw error
      }
    }
  }

  share(claim: ResourceClaim, consumer: Consumer, allocation: AllocationResult): Promise<ResourceClaim> {
    const now = currentOf(this.#claims, claim)
    // Writes to a claim are made one after another, so that nobody of the group comes in between.
    return now && isSame(now.status.allocation, allocation) ? this.bind(now, consumer, undefined) : this.bind(claim, consumer, allocation)
  }

  async #write(before: ResourceClaim, consumer: Consumer, allocation: AllocationResult | undefined): Promise<ResourceClaim> {
    const shown = nameOf(before)
    const ready = allocation ? await during(`add finalizer to claim ${shown}`, () => this.#withFinalizer(before)) : before
    const given = allocation ?? ready.status.allocation!
    const time = this.#recordsTime && given.allocationTimestamp === undefined
    const status = {
      ...ready.status,
      allocation: { ...given, ...(time && { allocationTimestamp: timestampOf(this.#client.now) }) },
      reservedFor: [...(ready.status.reservedFor ?? []), consumer],
    }
    const what = `${allocation ? 'add allocation and reservation to' : 'add reservation to'} claim ${shown}`
    try {
      const written = await this.#claims.updateStatus({ ...ready, status })
      return this.#stored(written, ready)
    } catch (error) {
      if (allocation && mayHaveHappened(error)) throw new AllocationUndecided(`${what}: ${messageOf(error)}`, ready)
      throw prefixed(what, error)
    }
  }

  /** A claim that has devices cannot go before they are given back. */
  async #withFinalizer(claim: ResourceClaim): Promise<ResourceClaim> {
    const { metadata } = claim
    if (metadata.finalizers?.includes(CLAIM_FINALIZER)) return claim
    const finalizers = [...(metadata.finalizers ?? []), CLAIM_FINALIZER]
    return this.#stored(await this.#claims.update({ ...claim, metadata: { ...metadata, finalizers } }), claim)
  }

  #stored(written: { readonly object: ResourceClaim } | undefined, { metadata: { name = '' } }: ResourceClaim): ResourceClaim {
    if (!written) throw notFound(this.#claims.resource, name)
    return written.object
  }
}

const nameOf = ({ metadata: { namespace, name } }: ResourceClaim): string => `${namespace}/${name}`

const isConflict = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Conflict'

/** Whether a claim has the devices that were chosen for it: another pod of the group has written them. */
const isSame = (stored: AllocationResult | undefined, chosen: AllocationResult): boolean =>
  stored !== undefined && deepEqual(stored.devices.results, chosen.devices.results)

/** Whether the update that came before took something away: it gave the claim to others, or made it another one. */
function isLost(before: ResourceClaim, now: ResourceClaim | undefined): boolean {
  if (!now || !deepEqual(before.status.allocation, now.status.allocation)) return true
  const known = new Set((before.status.reservedFor ?? []).map(({ uid }) => uid))
  return (now.status.reservedFor ?? []).some(({ uid }) => !known.has(uid))
}

async function during<T>(what: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    throw prefixed(what, error)
  }
}

/** The same error, with the operation that failed before its message. */
function prefixed(what: string, error: unknown): Error {
  if (!(error instanceof StatusError)) return new Error(`${what}: ${messageOf(error)}`)
  const { code, reason, message, details } = error
  return new StatusError(code, reason, `${what}: ${message}`, details)
}
