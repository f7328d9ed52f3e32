/**
 * IP addresses and CIDR blocks: parsing, canonical text, arithmetic. There are three parsers, because Kubernetes has three: strict
 * for new fields (parseIP), one that allows leading zeros for old fields (parseIPSloppy, parseInterfaceAddress), and Go's net/netip
 * for CEL, whose error messages clients see (parseAddress, parsePrefix).
 */

import { goQuote } from './go-text.ts'

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

/** An address together with its block, as in `10.0.0.5/24`. */
export interface InterfaceAddress {
  readonly address: IPAddress
  readonly cidr: CIDR
}

/** The address of a string that every parser reads the same way, in any case or abbreviation; undefined if it is not one. */
export function parseIP(text: string): IPAddress | undefined {
  return isStrict(text) ? parseIPSloppy(text) : undefined
}

/** As parseIP, but numbers may have leading zeros, as in old stored objects. */
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

/** The block of a string without leading zeros and without bits past the prefix; undefined if it is not one. */
export function parseCIDR(text: string): CIDR | undefined {
  return cidrFaults(text).length === 0 ? parseInterfaceAddress(text)?.cidr : undefined
}

/** The address and block of a string such as `10.0.0.5/24`, leading zeros allowed; undefined if it is not one. */
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

/** Whether two blocks overlap, which means that one contains the other. */
export function cidrsOverlap(a: CIDR, b: CIDR): boolean {
  return a.prefix <= b.prefix ? cidrContains(a, b.network) : cidrContains(b, a.network)
}

/** Whether two addresses are the same, whatever their notation. */
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

/** Whether the address is a link-local multicast one. */
export function isLinkLocalMulticast({ family, bits }: IPAddress): boolean {
  return family === 4 ? bits >> 8n === 0xe00000n : bits >> 120n === 0xffn && ((bits >> 112n) & 0xfn) === 2n
}

/** Whether the address is a multicast one. */
export function isMulticast({ family, bits }: IPAddress): boolean {
  return family === 4 ? bits >> 28n === 0xen : bits >> 120n === 0xffn
}

/** Error messages about a value that must be an address in canonical form. */
export function isValidIP(value: string): string[] {
  const faults = ipFaults(value)
  if (faults.length > 0) return faults
  const canonical = formatIP(parseIPSloppy(value) as IPAddress)
  return value === canonical ? [] : [`must be in canonical form (${goQuote(canonical)})`]
}

/** The values that the stored object had, and whether ambiguous forms are invalid. */
export type LegacyField = { readonly stored?: ReadonlySet<string> | undefined; readonly isStrict?: boolean }

/** Error messages about a value of an old field: any unambiguous form is valid, and so is a value that the stored object had. */
export function isValidIPForLegacyField(value: string, { stored = NOTHING, isStrict = true }: LegacyField = {}): string[] {
  if (stored.has(value)) return []
  return isStrict ? ipFaults(value) : parseIPSloppy(value) ? [] : [NO_IP]
}

/** Error messages about a value that must be a block in canonical form. */
export function isValidCIDR(value: string): string[] {
  const faults = cidrFaults(value)
  if (faults.length > 0) return faults
  const canonical = formatCIDR((parseInterfaceAddress(value) as InterfaceAddress).cidr)
  return value === canonical ? [] : [`must be in canonical form (${goQuote(canonical)})`]
}

/** Error messages about a block in an old field: any unambiguous form is valid, and so is a value that the stored object had. */
export function isValidCIDRForLegacyField(value: string, { stored = NOTHING, isStrict = true }: LegacyField = {}): string[] {
  if (stored.has(value)) return []
  return isStrict ? cidrFaults(value) : parseInterfaceAddress(value) ? [] : [NO_CIDR]
}

/** Error messages about a value that must be an address with the length of its network's prefix, in canonical form. */
export function isValidInterfaceAddress(value: string): string[] {
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return ['must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)']
  const canonical = `${formatIP(parsed.address)}/${parsed.cidr.prefix}`
  return value === canonical ? [] : [`must be in canonical form (${goQuote(canonical)})`]
}

