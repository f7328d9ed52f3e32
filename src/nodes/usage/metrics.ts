/** Objects of the metrics API, computed for each request. There are none for nodes that do not work. */
import type { Client } from '../../client/client.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { timestampOf } from '../../lib/time.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { isAlive } from '../node/simulated-node.ts'
import { nodeUsage, podUsage } from './usage.ts'

/** The window of a measurement is short: the script defines usage at any time. */
const WINDOW = '1s'

/** Metrics of one pod or all pods of a namespace; an empty namespace means all of them. */
export function* podMetrics(client: Client, { namespace, name }: { namespace: string; name: string }): Iterable<AnyObject> {
  const now = client.now.getTime()
  const nodes = client.of(Node)
  const alive = new Map<string, boolean>()
  const isMeasured = (node: string) => {
    if (!alive.has(node)) alive.set(node, isAlive(nodes.get({ name: node }) as Node | undefined))
    return alive.get(node)!
  }
  for (const pod of client.of(Pod).list({ namespace, name }) as Iterable<Pod>) {
    const containers = pod.spec.nodeName && isMeasured(pod.spec.nodeName) ? podUsage(pod, now) : undefined
    if (containers) yield { ...measured(pod.metadata, now), containers } as unknown as AnyObject
  }
}

/** Metrics of one node or all nodes. */
export function* nodeMetrics(client: Client, { name }: { name: string }): Iterable<AnyObject> {
  const now = client.now.getTime()
  const byNode = new Map<string, Pod[]>()
  for (const pod of client.of(Pod).list() as Iterable<Pod>) {
    const { nodeName = '' } = pod.spec
    const there = byNode.get(nodeName)
    if (there) there.push(pod)
    else byNode.set(nodeName, [pod])
  }
  for (const node of client.of(Node).list({ name }) as Iterable<Node>)
    if (isAlive(node)) {
      const usage = nodeUsage(byNode.get(node.metadata.name!) ?? [], now)
      yield { ...measured(node.metadata, now), usage } as unknown as AnyObject
    }
}

function measured({ name, namespace, labels }: AnyObject['metadata'], now: number) {
  const timestamp = timestampOf(now)
  const metadata = { name, ...(namespace && { namespace }), creationTimestamp: timestamp, ...(labels && { labels }) }
  return { metadata, timestamp, window: WINDOW }
}
