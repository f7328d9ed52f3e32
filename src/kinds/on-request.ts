/** Kinds, and versions with other fields, that are served only if `--runtime-config` turns them on: one line each, sorted. */
import type { Kind } from '../schema/kind.ts'
import { StorageVersion } from './apiserverinternal/storageversion.ts'
import { LeaseCandidate } from './coordination/leasecandidate.ts'
import { ResourceClaimV1beta1 } from './resource/resourceclaim-v1beta1.ts'
import { ResourceClaimTemplateV1beta1 } from './resource/resourceclaimtemplate-v1beta1.ts'
import { ResourceSliceV1beta1 } from './resource/resourceslice-v1beta1.ts'

export const kindsOnRequest: readonly Kind<any>[] = [
  LeaseCandidate,
  ResourceClaimTemplateV1beta1,
  ResourceClaimV1beta1,
  ResourceSliceV1beta1,
  StorageVersion,
]
