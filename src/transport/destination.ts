/**
 * Decides which addresses the server may connect to when an object supplies the address. Addresses in endpoints and in the status of nodes
 * and pods are written by clients other than administrators, so one rule applies to all of them:
 *
 * - never this server itself, whatever networks are allowed: a request that comes back would have the server's identity;
 * - never an address that was made up for a simulated object: on a real network it may belong to another host. Where the object stands
 * for a process, the connection goes to that process instead: on this machine, or in a network that the configuration allows;
 * - the networks that the configuration allows, and beyond them no address that leads into this machine, to its surroundings (link-local,
 * metadata services with credentials) or to no single host, in whatever notation.
 *
 * A name is resolved once, for the connection, and all its addresses must be allowed: it cannot lead elsewhere afterwards. Credentials of a
 * connection, and the certificates it trusts, are not decided here.
 */
import { type LookupAddress, type LookupAllOptions, lookup as resolveName } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import {
  type CIDR,
  cidrContains,
  formatIP,
  type IPAddress,
  isLoopback,
  isUnspecified,
  parseCIDR,
  parseIPSloppy,
  sameIP,
} from '../lib/ip.ts'

import type { Dial } from './egress.ts'

/** The target of a connection, in the form of Node's `connect` and `request` options. */
export type Destination = {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** Resolves the name when connecting, and fails for addresses that are not allowed. Undefined where there is nothing to check. */
  readonly lookup: LookupFunction | undefined
  /** Opens the connection, where it is not direct. */
  readonly dial?: Dial | undefined
}

/**
 * The destination at an address that an object reports. Throws AddressNotAllowed, or makes the connection fail with it if the address is a
 * name.
 */
export type ReportedDestination = (host: string, port: number) => Destination

export class AddressNotAllowed extends Error {
  constructor(message = 'address not allowed') {
    super(message)
  }
}

/** No real host has the address. The message names the simulated object it was made up for. */
export class MadeUpAddress extends AddressNotAllowed {}

/** An address without a check. */
export type Place = { readonly host: string; readonly port: number }

/** A Service that an object names cannot be reached. The message is for people. */
export class UnreachableService extends Error {}

export type DestinationRules = {
  /** Networks in which every address is allowed, except those of this server. */
  readonly allowed: readonly CIDR[]
  /** The port of this server once it listens, and its known addresses beside those of the machine. */
  readonly own: () => { readonly port: number | undefined; readonly addresses: readonly string[] }
  /** The purpose of a made-up address, in words; undefined for an address that may be real. */
  readonly madeUpFor: (address: string) => string | undefined
  /** The place of the process for which the object with a made-up address stands; undefined when it stands for none. */
  readonly standIn?: ((address: string, port: number) => Place | undefined) | undefined
  /** Resolves names to all their addresses. */
  readonly resolve?: ResolveName | undefined
  /** Opens connections, where they are not direct. */
  readonly dial?: Dial | undefined
}
export type ResolveName = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/** A destination from the configuration: it is used without a check. */
export const configuredDestination = (host: string, port: number): Destination => ({ host, port, lookup: undefined })

export function reportedDestinations(rules: DestinationRules): ReportedDestination {
  const { resolve = resolveName, dial } = rules
  const dialed = dial && { dial }
  const lookupFor =
    (port: number): LookupFunction =>
    (hostname, options, callback) =>
      resolve(hostname, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, '')
        try {
          for (const { address } of addresses) checkAddress(parseIPSloppy(address), port, rules)
        } catch (refusal) {
          return callback(refusal as Error, '')
        }
        const [first] = addresses
        if (!first) callback(new Error('no addresses for hostname'), '')
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      })
  return (host, port) => {
    const ip = parseIPSloppy(host)
    // Node would connect to other notations of an address, such as one with a zone, without a lookup.
    if (!ip && (host === '' || isIP(host) !== 0)) throw new AddressNotAllowed()
    if (!ip) return { host, port, lookup: lookupFor(port), ...dialed }
    const place = rules.standIn?.(formatIP(ip), port)
    if (place) return standInDestination(place, rules)
    checkAddress(ip, port, rules)
    // Normalized: without leading zeros, which resolvers take for octal numbers, and IPv4-mapped addresses as IPv4.
    return { host: formatIP(ip), port, lookup: undefined, ...dialed }
  }
}

