/**
 * Finds devices for the claims of a pod on a node. Claims, requests, alternatives and devices are tried in their order, and the
 * first way in which everything fits is taken, as kube-scheduler does:
 *
 *     claim 1   request a   device 1 ✓   device 2 …
 *               request b   alternative 1 ✗   alternative 2 ✓
 *     claim 2   …           nothing fits: back to the device before
 *
 * That is an exhaustive search, with two differences. A device that differs in nothing but its name from one that led nowhere is
 * not tried. And it gives up after so many steps, or when its time is over, and says so.
 */
import type { DeviceAttribute } from '../kinds/resource/slice-shapes.ts'
import { LIMITS } from '../lib/limits.ts'
import { addQuantity, type Quantity } from '../lib/quantity.ts'
import { type Amounts, CapacityError, consumedCapacity, fits } from './capacity.ts'
import { AllocationError, type DeviceAlternative, MAX_DEVICES, type PreparedClaim, type Request } from './claim-requests.ts'
import { CompatibilityGroups } from './compatibility-groups.ts'
import { type Constraint, constraintOf } from './constraints.ts'
import { consumptionOf, giveBack, isLeft, takeFrom } from './counters.ts'
import { type PoolDevice, publishedAttribute } from './device.ts'
import { isTolerated, keepsAway } from './device-taints.ts'
import { type DeviceExpressions, ExpressionError } from './expressions.ts'
import type { AllocatorFeatures } from './features.ts'
import type { DeviceNode, DevicePools, NodePool } from './pools.ts'
import type { DeviceUsage } from './usage.ts'

export type Chosen = {
  readonly alternative: DeviceAlternative
  readonly device: PoolDevice
  /** The consumed capacity, for a device that allows multiple allocations. */
  readonly consumed: Amounts | undefined
}

/** The allocation of a claim: its devices, and the chosen alternative of each request. */
export type Choice = { readonly devices: readonly Chosen[]; readonly alternatives: readonly DeviceAlternative[] }

export type Outcome =
  | { readonly type: 'found'; readonly choices: readonly Choice[] }
  | { readonly type: 'none' }
  /** Nothing was found, and slices contradict each other. */
  | { readonly type: 'invalid pools' }
  | { readonly type: 'given up'; readonly steps: number }
  /** The time for one node was over. */
  | { readonly type: 'late' }

export type AllocatorParts = {
  readonly features: AllocatorFeatures
  readonly pools: DevicePools
  readonly usage: DeviceUsage
  readonly expressions: DeviceExpressions
}

/** How many steps may still be taken for a pod, on all nodes together, and whether the time for the current node is over. */
export type StepBudget = { left: number; isLate?: () => boolean }

export const stepBudget = (): StepBudget => ({ left: LIMITS.allocationStepsPerPod })

/** Looks for devices on one node. Throws an AllocationError when there is something wrong with the claims. */
export function allocate(claims: readonly PreparedClaim[], node: DeviceNode, parts: AllocatorParts, budget: StepBudget): Outcome {
  return new Search(claims, node, parts, budget).run()
}

/** The clock is looked at now and then: most steps take less time than that. */
const STEPS_PER_LOOK = 64

/** The consumption of a pool by the devices of the current trial. */
type PoolState = { readonly counters: Map<string, Quantity>; readonly groups: CompatibilityGroups }

class Search {
  readonly #claims: readonly PreparedClaim[]
  readonly #node: DeviceNode
  readonly #parts: AllocatorParts
  readonly #budget: StepBudget
  readonly #pools: readonly NodePool[]
  readonly #candidates: readonly PoolDevice[]
  /** From which candidate on some may be free; those before have been given to others. */
  readonly #firstFree: number
  readonly #chosen: Chosen[][]
  readonly #alternatives: DeviceAlternative[][]
  readonly #constraints: readonly (readonly Constraint[])[]
  /** The consumption of shared devices and of the counters of pools in the current trial. Most pods need neither. */
  #sharing: Map<string, Amounts> | undefined
  #states: Map<string, PoolState> | undefined
  #all: Map<DeviceAlternative, readonly PoolDevice[]> | undefined
  #steps = 0
  #isGivenUp = false
  #isLate = false
  /** Why not all devices could be had that a request for all of them means. */
  #unsatisfiable: string | undefined

