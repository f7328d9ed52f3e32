/** The address of this server for others: for programs in the cluster, and for servers over the same store. */

import { ownAddresses } from '../../lib/environment.ts'
import { isLinkLocalUnicast, isLoopback, isUnspecified, parseCIDR, parseIPSloppy } from '../../lib/ip.ts'
import type { PeerAddress } from '../../peers/peers.ts'
import type { Config } from '../config.ts'

type Advertised = {
  readonly advertiseAddress: string | undefined
  /** The address on which the server listens. */
  readonly address: string
  /** The ranges of the services, whose first has the family to use. */
  readonly ranges: readonly string[]
}

/** An address at which others reach this machine: the configured one, the one listened on, or its first of the services' family. */
export function advertisedAddress({ advertiseAddress, address, ranges }: Advertised): string | undefined {
  const isReachable = (text: string) => {
    const ip = parseIPSloppy(text)
    return ip !== undefined && !isLoopback(ip) && !isUnspecified(ip) && !isLinkLocalUnicast(ip)
  }
  for (const given of [advertiseAddress, address]) if (given !== undefined && isReachable(given)) return given
  const family = `IPv${parseCIDR(ranges[0]!)!.network.family}`
  return ownAddresses().find(({ internal, family: has, address: ip }) => !internal && has === family && isReachable(ip))?.address
}

type PeerSettings = Pick<Config, 'peerAdvertiseIp' | 'peerAdvertisePort' | 'advertiseAddress' | 'serviceClusterIpRange'>

/** The address for servers over the same store, which may run on this machine: a server on loopback alone is reached there. */
export function peerAddressOf(config: PeerSettings, { address, port }: { readonly address: string; readonly port: number }): PeerAddress {
  const { peerAdvertiseIp, peerAdvertisePort, advertiseAddress, serviceClusterIpRange: ranges } = config
  if (peerAdvertiseIp !== undefined && peerAdvertisePort !== undefined) return { ip: peerAdvertiseIp, port: peerAdvertisePort }
  const listened = parseIPSloppy(address)
  const ip = listened && !isUnspecified(listened) ? address : advertisedAddress({ advertiseAddress, address, ranges })
  return { ip: advertiseAddress ?? ip ?? '127.0.0.1', port }
}
