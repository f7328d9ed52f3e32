/** The aggregate resources of the containers of a pod, and the defaults of pod-level resources. */
import { getOwn, setOwn } from '../../../../lib/json-value.ts'
import { addQuantity, compareQuantity, parseQuantity, type Quantity } from '../../../../lib/quantity.ts'
import { entry, type FieldError, forbidden, invalid, type Ref } from '../../../../schema/refs.ts'
import { under } from '../../error-paths.ts'
import { type Container, isSidecar } from '../containers/container.ts'
import type { PodOptions } from '../options.ts'
import type { PodSpec } from '../spec.ts'
import {
  isHugePageResource,
  isOvercommitAllowed,
  isPodLevelResource,
  validatePodResourceName,
  validateResourceRequirements,
} from './resource-rules.ts'
import type { ResourceRequirements } from './resources.ts'

type Bound = 'requests' | 'limits'
type Totals = Map<string, Quantity>

/**
 * The maximum that the containers request at one time: containers and sidecars run together, and each init container runs beside the
 * sidecars that were started before it.
 */
export function containerTotals(spec: PodSpec, bound: Bound): Totals {
  const running: Totals = new Map()
  for (const container of spec.containers ?? []) add(running, amountsOf(container, bound))
  const sidecars: Totals = new Map()
  const starting: Totals = new Map()
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container, bound)
    if (isSidecar(container)) {
      add(running, own)
      add(sidecars, own)
      raise(starting, sidecars)
    } else {
      const together = new Map(sidecars)
      add(together, own)
      raise(starting, together)
    }
  }
  raise(running, starting)
  return running
}

/** Whether pod-level resources are completed once admission is done. Before, that happened with the other defaults, and for requests alone. */
export const fillsAfterAdmission = (gate: (name: string) => boolean): boolean =>
  gate('PodLevelResources') && gate('PodLevelResourcesFixDefaulting')

/** Completes the requests of the pod, if it has limits, and its limits of huge pages. */
export function fillPodLevelRequests(spec: PodSpec): void {
  const { resources } = spec
  if (!resources || (isEmpty(resources.requests) && isEmpty(resources.limits))) return
  const limits = { ...resources.limits }
  fillHugePages(limits, containerTotals(spec, 'limits'), resources.requests ?? {})
  if (isEmpty(limits)) return
  resources.limits = limits
  const requests = { ...resources.requests }
  fillRequests(requests, limits, spec)
  if (!isEmpty(requests)) resources.requests = requests
}

/**
 * Completes the pod-level resources, if there are any: limits of huge pages and requests from the containers, requests from limits, and
 * limits where every container has one.
 */
export function fillPodLevelResources(spec: PodSpec): void {
  const { resources } = spec
  if (!resources || (isEmpty(resources.requests) && isEmpty(resources.limits))) return
  const requests = { ...resources.requests }
  const limits = { ...resources.limits }
  const limitTotals = containerTotals(spec, 'limits')

  fillHugePages(limits, limitTotals, requests)
  fillRequests(requests, limits, spec)
  for (const [name, amount] of Object.entries(requests)) {
    const total = limitTotals.get(name)
    if (!total || !isPodLevelResource(name) || !everyContainerLimits(spec, name)) continue
    fill(limits, name, compareQuantity(parseQuantity(amount), total) > 0 ? amount : total.text)
  }

  if (!isEmpty(requests)) resources.requests = requests
  if (!isEmpty(limits)) resources.limits = limits
}

type Amounts = Record<string, string>

function fillHugePages(limits: Amounts, totals: Totals, requests: Readonly<Amounts>): void {
  for (const [name, { text }] of totals) if (isHugePageResource(name) && !Object.hasOwn(requests, name)) fill(limits, name, text)
}

function fillRequests(requests: Amounts, limits: Readonly<Amounts>, spec: PodSpec): void {
  for (const [name, { text }] of containerTotals(spec, 'requests'))
    if (isPodLevelResource(name) && isOvercommitAllowed(name)) fill(requests, name, text)
  for (const [name, amount] of Object.entries(limits)) if (isPodLevelResource(name)) fill(requests, name, amount)
}

const isEmpty = (list: object | undefined): boolean => list === undefined || Object.keys(list).length === 0

function fill(list: Record<string, string>, name: string, amount: string): void {
  if (!Object.hasOwn(list, name)) setOwn(list, name, amount)
}

const everyContainerLimits = (spec: PodSpec, name: string): boolean =>
  [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])].every(
    ({ resources }) => getOwn(resources?.limits ?? {}, name) !== undefined,
  )

const amountsOf = ({ resources }: Container, bound: Bound): [name: string, amount: Quantity][] =>
  Object.entries(resources?.[bound] ?? {}).map(([name, amount]) => [name, parseQuantity(amount)])

function add(totals: Totals, amounts: Iterable<[string, Quantity]>): void {
  for (const [name, amount] of amounts) {
    const total = totals.get(name)
    totals.set(name, total ? addQuantity(total, amount) : amount)
  }
}

/** Raises each total to the amount, if that is greater. */
export function raise(totals: Totals, amounts: ReadonlyMap<string, Quantity>): void {
  for (const [name, amount] of amounts) {
    const total = totals.get(name)
    if (!total || compareQuantity(amount, total) > 0) totals.set(name, amount)
  }
}

/** Rules for pod-level resources: they cover the requests of the containers. */
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
  for (const [name, sum] of containerTotals(spec, 'requests')) {
    const amount = asked.get(name)
    if (amount !== undefined && exceeds(sum, amount))
      yield invalid(entry(at.requests, name), `must be greater than or equal to aggregate container requests of ${sum.text}`)
  }
  for (const [name, sum] of containerTotals(spec, 'limits')) {
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
