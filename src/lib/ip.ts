// IP addresses and CIDR blocks: strict and historic parsing, canonical text, arithmetic.

import { isIPv4, isIPv6 } from 'node:net'

/** An address: its family and its bits as a number. An IPv4 address written inside IPv6 is of family 4 and `mapped`. */
export interface IPAddress {
  readonly family: 4 | 6
  readonly bits: bigint
  readonly mapped: boolean
}

/** A block of addresses: the first one and how many leading bits all share. */
export interface CIDR {
  readonly network: IPAddress
  readonly prefix: number
}

/** An address together with the block it is in, as `10.0.0.5/24` says. */
export interface InterfaceAddress {
  readonly address: IPAddress
  readonly cidr: CIDR
}

/** The address of a text that every parser reads alike, in whatever case or abbreviation; undefined if it is none. */
export function parseIP(text: string): IPAddress | undefined {
  return isStrict(text) ? parseIPSloppy(text) : undefined
}

/** As parseIP, but zeros may lead the numbers, as old stored objects have them. */
export function parseIPSloppy(text: string): IPAddress | undefined {
  if (!text.includes(':')) {
    const bits = parseV4(text)
    return bits === undefined ? undefined : { family: 4, bits, mapped: false }
  }
  const bits = parseV6(text)
  if (bits === undefined) return undefined
  return bits >> 32n === MAPPED_PREFIX ? { family: 4, bits: bits & MAX_V4, mapped: true } : { family: 6, bits, mapped: false }
}

/** The canonical text (RFC 5952 for IPv6); an IPv4 address inside IPv6 is written as IPv4. */
export function formatIP({ family, bits }: IPAddress): string {
  return family === 4 ? formatV4(bits) : formatV6(bits)
}

/** The block of a text that names exactly a block: no leading zeros, no bits past the prefix; undefined if it is none. */
export function parseCIDR(text: string): CIDR | undefined {
  return cidrFaults(text).length === 0 ? parseInterfaceAddress(text)?.cidr : undefined
}

/** The address and block of a text such as `10.0.0.5/24`, zeros allowed to lead numbers; undefined if it is none. */
export function parseInterfaceAddress(text: string): InterfaceAddress | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const address = parseIPSloppy(text.slice(0, slash))
  const prefix = parseDecimal(text.slice(slash + 1))
  if (address === undefined || prefix === undefined || prefix > (address.family === 6 || address.mapped ? 128 : 32)) return undefined
  if (!address.mapped) return { address, cidr: blockOf(address, prefix) }
  // Only a prefix past the 96 bits of the mapping leaves an IPv4 block.
  if (prefix >= 96) return { address, cidr: blockOf(address, prefix - 96) }
  return { address, cidr: blockOf({ family: 6, bits: (MAPPED_PREFIX << 32n) | address.bits, mapped: false }, prefix) }
}

/** The canonical text of a block. */
export function formatCIDR({ network, prefix }: CIDR): string {
  return `${formatIP(network)}/${prefix}`
}

/** The block of the given prefix that the address is in. */
export function blockOf(address: IPAddress, prefix: number): CIDR {
  const host = BigInt(widthOf(address.family) - prefix)
  return { network: { family: address.family, bits: (address.bits >> host) << host, mapped: false }, prefix }
}

/** How many addresses a block has. */
export function cidrSize({ network, prefix }: CIDR): bigint {
  return 1n << BigInt(widthOf(network.family) - prefix)
}

/** The address at an offset from the first; undefined past the end of the block. */
export function addressAt(cidr: CIDR, offset: bigint): IPAddress | undefined {
  if (offset < 0n || offset >= cidrSize(cidr)) return undefined
  return { family: cidr.network.family, bits: cidr.network.bits + offset, mapped: false }
}

/** The last address of a block, which is the broadcast address of an IPv4 one. */
export function lastAddress(cidr: CIDR): IPAddress {
  return { family: cidr.network.family, bits: cidr.network.bits + cidrSize(cidr) - 1n, mapped: false }
}

