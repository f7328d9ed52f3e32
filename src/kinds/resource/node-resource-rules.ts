/** Rules on how devices count as resources of their node. */
import { parseQuantity, quantitySign } from '../../lib/quantity.ts'
import { entry, type FieldError, invalid, notFoundValue, type Ref, required, withValue } from '../../schema/refs.ts'
import { isNodeAllocatableResource } from '../shapes/pod/resources/resource-rules.ts'
import { type Finding, late } from './findings.ts'
import type { Device, NodeAllocatableMapping, NodeAllocatableOverhead, NodeAllocatableResource } from './slice-shapes.ts'

/** Rules on all resources that a device counts as or takes from. */
export function* validateNodeResources({ nodeAllocatableResources = {}, capacity = {} }: Device, at: Ref<Device>): Iterable<Finding> {
  for (const [name, { mapping, overhead }] of Object.entries(nodeAllocatableResources)) {
    const here = entry<NodeAllocatableResource>(at.nodeAllocatableResources, name)
    if (!isNodeAllocatableResource(name)) yield invalid(withValue(here, name), 'must be a node allocatable resource name')
    if (!mapping && !overhead) yield required(here, 'at least one of mapping or overhead must be set')
    if (mapping) yield* validateMapping(mapping, here.mapping, capacity)
    if (overhead) yield* validateOverhead(overhead, here.overhead)
  }
}

function* validateMapping(
  { capacityKey, capacityMultiplier, deviceMultiplier }: NodeAllocatableMapping,
  at: Ref<NodeAllocatableMapping>,
  capacity: object,
): Iterable<Finding> {
  if (capacityKey !== undefined) {
    if (capacityKey === '') yield invalid(at.capacityKey, 'capacityKey must not be an empty string')
    else if (!Object.hasOwn(capacity, capacityKey)) yield notFoundValue(at.capacityKey)
    if (capacityMultiplier === undefined) yield required(at.capacityMultiplier, 'capacityMultiplier is required when capacityKey is set')
    else yield* validatePositive(capacityMultiplier, at.capacityMultiplier)
  }
  if (deviceMultiplier !== undefined) yield* validatePositive(deviceMultiplier, at.deviceMultiplier)
  if (capacityMultiplier !== undefined && capacityKey === undefined)
    yield required(at.capacityKey, 'capacityKey is required when capacityMultiplier is set')
  const given = Object.entries({ capacityKey, deviceMultiplier }).flatMap(([name, value]) => (value === undefined ? [] : name))
  const either = '`capacityKey`, `deviceMultiplier`'
  if (given.length === 0) yield* late([invalid(withValue(at, ''), `must specify one of: ${either}`)])
  if (given.length > 1) yield* late([invalid(withValue(at, `{${given.join(', ')}}`), `must specify exactly one of: ${either}`)])
}

function* validatePositive(amount: string, at: Ref<string>): Iterable<FieldError> {
  if (quantitySign(parseQuantity(amount)) <= 0) yield invalid(at, 'must be positive')
}

function* validateOverhead({ perPod, perContainer }: NodeAllocatableOverhead, at: Ref<NodeAllocatableOverhead>): Iterable<FieldError> {
  if (perPod === undefined && perContainer === undefined)
    return yield invalid(withValue(at, ''), 'at least one of perPod or perContainer must be set')
  for (const [amount, here] of [
    [perPod, at.perPod],
    [perContainer, at.perContainer],
  ] as const)
    if (amount !== undefined && quantitySign(parseQuantity(amount)) < 0) yield invalid(here, 'must be non-negative')
}
