/** IP addresses and prefixes as Go's net/netip reads them, with its words for what it refuses. */
import { goQuote } from './go-text.ts'
import type { IPAddress } from './ip.ts'

/** An address as it was written: `zone` is what follows a percent sign, and one that maps IPv4 into IPv6 stays of family 6. */
export interface ZonedAddress {
  readonly address: IPAddress
  readonly zone: string
}

/** An address with the length of a prefix; bits past the prefix are kept. */
export interface Prefix {
  readonly address: IPAddress
  readonly bits: number
}

/** A text that is no address or prefix; the message is the one Go gives. */
export class NetipError extends Error {
  override readonly name = 'NetipError'
}

/** The address of a text; throws NetipError. */
export function parseAddress(text: string): ZonedAddress {
  const first = /[.:%]/.exec(text)?.[0]
  if (first === '.') return { address: { family: 4, bits: parseOctets(text, text), mapped: false }, zone: '' }
  if (first === ':') return parseV6(text)
  throw addressError(text, first === '%' ? 'missing IPv6 address' : 'unable to parse IP')
}

/** The prefix of a text such as `10.0.0.1/8`; throws NetipError. */
export function parsePrefix(text: string): Prefix {
  const fail = (why: string) => new NetipError(`netip.ParsePrefix(${goQuote(text)}): ${why}`)
  const slash = text.lastIndexOf('/')
  if (slash < 0) throw fail("no '/'")
  const { address, zone } = parseWithin(text.slice(0, slash), fail)
  if (zone !== '') throw fail('IPv6 zones cannot be present in a prefix')
  const length = text.slice(slash + 1)
  if (!/^(?:[0-9]|[1-9][0-9]*)$/.test(length)) throw fail(`bad bits after slash: ${goQuote(length)}`)
  // Go reads the number into 64 bits before it looks at the range.
  if (length.length > 18) throw fail(`bad bits after slash: ${goQuote(length)}`)
  const bits = Number(length)
  if (bits > widthOf(address)) throw fail('prefix length out of range')
  return { address, bits }
}

/** Whether an address of family 6 holds one of family 4. */
export const isMapped = ({ family, bits }: IPAddress): boolean => family === 6 && bits >> 32n === 0xffffn

/** Whether two prefixes share addresses. */
export function prefixesOverlap(a: Prefix, b: Prefix): boolean {
  return a.address.family === b.address.family && sameBits(a.address, b.address, Math.min(a.bits, b.bits))
}

/** Whether an address is of the prefix. */
export function prefixContains({ address, bits }: Prefix, other: IPAddress): boolean {
  return address.family === other.family && sameBits(address, other, bits)
}

/** The prefix with the bits past its length cleared. */
export function maskPrefix({ address, bits }: Prefix): Prefix {
  const host = BigInt(widthOf(address) - bits)
  return { address: { ...address, bits: (address.bits >> host) << host }, bits }
}

const widthOf = ({ family }: IPAddress): number => (family === 4 ? 32 : 128)

function sameBits(a: IPAddress, b: IPAddress, count: number): boolean {
  const host = BigInt(widthOf(a) - count)
  return a.bits >> host === b.bits >> host
}

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

/** The bits of four octets; `whole` is what messages name. */
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

function parseV6(whole: string): ZonedAddress {
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
  return { address: { family: 6, bits: join(fillGap(groups, gap, whole)), mapped: false }, zone }
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

const join = (groups: readonly number[]): bigint => groups.reduce((bits, group) => (bits << 16n) | BigInt(group), 0n)
