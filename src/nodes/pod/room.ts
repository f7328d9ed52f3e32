/** Whether a node has room for a pod: when it comes, and when it asks for more. Amounts are counted as a kubelet counts them. */
import { isSidecar } from '../../kinds/shapes/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/shapes/pod/spec.ts'
import { integerValue, milliValue, parseQuantity } from '../../lib/quantity.ts'
import type { ResizePending } from './conditions.ts'

type Amounts = Readonly<Record<string, string>> | undefined

/** Thousandths of a processor, or whole units of anything else. */
function amountOf(amounts: Amounts, resource: string): number {
  const text = amounts?.[resource]
  if (text === undefined) return 0
  return Number(resource === 'cpu' ? milliValue(parseQuantity(text)) : integerValue(parseQuantity(text)))
}

/** What a pod requests: its containers and sidecars together, or more while init containers run. */
function requestOf({ resources, initContainers, containers, overhead }: PodSpec, resource: string): number {
  const extra = amountOf(overhead, resource)
  if (resources?.requests?.[resource] !== undefined) return amountOf(resources.requests, resource) + extra
  let [sidecars, most] = [0, 0]
  for (const container of initContainers ?? []) {
    const amount = amountOf(container.resources.requests, resource)
    if (isSidecar(container)) sidecars += amount
    most = Math.max(most, isSidecar(container) ? sidecars : sidecars + amount)
  }
  const lasting = (containers ?? []).reduce((sum, each) => sum + amountOf(each.resources.requests, resource), sidecars)
  return Math.max(lasting, most) + extra
}

/** The resources that a pod names in its requests. */
function requestedBy({ resources, initContainers, containers, overhead }: PodSpec): Set<string> {
  const lists = [resources?.requests, overhead, ...[...(initContainers ?? []), ...(containers ?? [])].map(each => each.resources.requests)]
  return new Set(lists.flatMap(list => Object.keys(list ?? {})))
}

/** The pods that the node has taken on beside the one in question. */
type Others = () => readonly PodSpec[]

function shortage(
  spec: PodSpec,
  others: Others,
  { resource, allocatable }: { resource: string; allocatable: Amounts },
): string | undefined {
  const [requested, capacity] = [requestOf(spec, resource), amountOf(allocatable, resource)]
  if (requested === 0) return undefined
  const used = requested > capacity ? 0 : others().reduce((sum, each) => sum + requestOf(each, resource), 0)
  return used + requested > capacity ? insufficient({ resource, requested, used, capacity }) : undefined
}

type Insufficient = { readonly resource: string; readonly requested: number; readonly used: number; readonly capacity: number }
const insufficient = ({ resource, requested, used, capacity }: Insufficient) =>
  `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`

export type Rejection = { readonly reason: string; readonly message: string }

/** Why the node does not take a new pod. A scheduler would not have sent it, but pods can be bound by anybody. */
export function rejectionOf(
  spec: PodSpec,
  others: Others,
  { allocatable, count }: { allocatable: Amounts; count: number },
): Rejection | undefined {
  const capacity = amountOf(allocatable, 'pods')
  if (count >= capacity) return { reason: 'OutOfpods', message: insufficient({ resource: 'pods', requested: 1, used: count, capacity }) }
  for (const resource of requestedBy(spec)) {
    const message = shortage(spec, others, { resource, allocatable })
    if (message) return { reason: `OutOf${resource}`, message }
  }
  return undefined
}

/** Why the node cannot give a pod what it asks for now. */
export function resizeProblem(spec: PodSpec, others: Others, allocatable: Amounts): ResizePending | undefined {
  for (const resource of ['cpu', 'memory']) {
    const [requested, capacity] = [requestOf(spec, resource), amountOf(allocatable, resource)]
    if (requested > capacity)
      return {
        reason: 'Infeasible',
        message: `Node didn't have enough capacity: ${resource}, requested: ${requested}, capacity: ${capacity}`,
      }
  }
  for (const resource of ['cpu', 'memory']) {
    const message = shortage(spec, others, { resource, allocatable })
    if (message) return { reason: 'Deferred', message }
  }
  return undefined
}
