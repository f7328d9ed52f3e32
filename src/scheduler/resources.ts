/** Amounts of resources as numbers: thousandths of a CPU, bytes, and pieces of everything else. */
import { namesPodLevel, podRequests, type RequestingPod } from '../kinds/rules/pod/resources/pod-requests.ts'
import { isExtendedResourceName, isHugePageResource, isNativeResource } from '../kinds/rules/pod/resources/resource-rules.ts'
import { integerValue, milliValue, parseQuantity, type Quantity } from '../lib/quantity.ts'

export type Resources = {
  readonly cpu: number
  readonly memory: number
  readonly ephemeralStorage: number
  /** Extended resources, huge pages and the like, by name. */
  readonly scalars: ReadonlyMap<string, number>
}

/** The requests of a pod, and its assumed requests for scoring, in which containers without requests count. */
export type PodRequests = {
  readonly requests: Resources
  /** CPU and memory, with an amount also for containers that name none. */
  readonly nonZero: { readonly cpu: number; readonly memory: number }
}

/** A container that says nothing still uses something: without this, all such pods would be put on the same node. */
const UNSTATED = { cpu: '100m', memory: '200Mi' } as const

/** `withClaims`: together with the resources of the node that the devices of its claims take. */
export function requestsOf(pod: RequestingPod, { withClaims = false } = {}): PodRequests {
  const quantities = podRequests(pod, { withClaims })
  const requests = resourcesIn(quantities)
  const isStated = (name: 'cpu' | 'memory') => namesPodLevel(pod.spec) && quantities.has(name)
  const missing = {
    ...(!isStated('cpu') && { cpu: UNSTATED.cpu }),
    ...(!isStated('memory') && { memory: UNSTATED.memory }),
  }
  const { cpu, memory } = Object.keys(missing).length === 0 ? requests : resourcesIn(podRequests(pod, { missing, withClaims }))
  return { requests, nonZero: { cpu, memory } }
}

/** The allocatable resources of a node. */
export function allocatableOf(amounts: Readonly<Record<string, string>> = {}): Resources & { readonly pods: number } {
  const quantities = new Map(Object.entries(amounts).map(([name, amount]) => [name, parseQuantity(amount)]))
  return { ...resourcesIn(quantities), pods: numberOf(quantities.get('pods')) }
}

function resourcesIn(quantities: ReadonlyMap<string, Quantity>): Resources {
  let scalars: Map<string, number> | undefined
  for (const [name, quantity] of quantities) if (isScalar(name)) (scalars ??= new Map()).set(name, numberOf(quantity))
  const cpu = quantities.get('cpu')
  return {
    cpu: cpu ? Number(milliValue(cpu)) : 0,
    memory: numberOf(quantities.get('memory')),
    ephemeralStorage: numberOf(quantities.get('ephemeral-storage')),
    scalars: scalars ?? NO_SCALARS,
  }
}

const NO_SCALARS: ReadonlyMap<string, number> = new Map()
const numberOf = (quantity: Quantity | undefined): number => (quantity ? Number(integerValue(quantity)) : 0)

/** Whether a resource is counted in pieces, beside CPU, memory and storage. */
const isScalar = (name: string): boolean =>
  isExtendedResourceName(name) ||
  isHugePageResource(name) ||
  name.startsWith('attachable-volumes-') ||
  (name.includes('/') && isNativeResource(name))
