/** Rules for host names, DNS and the host network of a pod. */

import { isDNS1123SubdomainWithUnderscore } from '../../../lib/names.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, tooLong, withValue } from '../../../schema/refs.ts'
import { under } from '../error-paths.ts'
import { validateSubdomain } from '../text-rules.ts'
import { containersWithRefs } from './containers/container-list-rules.ts'
import type { PodOptions } from './options.ts'
import type { HostAlias, PodDNSConfig, PodSpec } from './spec.ts'

const MAX_NAMESERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_CHARACTERS = 2048

/** Name servers and search paths within the limits of resolvers; a pod with DNS policy None has its own. */
export function* validateDNSConfig(
  { dnsConfig, dnsPolicy }: PodSpec,
  at: Ref<PodDNSConfig>,
  { addresses }: PodOptions,
): Iterable<FieldError> {
  if (dnsPolicy === 'None') {
    if (!dnsConfig) return yield required(at, 'must provide `dnsConfig` when `dnsPolicy` is None')
    if (!dnsConfig.nameservers?.length)
      return yield required(at.nameservers, 'must provide at least one DNS nameserver when `dnsPolicy` is None')
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {}
  if (nameservers.length > MAX_NAMESERVERS) yield invalid(at.nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`)
  for (const [i, server] of nameservers.entries()) yield* invalidEach(at.nameservers[i]!, addresses.ip(server))
  if (searches.length > MAX_SEARCHES) yield invalid(at.searches, `must not have more than ${MAX_SEARCHES} search paths`)
  if (Buffer.byteLength(searches.join(' ')) > MAX_SEARCH_CHARACTERS)
    yield invalid(at.searches, `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`)
  for (const [i, search] of searches.entries()) {
    if (search === '.') continue
    const name = search.endsWith('.') ? search.slice(0, -1) : search
    yield* invalidEach(withValue(at.searches[i]!, name), isDNS1123SubdomainWithUnderscore(name))
  }
  for (const [i, { name }] of options.entries()) if (!name) yield required(at.options[i]!, 'must not be empty')
}

/** Names of the hosts file of the pod. */
export function* validateHostAliases(
  aliases: readonly HostAlias[] | null | undefined,
  at: Ref<HostAlias[]>,
  { addresses }: PodOptions,
): Iterable<FieldError> {
  for (const [i, { ip = '', hostnames }] of (aliases ?? []).entries()) {
    yield* invalidEach(at[i]!.ip, addresses.ip(ip))
    for (const [j, name] of (hostnames ?? []).entries()) yield* validateSubdomain(name, at[i]!.hostnames[j]!)
  }
}

/** In the host network, container ports are host ports; pods must set both, templates need not yet. */
export function* validateHostNetworkPorts(spec: PodSpec, at: Ref<PodSpec>, { pod }: PodOptions): Iterable<FieldError> {
  if (!spec.hostNetwork) return
  for (const [c, { ports }] of (spec.containers ?? []).entries())
    for (const [p, { hostPort = 0, containerPort = 0 }] of (ports ?? []).entries())
      if ((pod || hostPort !== 0) && hostPort !== containerPort)
        yield invalid(withValue(at.containers[c]!.ports[p]!.hostPort, hostPort), 'must match `containerPort` when `hostNetwork` is true')
}

/** A pod with its own user namespace may not share the other host namespaces. */
export function* validateHostUsers(spec: PodSpec, at: Ref<PodSpec>, options: PodOptions): Iterable<FieldError> {
  if (spec.hostUsers !== false) return
  const message = 'when `hostUsers` is false'
  if (spec.hostNetwork && !options.hostNetworkUserNamespaces) yield forbidden(at.hostNetwork, message)
  if (spec.hostPID) yield forbidden(under(at, 'HostPID'), message)
  if (spec.hostIPC) yield forbidden(under(at, 'HostIPC'), message)
  if (options.allowVolumeDevicesInUserNamespaces) return
  for (const placed of containersWithRefs(spec, at))
    if (placed.container.volumeDevices?.length) yield forbidden(placed.at.volumeDevices, message)
}

const MAX_HOSTNAME = 64

/** A host name that overrides the one derived from name and subdomain. */
export function* validateHostnameOverride(spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const { hostnameOverride: name } = spec
  if (name === undefined) return
  if (spec.setHostnameAsFQDN) yield forbidden(at.hostnameOverride, 'may not be specified when setHostnameAsFQDN is true')
  if (spec.hostNetwork) yield forbidden(at.hostnameOverride, 'may not be specified when hostNetwork is true')
  if (Buffer.byteLength(name) > MAX_HOSTNAME) yield tooLong(at.hostnameOverride, MAX_HOSTNAME)
  yield* validateSubdomain(name, at.hostnameOverride)
}
