/** Decides where this server may connect: the rule about addresses that objects report, with its dependencies. */
import { type ServiceDestination, type ServiceReference, serviceDestinations } from '../aggregation/endpoint.ts'
import type { Client } from '../client/client.ts'
import { parseCIDR } from '../lib/ip.ts'
import { madeUpAddresses, standInsOfPods } from '../nodes/connect/made-up-addresses.ts'
import {
  configuredDestination,
  type Destination,
  type DestinationRules,
  type Place,
  type ReportedDestination,
  reportedDestinations,
  standInDestination,
} from '../transport/destination.ts'
import type { Config } from './config.ts'

export type Destinations = {
  /** The address of a node, a pod or an endpoint. */
  readonly reported: ReportedDestination
  /** The place of a process for which a pod or a Service stands. */
  readonly local: (place: Place) => Destination
  /** A Service that an APIService names. */
  readonly service: ServiceDestination
  /** A Service that a webhook names; throws UnreachableService. */
  readonly webhookService: (service: ServiceReference) => Destination
}

export type DestinationsParts = Pick<DestinationRules, 'resolve'> & {
  readonly client: Client
  /** The address on which the server listens, once it does. */
  readonly listening: () => { readonly address: string; readonly port: number } | undefined
}

/** Advice for a webhook whose pods are simulated. */
const INSTEAD =
  'run the webhook where this server reaches it, and give the Service the annotation sim.keelson.dev/address, or call it by clientConfig.url'

export function openDestinations(config: Config, { client, listening, resolve }: DestinationsParts): Destinations {
  const { host, port, advertiseAddress, proxyAllowedNetworks } = config
  const rules: DestinationRules = {
    allowed: proxyAllowedNetworks.map(text => parseCIDR(text)!),
    own: () => ({
      port: listening()?.port ?? (port || undefined),
      addresses: [host, ...(advertiseAddress === undefined ? [] : [advertiseAddress])],
    }),
    madeUpFor: madeUpAddresses(client),
    standIn: standInsOfPods(client),
    resolve,
  }
  const reported = reportedDestinations(rules)
  const local = (place: Place) => standInDestination(place, rules)
  const self = () => {
    const at = listening()
    return at && configuredDestination(EVERYWHERE[at.address] ?? at.address, at.port)
  }
  const service = serviceDestinations({ client, reported, local, self, random: Math.random })
  return { reported, local, service, webhookService: to => service(to, INSTEAD) }
}

/** Unspecified addresses, each with an address of the machine that answers. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
