/** IP addresses and CIDR blocks: ip, cidr, and their functions. */

import { goQuote } from '../../lib/go-text.ts'
import {
  formatIP,
  type IPAddress,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isMapped,
  isMulticast,
  isUnspecified,
  maskPrefix,
  NetipError,
  type Prefix,
  parseAddress,
  parsePrefix,
  prefixContains,
  prefixesOverlap,
  sameIP,
} from '../../lib/ip.ts'
import type { Library } from '../checker/library.ts'
import { boolType, intType, opaqueType, stringType } from '../checker/types.ts'
import { CelFault, CelOpaque, type CelValue, noSuchOverload } from '../runtime/values.ts'
import { actualSize, doubleTraversal, perCharacter, traversal, unitCost } from './call-costs.ts'
import { attempt, fn, global, member } from './declare.ts'

export const ipType = opaqueType('net.IP')
export const cidrType = opaqueType('net.CIDR')

/** An address as a value. */
class IpValue extends CelOpaque {
  readonly type = ipType
  readonly address: IPAddress
  constructor(address: IPAddress) {
    super()
    this.address = address
  }
  /** In bytes. */
  get costSize(): number {
    return this.address.family === 4 ? 4 : 16
  }
  equalTo(other: CelValue): boolean | CelFault {
    return other instanceof IpValue ? sameIP(this.address, other.address) : noSuchOverload
  }
  override toString(): string {
    return formatIP(this.address)
  }
}

/** A block of addresses as a value; bits past its prefix are kept. */
class CidrValue extends CelOpaque {
  readonly type = cidrType
  readonly prefix: Prefix
  constructor(prefix: Prefix) {
    super()
    this.prefix = prefix
  }
  get costSize(): number {
    return Math.ceil(this.prefix.bits / 8)
  }
  equalTo(other: CelValue): boolean | CelFault {
    if (!(other instanceof CidrValue)) return noSuchOverload
    return sameIP(this.prefix.address, other.prefix.address) && this.prefix.bits === other.prefix.bits
  }
  override toString(): string {
    return `${formatIP(this.prefix.address)}/${this.prefix.bits}`
  }
}

const question = (name: string, id: string, ask: (address: IPAddress) => boolean) =>
  fn(
    name,
    member({ id, params: [ipType], result: boolType, cost: unitCost }, (ip: IpValue) => ask(ip.address)),
  )

