/** Kinds, and versions with other fields, that are served only if `--runtime-config` turns them on: one line each, sorted. */
import type { Kind } from '../schema/kind.ts'
import { StorageVersion } from './apiserverinternal/storageversion.ts'
import { LeaseCandidate } from './coordination/leasecandidate.ts'
import { Eviction } from './lifecycle/eviction.ts'
import { EvictionRequest } from './lifecycle/evictionrequest.ts'
import { ResourceClaimV1beta1 } from './resource/resourceclaim-v1beta1.ts'
import { ResourceClaimTemplateV1beta1 } from './resource/resourceclaimtemplate-v1beta1.ts'
import { ResourceSliceV1beta1 } from './resource/resourceslice-v1beta1.ts'
import { CompositePodGroup } from './scheduling/compositepodgroup.ts'
import { PodGroup } from './scheduling/podgroup.ts'
import { Workload } from './scheduling/workload.ts'

export const kindsOnRequest: readonly Kind<any>[] = [
  CompositePodGroup,
  Eviction,
  EvictionRequest,
  LeaseCandidate,
  PodGroup,
  ResourceClaimTemplateV1beta1,
  ResourceClaimV1beta1,
  ResourceSliceV1beta1,
  StorageVersion,
  Workload,
]
