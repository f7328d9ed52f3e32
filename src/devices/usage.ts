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

export class DeviceUsage {
  readonly #stored = new Map<string, Results>()
  readonly #assumed = new Map<string, Results>()
  readonly #devices = new Map<string, DeviceUse>()
  readonly #versions = new Map<string, number>()

  /** Sets the stored allocation of a claim; undefined for none. */
  store(claim: string, results: Results | undefined): void {
    this.#change(claim, () => {
      if (results) this.#stored.set(claim, results)
      else this.#stored.delete(claim)
    })
  }

  /** Sets an allocation of a claim that is not written yet. A stored one takes precedence. */
  assume(claim: string, results: Results): void {
    this.#change(claim, () => this.#assumed.set(claim, results))
  }

  /** It is stored by now, or will not have it. */
  forget(claim: string): void {
    this.#change(claim, () => this.#assumed.delete(claim))
  }

  isAssumed(claim: string): boolean {
    return this.#assumed.has(claim)
  }

  of(device: string): DeviceUse | undefined {
    return this.#devices.get(device)
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
    return this.#stored.get(claim) ?? this.#assumed.get(claim) ?? NOTHING
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

function addCapacity(total: Map<string, Quantity>, amounts: Readonly<Record<string, string>> = {}, sign: 1 | -1): void {
  for (const [name, text] of Object.entries(amounts)) {
    const amount = parseQuantity(text)
    const before = total.get(name)
    if (sign > 0) total.set(name, before ? addQuantity(before, amount) : amount)
    else if (before) total.set(name, subtractQuantity(before, amount))
  }
}