/** Whether an address is inside a block. */
export function cidrContains({ network, prefix }: CIDR, address: IPAddress): boolean {
  if (network.family !== address.family) return false
  const host = BigInt(widthOf(network.family) - prefix)
  return network.bits >> host === address.bits >> host
}

/** Whether two blocks share addresses, which means that one holds the other. */
export function cidrsOverlap(a: CIDR, b: CIDR): boolean {
  return a.prefix <= b.prefix ? cidrContains(a, b.network) : cidrContains(b, a.network)
}

/** Whether two addresses are the same, however they were written. */
export function sameIP(a: IPAddress, b: IPAddress): boolean {
  return a.family === b.family && a.bits === b.bits
}

/** Whether the address is of the loopback network of its family. */
export function isLoopback({ family, bits }: IPAddress): boolean {
  return family === 4 ? bits >> 24n === 127n : bits === 1n
}

/** Whether the address is all zeros. */
export function isUnspecified({ bits }: IPAddress): boolean {
  return bits === 0n
}

/** Whether the address is a link-local unicast one. */
export function isLinkLocalUnicast({ family, bits }: IPAddress): boolean {
  return family === 4 ? bits >> 16n === 0xa9fen : bits >> 118n === 0x3fan
}

/** Whether the address is a multicast one that stays on its link. */
export function isLinkLocalMulticast({ family, bits }: IPAddress): boolean {
  return family === 4 ? bits >> 8n === 0xe00000n : bits >> 120n === 0xffn && ((bits >> 112n) & 0xfn) === 2n
}

/** Whether the address is a multicast one. */
export function isMulticast({ family, bits }: IPAddress): boolean {
  return family === 4 ? bits >> 28n === 0xen : bits >> 120n === 0xffn
}

/** Messages about a value that must be an address in canonical form. */
export function isValidIP(value: string): string[] {
  const faults = ipFaults(value)
  if (faults.length > 0) return faults
  const canonical = formatIP(parseIPSloppy(value) as IPAddress)
  return value === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`]
}

/** Messages about a value of an old field: any unambiguous form is fine, as is whatever the stored object had. */
export function isValidIPForLegacyField(value: string, stored: ReadonlySet<string> = NOTHING): string[] {
  return stored.has(value) ? [] : ipFaults(value)
}

/** Messages about a value that must be a block in canonical form. */
export function isValidCIDR(value: string): string[] {
  const faults = cidrFaults(value)
  if (faults.length > 0) return faults
  const canonical = formatCIDR((parseInterfaceAddress(value) as InterfaceAddress).cidr)
  return value === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`]
}

/** Messages about a block in an old field: any unambiguous form is fine, as is whatever the stored object had. */
export function isValidCIDRForLegacyField(value: string, stored: ReadonlySet<string> = NOTHING): string[] {
  return stored.has(value) ? [] : cidrFaults(value)
}

