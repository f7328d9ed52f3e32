/**
 * The addresses of services, of one family. An IPAddress of its name records that an address is taken: creating one is
 * a compare-and-swap, so of all servers over one store only one succeeds.
 *
 * A ServiceCIDR that is being deleted gives no more addresses. One may have been picked just before the deletion and recorded
 * just after it; the block is therefore checked again once the record is in the cache. All writes have one order, and the
 * cache follows it: either the component that decides that a block is free sees the record, or the record's writer sees the deletion.
 */
import type { Client, ResourceClient } from '../client/client.ts'
import { formatIP, parseIPSloppy } from '../lib/ip.ts'
import { millisecondsAt } from '../lib/time.ts'
import type { Allocator, Holder } from '../registry/allocations.ts'
import type { AllocationResult } from '../schema/claims.ts'
import { conditionOf } from '../schema/conditions.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type AddressBlock, blockOf, candidates, gives, type Random } from './address-block.ts'

type Repairing = Parameters<Allocator['repair']>[1]

export type AddressParts = {
  readonly family: 'IPv4' | 'IPv6'
  readonly client: Client
  readonly blocks: Resource
  readonly records: Resource
  /** The kinds whose objects hold addresses. */
  readonly holders: readonly Resource[]
  readonly groupDomain: string
  readonly random: Random
}

const refuse = (why: string, isFull = false): AllocationResult => ({ ok: false, why, isFull })
const FULL = refuse('range is full', true)
const TAKEN = refuse('provided IP is already allocated')
const OUTSIDE = refuse('the provided network does not match the current range')
const NOT_READY = refuse('allocator not ready')

export class Addresses implements Allocator {
  readonly #parts: AddressParts
  /** Addresses that writes of this server are recording now. */
  readonly #pending = new Set<string>()

  constructor(parts: AddressParts) {
    this.#parts = parts
  }

