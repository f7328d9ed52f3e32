/** Monitors nodes: marks those without heartbeats, taints nodes by their conditions, and evicts pods from unreachable ones. */
import { NODE_INDEX } from '../../client/informer.ts'
import { namedBy, queueKey } from '../../client/object-revision.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import { defineController, watch } from '../controller.ts'
import { isReady } from '../pods/pod-state.ts'
import {
  drivingTaint,
  evictingTaints,
  evictionRate,
  type Grace,
  graceOf,
  heartbeatOf,
  olderLabels,
  readyOf,
  schedulingTaints,
  silentConditions,
  zoneOf,
} from './reconcile.ts'

/** Keys of pods, beside those of nodes. */
const POD = 'pod:'
const LEASES = 'kube-node-lease'
/** After how long a zone whose pods are left alone is looked at again. */
const LOOK_AGAIN_MS = 5000

/** The last heartbeat of a kubelet. After a restart every node gets a full grace period. */
type LastContact = { readonly uid: string; at: number; heartbeat: string | undefined; renewed: string | undefined }

export type NodeLifecycleParts = { readonly grace: Grace }

export const nodeLifecycleController = ({ grace }: NodeLifecycleParts) =>
  defineController({
    name: 'node-lifecycle-controller',
    identity: 'node-controller',
    component: 'node-controller',
    workers: 8,
    create({ client, recorder }) {
      const [nodes, pods, leases] = [client.of(Node), client.of(Pod), client.of(Lease)]
      const contacts = new Map<string, LastContact>()
      /** When the next node of a zone may be tainted. */
      const nextTaint = new Map<string, number>()
      const say = ({ metadata: { name, uid } }: Node | { metadata: { name: string; uid: string } }, reason: string, message: string) =>
        recorder.event({ apiVersion: 'v1', kind: 'Node', metadata: { name: name!, uid: uid! } }, 'Normal', reason, message)
      return {
        watches: [
          watch(Node, ({ type, current, previous }) => {
            if (type === 'deleted') {
              contacts.delete(current.name)
              const { name, uid } = current
              say({ metadata: { name, uid } }, 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`)
            }
            const isSame = type === 'updated' && readyOf(current.object)?.status === readyOf(previous?.object)?.status
            // Whether pods are evicted depends on the state of the other nodes.
            return isSame ? current.name : Array.from(nodes.revisions(), ({ name }) => name)
          }),
          watch(Lease, ({ current: { namespace, name, object } }) => {
            if (namespace === LEASES) noteRenewal(name, object?.spec?.renewTime)
            return undefined
          }),
          watch(Pod, ({ current, previous }) => {
            const node = current.fields['spec.nodeName']
            return node && node !== previous?.fields['spec.nodeName'] && isDown(node) ? `${POD}${queueKey(current)}` : undefined
          }),
        ],
        async reconcile(key) {
          if (key.startsWith(POD)) {
            const pod = pods.get(namedBy(key.slice(POD.length)))
            if (pod?.spec.nodeName && isDown(pod.spec.nodeName)) await markNotReady(pod)
            return undefined
          }
          const node = nodes.get({ name: key })
          if (!node) return undefined
          const silentForMs = listen(node)
          const left = graceOf(node, grace) - silentForMs
          if (left < 0 && (await markSilent(node))) return undefined
          if (await adjust(node)) return undefined
          const again = await driveAway(node)
          if (left < 0) return again ?? { ms: graceOf(node, grace), isRoutine: true }
          // A node counts as silent from the first millisecond after its grace period.
          return again === undefined
            ? { ms: left + 1, renewal: heartbeatOf(key) }
            : Math.min(typeof again === 'number' ? again : again.ms, left + 1)
        },
      }

      /** How long nothing was heard of a node's kubelet: neither a new heartbeat in its status nor a renewed lease. */
      function listen(node: Node): number {
        const { name = '', uid = '', creationTimestamp } = node.metadata
        const now = client.now.getTime()
        const heartbeat = readyOf(node)?.lastHeartbeatTime
        let last = contacts.get(name)
        if (last?.uid !== uid) {
          if (!last) say(node, 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`)
          last = { uid, at: heartbeat ? now : Math.min(now, millisecondsAt(creationTimestamp, now)), heartbeat, renewed: undefined }
          contacts.set(name, last)
          noteRenewal(name, leases.get({ namespace: LEASES, name })?.spec?.renewTime)
        }
        if (heartbeat !== last.heartbeat) last.at = now
        last.heartbeat = heartbeat
        return now - last.at
      }

      function noteRenewal(name: string, renewed: string | undefined): void {
        const last = contacts.get(name)
        if (!last || renewed === undefined || renewed <= (last.renewed ?? '')) return
        last.renewed = renewed
        last.at = client.now.getTime()
      }

      function isDown(name: string): boolean {
        const ready = readyOf(nodes.get({ name }))
        return ready !== undefined && ready.status !== 'True'
      }

      /** Whether the node was marked: then its change is looked at next. */
      async function markSilent(node: Node): Promise<boolean> {
        const conditions = silentConditions(node, timestampOf(client.now))
        if (!conditions) return false
        const wasReady = readyOf(node)?.status === 'True'
        await nodes.updateStatus({ ...node, status: { ...node.status, conditions } } as Node)
        if (!wasReady) return true
        say(node, 'NodeNotReady', `Node ${node.metadata.name} status is now: NodeNotReady`)
        for (const pod of pods.byIndex(NODE_INDEX, node.metadata.name!)) await markNotReady(pod)
        return true
      }

      /** Taints that keep pods away, and labels of older names. Whether there was anything to change. */
      async function adjust(node: Node): Promise<boolean> {
        const taints = schedulingTaints(node, timestampOf(client.now))
        const labels = olderLabels(node)
        if (!taints && !labels) return false
        const { resourceVersion } = node.metadata
        await nodes.patch(node.metadata, {
          metadata: { resourceVersion, ...(labels && { labels }) },
          ...(taints && { spec: { taints: taints.length > 0 ? taints : null } }),
        })
        return true
      }

      /** Drives pods away from a node that is lost, as fast as its zone allows, or takes that back. Returns when it may be its turn. */
      async function driveAway(node: Node): Promise<number | { readonly ms: number; readonly isRoutine: true } | undefined> {
        const now = client.now.getTime()
        const zone = zoneOf(node)
        const wanted = drivingTaint(node)
        const rate = wanted === undefined ? 0 : evictionRate(zone, nodes.list())
        const taints = evictingTaints(node, rate === 'all down' ? undefined : wanted, timestampOf(client.now))
        if (!taints) return undefined
        const isFirst = wanted !== undefined && rate !== 'all down' && evictingTaints(node, undefined, '') === undefined
        if (isFirst) {
          if (rate === 0) return { ms: LOOK_AGAIN_MS, isRoutine: true }
          const wait = (nextTaint.get(zone) ?? 0) - now
          if (wait > 0) return wait
          nextTaint.set(zone, now + 1000 / (rate as number))
        }
        const { resourceVersion } = node.metadata
        await nodes.patch(node.metadata, { metadata: { resourceVersion }, spec: { taints: taints.length > 0 ? taints : null } })
        return undefined
      }

      async function markNotReady(pod: Pod): Promise<void> {
        if (!isReady(pod)) return
        const conditions = pod.status.conditions!.map(condition =>
          condition.type === 'Ready' ? { ...condition, status: 'False', lastTransitionTime: timestampOf(client.now) } : condition,
        )
        await pods.updateStatus({ ...pod, status: { ...pod.status, conditions } })
        recorder.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready')
      }
    },
  })