export const ipLibrary = (): Library => ({
  types: { findType: name => (name === ipType.name ? ipType : undefined), findField: () => undefined },
  functions: [
    fn('ip', global({ id: 'string_to_ip', params: [stringType], result: ipType, cost: traversal }, toIp)),
    fn(
      'isIP',
      global({ id: 'is_ip', params: [stringType], result: boolType, cost: traversal }, text => !(toIp(text) instanceof CelFault)),
    ),
    fn('ip.isCanonical', global({ id: 'ip_is_canonical', params: [stringType], result: boolType, cost: doubleTraversal }, isCanonical)),
    fn(
      'family',
      member({ id: 'ip_family', params: [ipType], result: intType, cost: unitCost }, (ip: IpValue) => ip.address.family),
    ),
    question('isUnspecified', 'ip_is_unspecified', isUnspecified),
    question('isLoopback', 'ip_is_loopback', isLoopback),
    question('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
    question('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocalUnicast),
    question('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
    fn('string', global({ id: 'ip_to_string', params: [ipType], result: stringType }, String)),
  ],
})

const containsCost = (args: readonly CelValue[], isText: boolean): number =>
  Math.ceil(actualSize(args[0]) * 2 * 0.1) + (isText ? perCharacter(args[1], 0.1) : 0)
const containsBlockCost = (args: readonly CelValue[], isText: boolean): number =>
  containsCost(args, isText) + perCharacter(args[0], 0.1) + 1

export const cidrLibrary = (): Library => ({
  types: { findType: name => (name === cidrType.name ? cidrType : undefined), findField: () => undefined },
  functions: [
    fn('cidr', global({ id: 'string_to_cidr', params: [stringType], result: cidrType, cost: traversal }, toCidr)),
    fn(
      'isCIDR',
      global({ id: 'is_cidr', params: [stringType], result: boolType, cost: traversal }, text => !(toCidr(text) instanceof CelFault)),
    ),
    fn(
      'containsIP',
      member(
        { id: 'cidr_contains_ip_string', params: [cidrType, stringType], result: boolType, cost: args => containsCost(args, true) },
        (cidr: CidrValue, text: string) => containsIp(cidr, toIp(text)),
      ),
      member(
        { id: 'cidr_contains_ip_ip', params: [cidrType, ipType], result: boolType, cost: args => containsCost(args, false) },
        containsIp,
      ),
    ),
    fn(
      'containsCIDR',
      member(
        { id: 'cidr_contains_cidr_string', params: [cidrType, stringType], result: boolType, cost: args => containsBlockCost(args, true) },
        (cidr: CidrValue, text: string) => containsCidr(cidr, toCidr(text)),
      ),
      member(
        { id: 'cidr_contains_cidr', params: [cidrType, cidrType], result: boolType, cost: args => containsBlockCost(args, false) },
        containsCidr,
      ),
    ),
    fn('ip', member({ id: 'cidr_ip', params: [cidrType], result: ipType, cost: unitCost }, addressOf)),
    fn('prefixLength', member({ id: 'cidr_prefix_length', params: [cidrType], result: intType, cost: unitCost }, lengthOf)),
    fn('masked', member({ id: 'cidr_masked', params: [cidrType], result: cidrType, cost: unitCost }, masked)),
    fn('string', global({ id: 'cidr_to_string', params: [cidrType], result: stringType }, String)),
  ],
})

function toIp(text: string): CelValue {
  try {
    const { address, zone } = parseAddress(text)
    const refused = (why: string) => new CelFault(why)
    if (zone !== '') return refused(`IP address ${goQuote(text)} with zone value is not allowed`)
    if (isMapped(address)) return refused(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`)
    return new IpValue(address)
  } catch (error) {
    if (!(error instanceof NetipError)) throw error
    return new CelFault(`IP Address ${goQuote(text)} parse error during conversion from string: ${error.message}`)
  }
}

const PARSE_ERROR = 'network address parse error during conversion from string: '

function toCidr(text: string): CelValue {
  return attempt(
    () => {
      const prefix = parsePrefix(text)
      if (isMapped(prefix.address)) return new CelFault(`${PARSE_ERROR}IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`)
      return new CidrValue(prefix)
    },
    // Both the parser of the library and its caller add the prefix.
    message => PARSE_ERROR + PARSE_ERROR + message,
  )
}

function isCanonical(text: string): CelValue {
  const ip = toIp(text)
  return ip instanceof IpValue ? formatIP(ip.address) === text : ip
}

function isGlobalUnicast(address: IPAddress): boolean {
  if (address.family === 4 && address.bits === 0xffffffffn) return false
  return !isUnspecified(address) && !isLoopback(address) && !isMulticast(address) && !isLinkLocalUnicast(address)
}

// As in Kubernetes, an invalid address fails with the error for a wrong type, an invalid block with the reason.
function containsIp({ prefix }: CidrValue, ip: CelValue): CelValue {
  return ip instanceof IpValue ? prefixContains(prefix, ip.address) : noSuchOverload
}

function containsCidr({ prefix }: CidrValue, other: CelValue): CelValue {
  if (!(other instanceof CidrValue)) return other
  return prefixesOverlap(prefix, other.prefix) && prefix.bits <= other.prefix.bits
}

const addressOf = ({ prefix }: CidrValue): CelValue => new IpValue(prefix.address)
const lengthOf = ({ prefix }: CidrValue): CelValue => prefix.bits
const masked = ({ prefix }: CidrValue): CelValue => new CidrValue(maskPrefix(prefix))
