/**
 * The first of some devices that no claim has for itself. Devices are given out in order, so that those in use are mostly at the
 * beginning, where each search would pass them again.
 */
import type { PoolDevice } from './device.ts'
import type { DeviceUsage } from './usage.ts'

export class FirstFree {
  readonly #pool: string
  readonly #devices: readonly PoolDevice[]
  #known: { readonly usage: DeviceUsage; readonly version: number; readonly index: number } | undefined

  constructor(pool: string, devices: readonly PoolDevice[]) {
    this.#pool = pool
    this.#devices = devices
  }

  /** Its index; the number of devices when all are in use. */
  in(usage: DeviceUsage): number {
    const version = usage.versionOf(this.#pool)
    if (this.#known?.version !== version || this.#known.usage !== usage) {
      let index = 0
      while (index < this.#devices.length && usage.isExclusive(this.#devices[index]!.id)) index++
      this.#known = { usage, version, index }
    }
    return this.#known.index
  }
}
