/** What an EndpointSlice is made of. */
import { atomic, bool, int32, mapOf, message, type Static, set, string } from '../../schema/types.ts'
import { ObjectReference } from '../shapes/references.ts'

const EndpointConditions = message('EndpointConditions', {
  ready: [1, bool.optional(), 'Whether it takes traffic; unknown counts as yes.'],
  serving: [2, bool.optional(), 'Whether it answers, even while it is going.'],
  terminating: [3, bool.optional(), 'Whether it is going.'],
})

const ForZone = message('ForZone', { name: [1, string.always(), 'Name of the zone.'] })
const ForNode = message('ForNode', { name: [1, string.always(), 'Name of the node.'] })

const EndpointHints = message('EndpointHints', {
  forZones: [1, atomic(ForZone), 'Zones that should use it, at most 8.'],
  forNodes: [2, atomic(ForNode), 'Nodes that should use it, at most 8.'],
})
export type EndpointHints = Static<typeof EndpointHints>

export const Endpoint = message('Endpoint', {
  addresses: [1, set(string).always(), 'Its addresses, all meaning the same; clients use the first. At most 100.'],
  conditions: [2, EndpointConditions.orEmpty(), 'Its state.'],
  hostname: [3, string.optional(), 'Name of the host, a DNS label.'],
  targetRef: [4, ObjectReference, 'What is reached there, such as a pod.'],
  deprecatedTopology: [5, mapOf(string), 'What older versions said about its place. Not written any more.'],
  nodeName: [6, string.optional(), 'The node it is on.'],
  zone: [7, string.optional(), 'The zone it is in.'],
  hints: [8, EndpointHints, 'Who should use it.'],
})
export type Endpoint = Static<typeof Endpoint>

export const EndpointPort = message('EndpointPort', {
  name: [1, string.optional().default(''), 'Name of the port, a DNS label; unique in the slice.'],
  protocol: [2, string.optional().default('TCP'), 'TCP, UDP or SCTP.'],
  port: [3, int32.optional(), 'Number of the port; absent means all ports.'],
  appProtocol: [4, string.optional(), 'The protocol of the application, as a hint.'],
}).atomic()
export type EndpointPort = Static<typeof EndpointPort>
