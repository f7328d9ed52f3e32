/** Rules for one device of a slice. */
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Label, nameIsDNSSubdomain } from '../../lib/names.ts'
import { parseQuantity, quantitySign } from '../../lib/quantity.ts'
import {
  entry,
  type FieldError,
  invalid,
  invalidEach,
  notFoundValue,
  pathOf,
  type Ref,
  refTo,
  required,
  tooMany,
  withValue,
} from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { shortNameFaults } from '../rules/declared-formats.ts'
import { isNodeAllocatableResource } from '../rules/pod/resources/resource-rules.ts'
import { validateNodeSelector } from '../rules/pod/scheduling/node-selector.ts'
import { countValues, validateAttribute } from './attribute-rules.ts'
import { validateBindingConditions } from './binding-rules.ts'
import { validateCapacity } from './capacity-rules.ts'
import { validateTaint } from './device-taint.ts'
import { type Finding, late, validateCodedList, validateList } from './findings.ts'
import { MAX_QUALIFIED_NAME_BYTES, validateQualifiedName } from './name-rules.ts'
import type {
  CounterSet,
  Device,
  DeviceCounterConsumption,
  NodeAllocatableMapping,
  NodeAllocatableOverhead,
  NodeAllocatableResource,
} from './slice-shapes.ts'

const MAX_ATTRIBUTES_AND_CAPACITIES = 32
const MAX_ATTRIBUTE_VALUES = 48
const MAX_TAINTS = 16
const MAX_CONSUMPTIONS = 2
const MAX_COUNTERS = 32
const MAX_COMPATIBILITY_GROUPS = 2

type DeviceOptions = {
  /** The stored device of the same name: unchanged values pass. */
  readonly old: Device | undefined
  /** Each device selects its own nodes. */
  readonly selectsNodes: boolean
  readonly gate: RequestContext['gate']
}

/** Rules for a device. */
export function* validateDevice(device: Device, at: Ref<Device>, { old, selectsNodes, gate }: DeviceOptions): Iterable<Finding> {
  const { name, attributes = {}, capacity = {}, taints, consumesCounters, allowMultipleAllocations: isShared = false } = device
  yield* invalidEach(at.name, isDNS1123Label(name))
  const count = Object.keys(attributes).length + Object.keys(capacity).length
  if (count > MAX_ATTRIBUTES_AND_CAPACITIES)
    yield invalid(withValue(at, count), `the total number of attributes and capacities must not exceed ${MAX_ATTRIBUTES_AND_CAPACITIES}`)
  const values = countValues(attributes)
  if (values > MAX_ATTRIBUTE_VALUES)
    yield invalid(withValue(at, values), `the total number of attribute values must not exceed ${MAX_ATTRIBUTE_VALUES}`)
  yield* validateNamed(attributes, at.attributes, validateAttribute)
  if (!deepEqual(old?.capacity, device.capacity))
    yield* validateNamed(capacity, at.capacity, (each, here) => validateCapacity(each, here, { isShared, gate }))
  if (!deepEqual(old?.taints, taints))
    yield* validateCodedList(taints, at.taints, { max: MAX_TAINTS, each: (taint, here) => validateTaint(taint, here) })
  yield* validateList(consumesCounters, at.consumesCounters, {
    max: MAX_CONSUMPTIONS,
    key: ({ counterSet }) => counterSet,
    each: validateConsumption,
  })
  yield* validateNodesOf(device, at, selectsNodes)
  yield* validateBindingConditions(device, at)
  yield* validateNodeResources(device, at)
}

/** Counters that devices share. */
export function* validateCounterSet({ name, counters }: CounterSet, at: Ref<CounterSet>): Iterable<Finding> {
  yield* validateCounterName(name, at.name)
  yield* validateCounters(counters, at.counters)
}

function* validateConsumption(
  { counterSet, counters, compatibilityGroups }: DeviceCounterConsumption,
  at: Ref<DeviceCounterConsumption>,
): Iterable<Finding> {
  yield* validateCounterName(counterSet, at.counterSet)
  yield* validateCounters(counters, at.counters)
  yield* validateList(compatibilityGroups, at.compatibilityGroups, {
    max: MAX_COMPATIBILITY_GROUPS,
    key: group => group,
    each: (group, here) => late(invalidEach(here, shortNameFaults(group))),
  })
}

function* validateCounterName(name: string, at: Ref<string>): Iterable<Finding> {
  yield* late(name === '' ? [required(at)] : invalidEach(at, shortNameFaults(name)))
}

function* validateCounters(counters: object | undefined, at: Ref<any>): Iterable<Finding> {
  const names = Object.keys(counters ?? {})
  if (names.length === 0) return yield* late([required(at)])
  if (names.length > MAX_COUNTERS) yield tooMany(at, names.length, MAX_COUNTERS)
  for (const name of names) yield* late(invalidEach(withValue(at, name), shortNameFaults(name)))
}

/** Rules for a map by qualified names. Errors about a name point at the map, and paths through long names are shortened. */
function* validateNamed<T>(
  map: Readonly<Record<string, T>>,
  at: Ref<any>,
  each: (item: T, here: Ref<T>) => Iterable<Finding>,
): Iterable<Finding> {
  for (const [name, item] of Object.entries(map)) {
    yield* validateQualifiedName(name, at)
    yield* each(item, refTo(item, `${pathOf(at)}[${shortened(name)}]`))
  }
}

/** A name too long to be valid, with its middle left out. */
function shortened(name: string): string {
  const bytes = Buffer.from(name)
  if (bytes.length <= MAX_QUALIFIED_NAME_BYTES) return name
  const kept = MAX_QUALIFIED_NAME_BYTES - ELLIPSIS.length
  return `${bytes.subarray(0, (kept + 1) >> 1)}${ELLIPSIS}${bytes.subarray(bytes.length - (kept >> 1))}`
}
const ELLIPSIS = '...'

/** The nodes of a device are selected by the slice, or by each device. */
function* validateNodesOf(device: Device, at: Ref<Device>, selectsNodes: boolean): Iterable<Finding> {
  const { nodeName, nodeSelector, allNodes } = device
  if (!selectsNodes) {
    if (nodeName !== undefined || nodeSelector || allNodes !== undefined)
      yield invalid(
        withValue(at, null),
        '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      )
    return
  }
  if (nodeName === '') yield invalid(at.nodeName, 'must not be empty')
  else if (nodeName !== undefined) yield* invalidEach(at.nodeName, nameIsDNSSubdomain(nodeName))
  if (nodeSelector) yield* validateNodeSelector(nodeSelector, at.nodeSelector)
  if (allNodes === false) yield invalid(at.allNodes, 'must be either unset or set to true')
  const given = [nodeName && '`nodeName`', nodeSelector && '`nodeSelector`', allNodes && '`allNodes`'].filter(Boolean)
  const oneOfThem =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec'
  if (given.length === 0) yield required(at, oneOfThem)
  if (given.length > 1) yield invalid(withValue(at, `{${given.join(', ')}}`), oneOfThem)
}

/** Rules for the node resources that a device counts as or consumes. */
function* validateNodeResources({ nodeAllocatableResources = {}, capacity = {} }: Device, at: Ref<Device>): Iterable<Finding> {
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
