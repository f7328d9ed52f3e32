/**
 * A block of addresses as services use it. The first address names the network and the last IPv4 one is for broadcast;
 * neither is given. Of the rest a lower band is left to those who ask for a certain address, as far as the upper one lasts:
 *
 *     10.0.0.0/24    .0 │ .1 … .16 │ .17 … .254 │ .255
 *                       │  asked   │   picked   │
 */
import { type CIDR, cidrContains, cidrSize, formatIP, type IPAddress, lastAddress, parseCIDR } from '../lib/ip.ts'

/** From 0 inclusive to the bound exclusive. */
export type Random = (bound: bigint) => bigint

export type AddressBlock = {
  readonly cidr: CIDR
  readonly text: string
  readonly first: bigint
  readonly last: bigint
  /** Where the upper band begins. */
  readonly middle: bigint
}

const MAX_V6_HOST_BITS = 64

/** Undefined for what is no block, or one that is too large to give addresses from. */
export function blockOf(text: string): AddressBlock | undefined {
  const cidr = parseCIDR(text)
  if (!cidr || (cidr.network.family === 6 && cidr.prefix < 128 - MAX_V6_HOST_BITS)) return undefined
  const first = cidr.network.bits + 1n
  const last = lastAddress(cidr).bits - (cidr.network.family === 4 ? 1n : 0n)
  return { cidr, text, first, last, middle: first + lowerBand(cidrSize(cidr)) }
}

/** A sixteenth of the block, at least 16 addresses and at most 256; none of a block that has no more than 16. */
function lowerBand(size: bigint): bigint {
  if (size <= 16n) return 0n
  const share = size / 16n
  return share < 16n ? 16n : share > 256n ? 256n : share
}

/** Whether the address can be given from the block. */
export const gives = ({ cidr, first, last }: AddressBlock, ip: IPAddress): boolean =>
  cidrContains(cidr, ip) && ip.bits >= first && ip.bits <= last

/** All addresses of the block, each once: the upper band from a random place on, then the lower one. */
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