  async take(holder: Holder, item: string | undefined): Promise<AllocationResult> {
    if (item !== undefined) {
      if (!this.#isGiven(item)) return OUTSIDE
      if (!this.#isFree(item)) return TAKEN
      return (await this.#record(holder, item)) ? { ok: true, item } : TAKEN
    }
    for (const block of this.#blocks())
      for (const ip of candidates(block, this.#parts.random)) {
        if (!this.#isFree(ip)) continue
        if (await this.#record(holder, ip)) return { ok: true, item: ip }
        if (!this.#isGiven(ip)) break
      }
    return FULL
  }

  isOthers(holder: Holder, item: string, { isStored }: { readonly isStored: boolean }): boolean {
    const record = this.#recordOf(item)
    if (!record || isFor(record, holder)) return false
    if (!isStored) return true
    // The write may have begun with an object that has changed, or gone, since.
    const now = this.#client.of(holder.resource).get(holder)
    return now?.metadata.uid === holder.uid && holds(now, item, holder.resource)
  }

  preview(item: string | undefined): AllocationResult {
    const [block] = this.#blocks()
    if (!block) return NOT_READY
    // The address is not decided yet; the address of the network stands for it.
    if (item === undefined) return { ok: true, item: formatIP(block.cidr.network) }
    if (!this.#isGiven(item)) return refuse(`the provided IP (${item}) is not in the valid range. The range of valid IPs is ${block.text}`)
    return this.#isFree(item) ? { ok: true, item } : TAKEN
  }

  async release(holder: Holder, item: string): Promise<void> {
    const record = this.#recordOf(item)
    if (!record || !isFor(record, holder)) return
    // A later object of the same name may have got the same address since.
    const now = this.#client.of(holder.resource).get(holder)
    if (now && now.metadata.uid !== holder.uid && holds(now, item, holder.resource)) return
    await this.#stored.delete(record)
  }

  async repair(held: () => ReadonlyMap<string, Holder>, { before, spared }: Repairing): Promise<void> {
    const holders = held()
    const records = new Map([...this.#records()].map(record => [record.metadata.name!, record]))
    for (const [ip, record] of records) {
      const holder = holders.get(ip)
      if ((holder && isFor(record, holder)) || spared(ip)) continue
      const isYoung = millisecondsAt(record.metadata.creationTimestamp, Number.NaN) > before.getTime()
      if (holder || !isYoung) await this.#stored.delete(record)
    }
    for (const [ip, holder] of holders) {
      const record = records.get(ip)
      if (!record || !isFor(record, holder)) await this.#write(holder, ip)
    }
  }

  /** Recreates the record of an address that is still in use. */
  async restore(record: AnyObject): Promise<void> {
    const item = record.metadata.name!
    if (`IPv${parseIPSloppy(item)?.family}` !== this.#parts.family) return
    const { group = '', resource: plural, namespace = '', name = '' } = record['spec']?.parentRef ?? {}
    const resource = this.#parts.holders.find(r => r.group === group && r.plural === plural)
    const object = resource && this.#client.of(resource).get({ namespace, name })
    if (!resource || !object || !holds(object, item, resource)) return
    await this.#write({ resource, namespace, name, uid: object.metadata.uid! }, item)
  }

  get #client(): Client {
    return this.#parts.client
  }

  /** The records of all families, as the API has them. */
  get #stored(): ResourceClient<AnyObject> {
    return this.#client.of(this.#parts.records)
  }

  /** Blocks that allocate addresses now, each once, in the order of their names. */
  *#blocks(): Iterable<AddressBlock> {
    const seen = new Set<string>()
    const usable = [...this.#client.of(this.#parts.blocks).list()].filter(isUsable)
    for (const object of usable.sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1)))
      for (const text of (object['spec'].cidrs ?? []) as string[]) {
        const block = blockOf(text)
        if (!block || `IPv${block.cidr.network.family}` !== this.#parts.family || seen.has(text)) continue
        seen.add(text)
        yield block
      }
  }

  #isGiven(item: string): boolean {
    const ip = parseIPSloppy(item)
    return ip !== undefined && [...this.#blocks()].some(block => gives(block, ip))
  }

  #recordOf(item: string): AnyObject | undefined {
    return this.#stored.get({ name: item })
  }

  #isFree(item: string): boolean {
    return !this.#pending.has(item) && !this.#recordOf(item)
  }

  /** The records that servers created for this family. */
  *#records(): Iterable<AnyObject> {
    const { family, groupDomain } = this.#parts
    const labels = labelsOf(family, groupDomain)
    for (const record of this.#stored.list()) {
      const { labels: has = {} } = record.metadata
      if (Object.entries(labels).every(([key, value]) => has[key] === value)) yield record
    }
  }

  async #record(holder: Holder, item: string): Promise<boolean> {
    this.#pending.add(item)
    try {
      if (!(await this.#write(holder, item))) return false
      if (this.#isGiven(item)) return true
      const record = this.#recordOf(item)
      if (record && isFor(record, holder)) await this.#stored.delete(record)
      return false
    } finally {
      this.#pending.delete(item)
    }
  }

  async #write({ resource, namespace, name }: Holder, item: string): Promise<boolean> {
    const { family, groupDomain } = this.#parts
    const parentRef = { group: resource.group, resource: resource.plural, namespace, name }
    const labels = labelsOf(family, groupDomain)
    return (await this.#stored.create({ metadata: { name: item, labels }, spec: { parentRef } })) !== undefined
  }
}

const labelsOf = (family: string, groupDomain: string) => ({
  'ipaddress.kubernetes.io/ip-family': family,
  'ipaddress.kubernetes.io/managed-by': `ipallocator.${groupDomain}`,
})

function isUsable({ metadata, ...object }: AnyObject): boolean {
  const conditions = (object['status']?.conditions ?? []) as { type: string; status: string }[]
  // Without a condition Ready from a controller, it is ready.
  return !metadata.deletionTimestamp && (conditionOf(conditions, 'Ready')?.status ?? 'True') === 'True'
}

function isFor(record: AnyObject, { resource, namespace, name }: Holder): boolean {
  const { parentRef = {} } = record['spec'] ?? {}
  return (
    (parentRef.group ?? '') === resource.group &&
    parentRef.resource === resource.plural &&
    (parentRef.namespace ?? '') === namespace &&
    parentRef.name === name
  )
}

const holds = (object: AnyObject, item: string, { def }: Resource): boolean =>
  def.claims?.held(object).some(claim => claim.item === item) ?? false
