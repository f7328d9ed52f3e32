/** The usage of devices by stored allocations and by allocations that are being written, kept up to date claim by claim. */
import type { DeviceRequestAllocationResult } from '../kinds/resource/allocation-shapes.ts'
import { addQuantity, parseQuantity, type Quantity, subtractQuantity } from '../lib/quantity.ts'
import { deviceId, poolId } from './device.ts'

export type Results = readonly DeviceRequestAllocationResult[]

/** How a device is used. */
export type DeviceUse = {
  /** Claims that have it for themselves. */
  exclusive: number
  /** Claims that share it. */
  shares: number
  /** How much of each capacity they take. */
  readonly capacity: Map<string, Quantity>
}

/** An allocation that is not stored yet, as far as is known. */
type Assumed = {
  readonly results: Results
  /** The newest revision of the claim that was seen since. */
  seen: number
  /** The revision of the claim that the write replaces, once its outcome is unknown: it may be made as long as this is the newest one. */
  replaces?: number
}

export class DeviceUsage {
  readonly #stored = new Map<string, Results>()
  readonly #assumed = new Map<string, Assumed>()
  readonly #devices = new Map<string, DeviceUse>()
  readonly #versions = new Map<string, number>()

  /** Sets the stored allocation of a claim at a revision; undefined for none. */
  store(claim: string, results: Results | undefined, revision: number): void {
    this.#change(claim, () => {
      if (results) this.#stored.set(claim, results)
      else this.#stored.delete(claim)
      const assumed = this.#assumed.get(claim)
      if (!assumed) return
      assumed.seen = Math.max(assumed.seen, revision)
      if (isDecided(assumed)) this.#assumed.delete(claim)
    })
  }

  /** Sets an allocation of a claim that is not written yet. A stored one takes precedence. */
  assume(claim: string, results: Results): void {
    this.#change(claim, () => this.#assumed.set(claim, { results, seen: 0 }))
  }

  /** The assumed allocation is stored by now, or will not be. One whose write has an unknown outcome stays. */
  forget(claim: string): void {
    if (this.#assumed.get(claim)?.replaces === undefined) this.#change(claim, () => this.#assumed.delete(claim))
  }

  /** The write of the assumed allocation has an unknown outcome: its devices stay taken until the claim is seen at a newer revision. */
  leaveUndecided(claim: string, replaces: number): void {
    const assumed = this.#assumed.get(claim)
    if (!assumed) return
    assumed.replaces = replaces
    if (isDecided(assumed)) this.#change(claim, () => this.#assumed.delete(claim))
  }

  /** A write that was left undecided can no longer be made. Tells whether its devices were still taken. */
  giveUp(claim: string, replaces: number): boolean {
    const isUndecided = this.#assumed.get(claim)?.replaces === replaces
    if (isUndecided) this.#change(claim, () => this.#assumed.delete(claim))
    return isUndecided
  }

  isAssumed(claim: string): boolean {
    return this.#assumed.has(claim)
  }

  of(device: string): DeviceUse | undefined {
    return this.#devices.get(device)
  }

  /** Whether a claim has a device for itself. */
  isExclusive(device: string): boolean {
    return (this.#devices.get(device)?.exclusive ?? 0) > 0
  }

  /** A device of an allocation that is used by more claims than may: it was given to one alone, and others use it, too. */
  givenTwice(results: Results): string | undefined {
    for (const result of results) {
      const use = result.adminAccess ? undefined : this.#devices.get(deviceId(result))
      if (use && (use.exclusive > 1 || (use.exclusive > 0 && use.shares > 0))) return `${result.driver}/${result.pool}/${result.device}`
    }
    return undefined
  }

  /** Moves whenever something is taken from a pool or given back. */
  versionOf(pool: string): number {
    return this.#versions.get(pool) ?? 0
  }

  #change(claim: string, change: () => void): void {
    const before = this.#effective(claim)
    change()
    const after = this.#effective(claim)
    if (before === after) return
    for (const result of before) this.#add(result, -1)
    for (const result of after) this.#add(result, 1)
  }

  #effective(claim: string): Results {
    return this.#stored.get(claim) ?? this.#assumed.get(claim)?.results ?? NOTHING
  }

  #add(result: DeviceRequestAllocationResult, sign: 1 | -1): void {
    // Admin access takes no device away from others.
    if (result.adminAccess) return
    const id = deviceId(result)
    const use = this.#devices.get(id) ?? { exclusive: 0, shares: 0, capacity: new Map<string, Quantity>() }
    if (result.shareID === undefined) use.exclusive += sign
    else {
      use.shares += sign
      addCapacity(use.capacity, result.consumedCapacity, sign)
    }
    if (use.exclusive === 0 && use.shares === 0) this.#devices.delete(id)
    else this.#devices.set(id, use)
    const pool = poolId(result.driver, result.pool)
    this.#versions.set(pool, this.versionOf(pool) + 1)
  }
}

const NOTHING: Results = []

/** Whether a write was made, or something else came before it. */
const isDecided = ({ seen, replaces }: Assumed): boolean => replaces !== undefined && seen > replaces

function addCapacity(total: Map<string, Quantity>, amounts: Readonly<Record<string, string>> = {}, sign: 1 | -1): void {
  for (const [name, text] of Object.entries(amounts)) {
    const amount = parseQuantity(text)
    const before = total.get(name)
    if (sign > 0) total.set(name, before ? addQuantity(before, amount) : amount)
    else if (before) total.set(name, subtractQuantity(before, amount))
  }
}
