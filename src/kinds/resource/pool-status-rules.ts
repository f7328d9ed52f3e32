/** Rules on questions about pools and their answers, nearly all of them rules on types. */

import { duplicate, type FieldError, forbidden, invalid, invalidEach, type Ref, required, tooLong, tooMany } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { validateConditions } from '../shapes/meta.ts'
import { type Finding, late } from './findings.ts'
import { longNameFaults, validateDeclaredDriverName, validateDeclaredPoolName, validateFullyQualifiedName } from './name-rules.ts'
import type {
  PartitionTypeStatus,
  PoolStatus,
  ResourcePoolStatusRequestSpec,
  ResourcePoolStatusRequestStatus,
  ShareableSummaryStatus,
} from './pool-status-shapes.ts'

const MAX_LIMIT = 1000
const MAX_POOLS = 1000
const MAX_CONDITIONS = 10
const MAX_PARTITIONS = 32
const MAX_CAPACITIES = 32
const MAX_ERROR_BYTES = 256

/** Rules on a question. */
export function* validateQuestion(
  spec: ResourcePoolStatusRequestSpec,
  at: Ref<ResourcePoolStatusRequestSpec>,
  ctx: RequestContext,
): Iterable<Finding> {
  yield* late(validateSpec(spec, at, ctx))
}

/** Rules on an answer, which is given once. */
export function* validateAnswer(status: ResourcePoolStatusRequestStatus, at: Ref<ResourcePoolStatusRequestStatus>): Iterable<Finding> {
  yield* validateConditions(status.conditions, at.conditions)
  yield* late(validateStatus(status, at))
}

function* validateSpec(
  { driver, poolName, limit, defaultPartitionTypeAttribute: attribute }: ResourcePoolStatusRequestSpec,
  at: Ref<ResourcePoolStatusRequestSpec>,
  { gate }: RequestContext,
): Iterable<Finding> {
  yield* validateDeclaredDriverName(driver, at.driver, Number.POSITIVE_INFINITY)
  if (poolName !== undefined) yield* validateDeclaredPoolName(poolName, at.poolName)
  if (limit > MAX_LIMIT) yield invalid(at.limit, `must be less than or equal to ${MAX_LIMIT}`)
  if (limit < 1) yield invalid(at.limit, 'must be greater than or equal to 1')
  if (attribute === undefined) return
  if (gate('DRAPartitionableDevicesType')) yield* validateFullyQualifiedName(attribute, at.defaultPartitionTypeAttribute)
  else yield forbidden(at.defaultPartitionTypeAttribute, '')
}

function* validateStatus(
  { poolCount, pools, conditions }: ResourcePoolStatusRequestStatus,
  at: Ref<ResourcePoolStatusRequestStatus>,
): Iterable<Finding> {
  yield* validateCount(poolCount, at.poolCount)
  if ((pools?.length ?? 0) > MAX_POOLS) yield tooMany(at.pools, pools!.length, MAX_POOLS)
  else for (const [i, pool] of (pools ?? []).entries()) yield* validatePool(pool, at.pools[i]!)
  if ((conditions?.length ?? 0) > MAX_CONDITIONS) yield tooMany(at.conditions, conditions!.length, MAX_CONDITIONS)
}

function* validateCount(count: number | null | undefined, at: Ref<number>): Iterable<FieldError> {
  if (count === undefined || count === null) yield required(at)
  else if (count < 0) yield invalid(at, 'must be greater than or equal to 0')
}

function* validatePool(pool: PoolStatus, at: Ref<PoolStatus>): Iterable<Finding> {
  const { driver = '', poolName, generation, resourceSliceCount, nodeName, validationError, partitionSummary, shareableSummary } = pool
  yield* validateDeclaredDriverName(driver, at.driver, Number.POSITIVE_INFINITY)
  if (!poolName) yield required(at.poolName)
  else yield* validateDeclaredPoolName(poolName, at.poolName)
  if (!generation) yield required(at.generation)
  else if (generation < 0) yield invalid(at.generation, 'must be greater than or equal to 0')
  if (resourceSliceCount !== undefined && resourceSliceCount < 1) yield invalid(at.resourceSliceCount, 'must be greater than or equal to 1')
  for (const field of ['totalDevices', 'allocatedDevices', 'availableDevices', 'unavailableDevices'] as const)
    if (pool[field] !== undefined) yield* validateCount(pool[field], at[field])
  if (nodeName !== undefined) yield* invalidEach(at.nodeName, longNameFaults(nodeName))
  if (Buffer.byteLength(validationError ?? '') > MAX_ERROR_BYTES) yield tooLong(at.validationError, MAX_ERROR_BYTES)
  yield* validatePartitions(partitionSummary ?? [], at.partitionSummary)
  if (shareableSummary) yield* validateShares(shareableSummary, at.shareableSummary)
}

function* validatePartitions(partitions: readonly PartitionTypeStatus[], at: Ref<PartitionTypeStatus[]>): Iterable<FieldError> {
  if (partitions.length > MAX_PARTITIONS) return yield tooMany(at, partitions.length, MAX_PARTITIONS)
  const seen = new Set<string>()
  for (const [i, { attribute, type }] of partitions.entries()) {
    const key = JSON.stringify([attribute, type])
    if (seen.has(key)) yield duplicate(at[i]!)
    seen.add(key)
  }
  for (const [i, { attribute, type, total, allocatable }] of partitions.entries()) {
    if (!attribute) yield required(at[i]!.attribute)
    if (!type) yield required(at[i]!.type)
    yield* validateCount(total, at[i]!.total)
    yield* validateCount(allocatable, at[i]!.allocatable)
  }
}

function* validateShares(
  { fullyAvailableDevices, partiallyAvailableDevices, capacity = [] }: ShareableSummaryStatus,
  at: Ref<ShareableSummaryStatus>,
): Iterable<FieldError> {
  yield* validateCount(fullyAvailableDevices, at.fullyAvailableDevices)
  yield* validateCount(partiallyAvailableDevices, at.partiallyAvailableDevices)
  if (capacity.length > MAX_CAPACITIES) return yield tooMany(at.capacity, capacity.length, MAX_CAPACITIES)
  for (const [i, each] of capacity.entries())
    for (const field of ['name', 'total', 'consumed', 'available'] as const) if (!each[field]) yield required(at.capacity[i]![field])
}