/** Messages about a value that must be an address with the length of its network's prefix, in canonical form. */
export function isValidInterfaceAddress(value: string): string[] {
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return ['must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)']
  const canonical = `${formatIP(parsed.address)}/${parsed.cidr.prefix}`
  return value === canonical ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`]
}

/** Warnings about an address in an old field that is valid there but written in an unusual way. */
export function warningsForIP(path: string, value: string): string[] {
  const address = parseIPSloppy(value)
  if (address === undefined) return []
  const canonical = formatIP(address)
  if (!isStrict(value) || address.mapped)
    return [`${path}: non-standard IP address ${JSON.stringify(value)} is invalid: use ${JSON.stringify(canonical)}`]
  if (address.family === 4 || canonical === value) return []
  return [`${path}: IPv6 address ${JSON.stringify(value)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`]
}

/** Warnings about a block in an old field that is valid there but written in an unusual way. */
export function warningsForCIDR(path: string, value: string): string[] {
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return []
  const { address, cidr } = parsed
  const quoted = JSON.stringify(value)
  const canonical = formatCIDR(cidr)
  const warnings: string[] = []
  if (!sameIP(address, cidr.network)) {
    const single = `${formatIP(address)}/${address.mapped ? 128 : widthOf(address.family)}`
    warnings.push(
      `${path}: CIDR value ${quoted} is ambiguous in this context (should be ${JSON.stringify(canonical)} or ${JSON.stringify(single)}?)`,
    )
  }
  if (!isStrictCIDR(value) || address.mapped)
    warnings.push(`${path}: non-standard CIDR value ${quoted} is invalid: use ${JSON.stringify(canonical)}`)
  if (warnings.length === 0 && address.family === 6 && canonical !== value)
    warnings.push(`${path}: IPv6 CIDR value ${quoted} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`)
  return warnings
}

const NOTHING: ReadonlySet<string> = new Set()
const MAX_V4 = 0xffffffffn
const MAPPED_PREFIX = 0xffffn

function widthOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128
}

function ipFaults(value: string): string[] {
  const address = parseIPSloppy(value)
  if (address === undefined) return ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']
  if (!isStrict(value)) return ['must not have leading 0s']
  return address.mapped ? ['must not be an IPv4-mapped IPv6 address'] : []
}

function cidrFaults(value: string): string[] {
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']
  if (!isStrictCIDR(value)) return ['must not have leading 0s in IP or prefix length']
  if (parsed.address.mapped) return ['must not have an IPv4-mapped IPv6 address']
  return sameIP(parsed.address, parsed.cidr.network) ? [] : ['must not have bits set beyond the prefix length']
}

/** A zone (`fe80::1%eth0`) is an address to Node, but not to the API. */
function isStrict(text: string): boolean {
  return isIPv4(text) || (isIPv6(text) && !text.includes('%'))
}

function isStrictCIDR(text: string): boolean {
  const slash = text.indexOf('/')
  return isStrict(text.slice(0, slash)) && /^(?:0|[1-9][0-9]*)$/.test(text.slice(slash + 1))
}

/** A decimal number with zeros allowed to lead it; undefined when it is none or absurdly large. */
function parseDecimal(text: string): number | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined
  const value = Number(text)
  return value < 0xffffff ? value : undefined
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.', 5)
  if (parts.length !== 4) return undefined
  let bits = 0n
  for (const part of parts) {
    const octet = parseDecimal(part)
    if (octet === undefined || octet > 255) return undefined
    bits = (bits << 8n) | BigInt(octet)
  }
  return bits
}

function parseV6(text: string): bigint | undefined {
  const halves = text.split('::', 3)
  if (halves.length > 2) return undefined
  const groups = halves.map(half => (half === '' ? [] : parseGroups(half)))
  const [head, tail] = groups
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 8 ? joinGroups(head) : undefined
  // An elision stands for at least one group.
  if (tail === undefined || head.length + tail.length > 7) return undefined
  return joinGroups([...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail])
}

/** The 16-bit groups of a text without elision; the last two may be written as an IPv4 address. */
function parseGroups(text: string): number[] | undefined {
  const parts = text.split(':', 9)
  const groups: number[] = []
  for (const [index, part] of parts.entries()) {
    if (index === parts.length - 1 && part.includes('.')) {
      const embedded = parseV4(part)
      if (embedded === undefined) return undefined
      groups.push(Number(embedded >> 16n), Number(embedded & 0xffffn))
    } else if (/^0*[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

function joinGroups(groups: readonly number[]): bigint {
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(group), 0n)
}

function formatV4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map(shift => (bits >> shift) & 0xffn).join('.')
}

/** The longest run of at least two zero groups is elided, the first of equals. */
function formatV6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => Number((bits >> BigInt(112 - 16 * i)) & 0xffffn))
  let [start, length] = [-1, 1]
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && groups[end] === 0) end++
    if (end - i > length) [start, length] = [i, end - i]
    if (end > i) i = end
  }
  const hex = groups.map(group => group.toString(16))
  return start < 0 ? hex.join(':') : `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}
