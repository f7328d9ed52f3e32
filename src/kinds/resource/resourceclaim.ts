/** ResourceClaim requests devices, and records their allocation. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { type FieldError, invalid, type Ref, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import type { Static } from '../../schema/types.ts'
import { meansTheSame } from '../rules/compare.ts'
import { adminRequestOf, validateAdminAccess } from './admin-access.ts'
import { identityOf, validateClaimStatus } from './allocation-rules.ts'
import { type AllocationResult, ResourceClaimStatus } from './allocation-shapes.ts'
import { claimFeatures, usesCapacity } from './claim-features.ts'
import { requestNamesOf, validateClaimSpec } from './claim-rules.ts'
import { ResourceClaimSpec } from './claim-shapes.ts'
import { dropDisabled, type Feature } from './features.ts'
import { inOrder, type ServedPath } from './findings.ts'

export const ResourceClaim = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1',
  kind: 'ResourceClaim',
  scope: 'Namespaced',
  names: { plural: 'resourceclaims' },
  doc: 'A request for devices, and the devices given for it.',
  lifecycle: { introduced: '1.34' },
  otherVersions: {
    v1beta2: { introduced: '1.33', deprecated: '1.36', removed: '1.39' },
  },
  spec: ResourceClaimSpec,
  status: ResourceClaimStatus,

  prepareForCreate: (o, ctx) => dropDisabled(claimFeatures, o.spec, undefined, ctx),
  prepareForUpdate: (o, old, ctx) => dropDisabled(claimFeatures, o.spec, old.spec, ctx),
  *validateUpdate(o, old, at) {
    if (!meansTheSame(ResourceClaimSpec, o.spec, old.spec)) yield invalid(withValue(at.spec, null), 'field is immutable')
  },
  validate: (o, at, ctx) => validateClaim(o, at, ctx),

  deletion: { returns: 'object' },
  subresources: {
    status: {
      keepsMetadata: true,
      prepareForUpdate(o, old, ctx) {
        dropDisabled(allocationFeatures, o, old, ctx)
        forgetReturnedDevices(o, old)
      },
      *validate({ metadata, spec, status }, at, ctx) {
        const old = ctx.old?.status ?? {}
        const admin = administered(old.allocation) === -1 ? administered(status.allocation) : -1
        const results = at.status.allocation.devices.results
        if (admin !== -1) yield* validateAdminAccess(results[admin]!.adminAccess, metadata.namespace ?? '', ctx)
        const change = { old, named: requestNamesOf(spec.devices), isGoing: metadata.deletionTimestamp !== undefined }
        yield* inOrder(validateClaimStatus(status, at.status, change))
      },
      *validateUpdate() {},
    },
  },

  columns: {
    State: ['string', o => stateOf(o), 'A summary of the current state (allocated, pending, reserved, etc.).'],
    Age: age,
  },
})

/** An object of the kind ResourceClaim. */
export type ResourceClaim = ObjectOf<typeof ResourceClaim>

const administered = (allocation: AllocationResult | undefined): number =>
  (allocation?.devices.results ?? []).findIndex(({ adminAccess }) => adminAccess)

function stateOf({ metadata, status }: { metadata: { deletionTimestamp?: string }; status: ResourceClaimStatus }): string {
  const isGoing = metadata.deletionTimestamp !== undefined
  const words = isGoing ? ['deleted'] : []
  if (status.allocation) words.push('allocated', ...(status.reservedFor?.length ? ['reserved'] : []))
  else if (!isGoing) words.push('pending')
  return words.join(',')
}

type Claim = { spec: ResourceClaimSpec; status: ResourceClaimStatus }

const resultsOf = ({ status }: Claim) => status.allocation?.devices.results ?? []

const allocationFeatures: readonly Feature<Claim>[] = [
  {
    gates: ['DRAConsumableCapacity'],
    isUsedBy: claim =>
      usesCapacity(claim.spec) ||
      resultsOf(claim).some(({ shareID, consumedCapacity }) => shareID !== undefined || consumedCapacity) ||
      (claim.status.devices ?? []).some(({ shareID }) => shareID !== undefined),
    drop(claim) {
      for (const result of resultsOf(claim)) {
        delete result.shareID
        delete result.consumedCapacity
      }
      for (const device of claim.status.devices ?? []) delete device.shareID
    },
  },
  {
    gates: ['DRADeviceBindingConditions'],
    isUsedBy: claim => resultsOf(claim).some(result => result.bindingConditions || result.bindingFailureConditions),
    drop(claim) {
      for (const result of resultsOf(claim)) {
        delete result.bindingConditions
        delete result.bindingFailureConditions
      }
    },
  },
  {
    gates: ['DRAOptionalNodeOperations'],
    isUsedBy: claim => resultsOf(claim).some(({ skipNodeOperations }) => skipNodeOperations?.length),
    drop(claim) {
      for (const result of resultsOf(claim)) delete result.skipNodeOperations
    },
  },
]

/** Removes the status of devices that are no longer allocated to the claim, so that the deallocating client need not. */
function forgetReturnedDevices(claim: Claim, old: Claim): void {
  const { status } = claim
  const kept = new Set(resultsOf(claim).map(identityOf))
  const returned = new Set(
    resultsOf(old)
      .map(identityOf)
      .filter(identity => !kept.has(identity)),
  )
  const devices = (status.devices ?? []).filter(device => !returned.has(identityOf(device)))
  if (devices.length > 0) status.devices = devices
  else delete status.devices
}

type Specified = { spec: Static<typeof ResourceClaimSpec> }

/** Rules for a claim that was sent in any version. */
export function* validateClaim(
  { metadata, spec }: Pick<AnyObject, 'metadata'> & Specified,
  at: Ref<Specified>,
  ctx: RequestContext & { readonly old?: unknown; readonly servedPath?: ServedPath },
): Iterable<FieldError> {
  // The immutable spec has been checked.
  if (ctx.old) return
  const admin = adminRequestOf(spec.devices.requests ?? [])
  if (admin) yield* validateAdminAccess(admin, metadata.namespace ?? '', ctx)
  yield* inOrder(validateClaimSpec(spec, at.spec, ctx), ctx.servedPath)
}
