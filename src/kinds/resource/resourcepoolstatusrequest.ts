/** ResourcePoolStatusRequest requests the number of available devices in a driver's pools, and is completed once. */
import { deepEqual } from '../../lib/json-value.ts'
import { type CellContext, since } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  type Ref,
  required,
  tooLong,
  tooMany,
  withValue,
} from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { atomic, int32, int64, keyed, message, quantity, type Static, string } from '../../schema/types.ts'
import { longNameFaults } from '../rules/declared-formats.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { Condition, validateConditions } from '../rules/meta.ts'
import { dropDisabled, type Feature } from './features.ts'
import { type Finding, inOrder, late } from './findings.ts'
import { validateDeclaredDriverName, validateDeclaredPoolName, validateFullyQualifiedName } from './name-rules.ts'

const ResourcePoolStatusRequestSpec = message('ResourcePoolStatusRequestSpec', {
  driver: [1, string.always(), 'The driver whose pools are counted.'],
  poolName: [2, string.optional(), 'Only the pool of this name.'],
  limit: [3, int32.optional().publishedDefault(100), 'How many pools are answered at most, 1 to 1000.'],
  defaultPartitionTypeAttribute: [4, string.optional(), 'The attribute that identifies the type of a partition if slices name none.'],
})
type ResourcePoolStatusRequestSpec = Static<typeof ResourcePoolStatusRequestSpec>

const PartitionTypeStatus = message('PartitionTypeStatus', {
  attribute: [4, string.always().openapiDefault(), 'The attribute that names the kind of partition.'],
  type: [1, string.always().openapiDefault(), 'The kind of partition.'],
  total: [2, int32.optional().always(), 'How many there are.'],
  allocatable: [3, int32.optional().always(), 'How many could be given out at the same time.'],
})
type PartitionTypeStatus = Static<typeof PartitionTypeStatus>

const ShareableCapacityStatus = message('ShareableCapacityStatus', {
  name: [1, string.always().openapiDefault(), 'The capacity.'],
  total: [2, quantity.optional().always(), 'How much there is.'],
  consumed: [3, quantity.optional().always(), 'How much is taken.'],
  available: [4, quantity.optional().always(), 'How much is left.'],
})

const ShareableSummaryStatus = message('ShareableSummaryStatus', {
  fullyAvailableDevices: [1, int32.optional().always(), 'Devices of which nothing is taken.'],
  partiallyAvailableDevices: [2, int32.optional().always(), 'Devices of which something is taken and something left.'],
  capacity: [3, atomic(ShareableCapacityStatus), 'How much of each capacity there is.'],
})
type ShareableSummaryStatus = Static<typeof ShareableSummaryStatus>

const PoolStatus = message('PoolStatus', {
  driver: [1, string.always().openapiDefault(), 'The driver of the pool.'],
  poolName: [2, string.always().openapiDefault(), 'Its name.'],
  generation: [9, int64.always(), 'The generation that was looked at.'],
  resourceSliceCount: [8, int32.optional(), 'How many slices it has.'],
  totalDevices: [4, int32.optional(), 'How many devices it has.'],
  allocatedDevices: [5, int32.optional(), 'How many are given out.'],
  availableDevices: [6, int32.optional(), 'How many are left.'],
  unavailableDevices: [7, int32.optional(), 'How many cannot be given out.'],
  nodeName: [3, string.optional(), 'The node of the pool, where it is on one.'],
  validationError: [10, string.optional(), 'The reason why the pool is invalid.'],
  partitionSummary: [11, atomic(PartitionTypeStatus), 'Its partitions by kind.'],
  shareableSummary: [13, ShareableSummaryStatus, 'The remaining capacities of devices that can be allocated several times.'],
})
type PoolStatus = Static<typeof PoolStatus>

const ResourcePoolStatusRequestStatus = message('ResourcePoolStatusRequestStatus', {
  poolCount: [6, int32.optional().always(), 'How many pools match, even if not all are listed.'],
  pools: [2, atomic(PoolStatus), 'The pools.'],
  conditions: [3, keyed(Condition, 'type').mergedBy('type'), 'Whether the question is answered: Complete or Failed.'],
})
type ResourcePoolStatusRequestStatus = Static<typeof ResourcePoolStatusRequestStatus>

type Request = { spec: ResourcePoolStatusRequestSpec; status?: ResourcePoolStatusRequestStatus }

const requestFeatures: readonly Feature<ResourcePoolStatusRequestSpec>[] = [
  {
    gates: ['DRAPartitionableDevicesType'],
    isUsedBy: spec => spec.defaultPartitionTypeAttribute !== undefined,
    drop(spec) {
      delete spec.defaultPartitionTypeAttribute
    },
  },
]

