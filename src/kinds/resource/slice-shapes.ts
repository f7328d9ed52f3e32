/** Types of ResourceSlice: devices of one pool, their attributes, capacities and shared counters. */
import { atomic, bool, int64, mapOf, message, quantity, type Static, set, string } from '../../schema/types.ts'
import { NodeSelector } from '../rules/pod/scheduling/node-selector.ts'
import { DeviceTaint } from './device-taint.ts'

export const ResourcePool = message('ResourcePool', {
  name: [1, string.always(), 'Name of the pool; unique for the driver.'],
  generation: [2, int64.always(), 'Moves with every change of the pool; slices of older generations do not count.'],
  resourceSliceCount: [3, int64.always(), 'How many slices of this generation there are in all.'],
})
export type ResourcePool = Static<typeof ResourcePool>

// Lists distinguish empty from absent: an empty one is rejected, not dropped.
export const DeviceAttribute = message('DeviceAttribute', {
  int: [2, int64.optional(), 'A whole number.'],
  bool: [3, bool.optional(), 'True or false.'],
  string: [4, string.optional(), 'A text of at most 64 bytes.'],
  version: [5, string.optional(), 'A semantic version of at most 64 bytes.'],
  ints: [6, atomic(int64).optional(), 'Whole numbers.'],
  bools: [7, atomic(bool).optional(), 'Truth values.'],
  strings: [8, atomic(string).optional(), 'Texts of at most 64 bytes each.'],
  versions: [9, atomic(string).optional(), 'Semantic versions of at most 64 bytes each.'],
})
export type DeviceAttribute = Static<typeof DeviceAttribute>

export const CapacityRequestPolicyRange = message('CapacityRequestPolicyRange', {
  min: [1, quantity.optional().always(), 'The minimum request; smaller ones are rounded up to it.'],
  max: [2, quantity.optional(), 'The maximum request.'],
  step: [3, quantity.optional(), 'Amounts above the least are rounded up to multiples of this.'],
})
export type CapacityRequestPolicyRange = Static<typeof CapacityRequestPolicyRange>

export const CapacityRequestPolicy = message('CapacityRequestPolicy', {
  default: [1, quantity.optional().always().omittable(), 'The amount for requests that name none.'],
  validValues: [3, atomic(quantity), 'The amounts that can be taken, ascending; either these or a range.'],
  validRange: [4, CapacityRequestPolicyRange, 'The range of amounts that can be taken.'],
})
export type CapacityRequestPolicy = Static<typeof CapacityRequestPolicy>

export const DeviceCapacity = message('DeviceCapacity', {
  value: [1, quantity.always(), 'How much there is.'],
  requestPolicy: [2, CapacityRequestPolicy, 'How much a request may take of a device that is given out several times.'],
})
export type DeviceCapacity = Static<typeof DeviceCapacity>

const Counter = message('Counter', {
  value: [1, quantity.always(), 'How much there is, or how much is taken.'],
})

export const DeviceCounterConsumption = message('DeviceCounterConsumption', {
  counterSet: [1, string.always(), 'The set of counters taken from.'],
  counters: [2, mapOf(Counter).expected(), 'How much the device takes from each counter.'],
  compatibilityGroups: [3, atomic(string), 'Devices that take from the same set at the same time must share one of these.'],
})
export type DeviceCounterConsumption = Static<typeof DeviceCounterConsumption>

export const NodeAllocatableMapping = message('NodeAllocatableMapping', {
  capacityKey: [1, string.optional(), 'The capacity that is counted as the resource.'],
  capacityMultiplier: [2, quantity.optional(), 'How much of the resource one unit of the capacity is.'],
  deviceMultiplier: [3, quantity.optional(), 'How much of the resource one device is.'],
})
export type NodeAllocatableMapping = Static<typeof NodeAllocatableMapping>

export const NodeAllocatableOverhead = message('NodeAllocatableOverhead', {
  perPod: [1, quantity.optional(), 'The additional amount for each pod that uses the device.'],
  perContainer: [2, quantity.optional(), 'The additional amount for each container that uses the device.'],
})
export type NodeAllocatableOverhead = Static<typeof NodeAllocatableOverhead>

export const NodeAllocatableResource = message('NodeAllocatableResource', {
  mapping: [3, NodeAllocatableMapping, 'How the device counts as the resource.'],
  overhead: [4, NodeAllocatableOverhead, 'The additional amounts that its use takes of the resource.'],
})
export type NodeAllocatableResource = Static<typeof NodeAllocatableResource>

/** The properties of a device, in every version; the fields are numbered from a first one on. */
export const deviceProperties = (first: number) =>
  ({
    attributes: [first, mapOf(DeviceAttribute), 'The attributes of the device.'],
    capacity: [first + 1, mapOf(DeviceCapacity), 'The capacities of the device.'],
    consumesCounters: [first + 2, atomic(DeviceCounterConsumption), 'The amounts that it takes from counters shared with other devices.'],
    nodeName: [first + 3, string.optional(), 'The node it is on; only when the slice leaves that to its devices.'],
    nodeSelector: [first + 4, NodeSelector, 'The nodes it can be used from; only when the slice leaves that to its devices.'],
    allNodes: [first + 5, bool.optional(), 'Whether all nodes can use it; only when the slice leaves that to its devices.'],
    taints: [first + 6, atomic(DeviceTaint), 'Taints of the device, which repel claims.'],
    bindsToNode: [first + 7, bool.optional(), 'Whether the choice of the device binds the claim to one node.'],
    bindingConditions: [first + 8, atomic(string), 'Conditions that must hold before pods are bound to the node.'],
    bindingFailureConditions: [first + 9, atomic(string), 'Conditions that mean it cannot be used.'],
    allowMultipleAllocations: [first + 10, bool.optional(), 'Whether it can be given out several times at once.'],
    nodeAllocatableResources: [14, mapOf(NodeAllocatableResource), 'Resources of the node that the device is part of or takes from.'],
  }) as const

export const Device = message('Device', {
  name: [1, string.always(), 'Unique in the pool.'],
  ...deviceProperties(2),
})
export type Device = Static<typeof Device>

export const CounterSet = message('CounterSet', {
  name: [1, string.always(), 'Unique in the pool.'],
  counters: [2, mapOf(Counter).expected(), 'How much there is of what.'],
})
export type CounterSet = Static<typeof CounterSet>

export const ResourceSliceSpec = message('ResourceSliceSpec', {
  driver: [1, string.always(), 'The driver that offers the devices. Cannot change.'],
  pool: [2, ResourcePool.orEmpty().required(), 'The pool of the devices. Its name cannot change.'],
  nodeName: [3, string.optional(), 'The one node that can use them. Cannot change.'],
  nodeSelector: [4, NodeSelector, 'The nodes that can use them, as a single term.'],
  allNodes: [5, bool.optional(), 'Whether all nodes can use them.'],
  devices: [6, atomic(Device), 'The devices; at most 128, or 64 with taints, counters or lists.'],
  perDeviceNodeSelection: [7, bool.optional(), 'Whether each device says which nodes can use it.'],
  sharedCounters: [8, atomic(CounterSet), 'The counters that devices of the pool share; a slice has either these or devices.'],
  partitionTypeAttribute: [9, string.optional(), 'The attribute that identifies the type of a partition.'],
  skipNodeOperations: [
    10,
    set(string.listed('*', 'NodePrepareResources', 'NodeUnprepareResources')),
    'Operations of the driver that nodes can skip.',
  ],
})
export type ResourceSliceSpec = Static<typeof ResourceSliceSpec>
