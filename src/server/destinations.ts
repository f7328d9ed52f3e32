/** Decides where this server may connect: the rule about addresses that objects report, with its dependencies. */
import type { EndpointParts, ServiceDestination, ServiceReference } from '../aggregation/endpoint.ts'
import type { Client } from '../client/client.ts'
import { chance } from '../lib/environment.ts'
import { parseCIDR } from '../lib/ip.ts'
import { type LocalImages, localImages, readLocalImage } from '../nodes/process/local-image.ts'
import {
  configuredDestination,
  type Destination,
  type DestinationRules,
  type Place,
  type ReportedDestination,
  reportedDestinations,
  standInDestination,
  UnreachableService,
} from '../transport/destination.ts'
import type { Dial } from '../transport/egress.ts'
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
  /** Opens connections to the cluster, where they are not direct. */
  readonly dial?: Dial | undefined
  /** The address on which the server listens, once it does. */
  readonly listening: () => { readonly address: string; readonly port: number } | undefined
}

/** Advice for a webhook whose pods are simulated. */
const INSTEAD =
  'run the webhook where this server reaches it, and give the Service the annotation sim.keelson.dev/address, or call it by clientConfig.url'

export async function openDestinations(config: Config, { client, dial, listening, resolve }: DestinationsParts): Promise<Destinations> {
  const { host, port, advertiseAddress, proxyAllowedNetworks } = config
  const images = localImages(config.localImages.map(readLocalImage))
  const rules: DestinationRules = {
    allowed: proxyAllowedNetworks.map(text => parseCIDR(text)!),
    own: () => ({
      port: listening()?.port ?? (port || undefined),
      addresses: [host, ...(advertiseAddress === undefined ? [] : [advertiseAddress])],
    }),
    ...(await simulatedAddresses(client, images)),
    resolve,
    dial,
  }
  const reported = reportedDestinations(rules)
  const local = (place: Place) => standInDestination(place, rules)
  const self = () => {
    const at = listening()
    return at && configuredDestination(localHost(at.address), at.port)
  }
  const service = await destinationsOfServices({ client, reported, local, self, random: chance, dial })
  return { reported, local, service, webhookService: to => service(to, INSTEAD) }
}

/** The addresses of simulated nodes and pods, where the server has such kinds. */
async function simulatedAddresses(client: Client, images: LocalImages): Promise<Pick<DestinationRules, 'madeUpFor' | 'standIn'>> {
  const isThere = ['nodes', 'pods'].every(plural => client.findNamed('', 'v1', plural))
  if (!isThere) return { madeUpFor: () => undefined, standIn: () => undefined }
  const { madeUpAddresses, standInsOfPods } = await import('../nodes/connect/made-up-addresses.ts')
  return { madeUpFor: madeUpAddresses(client), standIn: standInsOfPods(client, image => images.of(image) !== undefined) }
}

async function destinationsOfServices(parts: EndpointParts): Promise<ServiceDestination> {
  const isThere = parts.client.findNamed('', 'v1', 'services') && parts.client.findNamed('discovery.{group_domain}', 'v1', 'endpointslices')
  if (isThere) return (await import('../aggregation/endpoint.ts')).serviceDestinations(parts)
  return ({ name }) => {
    throw new UnreachableService(`service ${JSON.stringify(name)} not found`)
  }
}

/** Unspecified addresses, each with an address of the machine that answers. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** An address at which this machine reaches a server that listens on an address. */
export const localHost = (address: string): string => EVERYWHERE[address] ?? address
