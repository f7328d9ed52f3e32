/** A device as a slice publishes it, and how devices and pools are named. */
import type { DeviceTaint } from '../kinds/resource/device-taint.ts'
import type { Device, DeviceAttribute, ResourceSliceSpec } from '../kinds/resource/slice-shapes.ts'
import { getOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'

/** Neither drivers nor devices have a slash in their names. */
export const poolId = (driver: string, pool: string): string => `${driver}/${pool}`
export const deviceId = ({ driver, pool, device }: { readonly driver: string; readonly pool: string; readonly device: string }): string =>
  `${driver}/${pool}/${device}`

/** A slice in a pool. */
export type Slice = { readonly name: string; readonly spec: ResourceSliceSpec }

/** A device with derived values. It is replaced when its slice changes. */
export class PoolDevice {
  readonly id: string
  readonly pool: string
  readonly driver: string
  readonly spec: Device
  readonly slice: Slice
  /** Results of expressions, by the number of the expression. */
  readonly results = new Map<number, unknown>()
  /** Its taints with those of rules, as of a version of the rules. */
  ruled: { readonly version: number; readonly taints: readonly DeviceTaint[] } | undefined
  #shape: string | undefined

  constructor(slice: Slice, spec: Device) {
    const { driver, pool } = slice.spec
    this.id = deviceId({ driver, pool: pool.name, device: spec.name })
    this.pool = poolId(driver, pool.name)
    this.driver = driver
    this.spec = spec
    this.slice = slice
  }

  remember(number: number, result: unknown): void {
    if (this.results.size >= LIMITS.resultsPerDevice) this.results.clear()
    this.results.set(number, result)
  }

  get isShared(): boolean {
    return this.spec.allowMultipleAllocations === true
  }

  /** The same for devices of a slice that differ in nothing but their names. */
  get shape(): string {
    if (this.#shape === undefined) {
      const { name: _, ...rest } = this.spec
      this.#shape = `${this.slice.name} ${JSON.stringify(rest, withoutBigInts)}`
    }
    return this.#shape
  }
}

const withoutBigInts = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)

/** The attribute of a device that a name with a domain means: those of its driver may be published without. */
export function publishedAttribute({ spec, driver }: PoolDevice, name: string): DeviceAttribute | undefined {
  const attributes = spec.attributes ?? {}
  const prefix = `${driver}/`
  return getOwn(attributes, name) ?? (name.startsWith(prefix) ? getOwn(attributes, name.slice(prefix.length)) : undefined)
}
