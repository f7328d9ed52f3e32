/** Selects the pod to which the proxy of a Service leads. */
import type { Client } from '../../client/client.ts'
import { readyEndpoints, type ServiceEndpoint, slicesOf } from '../../controllers/endpointslice/service-endpoints.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { addressedBy } from '../../lib/addressed-name.ts'
import type { Upstream } from '../../registry/api.ts'
import { unavailable } from '../../schema/status-error.ts'
import { type Destination, MadeUpAddress, oneDestination, type Place, type ReportedDestination } from '../../transport/destination.ts'
import { tlsOf } from './kubelet.ts'
import { standInOf } from './stand-in.ts'

export type ServiceProxyParts = {
  readonly client: Client
  readonly reported: ReportedDestination
  /** The destination at the place of a process that an annotation names. */
  readonly local: (place: Place) => Destination
  readonly random: () => number
}

/** Throws AddressNotAllowed, as connections do. */
export function serviceUpstream(asked: string, { metadata, spec }: Service, parts: ServiceProxyParts): Upstream {
  const { client, reported, local, random } = parts
  const { scheme = '', name = '', port = '' } = addressedBy(asked) ?? {}
  const portName = /^\d+$/.test(port) ? spec.ports?.find(each => each.port === Number(port)) : { name: port }
  if (!portName) throw unavailable(`no service port ${port} found for service "${name}"`)
  const standIn = standInOf(metadata, spec.ports?.find(each => each === portName || each.name === port)?.port ?? Number(port))
  if (standIn) return { ...local(standIn), tls: tlsOf(scheme) }
  const { namespace = '' } = metadata
  const pods = readyEndpoints(slicesOf(client, metadata), portName.name ?? '').filter(each => isPod(each, namespace, client))
  try {
    const chosen = oneDestination(pods, reported, random)
    if (!chosen) throw unavailable(`no endpoints available for service "${asked}"`)
    return { ...chosen, tls: tlsOf(scheme) }
  } catch (error) {
    if (error instanceof MadeUpAddress)
      throw unavailable(
        `service "${name}": ${error.message}; run the program on this machine, and give the Service the annotation sim.keelson.dev/address`,
      )
    throw error
  }
}

/** As in kube-apiserver: endpoints written by hand must lead to nothing but pods of the namespace. */
function isPod({ host, targetRef }: ServiceEndpoint, namespace: string, client: Client): boolean {
  if (!targetRef?.name || targetRef.namespace !== namespace) return false
  const pod = client.of(Pod).get({ namespace, name: targetRef.name })
  return (pod?.status?.podIPs ?? []).some(({ ip }) => ip === host)
}
