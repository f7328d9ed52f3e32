/** Monitors nodes: marks those without heartbeats, taints nodes by their conditions, and evicts pods from unreachable ones. */

import { namedBy, queueKey } from '../../client/change.ts'
import type { Again } from '../../client/work-queue.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { type ControllerContext, defineController, type Running, watch } from '../controller.ts'
import { NodeContacts } from './node-contacts.ts'
import { NodeMarker } from './node-marker.ts'
import { NodeTainter } from './node-tainter.ts'
import { evictionTaint, type Grace, graceOf, heartbeatOf, readyOf } from './reconcile.ts'

/** Keys of pods begin with this; others are the names of nodes. */
const POD = 'pod:'
const LEASES = 'kube-node-lease'

export type NodeLifecycleParts = { readonly grace: Grace }

export const nodeLifecycleController = ({ grace }: NodeLifecycleParts) =>
  defineController({
    name: 'node-lifecycle-controller',
    identity: 'node-controller',
    component: 'node-controller',
    rank: 'urgent',
    workers: 8,
    create: context => createNodeLifecycle(grace, context),
  })

function createNodeLifecycle(grace: Grace, { client, recorder }: ControllerContext): Running {
  const [nodes, pods, leases] = [client.of(Node), client.of(Pod), client.of(Lease)]
  const marker = new NodeMarker({ client, recorder })
  const tainter = new NodeTainter(client)
  const contacts = new NodeContacts({
    now: () => client.now.getTime(),
    renewTimeOf: name => leases.get({ namespace: LEASES, name })?.spec?.renewTime,
    onRegistered: node =>
      marker.record(node, 'RegisteredNode', `Node ${node.metadata.name} event: Registered Node ${node.metadata.name} in Controller`),
  })

  /** Nodes whose pods may have to leave. */
  const lost = new Set<string>()

  async function reconcileNode(name: string): Promise<Again | undefined> {
    const node = nodes.get({ name })
    if (!node) return undefined
    const graceMs = graceOf(node, grace)
    const leftMs = graceMs - contacts.silenceOf(node)
    // A node that was changed is enqueued again by its watch.
    if (leftMs < 0 && (await marker.markSilent(node))) return undefined
    if (await tainter.adjust(node)) return undefined
    const again = await tainter.evict(node)
    if (leftMs < 0) return again ?? { ms: graceMs, isRoutine: true }
    // A node counts as silent from the first millisecond after its grace period.
    if (again === undefined) return { ms: leftMs + 1, renewal: heartbeatOf(name) }
    return Math.min(typeof again === 'number' ? again : again.ms, leftMs + 1)
  }

  return {
    watches: [
      watch(Node, ({ type, current, previous }) => {
        const { name, uid } = current
        if (type === 'deleted') {
          contacts.forget(name)
          marker.record({ metadata: { name, uid } }, 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`)
        }
        if (type !== 'deleted' && current.object && evictionTaint(current.object)) lost.add(name)
        else lost.delete(name)
        const isSame = type === 'updated' && readyOf(current.object)?.status === readyOf(previous?.object)?.status
        // Whether pods of a lost node are evicted depends on the state of the other nodes.
        return isSame ? name : [name, ...lost]
      }),
      watch(Lease, ({ current: { namespace, name, object } }) => {
        if (namespace === LEASES) contacts.renewed(name, object?.spec?.renewTime)
        return undefined
      }),
      watch(Pod, ({ current, previous }) => {
        const node = current.fields['spec.nodeName']
        return node && node !== previous?.fields['spec.nodeName'] && marker.isDown(node) ? `${POD}${queueKey(current)}` : undefined
      }),
    ],
    async reconcile(key) {
      if (!key.startsWith(POD)) return reconcileNode(key)
      const pod = pods.get(namedBy(key.slice(POD.length)))
      if (pod?.spec.nodeName && marker.isDown(pod.spec.nodeName)) await marker.markNotReady(pod)
      return undefined
    },
  }
}
