/**
 * Pods get the devices that they claim. The filter looks for devices on each node for the claims that have none; those that have
 * devices restrict the pod to where these are. Once a node is chosen its devices are taken at once, so that no other pod gets
 * them, and written into the claims before the pod is bound.
 */

import { allocate, type Choice, stepBudget } from '../../devices/allocate.ts'
import { AllocationError, type PreparedClaim, prepareClaim } from '../../devices/claim-requests.ts'
import { extendedRequests, isDeviceResource } from '../../devices/extended-resources.ts'
import { type GivenDevice, isMapped, nodeResourcesOf } from '../../devices/node-resources.ts'
import {
  claimNameOf,
  consumerFor,
  consumerOf,
  EXTENDED_RESOURCE_ANNOTATION,
  isMadeForPod,
  isReservedForPod,
  notMadeFor,
} from '../../devices/pod-claims.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { ResourceClaimConsumerReference } from '../../kinds/resource/allocation-shapes.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { coverageFault } from '../../kinds/rules/pod/resources/claim-coverage-rules.ts'
import { isHugePageResource } from '../../kinds/rules/pod/resources/resource-rules.ts'
import { type NodeTest, nodesSelectedBy } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { ClusterEvent } from '../cluster-event.ts'
import { BINDING_TIMEOUT_MS, bindingDeadline, readinessOf } from '../devices/binding-conditions.ts'
import {
  type Extended,
  knownIn,
  NAME,
  type State,
  stateOf,
  type Taken,
  type UnallocatedClaim,
  type Verdict,
} from '../devices/claim-state.ts'
import type { ClaimDraft } from '../devices/claim-writer.ts'
import { freeForGroup } from '../devices/freeing.ts'
import { claimReservation } from '../devices/reservation.ts'
import type { SharedAllocations } from '../devices/shared-allocations.ts'
import type { Devices, Lookups } from '../lookups.ts'
import type { NodeInfo } from '../node-info.ts'
import { always, type Cycle, type NodeFilter, type Plugin, PluginError, type Rejection, scaleToMax, unresolvable } from '../plugin.ts'
import { requestsOf } from '../resources.ts'
import { Shortages } from '../room.ts'

const UNAVAILABLE = unresolvable('resourceclaim not available on the node')
const NOT_ALLOCATED = unresolvable('cannot allocate all claims')
const INVALID_POOLS = unresolvable('invalid resource pools were encountered')
const STALE = unresolvable('cannot schedule extended resource claim')
const NO_RESOURCE = unresolvable('cannot fit resource')

/** How many alternatives a request can have. */
const MAX_ALTERNATIVES = 8

export type DynamicResourcesArgs = {
  /** How long devices may take to get ready. */
  readonly bindingTimeoutMs: number
  /** How long devices may be looked for on one node; 0 for any time. */
  readonly filterTimeoutMs: number
}

export const dynamicResourcesWith = (args: DynamicResourcesArgs): Plugin => ({
  name: NAME,
  weight: 2,
  gate: (pod, lookups) => !Array.isArray(claimsOf(pod, lookups)),
  filter(cycle) {
    const prepared = prepare(cycle)
    if (!prepared || 'reasons' in prepared) return prepared
    cycle.state.set(NAME, prepared)
    return nodeFilter(cycle, prepared, args)
  },
  score(cycle) {
    const state = stateOf(cycle)
    if (!state?.claims.some(({ spec }) => spec.devices.requests?.some(({ firstAvailable }) => firstAvailable))) return undefined
    return { score: node => preference(state, node.name), normalize: scores => scaleToMax(scores) }
  },
  postFilter(cycle) {
    const state = stateOf(cycle)
    if (!state) return undefined
    const { writer } = cycle.lookups.devices
    for (const claim of state.unavailable) {
      const others = (claim.status.reservedFor ?? []).filter(({ uid }) => uid !== cycle.info.uid)
      if (others.length === 0) return { message: 'deallocation of ResourceClaim completed', write: () => writer.deallocate(claim) }
    }
    const { stale } = state
    return stale && { message: 'deletion of ResourceClaim completed', write: () => writer.remove(stale) }
  },
  groupPostFilter: freeForGroup,
  reserve(cycle, node) {
    const state = stateOf(cycle)
    const verdict = state?.verdicts.get(node)
    if (!state || !verdict || !('found' in verdict)) return undefined
    return claimReservation(cycle, node, { state, found: verdict.found, bindingTimeoutMs: args.bindingTimeoutMs })
  },
  queueingHints: {
    'node added': always,
    'node labels': always,
    'node allocatable': always,
    'resourceClaim added': isWorthAfterClaim,
    'resourceClaim changed': isWorthAfterClaim,
    'resourceClaim deleted': (_, event) => event.about === 'resourceClaim' && event.before?.status.allocation !== undefined,
    'self claims': (pod, _, { lookups }) => Array.isArray(claimsOf(pod, lookups)),
    'deviceClass changed': always,
    'devices changed': always,
  },
})