/** Warnings about an address in an old field that is valid there but in an unusual notation. `path` is called only then. */
export function warningsForIP(path: () => string, value: string): string[] {
  const address = parseIPSloppy(value)
  if (address === undefined) return []
  const isStrict = !NEEDLESS_ZEROS.test(value)
  if (isStrict && address.family === 4 && !address.mapped) return []
  const canonical = formatIP(address)
  if (!isStrict || address.mapped) return [`${path()}: non-standard IP address ${goQuote(value)} is invalid: use ${goQuote(canonical)}`]
  if (canonical === value) return []
  return [`${path()}: IPv6 address ${goQuote(value)} should be in RFC 5952 canonical format (${goQuote(canonical)})`]
}

/** Warnings about a block in an old field that is valid there but in an unusual notation. `path` is called only then. */
export function warningsForCIDR(path: () => string, value: string): string[] {
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return []
  const { address, cidr } = parsed
  if (address.family === 4 && !address.mapped && sameIP(address, cidr.network) && isStrictCIDR(value)) return []
  const quoted = goQuote(value)
  const canonical = formatCIDR(cidr)
  const warnings: string[] = []
  if (!sameIP(address, cidr.network)) {
    const single = `${formatIP(address)}/${address.mapped ? 128 : widthOf(address.family)}`
    warnings.push(`${path()}: CIDR value ${quoted} is ambiguous in this context (should be ${goQuote(canonical)} or ${goQuote(single)}?)`)
  }
  if (!isStrictCIDR(value) || address.mapped)
    warnings.push(`${path()}: non-standard CIDR value ${quoted} is invalid: use ${goQuote(canonical)}`)
  if (warnings.length === 0 && address.family === 6 && canonical !== value)
    warnings.push(`${path()}: IPv6 CIDR value ${quoted} should be in RFC 5952 canonical format (${goQuote(canonical)})`)
  return warnings
}

const NOTHING: ReadonlySet<string> = new Set()
const NO_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
const NO_CIDR = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
const MAX_V4 = 0xffffffffn
const MAPPED_PREFIX = 0xffffn

function widthOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128
}

function ipFaults(value: string): string[] {
  const address = parseIPSloppy(value)
  if (address === undefined) return [NO_IP]
  if (NEEDLESS_ZEROS.test(value)) return ['must not have leading 0s']
  return address.mapped ? ['must not be an IPv4-mapped IPv6 address'] : []
}

function cidrFaults(value: string): string[] {
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return [NO_CIDR]
  if (!isStrictCIDR(value)) return ['must not have leading 0s in IP or prefix length']
  if (parsed.address.mapped) return ['must not have an IPv4-mapped IPv6 address']
  return sameIP(parsed.address, parsed.cidr.network) ? [] : ['must not have bits set beyond the prefix length']
}

/** Whether a string is an address and no number in it has needless zeros. The pattern of node:net takes milliseconds to compile. */
function isStrict(text: string): boolean {
  return parseIPSloppy(text) !== undefined && !NEEDLESS_ZEROS.test(text)
}
/** An octet that begins with a zero and has more digits, or a group of more than four. */
const NEEDLESS_ZEROS = /(?:^|:)0[0-9]+\.|\.0[0-9]|[0-9a-fA-F]{5}/

function isStrictCIDR(text: string): boolean {
  const slash = text.indexOf('/')
  return isStrict(text.slice(0, slash)) && /^(?:0|[1-9][0-9]*)$/.test(text.slice(slash + 1))
}

/** A decimal number, leading zeros allowed; undefined if it is not one or very large. */
function parseDecimal(text: string): number | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined
  const value = Number(text)
  return value < 0xffffff ? value : undefined
}

/** Octets may have any number of leading zeros. A policy may have thousands of addresses, so they are read character by character. */
function parseV4(text: string): bigint | undefined {
  let bits = 0
  let octet = 0
  let digits = 0
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= ZERO && code <= NINE) {
      octet = 10 * octet + code - ZERO
      if (octet > 255) return undefined
      digits++
    } else {
      if (code !== DOT || digits === 0 || ++dots > 3) return undefined
      bits = 256 * bits + octet
      octet = digits = 0
    }
  }
  return digits === 0 || dots !== 3 ? undefined : BigInt(256 * bits + octet)
}

