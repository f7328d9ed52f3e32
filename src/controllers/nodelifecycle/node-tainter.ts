/** Taints nodes: by their conditions, so that no pods come to them, and with NoExecute when they are lost, so that pods leave. */
import type { Client, ResourceClient } from '../../client/client.ts'
import type { Again } from '../../client/work-queue.ts'
import { Node } from '../../kinds/core/node.ts'
import { timestampOf } from '../../lib/time.ts'
import { evictingTaints, evictionRate, evictionTaint, olderLabels, schedulingTaints, zoneOf } from './reconcile.ts'

/** After how long a zone in which evictions are suspended is looked at again. */
const SUSPENDED_MS = 5000

type Taints = NonNullable<Node['spec']['taints']>

export class NodeTainter {
  readonly #client: Client
  readonly #nodes: ResourceClient<Node>
  /** When the next node of a zone may get the taint that evicts pods, in milliseconds, by zone. */
  readonly #nextEviction = new Map<string, number>()

  constructor(client: Client) {
    this.#client = client
    this.#nodes = client.of(Node)
  }

  /** Sets the taints that keep pods away, and labels under their older names. False when nothing had to change. */
  async adjust(node: Node): Promise<boolean> {
    const taints = schedulingTaints(node, timestampOf(this.#client.now))
    const labels = olderLabels(node)
    if (!taints && !labels) return false
    await this.#patch(node, { ...(labels && { labels }), ...(taints && { taints }) })
    return true
  }

  /** Evicts pods from a lost node at the rate of its zone, or takes the taint back. Resolves to the time until it may be the node's turn. */
  async evict(node: Node): Promise<Exclude<Again, 'never'> | undefined> {
    const nowMs = this.#client.now.getTime()
    const zone = zoneOf(node)
    const taint = evictionTaint(node)
    const rate = taint === undefined ? 0 : evictionRate(zone, this.#nodes.list())
    const taints = evictingTaints(node, rate === 'all down' ? undefined : taint, timestampOf(nowMs))
    if (!taints) return undefined
    const isFirst = taint !== undefined && rate !== 'all down' && evictingTaints(node, undefined, '') === undefined
    if (isFirst) {
      if (rate === 0) return { ms: SUSPENDED_MS, isRoutine: true }
      const waitMs = (this.#nextEviction.get(zone) ?? 0) - nowMs
      if (waitMs > 0) return waitMs
      this.#nextEviction.set(zone, nowMs + 1000 / (rate as number))
    }
    await this.#patch(node, { taints })
    return undefined
  }

  /** Only while the node is as it was read: taints are a list, and a merge patch replaces it. */
  async #patch({ metadata }: Node, { labels, taints }: { readonly labels?: object; readonly taints?: Taints }): Promise<void> {
    const { resourceVersion } = metadata
    await this.#nodes.patch(metadata, {
      metadata: { resourceVersion, ...(labels && { labels }) },
      ...(taints && { spec: { taints: taints.length > 0 ? taints : null } }),
    })
  }
}
