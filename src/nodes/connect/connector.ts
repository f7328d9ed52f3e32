/**
 * Requests that nodes answer: log, exec, attach, port-forward and proxy. The connector finds the pod, the container and the node;
 * a `NodeConnection` answers.
 */

import type { Client } from '../../client/client.ts'
import { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import type { Connect, Connection, Result } from '../../registry/api.ts'
import { badRequest, notFound } from '../../schema/status-error.ts'
import { AddressNotAllowed, type Destination, type Place, type ReportedDestination } from '../../transport/destination.ts'
import type { NodeConnection } from './node-connection.ts'
import { serviceUpstream } from './service-proxy.ts'

export type ConnectorParts = {
  readonly client: Client
  /** Opens the connection to a node. */
  readonly connectionTo: (node: Node) => NodeConnection
  /** Decides where this server may connect. */
  readonly reported: ReportedDestination
  /** The destination at the place of a process that an annotation names. */
  readonly local: (place: Place) => Destination
  /** Selects one of several endpoints of a Service; from 0 to 1. */
  readonly random: () => number
}

export function nodeConnector(parts: ConnectorParts): Connect {
  const { client, connectionTo } = parts
  const nodes = client.of(Node)
  const connect = async ({ call, object, ctx }: Connection): Promise<Result> => {
    const { name = '' } = object.metadata
    if (call.resource.plural === 'nodes') return connectionTo(object as unknown as Node).node(name, call, ctx)
    if (call.resource.plural === 'services')
      return { type: 'forward', upstream: serviceUpstream(call.name, object as unknown as Service, parts) }
    const pod = object as unknown as Pod
    const container = OF_CONTAINER.includes(call.subresource) ? containerOf(pod, call.query.get('container') ?? '') : ''
    const { nodeName } = pod.spec
    if (!nodeName) {
      if (call.subresource === 'log') return { type: 'bytes', code: 204, mediaType: 'text/plain', body: new Uint8Array() }
      throw badRequest(`pod ${name} does not have a host assigned`)
    }
    const node = nodes.get({ name: nodeName })
    if (!node) throw notFound({ group: '', plural: 'nodes', kind: 'Node' }, nodeName)
    return connectionTo(node).pod({ pod, container, node, call, ctx })
  }
  return async connection => {
    try {
      return await connect(connection)
    } catch (error) {
      throw error instanceof AddressNotAllowed ? badRequest(error.message) : error
    }
  }
}

const OF_CONTAINER = ['log', 'exec', 'attach']

/** The requested container, or the only one. */
function containerOf(pod: Pod, asked: string): string {
  const { name = '' } = pod.metadata
  const names = containersOf(pod.spec).map(each => each.name)
  if (asked !== '') {
    if (names.includes(asked)) return asked
    throw badRequest(`container ${asked} is not valid for pod ${name}`)
  }
  const [only, ...more] = pod.spec.containers ?? []
  if (only && more.length === 0) return only.name
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names.join(' ')}]`)
}
