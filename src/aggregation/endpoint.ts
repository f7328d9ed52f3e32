/**
 * Finds the address of a Service that an APIService or a webhook names: its external name, wherever that leads, also to this
 * machine, as in kube-apiserver, or else one of its ready endpoints to which the server may connect.
 */
import type { Client } from '../client/client.ts'
import { readyEndpoints, slicesOf } from '../controllers/endpointslice/service-endpoints.ts'
import { Service } from '../kinds/core/service/service.ts'
import { standInOf } from '../nodes/connect/stand-in.ts'
import {
  AddressNotAllowed,
  configuredDestination,
  type Destination,
  MadeUpAddress,
  oneDestination,
  type Place,
  type ReportedDestination,
  UnreachableService,
} from '../transport/destination.ts'
import type { Dial } from '../transport/egress.ts'

export type ServiceReference = { readonly namespace: string; readonly name: string; readonly port: number }

export type EndpointParts = {
  /** Opens connections, where they are not direct. */
  readonly dial?: Dial | undefined
  readonly client: Client
  readonly reported: ReportedDestination
  /** The destination at the place of a process that an annotation names. */
  readonly local: (place: Place) => Destination
  /** The address of this server, once it listens. */
  readonly self: () => Destination | undefined
  /** From 0 to 1. */
  readonly random: () => number
}

/** The rule about addresses, in the messages for administrators whose endpoint it refuses. */
const ALLOWED =
  'endpoints on loopback, link-local and other special addresses need --proxy-allowed-networks; a Service of type ExternalName leads anywhere'

/** Finds the address of a Service; throws UnreachableService. `instead` is advice for a Service whose pods are simulated. */
export type ServiceDestination = (to: ServiceReference, instead: string) => Destination

export const serviceDestinations =
  ({ client, reported, local, self, random, dial }: EndpointParts): ServiceDestination =>
  (to, instead) => {
    const { namespace, name, port } = to
    const named = JSON.stringify(name)
    // Its endpoints may be other servers, and are sometimes written by hand.
    const itself = namespace === 'default' && name === 'kubernetes' && port === 443 ? self() : undefined
    if (itself) return itself
    const service = client.of(Service).get(to)
    if (!service) throw new UnreachableService(`service ${named} not found`)
    const { type, externalName = '', ports = [], clusterIP } = service.spec
    if (type === 'ExternalName') return { ...configuredDestination(externalName, port), ...(dial && { dial }) }
    const served = ports.find(each => each.port === port)
    if (!served) throw new UnreachableService(`no service port ${port} found for service ${named}`)
    try {
      const standIn = standInOf(service.metadata, port)
      if (standIn) return local(standIn)
      const found = oneDestination(readyEndpoints(slicesOf(client, to), served.name ?? ''), reported, random)
      if (found) return found
    } catch (error) {
      if (error instanceof MadeUpAddress) throw new UnreachableService(`service ${named}: ${error.message}; ${instead}`)
      if (error instanceof AddressNotAllowed) throw new UnreachableService(`service ${named}: ${error.message}: ${ALLOWED}`)
      throw error
    }
    if (clusterIP === 'None') throw new UnreachableService('cannot route to service with ClusterIP "None"')
    throw new UnreachableService(`no endpoints available for service ${named}`)
  }
