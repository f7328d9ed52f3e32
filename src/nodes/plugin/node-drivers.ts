/** The objects that tell about the CSI drivers of a node, as a kubelet writes them: its CSINode, its labels and an annotation. */
import type { Node } from '../../kinds/core/node.ts'
import type { CSINode } from '../../kinds/storage/csinode.ts'
import { isObject } from '../../lib/json-value.ts'
import type { DriverNode } from './plugin-calls.ts'

export type NodeDriver = DriverNode & { readonly name: string }
type Drivers = NonNullable<CSINode['spec']['drivers']>

export const NODE_ID_ANNOTATION = 'csi.volume.kubernetes.io/nodeid'
const MAX_INT32 = 2 ** 31 - 1

/** The CSINode of a node. */
export const csiNodeOf = (node: { readonly name?: string; readonly uid?: string }, drivers: readonly object[]) => ({
  metadata: { name: node.name ?? '', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name ?? '', uid: node.uid ?? '' }] },
  spec: { drivers: [...drivers] as Drivers },
})

/** The drivers of a CSINode with those of plugins, and without those whose plugins are gone. */
export function withDrivers(drivers: Drivers, installed: readonly NodeDriver[], gone: ReadonlySet<string>): Drivers {
  const byName = new Map(drivers.filter(({ name }) => !gone.has(name)).map(driver => [driver.name, driver]))
  for (const driver of installed) {
    const next = driverOf(driver)
    const before = byName.get(driver.name)
    if (!before || !isSame(before, next)) byName.set(driver.name, next)
  }
  return [...byName.values()]
}

const isSame = (a: Drivers[number], b: Drivers[number]): boolean =>
  a.nodeID === b.nodeID &&
  [...(a.topologyKeys ?? [])].sort().join() === [...(b.topologyKeys ?? [])].sort().join() &&
  a.allocatable?.count === b.allocatable?.count

const driverOf = ({ name, nodeID, maxVolumes, topology }: NodeDriver): Drivers[number] =>
  ({
    name,
    nodeID,
    topologyKeys: Object.keys(topology).sort(),
    ...(maxVolumes > 0 && { allocatable: { count: Math.min(maxVolumes, MAX_INT32) } }),
  }) as Drivers[number]

export type NodePatch = { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string | null> }

/** The change of a node's metadata; undefined when there is none. Throws when the topology of a driver contradicts a label. */
export function nodePatch({ metadata }: Node, installed: readonly NodeDriver[], gone: ReadonlySet<string>): NodePatch | undefined {
  const labels: Record<string, string> = {}
  for (const { topology } of installed)
    for (const [key, value] of Object.entries(topology)) {
      const current = metadata.labels?.[key] ?? labels[key]
      if (current !== undefined && current !== value)
        throw new Error(
          `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${current}"`,
        )
      if (metadata.labels?.[key] === undefined) labels[key] = value
    }
  const before = metadata.annotations?.[NODE_ID_ANNOTATION]
  const ids = idsIn(before)
  for (const name of gone) ids.delete(name)
  for (const { name, nodeID } of installed) ids.set(name, nodeID)
  const after = ids.size === 0 ? null : JSON.stringify(Object.fromEntries([...ids].sort(([a], [b]) => (a < b ? -1 : 1))))
  const annotations = sameIds(before, ids) ? undefined : { [NODE_ID_ANNOTATION]: after }
  const hasLabels = Object.keys(labels).length > 0
  return hasLabels || annotations ? { ...(hasLabels && { labels }), ...(annotations && { annotations }) } : undefined
}

function idsIn(text: string | undefined): Map<string, string> {
  if (!text) return new Map()
  try {
    const read: unknown = JSON.parse(text)
    return new Map(isObject(read) ? Object.entries(read).map(([name, id]) => [name, String(id)]) : [])
  } catch (error) {
    throw new Error(`failed to parse node's "${NODE_ID_ANNOTATION}" annotation value ("${text}") err=${(error as Error).message}`)
  }
}

const sameIds = (text: string | undefined, ids: ReadonlyMap<string, string>): boolean => {
  const before = idsIn(text)
  return before.size === ids.size && [...ids].every(([name, id]) => before.get(name) === id)
}
