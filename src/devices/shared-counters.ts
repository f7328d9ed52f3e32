/** The counters of a pool, which its devices on all nodes share. */
import type { Quantity } from '../lib/quantity.ts'
import { type Counters, consumptionOf, takeFrom } from './counters.ts'
import type { PoolDevice } from './device.ts'
import type { DeviceUsage } from './usage.ts'

export class SharedCounters {
  readonly #pool: string
  readonly #total: Counters
  /** Those that take from counters. */
  readonly devices: readonly PoolDevice[]
  #left: { readonly usage: DeviceUsage; readonly version: number; readonly counters: Counters } | undefined

  constructor(pool: string, total: Counters, devices: readonly PoolDevice[]) {
    this.#pool = pool
    this.#total = total
    this.devices = devices
  }

  /** The rest beside the allocated devices; negative where too much is allocated. */
  left(usage: DeviceUsage): Counters {
    const version = usage.versionOf(this.#pool)
    if (this.#left?.version !== version || this.#left.usage !== usage) {
      const counters = new Map<string, Quantity>(this.#total)
      for (const { id, spec } of this.devices) if (usage.of(id)) takeFrom(counters, consumptionOf(spec.consumesCounters ?? []))
      this.#left = { usage, version, counters }
    }
    return this.#left.counters
  }
}
