/** Two pods cannot listen on the same port of one node. */
import { hostPortsOf } from '../../kinds/rules/pod/scheduling/host-ports.ts'
import { NodeInfo } from '../node-info.ts'
import { always, type Plugin, unschedulable } from '../plugin.ts'

const REJECTION = unschedulable("node(s) didn't have free ports for the requested pod ports")

export const nodePorts: Plugin = {
  name: 'NodePorts',
  isLocal: true,
  filter({ info: { ports } }) {
    if (ports.length === 0) return undefined
    return { test: node => (ports.some(port => node.isTaken(port)) ? REJECTION : undefined) }
  },
  queueingHints: {
    'node added': always,
    'pod deleted': ({ spec }, event) => {
      if (event.about !== 'pod' || !event.before || event.before.ports.length === 0) return false
      const alone = new NodeInfo('')
      alone.add(event.before)
      return hostPortsOf(spec).some(port => alone.isTaken(port))
    },
  },
}