/** The plugin without a configuration. */
export const defaultDynamicResources = (gate: (name: string) => boolean): Plugin =>
  dynamicResourcesWith({ bindingTimeoutMs: BINDING_TIMEOUT_MS, filterTimeoutMs: gate('DRASchedulerFilterTimeout') ? FILTER_TIMEOUT_MS : 0 })
const FILTER_TIMEOUT_MS = 10_000

/** The claims of a pod, or why it cannot have them. */
function claimsOf(pod: Pod, { devices }: Lookups): ResourceClaim[] | Rejection {
  const { namespace = '', name = '' } = pod.metadata
  const claims: ResourceClaim[] = []
  for (const entry of pod.spec.resourceClaims ?? []) {
    const named = claimNameOf(pod, entry)
    if (named.type === 'not needed') continue
    if (named.type === 'not made') return unresolvable(`pod "${namespace}/${name}": ResourceClaim not created yet`)
    const claim = devices.claim(namespace, named.name)
    if (!claim) return unresolvable(`resourceclaim.resource.k8s.io "${named.name}" not found`)
    if (claim.metadata.deletionTimestamp) return unresolvable(`resourceclaim "${named.name}" is being deleted`)
    if (named.type === 'made' && !isMadeForPod(pod, claim, devices)) return unresolvable(notMadeFor(pod, claim, devices))
    if (!claims.includes(claim)) claims.push(claim)
  }
  return claims
}

/** For whom the claims of a pod are reserved, in their order; a rejection when the group that could share them is not there. */
function consumersOf(pod: Pod, claims: readonly ResourceClaim[], { devices }: Lookups): ResourceClaimConsumerReference[] | Rejection {
  const name = devices.hasGroupClaims ? pod.spec.schedulingGroup?.podGroupName : undefined
  const group = name === undefined ? undefined : devices.group(pod.metadata.namespace ?? '', name)
  if (name !== undefined && !group) return unresolvable(`podgroup.scheduling.k8s.io "${name}" not found`)
  return claims.map(({ metadata }) => {
    const entry = (pod.spec.resourceClaims ?? []).find(each => {
      const named = claimNameOf(pod, each)
      return 'name' in named && named.name === metadata.name
    })
    return entry ? consumerFor(pod, entry, group) : consumerOf(pod)
  })
}

/** Whether a change of a claim can help a pod: it is its own, or devices have become free. */
function isWorthAfterClaim(pod: Pod, event: ClusterEvent, { lookups }: Pick<Cycle, 'lookups'>): boolean {
  if (event.about !== 'resourceClaim' || !event.after) return false
  const { before, after } = event
  const claims = claimsOf(pod, lookups)
  if (!Array.isArray(claims)) return false
  if (before?.status.allocation && !after.status.allocation) return true
  if (!claims.some(({ metadata }) => metadata.uid === after.metadata.uid)) return false
  return !before || !deepEqual(before.status, after.status)
}

