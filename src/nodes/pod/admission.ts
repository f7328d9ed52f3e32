/** Decides whether a node admits a pod, and a resize. Amounts are counted as a kubelet counts them. */

import { isDeviceResource } from '../../devices/extended-resources.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { podRequests } from '../../kinds/rules/pod/resources/pod-requests.ts'
import { hostPortsOf, isSamePort } from '../../kinds/rules/pod/scheduling/host-ports.ts'
import { requiredNodes } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { isTolerated, tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import type { PodStatus } from '../../kinds/rules/pod/status/status.ts'
import type { Taint } from '../../kinds/rules/taints.ts'
import { integerValue, milliValue, parseQuantity, type Quantity } from '../../lib/quantity.ts'
import type { ResizePending } from './conditions.ts'
import type { Gate } from './restart-policy.ts'
import { sysctlProblem } from './sysctls.ts'

type Amounts = Readonly<Record<string, string>> | undefined

/** Thousandths of a processor, or whole units of anything else. */
const numberOf = (resource: string, quantity: Quantity): number =>
  Number(resource === 'cpu' ? milliValue(quantity) : integerValue(quantity))

function available(allocatable: Amounts, resource: string): number {
  const text = allocatable?.[resource]
  return text === undefined ? 0 : numberOf(resource, parseQuantity(text))
}

/** Resources of the node that the devices of a pod take. */
type Claimed = PodStatus['nodeAllocatableResourceClaimStatuses']

const requestsOf = (spec: PodSpec, claimed: Claimed): ReadonlyMap<string, number> => {
  const status = claimed ? { nodeAllocatableResourceClaimStatuses: claimed } : {}
  const totals = podRequests({ spec, status }, { withClaims: claimed !== undefined })
  return new Map(Array.from(totals, ([resource, quantity]) => [resource, numberOf(resource, quantity)]))
}

/** The pod with the resources that its containers have, which differ from its spec while a resize is pending. */
function allocatedSpec({ spec, status }: Pod): PodSpec {
  const given = new Map(
    [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].map(each => [each.name, each.resources]),
  )
  const allocated = (container: Container) => ({ ...container, resources: given.get(container.name) ?? container.resources })
  return {
    ...spec,
    ...(spec.containers && { containers: spec.containers.map(allocated) }),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(allocated) }),
  }
}

/** The other pods that the node has admitted. */
type Others = () => readonly Pod[]

type Shortage = { readonly resource: string; readonly requested: number; readonly used: number; readonly capacity: number }

/** The room of a node, and how much of it the devices of a pod take. */
type Room = { readonly allocatable: Amounts; readonly gate: Gate; readonly claimed?: Claimed }

function* shortages(spec: PodSpec, others: Others, { allocatable, gate, claimed }: Room): Iterable<Shortage> {
  const withClaims = gate('DRANodeAllocatableResources')
  let used: ReadonlyMap<string, number>[] | undefined
  for (const [resource, requested] of requestsOf(spec, withClaims ? claimed : undefined)) {
    // Resources that a node does not report are not checked here: devices provide them, or an extender does.
    if (requested === 0 || (isDeviceResource(resource) && !Object.hasOwn(allocatable ?? {}, resource))) continue
    used ??= others().map(other =>
      requestsOf(allocatedSpec(other), withClaims ? other.status.nodeAllocatableResourceClaimStatuses : undefined),
    )
    const sum = used.reduce((total, each) => total + (each.get(resource) ?? 0), 0)
    const capacity = available(allocatable, resource)
    if (sum + requested > capacity) yield { resource, requested, used: sum, capacity }
  }
}

const messageOf = ({ resource, requested, used, capacity }: Shortage) =>
  `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`

export type Rejection = { readonly reason: string; readonly message: string }

type TakingNode = Room & {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[] | undefined
  /** Number of admitted pods. */
  readonly count: number
}

/** Why the node rejects a new pod. A scheduler would not have chosen it, but any client can bind pods. */
export function rejectionOf(spec: PodSpec, others: Others, node: TakingNode): Rejection | undefined {
  const forbidden = sysctlProblem(spec)
  if (forbidden !== undefined) return { reason: 'SysctlForbidden', message: forbidden }
  if (spec.os && spec.os.name !== OS)
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" }
  const { allocatable, count } = node
  const capacity = available(allocatable, 'pods')
  if (count >= capacity) return { reason: 'OutOfpods', message: messageOf({ resource: 'pods', requested: 1, used: count, capacity }) }
  for (const shortage of shortages(spec, others, node)) return { reason: `OutOf${shortage.resource}`, message: messageOf(shortage) }
  if (!(requiredNodes(spec)?.(node) ?? true)) return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")
  if (isAnyPortTaken(spec, others)) return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
  const tolerations = tolerationsInEffect(node.gate)(spec.tolerations)
  if (node.taints?.some(taint => taint.effect === 'NoExecute' && !isTolerated(taint, tolerations)))
    return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate")
  return undefined
}

const OS = 'linux'
const failed = (reason: string, why: string): Rejection => ({ reason, message: `Predicate ${reason} failed: ${why}` })

function isAnyPortTaken(spec: PodSpec, others: Others): boolean {
  const ports = hostPortsOf(spec)
  if (ports.length === 0) return false
  const taken = others().flatMap(other => hostPortsOf(other.spec))
  return ports.some(port => taken.some(other => isSamePort(port, other)))
}

/** Why the node cannot give a pod the resources that it requests now. */
export function resizeProblem(spec: PodSpec, others: Others, room: Room): ResizePending | undefined {
  const found = [...shortages(spec, others, room)]
  const never = found.find(({ requested, capacity }) => requested > capacity)
  if (never) {
    const { resource, requested, capacity } = never
    return {
      reason: 'Infeasible',
      message: `Node didn't have enough capacity: ${resource}, requested: ${requested}, capacity: ${capacity}`,
    }
  }
  return found[0] && { reason: 'Deferred', message: messageOf(found[0]) }
}
