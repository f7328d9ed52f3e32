/** Gives nodes their blocks of pod addresses: one of each range. The specs of nodes hold their blocks; this is an index of them. */
import { type CIDR, formatCIDR, parseCIDR } from '../../lib/ip.ts'
import { CidrSet } from './cidr-set.ts'

export type NodeRange = { readonly range: CIDR /** The prefix length of a block. */; readonly maskSize: number }

export class NodeBlocks {
  readonly #sets: readonly CidrSet[]
  /** The blocks of each node, stored or about to be stored. */
  readonly #held = new Map<string, readonly CIDR[]>()

  /** Addresses of services are not given to nodes. */
  constructor(ranges: readonly NodeRange[], services: readonly CIDR[]) {
    this.#sets = ranges.map(({ range, maskSize }) => new CidrSet(range, maskSize))
    for (const set of this.#sets) for (const range of services) set.occupy(range)
  }

  /** Records the stored blocks of a node; returns a message about an invalid one. */
  note(node: string, blocks: readonly string[]): string | undefined {
    if (blocks.length === 0) return undefined
    const known = this.#held.get(node)
    if (known && known.map(formatCIDR).join() === blocks.join()) return undefined
    this.release(node)
    const parsed = blocks.flatMap(text => parseCIDR(text) ?? [])
    this.#held.set(node, parsed)
    const problems = parsed.map((block, i) => {
      const set = this.#sets[i]
      if (!set) return `node:${node} has an allocated cidr: ${blocks[i]} at index:${i} that does not exist in cluster cidrs configuration`
      return set.occupy(block) ? undefined : `cidr ${blocks[i]} is out the range of cluster cidr ${set}`
    })
    return parsed.length < blocks.length ? `failed to parse node ${node}, CIDR ${blocks[0]}` : problems.find(each => each !== undefined)
  }

  /** The blocks of a node that has none yet, the same when it is asked again; undefined when a range has none left. */
  allocate(node: string): readonly string[] | undefined {
    let blocks = this.#held.get(node)
    if (!blocks) {
      const taken = this.#sets.map(set => set.take())
      for (const [i, block] of taken.entries()) if (block && taken.includes(undefined)) this.#sets[i]!.release(block)
      if (taken.includes(undefined)) return undefined
      blocks = taken as CIDR[]
      this.#held.set(node, blocks)
    }
    return blocks.map(formatCIDR)
  }

  release(node: string): void {
    for (const [i, block] of (this.#held.get(node) ?? []).entries()) this.#sets[i]?.release(block)
    this.#held.delete(node)
  }
}