// Before nodes are looked at

/** Undefined when the pod has nothing to do with devices; a rejection when there is no node for it at all. */
function prepare(cycle: Cycle): State | Rejection | undefined {
  const { pod, info, lookups, shared } = cycle
  const { devices } = lookups
  const stored = claimsOf(pod, lookups)
  if (!Array.isArray(stored)) return stored
  const claims = shared ? stored.map(claim => withPending(claim, knownIn(cycle))) : stored
  const asked = [...requestsOf(pod).requests.scalars].flatMap(([name, amount]) => (amount > 0 && isDeviceResource(name) ? [name] : []))
  const resources = asked.some(name => devices.classes.behind(name)) ? asked : []
  if (claims.length === 0 && resources.length === 0) return undefined
  const consumers = consumersOf(pod, claims, lookups)
  if (!Array.isArray(consumers)) return consumers
  const nodeTests = new Map<ResourceClaim, NodeTest>()
  for (const claim of claims) {
    const problem = claim.status.allocation ? undefined : whyNotAllocatable(claim, devices)
    if (problem !== undefined) return unresolvable(problem)
    const nodeSelector = claim.status.allocation?.nodeSelector
    if (nodeSelector) nodeTests.set(claim, nodesSelectedBy(nodeSelector))
  }
  const stale = resources.length > 0 ? devices.extendedClaimOf(info.uid) : undefined
  return { claims, consumers, nodeTests, stale, resources, verdicts: new Map(), unavailable: new Set() }
}

/** A claim with the devices that another pod of the group has chosen for it. */
function withPending(claim: ResourceClaim, pending: SharedAllocations | undefined): ResourceClaim {
  const allocation = claim.status.allocation ? undefined : pending?.of(claim.metadata.uid ?? '')
  return allocation ? { ...claim, status: { ...claim.status, allocation } } : claim
}

/** Why no devices can be looked for, wherever. */
function whyNotAllocatable({ metadata, spec }: ResourceClaim, { usage, classes }: Devices): string | undefined {
  const shown = `${metadata.namespace}/${metadata.name}`
  if (usage.isAssumed(metadata.uid ?? '')) return `resource claim ${shown} is in the process of being allocated`
  for (const { name, exactly, firstAvailable = [] } of spec.devices.requests ?? []) {
    const wanted = exactly ? [{ name, spec: exactly }] : firstAvailable.map(sub => ({ name: `${name}/${sub.name}`, spec: sub }))
    if (wanted.length === 0) return `resource claim ${shown}, request ${name}: unknown request type`
    const lacking = wanted.find(each => !classes.get(each.spec.deviceClassName))
    if (lacking) return `request ${lacking.name}: device class ${lacking.spec.deviceClassName} does not exist`
  }
  return undefined
}

// One node

/** The claims that devices have to be found for. */
type OpenClaims = { readonly open: readonly UnallocatedClaim[]; readonly prepared: readonly PreparedClaim[] }

