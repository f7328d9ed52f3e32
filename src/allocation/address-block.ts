/**
 * A block of service addresses. The first address names the network and the last IPv4 one is for broadcast;
 * neither is allocated. A lower band of the rest is left to requests for a certain address, while the upper one lasts:
 *
 *     10.0.0.0/24    .0 │ .1 … .16 │ .17 … .254 │ .255
 *                        │requested │   picked   │
 */
import { type CIDR, cidrContains, cidrSize, formatIP, type IPAddress, lastAddress, parseCIDR } from '../lib/ip.ts'

/** A random number from 0 inclusive to the bound exclusive. */
export type Random = (bound: bigint) => bigint

export type AddressBlock = {
  readonly cidr: CIDR
  readonly text: string
  readonly first: bigint
  readonly last: bigint
  /** The first offset of the upper band. */
  readonly middle: bigint
}

const MAX_V6_HOST_BITS = 64

/** Undefined for a text that is no block, or a block that is too large. */
export function blockOf(text: string): AddressBlock | undefined {
  const cidr = parseCIDR(text)
  if (!cidr || (cidr.network.family === 6 && cidr.prefix < 128 - MAX_V6_HOST_BITS)) return undefined
  const first = cidr.network.bits + 1n
  const last = lastAddress(cidr).bits - (cidr.network.family === 4 ? 1n : 0n)
  return { cidr, text, first, last, middle: first + lowerBand(cidrSize(cidr)) }
}

/** A sixteenth of the block, at least 16 addresses and at most 256; none of a block with 16 or fewer. */
function lowerBand(size: bigint): bigint {
  if (size <= 16n) return 0n
  const share = size / 16n
  return share < 16n ? 16n : share > 256n ? 256n : share
}

/** Whether the block can allocate the address. */
export const gives = ({ cidr, first, last }: AddressBlock, ip: IPAddress): boolean =>
  cidrContains(cidr, ip) && ip.bits >= first && ip.bits <= last

/** All addresses of the block, each once: the upper band from a random offset on, then the lower one. */
export function* candidates({ cidr, first, middle, last }: AddressBlock, random: Random): Iterable<string> {
  for (const [from, to] of [
    [middle, last],
    [first, middle - 1n],
  ] as const) {
    if (from > to) continue
    const start = from + random(to - from + 1n)
    for (let bits = start; bits <= to; bits++) yield formatIP({ ...cidr.network, bits })
    for (let bits = from; bits < start; bits++) yield formatIP({ ...cidr.network, bits })
  }
}
