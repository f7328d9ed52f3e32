/** Frees devices for a group of pods that does not fit, so that others are found for it. */
import { claimNameOf, isMadeFor, isReservedFor } from '../../devices/pod-claims.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { Cycle, GroupPostFilterResult, PostFilterResult } from '../plugin.ts'
import { stateOf } from './claim-state.ts'

/** The writes for the pods of a group that have no node. */
export function freeForGroup(cycles: readonly Cycle[], { isAnyPlaced }: { readonly isAnyPlaced: boolean }): GroupPostFilterResult {
  const freed = new Set<string>()
  const writes: (() => Promise<void>)[] = []
  let isAnyWithout = false
  for (const cycle of cycles) {
    const freeing = freeingFor(cycle, freed)
    if (freeing) writes.push(freeing)
    else isAnyWithout = true
  }
  const ofGroup = isAnyWithout && !isAnyPlaced ? freeingForGroup(cycles, freed) : undefined
  return ofGroup
    ? { message: ofGroup.message, writes: [...writes, ofGroup.write] }
    : { message: 'deallocation and deletion of ResourceClaims completed', writes }
}

/** The claims of a pod whose devices cannot be used from some node, as they are stored: devices that were only tried do not count. */
const unavailableFor = (cycle: Cycle): ResourceClaim[] =>
  [...(stateOf(cycle)?.unavailable ?? [])].flatMap(({ metadata: { namespace = '', name = '', uid } }) => {
    const claim = cycle.lookups.devices.claim(namespace, name)
    return claim && claim.metadata.uid === uid && claim.status.allocation ? [claim] : []
  })

const isReservedForNoneBut = (uid: string | undefined, { status }: ResourceClaim): boolean =>
  (status.reservedFor ?? []).every(consumer => consumer.uid === uid)

const uidOf = ({ metadata }: ResourceClaim): string => metadata.uid ?? ''

/** The write that lets other devices be found for a pod of a group; undefined when there is none. */
function freeingFor(cycle: Cycle, freed: Set<string>): (() => Promise<void>) | undefined {
  const { writer } = cycle.lookups.devices
  const claim = unavailableFor(cycle).find(each => isReservedForNoneBut(cycle.info.uid, each))
  if (claim) {
    // Another pod of the group may have the same claim.
    if (freed.has(uidOf(claim))) return async () => {}
    freed.add(uidOf(claim))
    return () => writer.deallocate(claim)
  }
  const stale = stateOf(cycle)?.stale
  return stale && (() => writer.remove(stale))
}

/** The same for a claim that the pods of a group share, of which none has a node. */
function freeingForGroup(cycles: readonly Cycle[], freed: ReadonlySet<string>): PostFilterResult | undefined {
  const { pod, lookups } = cycles[0]!
  const { devices } = lookups
  const { namespace = '' } = pod.metadata
  const group = devices.hasGroupClaims ? devices.group(namespace, pod.spec.schedulingGroup?.podGroupName ?? '') : undefined
  if (!group) return undefined
  const { uid } = group.metadata
  const unavailable = cycles.flatMap(unavailableFor).find(claim => !freed.has(uidOf(claim)) && isReservedForNoneBut(uid, claim))
  if (unavailable)
    return { message: 'deallocation of PodGroup ResourceClaim completed', write: () => devices.writer.deallocate(unavailable) }
  for (const entry of group.spec.resourceClaims ?? []) {
    const named = claimNameOf(group, entry)
    const claim = 'name' in named ? devices.claim(namespace, named.name) : undefined
    if (!claim || (named.type === 'made' && !isMadeFor(uid, claim))) continue
    if (claim.status.allocation && isReservedFor(uid, claim))
      return { message: 'ResourceClaim unreserved for PodGroup', write: () => devices.writer.unreserve(claim, group) }
  }
  return undefined
}
