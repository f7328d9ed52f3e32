/** Takes the devices of a node that was chosen for a pod, so that no other gets them, and writes them into its claims before it is bound. */
import { allocationResult } from '../../devices/allocation-result.ts'
import { consumerOf, isReservedFor, isReservedForPod } from '../../devices/pod-claims.ts'
import type { AllocationResult } from '../../kinds/resource/allocation-shapes.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { Cycle, Reservation } from '../plugin.ts'
import { bindingDeadline, hasBindingConditions, readinessOf } from './binding-conditions.ts'
import { type Found, pendingIn, type State } from './claim-state.ts'

/** How often it is looked whether devices are ready, beside changes of their claims. */
const LOOK_AGAIN_MS = 5000

type Chosen = { readonly state: State; readonly found: Found; readonly bindingTimeoutMs: number }

export function claimReservation(cycle: Cycle, node: string, { state, found, bindingTimeoutMs }: Chosen): Reservation {
  const { pod, lookups } = cycle
  const { devices } = lookups
  const { writer } = devices
  // Only the chosen allocation is kept, not the trials on other nodes.
  const { claims, consumers } = state
  const results = new Map<ResourceClaim | undefined, AllocationResult>(
    found.open.map(({ claim, prepared }, i) => [claim, allocationResult(prepared, found.choices[i]!, { node, uuid: devices.uuid })]),
  )
  const { extended, taken } = found
  const temporary = `extended resources of ${pod.metadata.uid}`
  /** The claim for extended resources, once it is there. */
  let made: ResourceClaim | undefined
  const keyOf = (claim: ResourceClaim | undefined) => (claim ?? made)?.metadata.uid ?? temporary
  const pending = pendingIn(cycle)
  for (const claim of claims) {
    const chosen = claim.status.allocation && pending.of(keyOf(claim))
    if (chosen) results.set(claim, chosen)
  }
  const { uid = '' } = pod.metadata
  for (const [claim, result] of results) pending.hold(keyOf(claim), result, uid)
  /** Claims as they were last written or read. */
  let current = [...claims]
  let isBound = false
  let isReported = false
  let waitingSince: number | undefined

  function withdraw(): void {
    for (const claim of results.keys()) pending.drop(keyOf(claim), uid)
  }

  async function bindAll(): Promise<void> {
    for (const [i, claim] of claims.entries()) {
      const result = results.get(claim)
      if (!isReservedForPod(pod, current[i]!, devices)) {
        const consumer = consumers[i]!
        current[i] = result && cycle.shared ? await writer.share(claim, consumer, result) : await writer.bind(claim, consumer, result)
      }
      if (result) pending.drop(keyOf(claim), uid)
    }
    if (taken) await writer.reportNodeResources(pod, taken.statuses)
    isReported = taken !== undefined
    if (!extended) return
    if (!made) {
      made = await writer.create(extended.draft)
      pending.rename(temporary, keyOf(made))
    }
    const given = results.get(undefined)
    if (!isReservedFor(pod.metadata.uid, made)) made = await writer.bind(made, consumerOf(pod), given)
    pending.drop(keyOf(made), uid)
    current = [...current, made]
    await writer.reportExtended(pod, { requestMappings: extended.mappings, resourceClaimName: made.metadata.name ?? '' })
  }

  return {
    requests: taken?.requests,
    async prepare() {
      if (!isBound) await bindAll()
      isBound = true
      if (!devices.features.bindingConditions || !current.some(hasBindingConditions)) return undefined
      if (waitingSince === undefined) writer.announceWaiting(pod, node)
      waitingSince ??= devices.now()
      let isReady = true
      for (const [i, each] of current.entries()) {
        const claim = writer.read(each)
        if (!claim) throw new Error(`resourceclaim.resource.k8s.io "${each.metadata.name}" not found`)
        current[i] = claim
        const readiness = readinessOf(claim)
        if (readiness.type === 'failed') throw new Error(readiness.message)
        if (readiness.type === 'ready') continue
        if (devices.now() > (bindingDeadline(claim, bindingTimeoutMs) ?? Number.POSITIVE_INFINITY))
          throw new Error(`device binding timeout: claim=${claim.metadata.name}`)
        isReady = false
      }
      if (isReady) return undefined
      if (devices.now() - waitingSince > bindingTimeoutMs) throw new Error('device binding timeout: context deadline exceeded')
      return LOOK_AGAIN_MS
    },
    withdraw,
    async release() {
      withdraw()
      for (const claim of current) {
        if (claim === made) continue
        // Other pods of the group may still need a claim that is reserved for the group.
        if (claim.status.allocation && isReservedFor(pod.metadata.uid, claim)) await writer.unreserve(claim, pod)
      }
      if (made) await writer.remove(made)
      if (isReported) await writer.reportNodeResources(pod, [])
    },
  }
}