function nodeFilter(cycle: Cycle, state: State, { bindingTimeoutMs, filterTimeoutMs }: DynamicResourcesArgs): NodeFilter {
  const { devices } = cycle.lookups
  const budget = stepBudget()
  const preparation = { classOf: (name: string) => devices.classes.get(name), ...devices }
  const hasDevices = (resource: string) => devices.classes.behind(resource) !== undefined
  const [mapped, others] = [state.resources.filter(hasDevices), state.resources.filter(resource => !hasDevices(resource))]
  // Nodes usually lack the same resources, so the same devices are looked for on all of them.
  const extendedFor = new Map<string, Extended>()
  const openFor = new Map<Extended | undefined, OpenClaims>()
  const given = state.claims.filter(({ status }) => status.allocation)

  function look(node: NodeInfo): Verdict {
    const extended = extendedOn(node)
    if (extended && 'reasons' in extended) return { rejection: extended }
    if (!extended && state.claims.length === 0) return { found: { open: [], choices: [], extended, taken: undefined } }
    const unavailable = given.filter(claim => !isAvailable(claim, node))
    const shared = devices.features.nodeResources && given.find(claim => !unavailable.includes(claim) && isOfAnother(claim))
    if (shared) {
      const why = `node allocatable resource claim ${shared.metadata.name} has a mapped device and cannot be shared across pods`
      return { rejection: unresolvable(why) }
    }
    const { open, prepared } = openWith(extended)
    let choices: readonly Choice[] = []
    if (open.length > 0) {
      if (filterTimeoutMs > 0) {
        const until = devices.now() + filterTimeoutMs
        budget.isLate = () => devices.now() >= until
      }
      const outcome = allocate(prepared, node, devices, budget)
      if (outcome.type === 'invalid pools') return { rejection: INVALID_POOLS }
      // The pod is tried again later: the server may have been busy.
      if (outcome.type === 'late') throw new AllocationError(`node ${node.name}: timed out trying to allocate devices`)
      if (outcome.type === 'given up') return { rejection: unresolvable(`gave up looking for devices after ${outcome.steps} steps`) }
      if (outcome.type === 'none') return { rejection: NOT_ALLOCATED }
      choices = outcome.choices
    }
    for (const claim of unavailable) state.unavailable.add(claim)
    if (unavailable.length > 0) return { rejection: UNAVAILABLE }
    const taken = devices.features.nodeResources ? takenBy(open, choices) : undefined
    const fault = taken && coverageFault(cycle.pod.spec, { nodeAllocatableResourceClaimStatuses: [...taken.statuses] })
    return fault ? { rejection: unresolvable(fault) } : { found: { open, choices, extended, taken } }
  }

  /** The claims that have no devices yet, with the one for extended resources. */
  function openWith(extended: Extended | undefined): OpenClaims {
    const known = openFor.get(extended)
    if (known) return known
    const unallocated = state.claims.filter(({ status }) => !status.allocation)
    const open: UnallocatedClaim[] = unallocated.map(claim => ({ claim, prepared: prepareClaim(claim, preparation) }))
    if (extended) open.push({ claim: undefined, prepared: prepareClaim(extended.draft, preparation) })
    const found = { open, prepared: open.map(({ prepared }) => prepared) }
    openFor.set(extended, found)
    return found
  }

  /** The devices that a claim has; one that is no longer published counts if nothing depends on it. */
  function devicesOf({ metadata, status }: ResourceClaim): GivenDevice[] {
    const results = status.allocation?.devices.results ?? []
    const found = results.map(result => ({ result, device: devices.pools.published(result) }))
    if (!found.some(({ device }) => Object.keys(device?.nodeAllocatableResources ?? {}).length > 0)) return []
    return found.map(({ result, device }) => {
      if (device) return { device, consumed: result.consumedCapacity }
      const where = `claim ${metadata.namespace}/${metadata.name}, device ${result.device}, driver ${result.driver}`
      throw new AllocationError(`${where}: device ${result.device} not found in pool ${result.pool} for driver ${result.driver}`)
    })
  }

  /** Whether a claim stands for resources of the node that another pod has already. */
  function isOfAnother(claim: ResourceClaim): boolean {
    if (!devicesOf(claim).some(({ device }) => isMapped(device))) return false
    if ((claim.status.reservedFor ?? []).length > 0 && !isReservedForPod(cycle.pod, claim, devices)) return true
    return knownIn(cycle)?.isHeldByOthers(claim.metadata.uid ?? '', cycle.info.uid) ?? false
  }

  function takenBy(open: readonly UnallocatedClaim[], choices: readonly Choice[]): Taken | undefined {
    const chosen = (claim: ResourceClaim): GivenDevice[] | undefined =>
      choices[open.findIndex(each => each.claim === claim)]?.devices.map(({ device, consumed }) => ({
        device: device.spec,
        consumed: consumed && Object.fromEntries([...consumed].map(([name, { text }]) => [name, text])),
      }))
    const claims = state.claims.map(claim => {
      const { namespace = '', name = '' } = claim.metadata
      return { namespace, name, devices: claim.status.allocation ? devicesOf(claim) : (chosen(claim) ?? []) }
    })
    const statuses = nodeResourcesOf(cycle.pod, claims)
    if (statuses.length === 0) return undefined
    const status = { nodeAllocatableResourceClaimStatuses: statuses }
    return { statuses, requests: requestsOf({ spec: cycle.pod.spec, status }, { withClaims: true }) }
  }

  /** Whether a claim that has devices can be used from a node. */
  function isAvailable(claim: ResourceClaim, node: NodeInfo): boolean {
    if (!claim.status.allocation) return true
    if (state.nodeTests.get(claim)?.(node) === false) return false
    const needs = (claim.status.allocation.devices.results ?? []).some(({ skipNodeOperations }) => skipNodeOperations?.length)
    if (needs && !node.features.has('DRAOptionalNodeOperations')) return false
    if (!devices.features.bindingConditions) return true
    const { type } = readinessOf(claim)
    if (type === 'failed') return false
    return type === 'ready' || devices.now() <= (bindingDeadline(claim, bindingTimeoutMs) ?? Number.POSITIVE_INFINITY)
  }

  /** The claim for extended resources that the node does not have itself; undefined when it has them all. */
  function extendedOn(node: NodeInfo): Extended | Rejection | undefined {
    if (state.resources.length === 0) return undefined
    if (state.stale) return STALE
    const { scalars } = node.allocatable
    if (!others.every(name => scalars.has(name))) return NO_RESOURCE
    const needed = mapped.filter(name => !scalars.get(name))
    if (needed.length === 0) return undefined
    const key = needed.join()
    const known = extendedFor.get(key)
    if (known) return known
    const { requests, mappings } = extendedRequests(cycle.pod, needed, name => devices.classes.behind(name))
    const extended = { draft: extendedDraft(cycle.pod, requests), mappings }
    extendedFor.set(key, extended)
    return extended
  }

  return {
    test(node) {
      let verdict = state.verdicts.get(node.name)
      if (!verdict) {
        try {
          verdict = look(node)
        } catch (error) {
          if (error instanceof AllocationError) throw new PluginError(`running "${NAME}" filter plugin: ${error.message}`)
          throw error
        }
        state.verdicts.set(node.name, verdict)
      }
      if ('rejection' in verdict) return verdict.rejection
      const { taken } = verdict.found
      if (!taken) return undefined
      // Other than devices, room depends on the pods that are there, some of which may be tried away.
      const shortages = new Shortages()
      shortages.addMissing(taken.requests.requests, node, { counts: isHugePageResource })
      return shortages.rejection
    },
  }
}

function extendedDraft({ metadata: { namespace = '', name = '', uid = '' } }: Pod, requests: ClaimDraft['spec']['devices']['requests']) {
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }
  const metadata = {
    namespace,
    generateName: `${name}-extended-resources-`,
    ownerReferences: [owner],
    annotations: { [EXTENDED_RESOURCE_ANNOTATION]: 'true' },
  }
  return { metadata, spec: { devices: { requests } } } as ClaimDraft
}

/** How many of the pod's preferences a node satisfies. */
function preference({ claims, verdicts }: State, node: string): number {
  const verdict = verdicts.get(node)
  if (!verdict || !('found' in verdict)) return 0
  let score = 0
  for (const claim of claims) {
    const { open, choices } = verdict.found
    const choice = choices[open.findIndex(each => each.claim === claim)]
    const names = choice
      ? choice.alternatives.map(({ name }) => name)
      : (claim.status.allocation?.devices.results ?? []).map(({ request }) => request)
    for (const { name, firstAvailable = [] } of claim.spec.devices.requests ?? [])
      for (const [i, sub] of firstAvailable.entries()) if (names.includes(`${name}/${sub.name}`)) score += MAX_ALTERNATIVES - i
  }
  return score
}
