/** Types for the allocation of a claim: devices, consumers, and device status. */
import { atomic, bool, keyed, mapOf, message, quantity, raw, type Static, set, string, time } from '../../schema/types.ts'
import { Condition } from '../rules/meta.ts'
import { NodeSelector } from '../rules/pod/scheduling/node-selector.ts'
import { DeviceAllocationConfiguration } from './claim-shapes.ts'
import { DeviceToleration } from './device-taint.ts'

export const DeviceRequestAllocationResult = message('DeviceRequestAllocationResult', {
  request: [1, string.always(), 'The request, or REQUEST/SUBREQUEST, that the device is for.'],
  driver: [2, string.always(), 'The driver that sets it up.'],
  pool: [3, string.always(), 'The pool of the device.'],
  device: [4, string.always(), 'Its name in the pool.'],
  adminAccess: [5, bool.optional(), 'Whether it is used for administration.'],
  tolerations: [6, atomic(DeviceToleration), 'The tolerations of the request at the time of the allocation.'],
  bindingConditions: [7, atomic(string), 'Conditions of the device that must hold before pods are bound to the node.'],
  bindingFailureConditions: [8, atomic(string), 'Conditions of the device that mean it cannot be used.'],
  shareID: [9, string.optional(), 'Which share of a device that is given out several times.'],
  consumedCapacity: [10, mapOf(quantity), 'How much of each capacity is taken from a device that is given out several times.'],
  skipNodeOperations: [
    11,
    set(string.listed('*', 'NodePrepareResources', 'NodeUnprepareResources')),
    'Operations of the driver that the kubelet can skip.',
  ],
})
export type DeviceRequestAllocationResult = Static<typeof DeviceRequestAllocationResult>

const DeviceAllocationResult = message('DeviceAllocationResult', {
  results: [1, atomic(DeviceRequestAllocationResult), 'The devices.'],
  config: [2, atomic(DeviceAllocationConfiguration), 'How they are set up, from their classes and from the claim.'],
})

export const AllocationResult = message('AllocationResult', {
  devices: [1, DeviceAllocationResult.orEmpty(), 'The devices given.'],
  nodeSelector: [3, NodeSelector, 'Where they are; everywhere when absent.'],
  allocationTimestamp: [5, time.optional(), 'When they were given; unknown when absent.'],
})
export type AllocationResult = Static<typeof AllocationResult>

export const ResourceClaimConsumerReference = message('ResourceClaimConsumerReference', {
  apiGroup: [1, string, 'API group of the consumer; the core group when empty.'],
  resource: [3, string.always(), 'Its kind in plural, such as pods.'],
  name: [4, string.always(), 'Its name.'],
  uid: [5, string.always(), 'Its identity.'],
})
export type ResourceClaimConsumerReference = Static<typeof ResourceClaimConsumerReference>

export const NetworkDeviceData = message('NetworkDeviceData', {
  interfaceName: [1, string, 'The network interface in the pod.'],
  ips: [2, atomic(string), 'Its addresses, each with the length of its prefix.'],
  hardwareAddress: [3, string, 'Its hardware address.'],
})
export type NetworkDeviceData = Static<typeof NetworkDeviceData>

export const AllocatedDeviceStatus = message('AllocatedDeviceStatus', {
  driver: [1, string.always(), 'The driver of the device.'],
  pool: [2, string.always(), 'The pool of the device.'],
  device: [3, string.always(), 'Its name in the pool.'],
  shareID: [7, string.optional(), 'Which share of the device.'],
  conditions: [4, keyed(Condition, 'type').always().omittable(), 'The last observed conditions of the device; Ready once it is set up.'],
  data: [5, raw.optional(), 'Arbitrary data from the driver, as an object.'],
  networkData: [6, NetworkDeviceData, 'The network interface of the device.'],
})
export type AllocatedDeviceStatus = Static<typeof AllocatedDeviceStatus>

export const ResourceClaimStatus = message('ResourceClaimStatus', {
  allocation: [1, AllocationResult, 'The allocated devices; absent before the allocation.'],
  reservedFor: [
    2,
    keyed(ResourceClaimConsumerReference, 'uid').mergedBy('uid'),
    'The consumers that may use the claim. While there are any, it is not deallocated.',
  ],
  devices: [
    4,
    keyed(AllocatedDeviceStatus, 'driver', 'device', 'pool', 'shareID'),
    'The status of the devices, as reported by their drivers.',
  ],
})
export type ResourceClaimStatus = Static<typeof ResourceClaimStatus>