/** The destination at the place of a process that an annotation names. Throws AddressNotAllowed. */
export function standInDestination({ host, port }: Place, { allowed, own }: Pick<DestinationRules, 'allowed' | 'own'>): Destination {
  const ip = parseIPSloppy(host)
  if (!ip || isOwn(ip, port, own())) throw new AddressNotAllowed()
  if (!isLoopback(ip) && !allowed.some(network => cidrContains(network, ip)))
    throw new AddressNotAllowed(`address not allowed: ${host} is not on this machine, and --proxy-allowed-networks does not list it`)
  return { host: formatIP(ip), port, lookup: undefined }
}

/**
 * The first allowed one of several, beginning at a random one. Throws AddressNotAllowed where none is allowed; undefined if there are none.
 */
export function oneDestination(
  candidates: readonly { readonly host: string; readonly port: number }[],
  reported: ReportedDestination,
  random: () => number,
): Destination | undefined {
  const start = Math.floor(random() * candidates.length)
  let refusal: AddressNotAllowed | undefined
  for (const { host, port } of [...candidates.slice(start), ...candidates.slice(0, start)])
    try {
      return reported(host, port)
    } catch (error) {
      if (!(error instanceof AddressNotAllowed)) throw error
      refusal ??= error
    }
  if (refusal) throw refusal
  return undefined
}

function checkAddress(ip: IPAddress | undefined, port: number, { allowed, own, madeUpFor }: DestinationRules): void {
  if (!ip || isOwn(ip, port, own())) throw new AddressNotAllowed()
  const reason = madeUpFor(formatIP(ip))
  if (reason !== undefined) throw new MadeUpAddress(reason)
  const isIn = (network: CIDR) => cidrContains(network, ip)
  if (!allowed.some(isIn) && SPECIAL.some(isIn)) throw new AddressNotAllowed()
}

/** Until the port is known, any port of the machine may be ours. Interfaces come and go, so they are listed each time. */
function isOwn(ip: IPAddress, port: number, own: ReturnType<DestinationRules['own']>): boolean {
  if (own.port !== undefined && port !== own.port) return false
  if (isLoopback(ip) || isUnspecified(ip)) return true
  const interfaces = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
  return [...interfaces.map(({ address }) => address), ...own.addresses].some(text => {
    const known = parseIPSloppy(text)
    return known !== undefined && sameIP(known, ip)
  })
}

/**
 * Addresses that no node, pod or endpoint has, or that only this machine should reach. IPv4-mapped addresses (`::ffff:0:0/96`) are checked
 * as IPv4.
 */
const SPECIAL: readonly CIDR[] = [
  '0.0.0.0/8', // this machine
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, among them the metadata of most clouds
  '192.0.0.0/24', // protocols, among them the metadata of Oracle's cloud
  '100.100.100.200/32', // metadata of Alibaba's cloud
  '168.63.129.16/32', // metadata of Azure
  '224.0.0.0/4', // multicast
  '255.255.255.255/32', // broadcast
  '::/96', // unspecified, loopback, and IPv4 in its former IPv6 form
  '::ffff:0:0:0/96', // translation of IPv4
  '64:ff9b::/96', // translation to IPv4 (NAT64)
  '64:ff9b:1::/48', // NAT64 of a local network
  '100::/64', // discarded
  '2001::/32', // tunnels to IPv4 (Teredo)
  '2002::/16', // tunnels to IPv4 (6to4)
  'fd00:ec2::/32', // metadata of Amazon's cloud
  'fd20:ce::254/128', // metadata of Google's cloud
  'fe80::/10', // link-local
  'fec0::/10', // site-local
  'ff00::/8', // multicast
].map(text => parseCIDR(text)!)
