/** What a pod asks for as a whole: sums over its containers, its quality of service, and rules on resources of the pod itself. */
import { addQuantity, compareQuantity, parseQuantity, type Quantity, quantityOf, quantitySign } from '../../../lib/quantity.ts'
import { entry, type FieldError, forbidden, invalid, type Ref } from '../../../schema/refs.ts'
import type { Container } from './container.ts'
import { isSidecar } from './container-list-rules.ts'
import { under } from './error-shape-rules.ts'
import type { PodOptions } from './options-rules.ts'
import { isHugePageResource, isPodLevelResource, validatePodResourceName, validateResourceRequirements } from './resource-rules.ts'
import type { ResourceRequirements } from './resources.ts'
import type { PodSpec } from './spec.ts'

/** Rules on the resources of the pod itself: they cover what its containers ask for. */
export function* validatePodResources(
  spec: PodSpec,
  at: Ref<PodSpec>,
  { claims, options }: { readonly claims: ReadonlySet<string>; readonly options: PodOptions },
): Iterable<FieldError> {
  const { resources } = spec
  if (!resources || !options.podLevelResources) return
  if (spec.os?.name === 'windows') return yield forbidden(at.resources, 'may not be set for a windows pod')
  if (resources.claims?.length) yield forbidden(at.resources.claims, 'claims may not be set for Resources at pod-level')
  const { allowIndivisibleHugePages } = options
  yield* validateResourceRequirements(resources, at.resources, { names: validatePodResourceName, claims, allowIndivisibleHugePages })
  yield* validateConsistency(spec, resources, at.resources)
}

function* validateConsistency(
  spec: PodSpec,
  { requests, limits }: ResourceRequirements,
  at: Ref<ResourceRequirements>,
): Iterable<FieldError> {
  const asked = new Map(Object.entries(requests ?? {}))
  const limited = new Map(Object.entries(limits ?? {}))
  for (const [name, sum] of aggregate(spec, 'requests')) {
    const amount = asked.get(name)
    if (amount !== undefined && exceeds(sum, amount))
      yield invalid(entry(at.requests, name), `must be greater than or equal to aggregate container requests of ${sum.text}`)
  }
  for (const [name, sum] of aggregate(spec, 'limits')) {
    const amount = limited.get(name)
    if (amount !== undefined && isHugePageResource(name) && exceeds(sum, amount))
      yield invalid(entry(at.limits, name), `must be greater than or equal to aggregate container limits of ${sum.text}`)
  }
  for (const [i, container] of (spec.containers ?? []).entries())
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const amount = limited.get(name)
      if (amount !== undefined && exceeds(parseQuantity(limit), amount))
        yield invalid(under(at, `containers[${i}][${name}].limits`, limit), `must be less than or equal to pod limits of ${amount}`)
    }
}

const exceeds = (quantity: Quantity, amount: string): boolean => compareQuantity(quantity, parseQuantity(amount)) > 0

type Amounts = Map<string, Quantity>

/** What the containers of a pod use together at most: those that run beside each other add up, those before them take turns. */
export function aggregate(spec: PodSpec, part: 'requests' | 'limits'): Amounts {
  const amountsOf = (container: Container): Amounts =>
    new Map(Object.entries(container.resources?.[part] ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]))
  const total: Amounts = new Map()
  const sidecars: Amounts = new Map()
  const starting: Amounts = new Map()
  for (const container of spec.containers ?? []) add(total, amountsOf(container))
  for (const container of spec.initContainers ?? []) {
    const amounts = amountsOf(container)
    if (isSidecar(container)) {
      add(total, amounts)
      add(sidecars, amounts)
      raise(starting, sidecars)
    } else {
      add(amounts, sidecars)
      raise(starting, amounts)
    }
  }
  raise(total, starting)
  return total
}

function add(to: Amounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const present = to.get(name)
    to.set(name, present ? addQuantity(present, amount) : amount)
  }
}

function raise(to: Amounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const present = to.get(name)
    if (!present || compareQuantity(amount, present) > 0) to.set(name, amount)
  }
}

export type QOSClass = 'BestEffort' | 'Burstable' | 'Guaranteed'

/** How well a pod is treated when a node runs short, from what it asks for. */
export function qosClassOf(spec: PodSpec): QOSClass {
  if (spec.resources && [spec.resources.requests, spec.resources.limits].some(hasPodLevelResource)) return requirementsClass(spec.resources)
  const classes = new Set(
    [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(({ resources }) => requirementsClass(resources ?? {})),
  )
  if (classes.size > 1) return 'Burstable'
  return [...classes][0] ?? 'BestEffort'
}

const hasPodLevelResource = (amounts: Record<string, string> | undefined): boolean => Object.keys(amounts ?? {}).some(isPodLevelResource)

function requirementsClass({ requests = {}, limits = {} }: ResourceRequirements): QOSClass {
  const classes = new Set((['cpu', 'memory'] as const).map(name => resourceClass(requests[name], limits[name])))
  return classes.size > 1 ? 'Burstable' : ([...classes][0] ?? 'BestEffort')
}

function resourceClass(request: string | undefined, limit: string | undefined): QOSClass {
  const [asked, most] = [request, limit].map(amount => (amount === undefined ? quantityOf(0n) : parseQuantity(amount))) as [
    Quantity,
    Quantity,
  ]
  if (compareQuantity(asked, most) !== 0) return 'Burstable'
  return quantitySign(asked) === 0 ? 'BestEffort' : 'Guaranteed'
}
