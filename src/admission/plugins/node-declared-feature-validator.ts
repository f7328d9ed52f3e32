/** NodeDeclaredFeatureValidator: what pods and devices ask of a node, the node must say it can do. */

import type { Device, ResourceSliceSpec } from '../../kinds/resource/slice-shapes.ts'
import { type Container, isSidecar } from '../../kinds/rules/pod/containers/container.ts'
import { nodesSelectedBy } from '../../kinds/rules/pod/scheduling/node-match.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { goQuote } from '../../lib/go-text.ts'
import { deepEqual, getOwn } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'
import { forbidden } from '../refusal.ts'

export const nodeDeclaredFeatureValidator = (reader: Reader): Plugin => ({
  name: 'NodeDeclaredFeatureValidator',
  plurals: ['pods', 'resourceslices'],
  validate(attributes) {
    const { group, plural } = attributes.resource
    if (group === '' && plural === 'pods') validatePod(attributes, reader)
    if (plural === 'resourceslices' && group === `resource.${attributes.ctx.groupDomain}`) validateSlice(attributes, reader)
  },
})

function validatePod(attributes: Attributes, reader: Reader): void {
  const { operation, subresource, object: pod, oldObject: old } = attributes
  if (operation !== 'UPDATE') return
  if ((subresource !== '' && subresource !== 'resize') || pod?.metadata.generation === old?.metadata.generation) return
  const [now, before] = [(pod?.['spec'] ?? {}) as PodSpec, (old?.['spec'] ?? {}) as PodSpec]
  if (!now.nodeName) return
  const needed = FEATURES.filter(([, isNeeded]) => isNeeded(now, before)).map(([name]) => name)
  if (needed.length === 0) return
  const node = reader.get(NODES, now.nodeName)
  if (!node) throw forbidden(attributes, `node ${goQuote(now.nodeName)} not found`)
  const missing = needed.filter(name => !declaredBy(node).includes(name))
  if (missing.length > 0)
    throw forbidden(
      attributes,
      `pod update requires features ${missing.join(', ')} which are not available on node ${goQuote(now.nodeName)}`,
    )
}

/** Devices that count as resources of their nodes are offered only by nodes that know how to count so. */
function validateSlice(attributes: Attributes, reader: Reader): void {
  const { operation, object, ctx } = attributes
  if ((operation !== 'CREATE' && operation !== 'UPDATE') || !ctx.gate(NODE_RESOURCES)) return
  const spec = (object?.['spec'] ?? {}) as ResourceSliceSpec
  for (const device of spec.devices ?? []) {
    if (Object.keys(device.nodeAllocatableResources ?? {}).length === 0) continue
    for (const node of nodesOf(device, { attributes, reader, from: spec.perDeviceNodeSelection ? device : spec }))
      if (!declaredBy(node).includes(NODE_RESOURCES))
        throw forbidden(attributes, `node ${goQuote(node.metadata.name!)} does not support ${NODE_RESOURCES} feature`)
  }
}

const NODE_RESOURCES = 'DRANodeAllocatableResources'

type Selection = Pick<Device, 'nodeName' | 'nodeSelector' | 'allNodes'>

function nodesOf(
  { name }: Device,
  { attributes, reader, from }: { readonly attributes: Attributes; readonly reader: Reader; readonly from: Selection },
): readonly AnyObject[] {
  const { nodeName, nodeSelector, allNodes } = from
  if (nodeName) {
    const node = reader.get(NODES, nodeName)
    if (!node) throw forbidden(attributes, `node ${goQuote(nodeName)} not found for device ${goQuote(name)}`)
    return [node]
  }
  if (nodeSelector) {
    const isSelected = nodesSelectedBy(nodeSelector)
    return reader.list(NODES).filter(({ metadata }) => isSelected({ name: metadata.name!, labels: metadata.labels ?? {} }))
  }
  if (allNodes) return reader.list(NODES)
  throw forbidden(attributes, `device ${goQuote(name)} in ResourceSlice has NodeAllocatableResources but does not map to any nodes`)
}

const declaredBy = (node: AnyObject): readonly string[] => node['status']?.declaredFeatures ?? []

const NODES = { group: '', version: 'v1', plural: 'nodes' }

type IsNeeded = (now: PodSpec, before: PodSpec) => boolean

/** Features that nodes declare and changes of pods need, by name. */
const FEATURES: readonly (readonly [name: string, isNeeded: IsNeeded])[] = [
  ['InPlacePodLevelResourcesVerticalScaling', (now, before) => !isSameResources(now.resources, before.resources)],
  [
    'InPlacePodVerticalScalingInitContainers',
    (now, before) =>
      (before.initContainers ?? []).some(
        (container, i) => !isSidecar(container) && !deepEqual(resourcesOf(container), resourcesOf(now.initContainers?.[i])),
      ),
  ],
  ['InPlacePodVerticalScalingMemoryBackedVolumes', resizesMemoryVolume],
]

const resourcesOf = (container: Container | undefined) => container?.resources ?? {}

type Amounts = Readonly<Record<string, string>>
type Resources = { readonly requests?: Amounts; readonly limits?: Amounts; readonly claims?: readonly unknown[] }

/** Whether two pods ask for the same as a whole, however amounts are written. */
function isSameResources(a: Resources | undefined, b: Resources | undefined): boolean {
  if (!a || !b) return a === b
  const isSame = (one: Amounts = {}, other: Amounts = {}) =>
    Object.keys(one).length === Object.keys(other).length &&
    Object.entries(one).every(([name, amount]) => {
      const compared = getOwn(other, name)
      return compared !== undefined && compareQuantity(parseQuantity(amount), parseQuantity(compared)) === 0
    })
  return isSame(a.requests, b.requests) && isSame(a.limits, b.limits) && deepEqual(a.claims ?? [], b.claims ?? [])
}

function resizesMemoryVolume({ volumes = [] }: PodSpec, { volumes: before = [] }: PodSpec): boolean {
  if (volumes.length !== before.length) return false
  return volumes.some(({ name, emptyDir }, i) => {
    const [limit, former] = [emptyDir?.sizeLimit, before[i]!.emptyDir?.sizeLimit]
    if (name !== before[i]!.name || emptyDir?.medium !== 'Memory' || limit === undefined || former === undefined) return false
    return compareQuantity(parseQuantity(limit), parseQuantity(former)) !== 0
  })
}
