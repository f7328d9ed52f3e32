/** NodeDeclaredFeatureValidator: a pod that runs is changed only in ways that its node says it can follow. */
import { type Container, isSidecar } from '../kinds/shapes/pod/containers/container.ts'
import type { PodSpec } from '../kinds/shapes/pod/spec.ts'
import { goQuote } from '../lib/go-text.ts'
import { deepEqual, getOwn } from '../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../lib/quantity.ts'
import type { Plugin } from './plugin.ts'
import type { Reader } from './reader.ts'
import { forbidden } from './refusal.ts'

export const nodeDeclaredFeatureValidator = (reader: Reader): Plugin => ({
  name: 'NodeDeclaredFeatureValidator',
  validate(attributes) {
    const { operation, resource, subresource, object: pod, oldObject: old } = attributes
    if (operation !== 'UPDATE' || resource.group !== '' || resource.plural !== 'pods') return
    if ((subresource !== '' && subresource !== 'resize') || pod?.metadata.generation === old?.metadata.generation) return
    const [now, before] = [(pod?.['spec'] ?? {}) as PodSpec, (old?.['spec'] ?? {}) as PodSpec]
    if (!now.nodeName) return
    const needed = FEATURES.filter(([, isNeeded]) => isNeeded(now, before)).map(([name]) => name)
    if (needed.length === 0) return
    const node = reader.get(NODES, now.nodeName)
    if (!node) throw forbidden(attributes, `node ${goQuote(now.nodeName)} not found`)
    const declared: readonly string[] = node['status']?.declaredFeatures ?? []
    const missing = needed.filter(name => !declared.includes(name))
    if (missing.length > 0)
      throw forbidden(
        attributes,
        `pod update requires features ${missing.join(', ')} which are not available on node ${goQuote(now.nodeName)}`,
      )
  },
})

const NODES = { group: '', version: 'v1', plural: 'nodes' }

type IsNeeded = (now: PodSpec, before: PodSpec) => boolean

/** What nodes declare and changes of pods need, by name. */
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
  return isSame(a.requests, b.requests) && isSame(a.limits, b.limits) && deepEqual((a.claims ?? []) as never, (b.claims ?? []) as never)
}

function resizesMemoryVolume({ volumes = [] }: PodSpec, { volumes: before = [] }: PodSpec): boolean {
  if (volumes.length !== before.length) return false
  return volumes.some(({ name, emptyDir }, i) => {
    const [limit, former] = [emptyDir?.sizeLimit, before[i]!.emptyDir?.sizeLimit]
    if (name !== before[i]!.name || emptyDir?.medium !== 'Memory' || limit === undefined || former === undefined) return false
    return compareQuantity(parseQuantity(limit), parseQuantity(former)) !== 0
  })
}
