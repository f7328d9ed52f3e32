/** Whether a node has room for what a pod asks for after a resize. */

import { isSidecar } from '../../kinds/shapes/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/shapes/pod/spec.ts'
import { integerValue, milliValue, parseQuantity } from '../../lib/quantity.ts'
import type { ResizePending } from './conditions.ts'

const RESOURCES = ['cpu', 'memory'] as const
type Resource = (typeof RESOURCES)[number]
type Amounts = Readonly<Record<string, string>> | undefined

/** As a kubelet counts it: thousandths of a processor, or bytes. */
const amountOf = (amounts: Amounts, resource: Resource): number => {
  const text = amounts?.[resource]
  if (text === undefined) return 0
  return Number(resource === 'cpu' ? milliValue(parseQuantity(text)) : integerValue(parseQuantity(text)))
}

/** What a pod requests: its containers and sidecars together, or more while init containers run. */
function requestOf({ resources, initContainers, containers, overhead }: PodSpec, resource: Resource): number {
  const extra = amountOf(overhead, resource)
  const whole = resources?.requests?.[resource]
  if (whole !== undefined) return amountOf(resources?.requests, resource) + extra
  let [sidecars, most] = [0, 0]
  for (const container of initContainers ?? []) {
    const amount = amountOf(container.resources.requests, resource)
    if (isSidecar(container)) sidecars += amount
    most = Math.max(most, isSidecar(container) ? sidecars : sidecars + amount)
  }
  const lasting = (containers ?? []).reduce((sum, each) => sum + amountOf(each.resources.requests, resource), sidecars)
  return Math.max(lasting, most) + extra
}

/** Why the node cannot give a pod what it asks for now; `others` are the pods beside it that have not ended. */
export function resizeProblem(spec: PodSpec, others: readonly PodSpec[], allocatable: Amounts): ResizePending | undefined {
  for (const resource of RESOURCES) {
    const [requested, capacity] = [requestOf(spec, resource), amountOf(allocatable, resource)]
    if (requested > capacity)
      return {
        reason: 'Infeasible',
        message: `Node didn't have enough capacity: ${resource}, requested: ${requested}, capacity: ${capacity}`,
      }
  }
  for (const resource of RESOURCES) {
    const [requested, capacity] = [requestOf(spec, resource), amountOf(allocatable, resource)]
    const used = others.reduce((sum, each) => sum + requestOf(each, resource), 0)
    if (used + requested > capacity)
      return {
        reason: 'Deferred',
        message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
      }
  }
  return undefined
}
