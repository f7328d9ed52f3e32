/** What a pod asks for altogether: its containers, what it says as a whole, and what running it costs. */
import { addQuantity, parseQuantity, type Quantity } from '../../../../lib/quantity.ts'
import type { Container } from '../containers/container.ts'
import type { PodSpec } from '../spec.ts'
import type { PodStatus } from '../status/status.ts'
import { containerTotals, raise } from './level-resources.ts'
import { isPodLevelResource } from './resource-rules.ts'

export type Amounts = Readonly<Record<string, string>>
export type RequestingPod = { readonly spec: PodSpec; readonly status?: PodStatus }

/**
 * The most of what the spec says and of what the node says that it has given to the pod; what the node has refused to give does
 * not count. `missing` is what a container is taken to ask for where it says nothing.
 */
export function podRequests({ spec, status = {} }: RequestingPod, missing: Amounts = {}): Map<string, Quantity> {
  const isRefused = status.conditions?.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible'
  const requests = isRefused ? new Map<string, Quantity>() : containerTotals(filled(spec, missing), 'requests')
  for (const given of givenTotals(spec, status, { missing, isRefused })) raise(requests, given)
  if (namesPodLevel(spec)) {
    const own = isRefused ? new Map<string, Quantity>() : podLevel(spec.resources?.requests)
    if (status.resources) {
      raise(own, podLevel(status.resources.requests))
      raise(own, podLevel(status.allocatedResources))
    }
    for (const [name, amount] of own) requests.set(name, amount)
  }
  for (const [name, amount] of Object.entries(spec.overhead ?? {})) {
    const present = requests.get(name)
    requests.set(name, present ? addQuantity(present, parseQuantity(amount)) : parseQuantity(amount))
  }
  return requests
}

/** Whether a pod says as a whole what it asks for. */
export const namesPodLevel = ({ resources }: PodSpec): boolean => Object.keys(resources?.requests ?? {}).some(isPodLevelResource)

function podLevel(amounts: Amounts | undefined): Map<string, Quantity> {
  const own = Object.entries(amounts ?? {}).filter(([name]) => isPodLevelResource(name))
  return new Map(own.map(([name, amount]) => [name, parseQuantity(amount)]))
}

type Given = { readonly missing: Amounts; readonly isRefused: boolean }

/** What the node says, if anything: what it has set aside, and what is in effect. */
function givenTotals(spec: PodSpec, status: PodStatus, { missing, isRefused }: Given): Iterable<ReadonlyMap<string, Quantity>> {
  if (status.allocatedResources && status.resources?.requests)
    return [status.allocatedResources, status.resources.requests].map(
      amounts => new Map(Object.entries(amounts).map(([name, amount]) => [name, parseQuantity(amount)])),
    )
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])]
  if (statuses.every(({ allocatedResources, resources }) => !allocatedResources && !resources?.requests) && !isRefused) return []
  const byName = new Map(statuses.map(each => [each.name, each]))
  const totals = (amountsOf: (name: string) => Amounts | undefined) => {
    const given = ({ name, resources }: Container): Amounts => amountsOf(name) ?? (isRefused ? {} : (resources?.requests ?? {}))
    return containerTotals(
      withRequests(spec, container => ({ ...missing, ...given(container) })),
      'requests',
    )
  }
  return [
    totals(name => byName.get(name)?.allocatedResources),
    totals(name => byName.get(name)?.resources?.requests ?? byName.get(name)?.allocatedResources),
  ]
}

const filled = (spec: PodSpec, missing: Amounts): PodSpec =>
  Object.keys(missing).length === 0 ? spec : withRequests(spec, ({ resources }) => ({ ...missing, ...resources?.requests }))

function withRequests(spec: PodSpec, requestsOf: (container: Container) => Amounts): PodSpec {
  const changed = (containers: readonly Container[] | undefined) =>
    containers?.map(container => ({ ...container, resources: { requests: requestsOf(container) } }))
  return { ...spec, containers: changed(spec.containers), initContainers: changed(spec.initContainers) } as PodSpec
}