export const ResourcePoolStatusRequest = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1alpha3',
  kind: 'ResourcePoolStatusRequest',
  scope: 'Cluster',
  names: { plural: 'resourcepoolstatusrequests' },
  doc: 'A question about the pools of a driver, and its answer.',
  lifecycle: { introduced: '1.36', deprecated: '1.39', removed: '1.42' },
  expectsMetadata: true,
  // An absent status differs from an empty one, so it is declared as a field.
  fields: {
    spec: [2, ResourcePoolStatusRequestSpec.orEmpty().required(), 'The request. Cannot change.'],
    status: [3, ResourcePoolStatusRequestStatus, 'The answer; absent until there is one, and final then.'],
  },
  allowUnconditionalUpdate: false,
  resetFields: ['status'],

  prepareForCreate(o, ctx) {
    delete o.status
    dropDisabled(requestFeatures, o.spec, undefined, ctx)
  },
  prepareForUpdate(o, old, ctx) {
    if (old.status) o.status = old.status
    else delete o.status
    dropDisabled(requestFeatures, o.spec, old.spec, ctx)
  },
  *validateUpdate(o, old, at) {
    if (!deepEqual(o.spec, old.spec)) yield invalid(withValue(at.spec, null), 'field is immutable')
  },
  *validate({ spec }, { spec: at }, ctx) {
    if (!ctx.old) yield* inOrder(validateQuestion(spec, at, ctx))
  },

  deletion: { returns: 'object' },
  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status }, { status: at }, { old }) {
        if (deepEqual(status, old?.status)) return
        if (old?.status) yield invalid(withValue(at, internalRepresentation(ResourcePoolStatusRequestStatus, status)), 'field is immutable')
        else if (status) yield* inOrder(validateAnswer(status, at))
      },
      *validateUpdate() {},
    },
  },

  columns: {
    Driver: ['string', o => o.spec.driver, 'The driver to query pools for.'],
    Total: ['string', o => sumOf(o, pool => pool.totalDevices), 'Total number of devices across all pools.'],
    Available: ['string', o => sumOf(o, pool => pool.availableDevices), 'Number of available devices across all pools.'],
    Allocated: ['string', o => sumOf(o, pool => pool.allocatedDevices), 'Number of allocated devices across all pools.'],
    Unavailable: ['string', o => sumOf(o, pool => pool.unavailableDevices), 'Number of unavailable devices across all pools.'],
    Errors: ['string', o => sumOf(o, pool => (pool.validationError === undefined ? 0 : 1)), 'Number of pools with validation errors.'],
    Pools: ['integer', o => o.status?.poolCount ?? 0, 'Total number of matching pools.'],
    Status: ['string', o => stateOf(o), 'Processing status.'],
    Completed: ['string', (o, ctx) => completedOf(o, ctx), 'Time since the observation completed.'],
  },
})

/** An object of the kind ResourcePoolStatusRequest. */
export type ResourcePoolStatusRequest = ObjectOf<typeof ResourcePoolStatusRequest>

/** The condition that ends the request, Complete or Failed. */
const outcomeOf = ({ status }: Request) =>
  status?.conditions?.find(({ type, status: holds }) => (type === 'Complete' || type === 'Failed') && holds === 'True')

function sumOf(request: Request, count: (pool: PoolStatus) => number | undefined): string {
  if (!request.status || outcomeOf(request)?.type === 'Failed') return '-'
  return String((request.status.pools ?? []).reduce((sum, pool) => sum + (count(pool) ?? 0), 0))
}

function stateOf(request: Request): string {
  const outcome = outcomeOf(request)
  if (!outcome) return 'Pending'
  const { poolCount = 0, pools = [] } = request.status ?? {}
  return outcome.type === 'Complete' && poolCount > pools.length ? `Complete (${pools.length}/${poolCount} pools)` : outcome.type
}

function completedOf(request: Request, ctx: CellContext): string {
  const outcome = outcomeOf(request)
  return outcome?.type === 'Complete' ? since(outcome.lastTransitionTime, ctx) : '<none>'
}

const MAX_LIMIT = 1000
const MAX_POOLS = 1000
const MAX_CONDITIONS = 10
const MAX_PARTITIONS = 32
const MAX_CAPACITIES = 32
const MAX_ERROR_BYTES = 256

/** Rules for the spec of a request. */
function* validateQuestion(
  spec: ResourcePoolStatusRequestSpec,
  at: Ref<ResourcePoolStatusRequestSpec>,
  ctx: RequestContext,
): Iterable<Finding> {
  yield* late(validateSpec(spec, at, ctx))
}

/** Rules for the status, which is set once. */
function* validateAnswer(status: ResourcePoolStatusRequestStatus, at: Ref<ResourcePoolStatusRequestStatus>): Iterable<Finding> {
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
