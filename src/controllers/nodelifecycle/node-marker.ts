/** Writes that a node is silent into its conditions, and that its pods are not ready into theirs. */
import type { Client, ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { timestampOf } from '../../lib/time.ts'
import { isReady } from '../pods/pod-state.ts'
import { readyOf, silentConditions } from './reconcile.ts'

export type NodeMarkerParts = { readonly client: Client; readonly recorder: EventRecorder }

export class NodeMarker {
  readonly #nodes: ResourceClient<Node>
  readonly #pods: ResourceClient<Pod>
  readonly #parts: NodeMarkerParts

  constructor(parts: NodeMarkerParts) {
    this.#parts = parts
    this.#nodes = parts.client.of(Node)
    this.#pods = parts.client.of(Pod)
  }

  /** Records an event about a node, which may be gone. */
  record({ metadata: { name, uid } }: Pick<Node, 'metadata'>, reason: string, message: string): void {
    this.#parts.recorder.event({ apiVersion: 'v1', kind: 'Node', metadata: { name: name!, uid: uid! } }, 'Normal', reason, message)
  }

  /** Whether a node is there and not ready. */
  isDown(name: string): boolean {
    const ready = readyOf(this.#nodes.get({ name }))
    return ready !== undefined && ready.status !== 'True'
  }

  /** Marks a silent node and its pods. False when the node was marked before. */
  async markSilent(node: Node): Promise<boolean> {
    const conditions = silentConditions(node, timestampOf(this.#parts.client.now))
    if (!conditions) return false
    const wasReady = readyOf(node)?.status === 'True'
    await this.#nodes.updateStatus({ ...node, status: { ...node.status, conditions } } as Node)
    if (!wasReady) return true
    this.record(node, 'NodeNotReady', `Node ${node.metadata.name} status is now: NodeNotReady`)
    for (const pod of this.#pods.byIndex(NODE_INDEX, node.metadata.name!)) await this.markNotReady(pod)
    return true
  }

  /** Marks a pod on a node that is down. */
  async markNotReady(pod: Pod): Promise<void> {
    if (!isReady(pod)) return
    const lastTransitionTime = timestampOf(this.#parts.client.now)
    const conditions = pod.status.conditions!.map(condition =>
      condition.type === 'Ready' ? { ...condition, status: 'False', lastTransitionTime } : condition,
    )
    await this.#pods.updateStatus({ ...pod, status: { ...pod.status, conditions } })
    this.#parts.recorder.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready')
  }
}
