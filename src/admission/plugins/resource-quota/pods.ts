/** Pods: their number while they run, and their requests and limits. */
import { type Amounts, podLimits, podRequests, type RequestingPod } from '../../../kinds/rules/pod/resources/pod-requests.ts'
import { qosClassOf } from '../../../kinds/rules/pod/resources/qos.ts'
import {
  isExtendedResourceName,
  isHugePageResource,
  isNativeResource,
  isPodLevelResource,
  isQuotaHugePageResource,
} from '../../../kinds/rules/pod/resources/resource-rules.ts'
import type { PodSpec } from '../../../kinds/rules/pod/spec.ts'
import type { Quantity } from '../../../lib/quantity.ts'
import { millisecondsAt } from '../../../lib/time.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import { type Evaluator, meetsRequirement, type ScopeRequirement } from './evaluator.ts'
import { addLists, listOf, ONE, type ResourceList } from './resource-list.ts'

const COUNT = 'count/pods'
/** A quota on one of these wants every container to state it. */
const STATED: ReadonlySet<string> = new Set(['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'])
const NAMES: ReadonlySet<string> = new Set([
  COUNT,
  'pods',
  ...STATED,
  'ephemeral-storage',
  'requests.ephemeral-storage',
  'limits.ephemeral-storage',
])
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage']
const REQUESTS_PREFIX = 'requests.'
/** Devices of a class may be asked for as a resource of this name. */
export const DEVICE_CLASS_PREFIX = 'deviceclass.resource.kubernetes.io/'

export type PodParts = {
  readonly now: () => Date
  /** Whether the resources of a pod as a whole are counted. */
  readonly hasPodLevel: boolean
}

export const pods = (parts: PodParts): Evaluator => ({
  handles({ operation, subresource, object, oldObject }) {
    if (subresource === 'resize') return operation === 'UPDATE'
    if (subresource !== '') return false
    return operation === 'CREATE' || (operation === 'UPDATE' && endsByDeadline(object!) !== endsByDeadline(oldObject!))
  },
  limits: name => NAMES.has(name) || isQuotaHugePageResource(name) || isExtendedResourceInQuota(name),
  inScope,
  unstated: (names, pod) => (parts.hasPodLevel && namesPodLevel(pod) ? undefined : unstatedBy(names, specOf(pod))),
  usage: pod => podUsage(pod, parts),
})

/** Whether a quota names what a pod asks for of resources that others provide. */
export const isExtendedResourceInQuota = (name: string): boolean =>
  name.startsWith(REQUESTS_PREFIX) && (!isNativeResource(name) || name.startsWith(REQUESTS_PREFIX + DEVICE_CLASS_PREFIX))

/** Every pod counts as an object; one that has ended, or whose deletion is overdue, uses nothing else. */
export function podUsage(pod: AnyObject, { now, hasPodLevel }: PodParts): ResourceList {
  const count = new Map([[COUNT, ONE]])
  return isCharged(pod, now())
    ? addLists(count, computeUsage(podRequests(asPod(pod), { podLevel: hasPodLevel }), podLimits(asPod(pod), { podLevel: hasPodLevel })))
    : count
}

function isCharged({ metadata: { deletionTimestamp, deletionGracePeriodSeconds }, status }: AnyObject, now: Date): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return false
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return true
  return now.getTime() <= millisecondsAt(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000
}

/** The names of requests and limits in quotas. */
function computeUsage(requests: ResourceList, limits: ResourceList): ResourceList {
  const usage = new Map<string, Quantity>([['pods', ONE]])
  for (const name of COMPUTE) {
    const [request, limit] = [requests.get(name), limits.get(name)]
    if (request) usage.set(name, request).set(REQUESTS_PREFIX + name, request)
    if (limit) usage.set(`limits.${name}`, limit)
  }
  for (const [name, request] of requests) {
    if (isHugePageResource(name)) usage.set(name, request).set(REQUESTS_PREFIX + name, request)
    if (isExtendedResourceName(name) || name.startsWith(DEVICE_CLASS_PREFIX)) usage.set(REQUESTS_PREFIX + name, request)
  }
  return usage
}

type Resources = { readonly requests?: Amounts; readonly limits?: Amounts }

const specOf = (pod: AnyObject): PodSpec => (pod['spec'] ?? {}) as PodSpec
const asPod = (pod: AnyObject): RequestingPod => ({ spec: specOf(pod), status: pod['status'] ?? {} })
const podLevelOf = (pod: AnyObject): Resources => (pod['spec']?.resources ?? {}) as Resources
const namesPodLevel = (pod: AnyObject): boolean =>
  [...Object.keys(podLevelOf(pod).requests ?? {}), ...Object.keys(podLevelOf(pod).limits ?? {})].some(isPodLevelResource)

function unstatedBy(names: readonly string[], { containers = [], initContainers = [] }: PodSpec): string | undefined {
  const missing = new Map<string, Set<string>>()
  for (const { name, resources } of [...containers, ...initContainers]) {
    const stated = computeUsage(listOf(resources?.requests as Amounts), listOf(resources?.limits as Amounts))
    for (const wanted of names)
      if (STATED.has(wanted) && !stated.has(wanted)) missing.set(wanted, (missing.get(wanted) ?? new Set()).add(name!))
  }
  if (missing.size === 0) return undefined
  const parts = [...missing.keys()].sort().map(name => `${name} for: ${[...missing.get(name)!].sort().join(',')}`)
  return `must specify ${parts.join('; ')}`
}

function inScope(requirement: ScopeRequirement, pod: AnyObject): boolean {
  const { priorityClassName } = specOf(pod)
  switch (requirement.scopeName) {
    case 'Terminating':
      return endsByDeadline(pod)
    case 'NotTerminating':
      return !endsByDeadline(pod)
    case 'BestEffort':
      return isBestEffort(pod)
    case 'NotBestEffort':
      return !isBestEffort(pod)
    case 'PriorityClass':
      return meetsRequirement(requirement, priorityClassName ? [priorityClassName] : [])
    case 'CrossNamespacePodAffinity':
      return reachesOtherNamespaces(pod)
    default:
      return false
  }
}

const endsByDeadline = (pod: AnyObject): boolean => (pod['spec']?.activeDeadlineSeconds ?? -1) >= 0

const isBestEffort = (pod: AnyObject): boolean => (pod['status']?.qosClass || qosClassOf(specOf(pod))) === 'BestEffort'

type AffinityTerm = { readonly namespaces?: readonly string[]; readonly namespaceSelector?: object }
type Affinity = {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[]
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly podAffinityTerm?: AffinityTerm }[]
}

/** Whether a pod wants to be near to, or away from, pods of namespaces that it names. */
function reachesOtherNamespaces(pod: AnyObject): boolean {
  const { podAffinity, podAntiAffinity } = (pod['spec']?.affinity ?? {}) as { podAffinity?: Affinity; podAntiAffinity?: Affinity }
  const terms = [podAffinity, podAntiAffinity].flatMap(affinity => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm ?? {}),
  ])
  return terms.some(({ namespaces, namespaceSelector }) => (namespaces?.length ?? 0) > 0 || namespaceSelector !== undefined)
}
