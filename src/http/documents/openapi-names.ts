/** The names of definitions: Kubernetes' packages for its own groups, the reversed domain for all others. */
import type { Catalog } from '../../registry/catalog.ts'
import { ObjectMeta } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import type { AnyType, MessageShape } from '../../schema/types.ts'
import { type GroupVersion, servedGroups } from './discovery-groups.ts'

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const CORE: GroupVersion = { group: '', version: 'v1' }
/** Not a served group: the package of the messages that all groups use. */
export const APIMACHINERY: GroupVersion = { group: 'apimachinery', version: 'v1' }

/** Messages of apimachinery that kinds use; generated clients use that package. */
const META_MESSAGES: ReadonlySet<string> = new Set([
  'Condition',
  'DeleteOptions',
  'FieldSelectorRequirement',
  'GroupResource',
  'GroupVersionKind',
  'LabelSelector',
  'LabelSelectorRequirement',
  'ListMeta',
  'Preconditions',
  'ShardInfo',
])

/** Messages that are in the core group of Kubernetes although some are only used by other groups. */
const CORE_MESSAGES: ReadonlySet<string> = new Set([
  'EventSource',
  'NodeSelector',
  'ObjectReference',
  'PersistentVolumeClaim',
  'PersistentVolumeSpec',
  'PodTemplateSpec',
  'Toleration',
  'TopologySelectorLabelRequirement',
  'TopologySelectorTerm',
  'TypedLocalObjectReference',
])

/** Messages of a group version that may not be served, which others use. */
const SCHEDULING_MESSAGES: ReadonlySet<string> = new Set([
  'TopologyConstraint',
  'WorkloadPodGroupAllDisruptionMode',
  'WorkloadPodGroupBasicSchedulingPolicy',
  'WorkloadPodGroupDisruptionMode',
  'WorkloadPodGroupGangSchedulingPolicy',
  'WorkloadPodGroupResourceClaim',
  'WorkloadPodGroupSchedulingConstraints',
  'WorkloadPodGroupSchedulingPolicy',
  'WorkloadPodGroupSingleDisruptionMode',
])

/** Groups of Kubernetes whose package is not their first label. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['', 'io.k8s.api.core'],
  ['apimachinery', 'io.k8s.apimachinery.pkg.apis.meta'],
  ['apiextensions.k8s.io', 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions'],
  ['apiregistration.k8s.io', 'io.k8s.kube-aggregator.pkg.apis.apiregistration'],
  ['flowcontrol.apiserver.k8s.io', 'io.k8s.api.flowcontrol'],
  ['internal.apiserver.k8s.io', 'io.k8s.api.apiserverinternal'],
  ['rbac.authorization.k8s.io', 'io.k8s.api.rbac'],
])

/** The package of a group version: `io.k8s.api.networking.v1`, `com.example.stable.v1`. */
export function packageOf({ group, version }: GroupVersion): string {
  const known = PACKAGES.get(group)
  if (known) return `${known}.${version}`
  const labels = group.split('.')
  if (labels.length === 1 || (labels.length === 3 && group.endsWith('.k8s.io'))) return `io.k8s.api.${labels[0]}.${version}`
  return [...labels.reverse(), version].join('.')
}

/** The name of an object's definition. */
export function definitionName({ group, version, def }: Resource, kind: string): string {
  const prefix = def.custom ? [...group.split('.').reverse(), version].join('.') : packageOf({ group, version })
  return `${prefix}.${kind}`
}

/** A group as part of an operationId or tag: `Core`, `RbacAuthorization`, `StableExampleCom`. */
export function groupInWords(group: string): string {
  if (group === '') return 'Core'
  return group
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .map(capitalize)
    .join('')
}

export const capitalize = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1)

/** Properties of all messages of a catalog. */
export type Naming = {
  /** The full name of a message used in a group version. */
  readonly nameOf: (shape: MessageShape, usedIn: GroupVersion) => string
  /** Whether apply treats the message as atomic by default. */
  readonly isAtomic: (shape: MessageShape) => boolean
}

/**
 * Assigns each message of the catalog to a package: the only group that uses it, in the current version; a message of several groups to the
 * core group, or else to the first served one.
 */
export function namingOf(catalog: Catalog): Naming {
  const users = new Map<MessageShape, Map<string, string>>()
  const loose = new Set<MessageShape>()
  for (const resource of catalog) {
    const { group, version } = resource
    // Custom kinds have no messages by name.
    if (resource.def.custom) continue
    eachMessage(resource.type, (shape, { flags }) => {
      const groups = users.get(shape) ?? new Map<string, string>()
      users.set(shape, groups)
      if (!groups.has(group)) groups.set(group, version)
      if (!flags.atomic && !flags.granular) loose.add(shape)
    })
  }
  const metadata = new Set<MessageShape>()
  eachMessage(ObjectMeta, shape => metadata.add(shape))
  const order = ['', ...servedGroups(catalog).map(({ group }) => group)]

  const nameOf: Naming['nameOf'] = (shape, usedIn) => {
    if (metadata.has(shape) || META_MESSAGES.has(shape.name)) return `${META}.${shape.name}`
    // The scheduling group has messages of these names itself.
    if (!usedIn.group.startsWith('scheduling.')) {
      if (CORE_MESSAGES.has(shape.name)) return `${packageOf(CORE)}.${shape.name}`
      if (SCHEDULING_MESSAGES.has(shape.name)) return `io.k8s.api.scheduling.v1alpha3.${shape.name}`
    }
    const groups = users.get(shape)
    const owner = groups && groups.size > 1 ? order.find(group => groups.has(group)) : undefined
    const declaring = owner === undefined || owner === usedIn.group ? usedIn : { group: owner, version: groups!.get(owner)! }
    return `${packageOf(declaring)}.${shape.name}`
  }
  return { nameOf, isAtomic: shape => users.has(shape) && !loose.has(shape) }
}

/** Visits every use of a message below a type, the outermost first; the content of a message is visited once. */
function eachMessage(type: AnyType, visit: (shape: MessageShape, use: AnyType) => void): void {
  const seen = new Set<MessageShape>()
  const open: AnyType[] = [type]
  for (let next = open.pop(); next; next = open.pop()) {
    const { shape } = next
    if (shape.kind === 'list') open.push(shape.item)
    else if (shape.kind === 'map') open.push(shape.value)
    else if (shape.kind === 'either')
      for (const alternative of [shape.object, shape.list]) open.push(...(alternative ? [alternative[1]] : []))
    else if (shape.kind === 'message') {
      visit(shape, next)
      if (seen.has(shape)) continue
      seen.add(shape)
      for (const [, field] of Object.values(shape.fields)) open.push(field)
    }
  }
}
