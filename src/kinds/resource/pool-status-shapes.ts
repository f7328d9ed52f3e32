/** What a ResourcePoolStatusRequest asks, and what it is answered. */
import { atomic, int32, int64, keyed, message, quantity, type Static, string } from '../../schema/types.ts'
import { Condition } from '../shapes/meta.ts'

export const ResourcePoolStatusRequestSpec = message('ResourcePoolStatusRequestSpec', {
  driver: [1, string.always(), 'The driver whose pools are asked about.'],
  poolName: [2, string.optional(), 'Only the pool of this name.'],
  limit: [3, int32.optional().toldDefault(100), 'How many pools are answered at most, 1 to 1000.'],
  defaultPartitionTypeAttribute: [4, string.optional(), 'The attribute that tells partitions apart where slices name none.'],
})
export type ResourcePoolStatusRequestSpec = Static<typeof ResourcePoolStatusRequestSpec>

export const PartitionTypeStatus = message('PartitionTypeStatus', {
  attribute: [4, string.always().telling(), 'The attribute that names the kind of partition.'],
  type: [1, string.always().telling(), 'The kind of partition.'],
  total: [2, int32.optional().always(), 'How many there are.'],
  allocatable: [3, int32.optional().always(), 'How many could be given out at the same time.'],
})
export type PartitionTypeStatus = Static<typeof PartitionTypeStatus>

export const ShareableCapacityStatus = message('ShareableCapacityStatus', {
  name: [1, string.always().telling(), 'The capacity.'],
  total: [2, quantity.optional().always(), 'How much there is.'],
  consumed: [3, quantity.optional().always(), 'How much is taken.'],
  available: [4, quantity.optional().always(), 'How much is left.'],
})
export type ShareableCapacityStatus = Static<typeof ShareableCapacityStatus>

export const ShareableSummaryStatus = message('ShareableSummaryStatus', {
  fullyAvailableDevices: [1, int32.optional().always(), 'Devices of which nothing is taken.'],
  partiallyAvailableDevices: [2, int32.optional().always(), 'Devices of which something is taken and something left.'],
  capacity: [3, atomic(ShareableCapacityStatus), 'How much of each capacity there is.'],
})
export type ShareableSummaryStatus = Static<typeof ShareableSummaryStatus>

export const PoolStatus = message('PoolStatus', {
  driver: [1, string.always().telling(), 'The driver of the pool.'],
  poolName: [2, string.always().telling(), 'Its name.'],
  generation: [9, int64.always(), 'The generation that was looked at.'],
  resourceSliceCount: [8, int32.optional(), 'How many slices it has.'],
  totalDevices: [4, int32.optional(), 'How many devices it has.'],
  allocatedDevices: [5, int32.optional(), 'How many are given out.'],
  availableDevices: [6, int32.optional(), 'How many are left.'],
  unavailableDevices: [7, int32.optional(), 'How many cannot be given out.'],
  nodeName: [3, string.optional(), 'The node of the pool, where it is on one.'],
  validationError: [10, string.optional(), 'What is wrong with the pool.'],
  partitionSummary: [11, atomic(PartitionTypeStatus), 'Its partitions by kind.'],
  shareableSummary: [13, ShareableSummaryStatus, 'What is left of devices that are given out several times.'],
})
export type PoolStatus = Static<typeof PoolStatus>

export const ResourcePoolStatusRequestStatus = message('ResourcePoolStatusRequestStatus', {
  poolCount: [6, int32.optional().always(), 'How many pools match, even if not all are listed.'],
  pools: [2, atomic(PoolStatus), 'The pools.'],
  conditions: [3, keyed(Condition, 'type').mergedBy('type'), 'Whether the question is answered: Complete or Failed.'],
})
export type ResourcePoolStatusRequestStatus = Static<typeof ResourcePoolStatusRequestStatus>
