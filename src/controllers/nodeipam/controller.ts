/** Gives every node blocks of addresses for its pods. */
import { Node } from '../../kinds/core/node.ts'
import type { CIDR } from '../../lib/ip.ts'
import { defineController, watch } from '../controller.ts'
import { NodeBlocks, type NodeRange } from './allocator.ts'

export type IpamParts = {
  /** The ranges; each node gets one block of every range. */
  readonly ranges: readonly NodeRange[]
  /** The ranges of services, of which no node gets anything. */
  readonly services: readonly CIDR[]
}

/** When a node without a block is looked at again: one may have come free. */
const LOOK_AGAIN_MS = 60_000

export const nodeIpamController = ({ ranges, services }: IpamParts) =>
  defineController({
    name: 'node-ipam-controller',
    identity: 'node-controller',
    component: 'cidrAllocator',
    workers: 30,
    create({ client, recorder, onError }) {
      const nodes = client.of(Node)
      const blocks = new NodeBlocks(ranges, services)
      /** Nodes for which there was nothing left. */
      const starved = new Set<string>()
      return {
        watches: [
          // Stored blocks are recorded before the first one is given out: nothing is reconciled until all nodes are known.
          watch(Node, ({ current, type }) => {
            if (type === 'deleted') {
              blocks.release(current.name)
              starved.delete(current.name)
              return starved
            }
            const problem = blocks.note(current.name, current.object?.spec.podCIDRs ?? [])
            if (problem !== undefined) onError(new Error(problem))
            return current.object?.spec.podCIDRs?.length ? undefined : current.name
          }),
        ],
        async reconcile(name) {
          const node = nodes.get({ name })
          starved.delete(name)
          if (!node || node.metadata.deletionTimestamp || node.spec.podCIDRs?.length) return undefined
          const podCIDRs = blocks.allocate(name)
          if (!podCIDRs) {
            starved.add(name)
            recorder.event(node, 'Normal', 'CIDRNotAvailable', `Node ${name} status is now: CIDRNotAvailable`)
            return LOOK_AGAIN_MS
          }
          // A conflict is retried with the same blocks; stored blocks win.
          await nodes.update({ ...node, spec: { ...node.spec, podCIDR: podCIDRs[0]!, podCIDRs: [...podCIDRs] } })
          return undefined
        },
      }
    },
  })
