/** ResourceClaim in v1beta1, whose requests have no part of their own for exact ones. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { Ref } from '../../schema/refs.ts'
import { ResourceClaimStatus } from './allocation-shapes.ts'
import { ResourceClaimSpec, servedPath, servedSpec, storedSpec } from './claim-shapes-v1beta1.ts'
import { ResourceClaim, validateClaim } from './resourceclaim.ts'

export const ResourceClaimV1beta1 = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1beta1',
  kind: 'ResourceClaim',
  scope: 'Namespaced',
  names: ResourceClaim.def.names,
  doc: 'A request for devices, and the devices given for it.',
  lifecycle: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
  spec: ResourceClaimSpec,
  status: ResourceClaimStatus,

  conversion: {
    storedVersion: ResourceClaim,
    toStored: o => ({ ...o, spec: storedSpec(o.spec) }),
    fromStored: (o: ResourceClaim) => ({ ...o, spec: servedSpec(o.spec) }),
    validate: (o: ResourceClaim, at: Ref<ResourceClaim>, ctx) => validateClaim(o, at, { ...ctx, servedPath }),
  },
})

/** An object of the kind ResourceClaimV1beta1. */
export type ResourceClaimV1beta1 = ObjectOf<typeof ResourceClaimV1beta1>
