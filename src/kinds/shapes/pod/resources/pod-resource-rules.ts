/** Rules on what a pod asks for as a whole. */
import { compareQuantity, parseQuantity, type Quantity } from '../../../../lib/quantity.ts'
import { entry, type FieldError, forbidden, invalid, type Ref } from '../../../../schema/refs.ts'
import { under } from '../../error-values.ts'
import type { PodOptions } from '../options.ts'
import type { PodSpec } from '../spec.ts'
import { containerTotals } from './level-resources.ts'
import { isHugePageResource, validatePodResourceName, validateResourceRequirements } from './resource-rules.ts'
import type { ResourceRequirements } from './resources.ts'

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
