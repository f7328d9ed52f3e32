/** The allocators of services: cluster IPs of each family and node ports, and their repair. */
import type { Client } from '../client/client.ts'
import { SERVICE_ALLOCATORS } from '../kinds/core/service/allocations.ts'
import { IPAddress } from '../kinds/networking/ipaddress.ts'
import { ServiceCIDR } from '../kinds/networking/servicecidr.ts'
import { randomBytes, startInterval, stopTimer } from '../lib/environment.ts'
import { parseCIDR } from '../lib/ip.ts'
import { Allocations, type Allocator } from '../registry/allocations.ts'
import type { Assertions } from '../schema/assertions.ts'
import type { Kind } from '../schema/kind.ts'
import type { Resource } from '../schema/resource.ts'
import type { Store } from '../storage/store.ts'
import type { Random } from './address-block.ts'
import { Addresses } from './addresses.ts'
import { NodePorts, type PortRange } from './node-ports.ts'

export type AllocationParts = {
  readonly store: Store
  readonly resources: Iterable<Resource>
  /** Reads and writes records. */
  readonly client: Client
  /** Ranges of addresses, at most one of each family; the first is the default family of services. */
  readonly ranges: readonly string[]
  readonly nodePorts: PortRange
  readonly groupDomain: string
  readonly now: () => Date
  readonly random?: Random
  /** Resolves once all objects stored before the call can be read; undefined where that always holds. */
  readonly fresh?: () => Promise<void> | undefined
  /** Counts and reports items that are given twice. */
  readonly assertions?: Assertions
}

/** Records younger than this may belong to writes that other servers have under way. */
const GRACE_MS = 60_000
const REPAIR_EVERY_MS = 180_000

export type StartOptions = {
  readonly isAlone: boolean
  /** Whether it repairs from time to time. */
  readonly repairs?: boolean
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

export class Allocation {
  readonly allocations: Allocations
  readonly #parts: AllocationParts
  readonly #addresses: readonly Addresses[]
  readonly #holders: readonly Resource[]
  readonly #records: Resource

  private constructor(parts: AllocationParts, nodePorts: NodePorts) {
    const all = [...parts.resources]
    const served = ({ name }: Kind<any>) => all.find(r => `${r.kind}.${r.version}.${r.def.group}` === name)!
    const [blocks, records] = [served(ServiceCIDR), served(IPAddress)]
    const holders = all.filter(r => r.def.claims)
    const random = parts.random ?? systemRandom
    const { client, groupDomain } = parts
    const families = parts.ranges.map(range => (parseCIDR(range)!.network.family === 4 ? SERVICE_ALLOCATORS.IPv4 : SERVICE_ALLOCATORS.IPv6))
    this.#parts = parts
    this.#holders = holders
    this.#records = records
    this.#addresses = families.map(family => new Addresses({ family, client, blocks, records, holders, groupDomain, random }))
    this.allocations = new Allocations(
      new Map<string, Allocator>([
        ...families.map((family, i) => [family, this.#addresses[i]!] as const),
        [SERVICE_ALLOCATORS.nodePorts, nodePorts],
      ]),
      parts.assertions,
    )
  }

  static async open(parts: AllocationParts): Promise<Allocation> {
    const { store, nodePorts: range, now, random = systemRandom, fresh } = parts
    return new Allocation(parts, await NodePorts.open(store, { range, random, now, ...(fresh && { fresh }) }))
  }

  /** Repairs the state after a crash. `isAlone` when no other server writes to the store: then nothing can be under way. */
  async start({ isAlone, repairs = true, onError, signal }: StartOptions): Promise<void> {
    const { now, client } = this.#parts
    await this.repair(new Date(now().getTime() - (isAlone ? -1000 : GRACE_MS)))
    if (repairs) {
      const timer = startInterval(() => this.repair(new Date(now().getTime() - GRACE_MS)).catch(onError), REPAIR_EVERY_MS)
      timer.unref()
      signal.addEventListener('abort', () => stopTimer(timer), { once: true })
    }
    void client.of(this.#records).watch(({ type, current }) => {
      const record = type === 'deleted' ? current.object : undefined
      if (record) for (const addresses of this.#addresses) addresses.restore(record).catch(onError)
    }, signal)
  }

  /** Makes records and services agree, except for records younger than `before`. */
  async repair(before: Date): Promise<void> {
    const { client, fresh } = this.#parts
    const holders = this.#holders
    // A record must not be removed because its holder is not in the cache yet.
    await fresh?.()
    return this.allocations.repair(function* () {
      for (const resource of holders) for (const object of client.of(resource).list()) yield [resource, object] as const
    }, before)
  }
}

/** Uniform: numbers past the last whole multiple of the bound are drawn again. */
const systemRandom: Random = bound => {
  const bytes = 16
  const limit = (1n << 128n) - ((1n << 128n) % bound)
  for (;;) {
    const drawn = BigInt(`0x${randomBytes(bytes).toString('hex')}`)
    if (drawn < limit) return drawn % bound
  }
}