  constructor(claims: readonly PreparedClaim[], node: DeviceNode, parts: AllocatorParts, budget: StepBudget) {
    this.#claims = claims
    this.#node = node
    this.#parts = parts
    this.#budget = budget
    this.#pools = parts.pools.on(node)
    const usable = this.#pools.filter(({ state }) => state === 'complete')
    this.#candidates = usable.length === 1 ? usable[0]!.devices : usable.flatMap(({ devices }) => devices)
    this.#firstFree = usable[0]?.firstFree.in(parts.usage) ?? 0
    this.#chosen = claims.map(() => [])
    this.#alternatives = claims.map(() => [])
    const lists = parts.features.listTypeAttributes
    this.#constraints = claims.map(({ constraints }) =>
      constraints.length === 0 ? NONE : constraints.flatMap(each => constraintOf(each, { lists }) ?? []),
    )
  }

  run(): Outcome {
    for (const claim of this.#claims) this.#checkSize(claim)
    if (this.#claim(0)) {
      const choices = this.#chosen.map((devices, i) => ({ devices: [...devices], alternatives: [...this.#alternatives[i]!] }))
      return { type: 'found', choices }
    }
    if (this.#isLate) return { type: 'late' }
    if (this.#isGivenUp) return { type: 'given up', steps: this.#steps }
    if (this.#unsatisfiable !== undefined) throw new AllocationError(this.#unsatisfiable)
    return this.#pools.some(({ state }) => state === 'invalid') ? { type: 'invalid pools' } : { type: 'none' }
  }

  /** How many devices a claim asks for at least must not be more than it can have. */
  #checkSize({ name, requests }: PreparedClaim): void {
    let least = 0
    for (const { alternatives } of requests)
      least += Math.min(...alternatives.map(alternative => alternative.count ?? this.#allFor(alternative, name).length))
    if (least > MAX_DEVICES)
      throw new AllocationError(`claim ${name}: number of requested devices ${least} exceeds the claim limit of ${MAX_DEVICES}`)
  }

  /** The devices that a request for all of them means: whether they can be had shows later. */
  #allFor(alternative: DeviceAlternative, claim: string): readonly PoolDevice[] {
    const known = this.#all?.get(alternative)
    if (known) return known
    const found: PoolDevice[] = []
    const fail = (id: string, state: string): never => {
      throw new AllocationError(
        `claim ${claim}, request ${ownName(alternative)}: asks for all devices, but resource pool ${id} is currently ${state}`,
      )
    }
    for (const { id, state, devices } of this.#pools) {
      if (state === 'incomplete') fail(id, 'being updated')
      if (state === 'invalid') fail(id, 'invalid')
      for (const device of devices)
        if (this.#isSelectable(device, alternative) && this.#isLargeEnough(device, alternative, claim)) found.push(device)
    }
    this.#all ??= new Map()
    this.#all.set(alternative, found)
    return found
  }

  // The search

  #claim(index: number): boolean {
    return index === this.#claims.length || this.#request(index, 0)
  }

  #request(claim: number, index: number): boolean {
    const request: Request | undefined = this.#claims[claim]!.requests[index]
    if (!request) return this.#claim(claim + 1)
    for (const alternative of request.alternatives) {
      this.#alternatives[claim]![index] = alternative
      if (this.#fill({ claim, request: index, alternative }, 0, 0)) return true
    }
    return false
  }

  /** Finds the device at a position of a request, among the candidates from one on, and all that comes after it. */
  #fill(current: CurrentRequest, position: number, from: number): boolean {
    const { claim, request, alternative } = current
    const all = alternative.count === undefined ? this.#allFor(alternative, this.#claims[claim]!.name) : undefined
    const needed = alternative.count ?? all!.length
    if (needed === 0) return false
    if (position === needed) return this.#request(claim, request + 1)
    if (this.#chosen[claim]!.length + needed - position > MAX_DEVICES) return false
    if (all) return this.#tryDevice(current, all[position]!, { position, next: 0, isMust: true }) === 'found'
    let tried: Set<string> | undefined
    const first = alternative.isAdmin ? from : Math.max(from, this.#firstFree)
    for (let i = first; i <= this.#candidates.length - (needed - position); i++) {
      if (!this.#step()) return false
      const device = this.#candidates[i]!
      // Most devices are of another kind, and remember that. Expressions are not evaluated for devices that others have.
      if (device.results.get(alternative.selection) === false) continue
      if (this.#isTaken(device, current) || !this.#isSelectable(device, alternative)) continue
      // Devices in use or shared differ from free ones even where their attributes are equal.
      const isAlike = !alternative.isAdmin && !device.isShared
      if (tried && isAlike && tried.has(this.#shapeOf(device))) continue
      const outcome = this.#tryDevice(current, device, { position, next: i + 1, isMust: false })
      if (outcome === 'found') return true
      if (outcome === 'led nowhere' && isAlike) (tried ??= new Set()).add(this.#shapeOf(device))
      if (this.#isGivenUp) return false
    }
    return false
  }

  #tryDevice(current: CurrentRequest, device: PoolDevice, { position, next, isMust }: Attempt): 'found' | 'led nowhere' | 'unusable' {
    if (isMust && !this.#step()) return 'unusable'
    const taken = this.#take(current, device, isMust)
    if (!taken) return 'unusable'
    if (this.#fill(current, position + 1, next)) return 'found'
    this.#giveBack(current, device, taken)
    return 'led nowhere'
  }

  #step(): boolean {
    if (this.#isGivenUp) return false
    this.#steps++
    this.#budget.left--
    this.#isLate = this.#steps % STEPS_PER_LOOK === 1 && this.#budget.isLate?.() === true
    this.#isGivenUp = this.#isLate || this.#steps > LIMITS.allocationStepsPerNode || this.#budget.left < 0
    return !this.#isGivenUp
  }

  #shapeOf(device: PoolDevice): string {
    const taints = this.#parts.pools.taintsOf(device)
    const own = device.spec.taints?.length ?? 0
    return taints.length === own ? device.shape : `${device.shape} ${JSON.stringify(taints)}`
  }

  // Tests of one device

  /** Whether others have a device, or it is chosen already. With adminAccess only devices of the same claim count. */
  #isTaken(device: PoolDevice, { claim, alternative }: CurrentRequest): boolean {
    if (alternative.isAdmin) return this.#isChosen(device, claim)
    if (this.#parts.usage.isExclusive(device.id)) return true
    for (let i = 0; i <= claim; i++) if (this.#isChosen(device, i)) return true
    return false
  }

  /** A handful of devices at most: looking through them costs less than keeping them in a set. */
  #isChosen(device: PoolDevice, claim: number): boolean {
    for (const chosen of this.#chosen[claim]!) if (chosen.device === device && !chosen.consumed) return true
    return false
  }

  #isSelectable(device: PoolDevice, alternative: DeviceAlternative): boolean {
    if (!this.#parts.features.bindingConditions && device.spec.bindingConditions?.length) return false
    let fits = device.results.get(alternative.selection) as boolean | undefined
    if (fits === undefined) {
      fits = this.#satisfies(device, alternative)
      device.remember(alternative.selection, fits)
    }
    return fits
  }

  #satisfies(device: PoolDevice, { selectors }: DeviceAlternative): boolean {
    for (const { expression, origin } of selectors) {
      try {
        if (!expression.of(device)) return false
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        const problem =
          error.kind === 'compile' ? `CEL compile error: ${error.message}` : `on device ${device.id}: CEL runtime error: ${error.message}`
        throw new AllocationError(error.kind === 'compile' ? `${origin}: ${problem}` : `${origin} ${problem}`)
      }
    }
    return true
  }

  /** The consumption of the capacities of a device by a request; undefined when too little is left. */
  #consumed(
    device: PoolDevice,
    alternative: DeviceAlternative,
    claim: string,
    taken: readonly (Amounts | undefined)[],
  ): Amounts | undefined {
    const capacities = device.spec.capacity ?? {}
    const requests = alternative.spec.capacity?.requests
    // A device that one claim has for itself is as large as it is.
    if (!device.isShared && !requests) return NO_AMOUNTS
    try {
      const demand = { capacities, requests, fractional: this.#parts.features.fractionalCapacityRange }
      const amounts = consumedCapacity(demand)
      return amounts && fits(capacities, amounts, taken) ? amounts : undefined
    } catch (error) {
      if (!(error instanceof CapacityError)) throw error
      throw new AllocationError(
        `claim ${claim}, request ${ownName(alternative)}: checking capacity for device ${device.id}: ${error.message}`,
      )
    }
  }

  /** Whether an unused device has the capacity that the request needs. */
  #isLargeEnough(device: PoolDevice, alternative: DeviceAlternative, claim: string): boolean {
    return !this.#parts.features.consumableCapacity || this.#consumed(device, alternative, claim, []) !== undefined
  }

  #isTolerated(device: PoolDevice, { spec }: DeviceAlternative): boolean {
    if (!this.#parts.features.deviceTaints) return true
    return this.#parts.pools.taintsOf(device).every(taint => !keepsAway(taint) || isTolerated(taint, spec.tolerations))
  }

  /** Whether the node can do without what the driver does not do. */
  #isOperable({ slice }: PoolDevice): boolean {
    if (!slice.spec.skipNodeOperations?.length) return true
    return this.#parts.features.optionalNodeOperations && (this.#node.features?.has('DRAOptionalNodeOperations') ?? false)
  }

  #attributeOf(device: PoolDevice, { derived }: DeviceAlternative, name: string): DeviceAttribute | undefined {
    const expression = derived.get(name)
    if (expression === undefined) return publishedAttribute(device, name)
    try {
      return expression.of(device)
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      throw new AllocationError(
        error.kind === 'compile'
          ? `compile derived attribute ${name} failed: ${error.message}`
          : `evaluate derived attribute ${name} on device ${device.id} failed: ${error.message}`,
      )
    }
  }

  // Taking a device, and giving it back

  /** Takes a device that fits the request if it can be had. */
  #take(current: CurrentRequest, device: PoolDevice, isMust: boolean): Taken | undefined {
    const { claim, alternative } = current
    const { features, usage } = this.#parts
    const isShared = features.consumableCapacity && device.isShared
    // Others have been asked about already.
    if (isMust && !(isShared && alternative.isAdmin) && this.#isTaken(device, current)) return undefined
    if (!this.#isOperable(device) || !this.#isTolerated(device, alternative)) return undefined
    const { name } = this.#claims[claim]!
    const shared = isShared ? this.#sharing?.get(device.id) : undefined
    const taken = isShared ? [usage.of(device.id)?.capacity, shared] : NOBODY
    const consumed = features.consumableCapacity ? this.#consumed(device, alternative, name, taken) : NO_AMOUNTS
    if (!consumed) return undefined
    // A further share of a device that is given out takes no more from counters.
    const isCounted = isShared && ((usage.of(device.id)?.shares ?? 0) > 0 || shared !== undefined)
    const counters = isCounted ? NOTHING : this.#takeCounters(device)
    if (!counters) return undefined
    const joined = this.#join(current, device)
    if (joined < 0) {
      counters.giveBack?.()
      if (isMust)
        this.#unsatisfiable = `claim ${name}, request ${ownName(alternative)}: cannot add device ${device.id} because a claim constraint would not be satisfied`
      return undefined
    }
    if (isShared) this.#share(device, consumed, shared)
    this.#chosen[claim]!.push({ alternative, device, consumed: isShared ? consumed : undefined })
    return { counters, shared, isShared }
  }

  #giveBack(current: CurrentRequest, device: PoolDevice, { counters, shared, isShared }: Taken): void {
    this.#chosen[current.claim]!.pop()
    if (isShared && shared) this.#sharing!.set(device.id, shared)
    else if (isShared) this.#sharing!.delete(device.id)
    this.#leave(current, this.#constraints[current.claim]!.length)
    counters.giveBack?.()
  }

  #share({ id }: PoolDevice, consumed: Amounts, before: Amounts | undefined): void {
    const total = new Map(before)
    for (const [name, amount] of consumed) {
      const already = total.get(name)
      total.set(name, already ? addQuantity(already, amount) : amount)
    }
    this.#sharing ??= new Map()
    this.#sharing.set(id, total)
  }

  /** Adds a device to all constraints that are about its request. Negative when one of them does not allow it; then it is in none. */
  #join(current: CurrentRequest, device: PoolDevice): number {
    const { claim, alternative } = current
    const constraints = this.#constraints[claim]!
    for (let i = 0; i < constraints.length; i++) {
      const constraint = constraints[i]!
      if (!isAbout(constraint, alternative) || constraint.add(this.#attributeOf(device, alternative, constraint.attribute))) continue
      this.#leave(current, i)
      return -1
    }
    return constraints.length
  }

  /** Takes the last device back from the first constraints. */
  #leave({ claim, alternative }: CurrentRequest, count: number): void {
    const constraints = this.#constraints[claim]!
    for (let i = 0; i < count; i++) if (isAbout(constraints[i]!, alternative)) constraints[i]!.remove()
  }

  /** Consumes the counters of the pool for a device; undefined when too little is left. */
  #takeCounters(device: PoolDevice): TakenCounters | undefined {
    const { consumesCounters } = device.spec
    if (!consumesCounters?.length) return NOTHING
    const { features } = this.#parts
    if (!features.partitionableDevices) return undefined
    const { counters, groups } = this.#stateOf(device.pool)
    const amounts = consumptionOf(consumesCounters)
    if (!isLeft(counters, amounts)) return undefined
    const leaveGroups = features.compatibilityGroups ? groups.join(consumesCounters) : () => {}
    if (!leaveGroups) return undefined
    takeFrom(counters, amounts)
    return {
      giveBack() {
        giveBack(counters, amounts)
        leaveGroups()
      },
    }
  }

  #stateOf(pool: string): PoolState {
    const known = this.#states?.get(pool)
    if (known) return known
    const { features, usage } = this.#parts
    const { shared } = this.#pools.find(({ id }) => id === pool)!
    const groups = new CompatibilityGroups()
    if (features.compatibilityGroups) for (const { id, spec } of shared.devices) if (usage.of(id)) groups.add(spec.consumesCounters ?? [])
    const state = { counters: new Map(shared.left(usage)), groups }
    this.#states ??= new Map()
    this.#states.set(pool, state)
    return state
  }
}

type CurrentRequest = { readonly claim: number; readonly request: number; readonly alternative: DeviceAlternative }
/** The consumption to give back with a device. */
type Taken = { readonly counters: TakenCounters; readonly shared: Amounts | undefined; readonly isShared: boolean }
type TakenCounters = { readonly giveBack?: () => void }
type Attempt = { readonly position: number; readonly next: number; readonly isMust: boolean }

/** Messages name a subrequest without its request. */
const ownName = ({ name }: DeviceAlternative): string => name.slice(name.indexOf('/') + 1)

const isAbout = ({ requests }: Constraint, { names }: DeviceAlternative): boolean =>
  requests.size === 0 || names.some(name => requests.has(name))

const NONE: readonly Constraint[] = []
const NO_AMOUNTS: Amounts = new Map()
const NOBODY: readonly (Amounts | undefined)[] = []
const NOTHING: TakenCounters = {}