const ZERO = 0x30
const NINE = 0x39
const DOT = 0x2e

function parseV6(text: string): bigint | undefined {
  const halves = text.split('::', 3)
  if (halves.length > 2) return undefined
  // Only the end of the address may be written as IPv4.
  if (halves.length === 2 && halves[0]!.includes('.')) return undefined
  const groups = halves.map(half => (half === '' ? [] : parseGroups(half)))
  const [head, tail] = groups
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 8 ? joinGroups(head) : undefined
  // An elision stands for at least one group.
  if (tail === undefined || head.length + tail.length > 7) return undefined
  return joinGroups([...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail])
}

/** The 16-bit groups of a string without elision; the last two may be written as an IPv4 address. */
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
  const number = Number(bits)
  return `${number >>> 24}.${(number >>> 16) & 0xff}.${(number >>> 8) & 0xff}.${number & 0xff}`
}

/** Elides the longest run of at least two zero groups, the first of several equally long ones. */
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

/** An address as it was written: `zone` follows a percent sign, and an IPv4-mapped IPv6 address stays of family 6. */
export interface ZonedAddress {
  readonly address: IPAddress
  readonly zone: string
}

/** An address with the length of a prefix; bits past the prefix are kept. */
export interface Prefix {
  readonly address: IPAddress
  readonly bits: number
}

/** A string that is not an address or prefix; the message is that of Go's net/netip. */
export class NetipError extends Error {
  override readonly name = 'NetipError'
}

/** The address of a string, as Go's net/netip reads it; throws NetipError. */
export function parseAddress(text: string): ZonedAddress {
  const first = /[.:%]/.exec(text)?.[0]
  if (first === '.') return { address: { family: 4, bits: parseOctets(text, text), mapped: false }, zone: '' }
  if (first === ':') return parseZonedV6(text)
  throw addressError(text, first === '%' ? 'missing IPv6 address' : 'unable to parse IP')
}

/** The prefix of a string such as `10.0.0.1/8`, as Go's net/netip reads it; throws NetipError. */
export function parsePrefix(text: string): Prefix {
  const fail = (why: string) => new NetipError(`netip.ParsePrefix(${goQuote(text)}): ${why}`)
  const slash = text.lastIndexOf('/')
  if (slash < 0) throw fail("no '/'")
  const { address, zone } = parseWithin(text.slice(0, slash), fail)
  if (zone !== '') throw fail('IPv6 zones cannot be present in a prefix')
  const length = text.slice(slash + 1)
  if (!/^(?:[0-9]|[1-9][0-9]*)$/.test(length)) throw fail(`bad bits after slash: ${goQuote(length)}`)
  // Go parses the number into 64 bits before it checks the range.
  if (length.length > 18) throw fail(`bad bits after slash: ${goQuote(length)}`)
  const bits = Number(length)
  if (bits > widthOf(address.family)) throw fail('prefix length out of range')
  return { address, bits }
}

/** Whether an address of family 6 holds one of family 4. */
export const isMapped = ({ family, bits }: IPAddress): boolean => family === 6 && bits >> 32n === 0xffffn

/** Whether two prefixes share addresses. */
export const prefixesOverlap = (a: Prefix, b: Prefix): boolean => cidrsOverlap(blockOfPrefix(a), blockOfPrefix(b))

/** Whether an address is in the prefix. */
export const prefixContains = (prefix: Prefix, address: IPAddress): boolean => cidrContains(blockOfPrefix(prefix), address)

/** The prefix with the bits past its length cleared. */
export const maskPrefix = (prefix: Prefix): Prefix => ({ address: blockOfPrefix(prefix).network, bits: prefix.bits })

const blockOfPrefix = ({ address, bits }: Prefix): CIDR => blockOf(address, bits)

function parseWithin(text: string, fail: (why: string) => NetipError): ZonedAddress {
  try {
    return parseAddress(text)
  } catch (error) {
    throw error instanceof NetipError ? fail(error.message) : error
  }
}

