/**
 * The addresses of simulated nodes and of the pods on them. They are made up: on the network of this machine nobody has them, or
 * another host does. Objects define them, not ranges: real nodes can exist beside simulated ones.
 */
import type { Client } from '../../client/client.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { formatIP, parseIPSloppy } from '../../lib/ip.ts'
import type { Place } from '../../transport/destination.ts'
import { isSimulated } from '../node/is-simulated.ts'
import { standInOf } from './stand-in.ts'

const canonical = (texts: readonly (string | undefined)[]): string[] => {
  const ips = texts.flatMap(text => parseIPSloppy(text ?? '') ?? [])
  return [...new Set(ips.map(formatIP))]
}

const POD_ADDRESSES: IndexDefinition<Pod> = {
  name: 'address',
  // A pod without an address is recognized without decoding it.
  valuesOf: pod => (pod.fields['status.podIP'] ? canonical((pod.object?.status?.podIPs ?? []).map(({ ip }) => ip)) : []),
}

const NODE_ADDRESSES: IndexDefinition<Node> = {
  name: 'address',
  valuesOf: ({ object }) => canonical((object?.status?.addresses ?? []).map(({ address }) => address)),
}

/** The place of the process for which the simulated pod with an address stands; undefined when there is none. */
export function standInsOfPods(
  client: Client,
  isLocal: (image: string | undefined) => boolean,
): (address: string, port: number) => Place | undefined {
  const nodes = client.of(Node)
  const pods = client.of(Pod)
  // A process on this machine listens on all its addresses.
  const processOf = (spec: Pod['spec'], port: number): Place | undefined =>
    containersOf(spec).some(({ image }) => isLocal(image)) ? { host: '127.0.0.1', port } : undefined
  return (address, port) => {
    for (const { metadata, spec } of pods.byIndex(POD_ADDRESSES, address)) {
      const node = spec.nodeName ? nodes.get({ name: spec.nodeName }) : undefined
      const place = node && isSimulated(node) ? (standInOf(metadata, port) ?? processOf(spec, port)) : undefined
      if (place) return place
    }
    return undefined
  }
}

/** The simulated object that has an address; undefined when there is none. An address stays made up even if other objects report it. */
export function madeUpAddresses(client: Client): (address: string) => string | undefined {
  const nodes = client.of(Node)
  const pods = client.of(Pod)
  return address => {
    for (const node of nodes.byIndex(NODE_ADDRESSES, address))
      if (isSimulated(node)) return `${address} is the address of node "${node.metadata.name}", which is simulated: nothing answers there`
    for (const { metadata, spec } of pods.byIndex(POD_ADDRESSES, address)) {
      if (!spec.nodeName) continue
      const node = nodes.get({ name: spec.nodeName })
      if (node && !isSimulated(node)) continue
      const state = node ? 'is simulated' : 'does not exist'
      return `${address} is the address of pod "${metadata.namespace}/${metadata.name}" on node "${spec.nodeName}", which ${state}: nothing answers there`
    }
    return undefined
  }
}
