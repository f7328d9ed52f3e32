/** ResourcePoolStatusRequest asks how many devices of a driver's pools are left, and is answered once. */
import { deepEqual } from '../../lib/json-value.ts'
import { type CellContext, since } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { invalid, withValue } from '../../schema/refs.ts'
import { internalForm } from '../shapes/internal-representation.ts'
import { dropDisabled, type Feature } from './features.ts'
import { inOrder } from './findings.ts'
import { validateAnswer, validateQuestion } from './pool-status-rules.ts'
import { type PoolStatus, ResourcePoolStatusRequestSpec, ResourcePoolStatusRequestStatus } from './pool-status-shapes.ts'

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
  expectsMetadata: true,
  // No answer differs from an empty one, so the status is a field like any other.
  fields: {
    spec: [2, ResourcePoolStatusRequestSpec.orEmpty().required(), 'What is asked. Cannot change.'],
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
        if (old?.status) yield invalid(withValue(at, internalForm(ResourcePoolStatusRequestStatus, status)), 'field is immutable')
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

/** The condition that ends the request, whichever comes first. */
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