function addressError(text: string, why: string, at = ''): NetipError {
  return new NetipError(`ParseAddr(${goQuote(text)}): ${why}${at === '' ? '' : ` (at ${goQuote(at)})`}`)
}

/** The bits of four octets; messages name `whole`. */
function parseOctets(text: string, whole: string): bigint {
  let bits = 0n
  let octet = 0
  let digits = 0
  let dots = 0
  for (const [i, char] of [...text].entries()) {
    if (char >= '0' && char <= '9' && char.length === 1) {
      if (digits === 1 && octet === 0) throw addressError(whole, 'IPv4 field has octet with leading zero')
      octet = octet * 10 + Number(char)
      digits++
      if (octet > 255) throw addressError(whole, 'IPv4 field has value >255')
    } else if (char === '.') {
      if (digits === 0 || i === text.length - 1) throw addressError(whole, 'IPv4 field must have at least one digit', text.slice(i))
      if (dots === 3) throw addressError(whole, 'IPv4 address too long')
      bits = (bits << 8n) | BigInt(octet)
      dots++
      octet = 0
      digits = 0
    } else throw addressError(whole, 'unexpected character', text.slice(i))
  }
  if (dots < 3) throw addressError(whole, 'IPv4 address too short')
  return (bits << 8n) | BigInt(octet)
}

function parseZonedV6(whole: string): ZonedAddress {
  const percent = whole.indexOf('%')
  const zone = percent < 0 ? '' : whole.slice(percent + 1)
  if (percent >= 0 && zone === '') throw addressError(whole, 'zone must be a non-empty string')
  let rest = percent < 0 ? whole : whole.slice(0, percent)
  const groups: number[] = []
  let gap = -1
  if (rest.startsWith('::')) {
    gap = 0
    rest = rest.slice(2)
  }
  while (groups.length < 8 && (rest !== '' || gap !== groups.length)) {
    const digits = takeGroup(rest, whole)
    if (rest[digits.length] === '.') {
      pushOctets(groups, { rest, whole, gap })
      rest = ''
      break
    }
    groups.push(Number.parseInt(digits, 16))
    rest = rest.slice(digits.length)
    if (rest === '') break
    if (rest[0] !== ':') throw addressError(whole, 'unexpected character, want colon', rest)
    if (rest.length === 1) throw addressError(whole, 'colon must be followed by more characters', rest)
    rest = rest.slice(1)
    if (rest[0] === ':') {
      if (gap >= 0) throw addressError(whole, 'multiple :: in address', rest)
      gap = groups.length
      rest = rest.slice(1)
    }
  }
  if (rest !== '') throw addressError(whole, 'trailing garbage after address', rest)
  return { address: { family: 6, bits: joinGroups(fillGap(groups, gap, whole)), mapped: false }, zone }
}

function takeGroup(rest: string, whole: string): string {
  const digits = /^[0-9a-fA-F]*/.exec(rest)?.[0] ?? ''
  if (digits.length > 4) throw addressError(whole, 'each group must have 4 or less digits', rest)
  if (digits === '') throw addressError(whole, 'each colon-separated field must have at least one digit', rest)
  return digits
}

/** The last two groups written as an IPv4 address. */
function pushOctets(groups: number[], { rest, whole, gap }: { rest: string; whole: string; gap: number }): void {
  if (gap < 0 && groups.length !== 6)
    throw addressError(whole, 'embedded IPv4 address must replace the final 2 fields of the address', rest)
  if (groups.length > 6) throw addressError(whole, 'too many hex fields to fit an embedded IPv4 at the end of the address', rest)
  const bits = parseOctets(rest, whole)
  groups.push(Number(bits >> 16n), Number(bits & 0xffffn))
}

function fillGap(groups: readonly number[], gap: number, whole: string): readonly number[] {
  if (groups.length === 8) {
    if (gap >= 0) throw addressError(whole, 'the :: must expand to at least one field of zeros')
    return groups
  }
  if (gap < 0) throw addressError(whole, 'address string too short')
  return [...groups.slice(0, gap), ...Array<number>(8 - groups.length).fill(0), ...groups.slice(gap)]
}
