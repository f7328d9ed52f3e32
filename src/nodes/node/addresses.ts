/** Addresses of simulated nodes and of the pods on them. Stored objects are the only record of those in use. */
import { addressAt, type CIDR, cidrSize, cidrsOverlap, formatCIDR, formatIP, parseCIDR, parseIP } from '../../lib/ip.ts'

type Family = 4 | 6

/** Networks of pod blocks, used from `from` to the end and then from the beginning, and networks of nodes. */
const POD_NETWORKS: Readonly<Record<Family, { within: string; from: string }>> = {
  4: { within: '10.128.0.0/9', from: '10.244.0.0' },
  6: { within: 'fd00:10::/32', from: 'fd00:10:244::' },
}
const NODE_NETWORKS: Readonly<Record<Family, string>> = { 4: '172.18.0.0/16', 6: 'fd00:172:18::/64' }
const MAX_BLOCKS = 1n << 16n
const MIN_PREFIX = 16
/** The first address of a block is the network itself, the second its gateway. */
const FIRST_OFFSET = 2n

/**
 * The blocks of pod addresses and the addresses of all nodes. The first free one is given out; a search goes on where the last one
 * ended until something is given back, so that a node costs the same however many there are.
 */
export class NodeNetworks {
  readonly #held = new Map<string, readonly string[]>()
  /** How many nodes have a block or an address. */
  readonly #uses = new Map<string, number>()
  /** The blocks in use by the length of their prefix: those of another length may overlap with one that is free itself. */
  readonly #blocks = new Map<number, Map<string, CIDR>>()
  /** How far searches got, by network. */
  readonly #passed = new Map<string, bigint>()

  /** Notes all blocks and addresses that a node has from now on. */
  hold(node: string, texts: readonly string[]): void {
    const before = this.#held.get(node) ?? []
    if (texts.length === before.length && texts.every((text, i) => text === before[i])) return
    this.#held.set(node, texts)
    for (const text of texts) this.#count(text, 1)
    for (const text of before) this.#count(text, -1)
  }

  release(node: string): void {
    this.hold(node, [])
    this.#held.delete(node)
  }

  /** A free block of pod addresses, large enough for the pods of a node and those that are ending. */
  freePodCIDR(family: Family, pods: number): string | undefined {
    const network = parseCIDR(POD_NETWORKS[family].within)!
    const start = parseIP(POD_NETWORKS[family].from)!.bits - network.network.bits
    const prefix = family === 6 ? 64 : Math.max(MIN_PREFIX, Math.min(24, 32 - Math.ceil(Math.log2(pods * 2 + 2))))
    const size = 1n << BigInt((family === 6 ? 128 : 32) - prefix)
    const all = cidrSize(network)
    const searched = `pods ${family}/${prefix}`
    for (let passed = this.#passed.get(searched) ?? 0n; passed < all && passed < MAX_BLOCKS * size; passed += size) {
      const block: CIDR = { network: addressAt(network, (start + passed) % all)!, prefix }
      const text = formatCIDR(block)
      if (this.#uses.has(text) || this.#overlapsOther(block)) continue
      this.#passed.set(searched, passed)
      return text
    }
    return undefined
  }

  /** A free node address. */
  freeNodeAddress(family: Family): string | undefined {
    const network = parseCIDR(NODE_NETWORKS[family])!
    const searched = `nodes ${family}`
    for (let offset = this.#passed.get(searched) ?? FIRST_OFFSET; offset < 1n << 16n; offset++) {
      const address = formatIP(addressAt(network, offset)!)
      if (this.#uses.has(address)) continue
      this.#passed.set(searched, offset)
      return address
    }
    return undefined
  }

  #count(text: string, sign: 1 | -1): void {
    const uses = (this.#uses.get(text) ?? 0) + sign
    if (uses > 0) this.#uses.set(text, uses)
    else {
      this.#uses.delete(text)
      this.#passed.clear()
    }
    const block = text.includes('/') && uses <= 1 ? parseCIDR(text) : undefined
    if (!block) return
    const alike = this.#blocks.get(block.prefix) ?? new Map<string, CIDR>()
    this.#blocks.set(block.prefix, alike)
    if (uses > 0) alike.set(text, block)
    else alike.delete(text)
  }

  #overlapsOther(block: CIDR): boolean {
    for (const [prefix, others] of this.#blocks)
      if (prefix !== block.prefix) for (const other of others.values()) if (cidrsOverlap(block, other)) return true
    return false
  }
}

/** The pod addresses of one node. With a block of each family, both addresses of a pod are at the same offset. */
export class PodAddresses {
  readonly #blocks: readonly CIDR[]
  readonly #size: bigint
  readonly #byPod = new Map<string, bigint>()
  readonly #taken = new Map<bigint, string>()
  #next = FIRST_OFFSET

  constructor(blocks: readonly string[]) {
    this.#blocks = blocks.flatMap(text => parseCIDR(text) ?? [])
    this.#size = this.#blocks.map(cidrSize).reduce((a, b) => (a < b ? a : b), 1n << 16n)
  }

  /** The addresses that `take` would give to a pod: those that it has, or the next that are free; none when all are taken. */
  peek(pod: string): string[] {
    const offset = this.#byPod.get(pod) ?? this.#free()
    return offset === undefined ? [] : this.#at(offset)
  }

  /** Gives a pod its addresses, the same ones every time; none when all are taken. An address that was released is given out last. */
  take(pod: string): string[] {
    const held = this.#byPod.get(pod)
    if (held !== undefined) return this.#at(held)
    const offset = this.#free()
    if (offset === undefined) return []
    this.#next = this.#after(offset)
    this.#hold(pod, offset)
    return this.#at(offset)
  }

  /** Notes that a pod has an address. */
  hold(pod: string, address: string): void {
    const [block] = this.#blocks
    const ip = parseIP(address)
    if (!block || !ip || ip.family !== block.network.family) return
    const offset = ip.bits - block.network.bits
    if (offset >= FIRST_OFFSET && offset < this.#size && !this.#taken.has(offset)) this.#hold(pod, offset)
  }

  release(pod: string): void {
    const offset = this.#byPod.get(pod)
    if (offset === undefined) return
    this.#byPod.delete(pod)
    this.#taken.delete(offset)
  }

  #hold(pod: string, offset: bigint): void {
    this.release(pod)
    this.#byPod.set(pod, offset)
    this.#taken.set(offset, pod)
  }

  #free(): bigint | undefined {
    // The last address of a block is its broadcast address.
    const usable = this.#size - FIRST_OFFSET - 1n
    if (this.#blocks.length === 0 || BigInt(this.#taken.size) >= usable) return undefined
    let offset = this.#next
    while (this.#taken.has(offset)) offset = this.#after(offset)
    return offset
  }

  #after(offset: bigint): bigint {
    return offset + 1n >= this.#size - 1n ? FIRST_OFFSET : offset + 1n
  }

  #at(offset: bigint): string[] {
    return this.#blocks.map(block => formatIP(addressAt(block, offset)!))
  }
}
