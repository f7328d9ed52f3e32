/** The total requests or limits of a pod: containers, pod-level resources and overhead. */
import { addQuantity, parseQuantity, type Quantity, quantitySign } from '../../../../lib/quantity.ts'
import { conditionOf } from '../../../../schema/conditions.ts'
import type { Container } from '../containers/container.ts'
import type { PodSpec } from '../spec.ts'
import type { PodStatus } from '../status/status.ts'
import { takenTogether } from './claim-coverage-rules.ts'
import { containerTotals, raise } from './level-resources.ts'
import { isPodLevelResource } from './resource-rules.ts'

export type Amounts = Readonly<Record<string, string>>
type Totals = Map<string, Quantity>
type Bound = 'requests' | 'limits'
type ContainerStatus = NonNullable<PodStatus['containerStatuses']>[number]

export type RequestingPod = { readonly spec: PodSpec; readonly status?: PodStatus }

export type TotalOptions = {
  /** The amounts of containers that set none. */
  readonly missing?: Amounts
  /** Whether pod-level resources count. */
  readonly podLevel?: boolean
  /** Whether resources of the node that the devices of its claims take count as well. */
  readonly withClaims?: boolean
}

/** The maximum of the spec and of the resources that the node has allocated to the pod; an infeasible resize does not count. */
export function podRequests(pod: RequestingPod, options: TotalOptions = {}): Totals {
  const requests = totalsOf(pod, 'requests', options)
  for (const [name, amount] of quantitiesIn(pod.spec.overhead)) add(requests, name, amount)
  return requests
}

/** As podRequests for limits; overhead counts only where there is a limit. */
export function podLimits(pod: RequestingPod, options: TotalOptions = {}): Totals {
  const limits = totalsOf(pod, 'limits', options)
  for (const [name, amount] of quantitiesIn(pod.spec.overhead))
    if (limits.has(name) && quantitySign(limits.get(name)!) !== 0) add(limits, name, amount)
  return limits
}

/** Whether a pod has pod-level requests. */
export const namesPodLevel = ({ resources }: PodSpec): boolean => Object.keys(resources?.requests ?? {}).some(isPodLevelResource)

function totalsOf(
  { spec, status = {} }: RequestingPod,
  bound: Bound,
  { missing = {}, podLevel = true, withClaims = false }: TotalOptions,
): Totals {
  const isRefused = conditionOf(status.conditions, 'PodResizePending')?.reason === 'Infeasible'
  const totals: Totals = isRefused ? new Map() : containerTotals(saying(spec, bound, missing), bound)
  const claimed = withClaims && bound === 'requests' ? takenTogether(status.nodeAllocatableResourceClaimStatuses ?? []) : NOTHING
  if (!isRefused) for (const [name, amount] of claimed) add(totals, name, amount)
  for (const given of givenTotals(spec, status, { bound, missing, isRefused, claimed })) raise(totals, given)
  if (!podLevel) return totals
  const own = ofPodLevel(isRefused && status.resources ? undefined : spec.resources?.[bound])
  if (Object.keys(spec.resources?.[bound] ?? {}).some(isPodLevelResource) && status.resources) {
    raise(own, ofPodLevel(status.resources[bound]))
    if (bound === 'requests') raise(own, ofPodLevel(status.allocatedResources))
  }
  for (const [name, amount] of own) totals.set(name, amount)
  return totals
}

const NOTHING: ReadonlyMap<string, Quantity> = new Map()

type ContainerInputs = {
  readonly bound: Bound
  readonly missing: Amounts
  readonly isRefused: boolean
  /** The amounts of claims, which the status of the pod includes and that of its containers does not. */
  readonly claimed: ReadonlyMap<string, Quantity>
}

/** The resources of a container in its status, the weakest first: allocated, and actual. */
const WAYS: Readonly<Record<Bound, readonly ((status: ContainerStatus | undefined) => Amounts | undefined)[]>> = {
  requests: [status => status?.allocatedResources, status => status?.resources?.requests ?? status?.allocatedResources],
  limits: [status => status?.resources?.limits],
}

/** The resources in the status, if any: of the pod, or of its containers. */
function givenTotals(
  spec: PodSpec,
  status: PodStatus,
  { bound, missing, isRefused, claimed }: ContainerInputs,
): Iterable<ReadonlyMap<string, Quantity>> {
  const whole = bound === 'requests' ? [status.allocatedResources, status.resources?.requests] : [status.resources?.limits]
  if (whole.every(amounts => amounts !== undefined)) return whole.map(quantitiesIn)
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])]
  const isSilent = statuses.every(each => WAYS[bound].every(amountsOf => amountsOf(each) === undefined))
  if (isSilent && !isRefused) return []
  const byName = new Map(statuses.map(each => [each.name, each]))
  return WAYS[bound].map((amountsOf, i) => {
    const given = ({ name, resources }: Container): Amounts => amountsOf(byName.get(name)) ?? (isRefused ? {} : (resources?.[bound] ?? {}))
    const totals = containerTotals(
      withAmounts(spec, bound, container => ({ ...missing, ...given(container) })),
      bound,
    )
    if (i === 0) for (const [name, amount] of claimed) add(totals, name, amount)
    return totals
  })
}

const saying = (spec: PodSpec, bound: Bound, missing: Amounts): PodSpec =>
  Object.keys(missing).length === 0 ? spec : withAmounts(spec, bound, ({ resources }) => ({ ...missing, ...resources?.[bound] }))

function withAmounts(spec: PodSpec, bound: Bound, amountsOf: (container: Container) => Amounts): PodSpec {
  const changed = (containers: readonly Container[] | undefined) =>
    containers?.map(container => ({ ...container, resources: { [bound]: amountsOf(container) } }))
  return { ...spec, containers: changed(spec.containers), initContainers: changed(spec.initContainers) } as PodSpec
}

const quantitiesIn = (amounts: Amounts | undefined): Totals =>
  new Map(Object.entries(amounts ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]))

const ofPodLevel = (amounts: Amounts | undefined): Totals =>
  new Map([...quantitiesIn(amounts)].filter(([name]) => isPodLevelResource(name)))

function add(totals: Totals, name: string, amount: Quantity): void {
  const present = totals.get(name)
  totals.set(name, present ? addQuantity(present, amount) : amount)
}
