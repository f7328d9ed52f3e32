/** Rules on what a pod's status says of the resource claims made for it. */
import { getOwn } from '../../lib/json-value.ts'
import { parseQuantity, quantitySign } from '../../lib/quantity.ts'
import { duplicate, type FieldError, invalid, type Ref, required, withValue } from '../../schema/refs.ts'
import { under } from '../shapes/error-values.ts'
import { isNodeAllocatableResource } from '../shapes/pod/resources/resource-rules.ts'
import type { PodSpec } from '../shapes/pod/spec.ts'
import type {
  NodeAllocatableResourceClaimStatus,
  PodExtendedResourceClaimStatus,
  PodResourceClaimStatus,
  PodStatus,
} from '../shapes/pod/status/status.ts'
import { validateLabelText, validateObjectName } from '../shapes/text-rules.ts'
import type { PodObject } from './pod-preparation.ts'

/** Claims, claims made for extended resources, and what claims take from a node. */
export function* validateClaimStatuses({ spec, status }: PodObject, at: Ref<PodStatus>): Iterable<FieldError> {
  yield* validateNamedClaims(status.resourceClaimStatuses ?? [], at.resourceClaimStatuses, spec)
  if (status.extendedResourceClaimStatus)
    yield* validateExtendedClaim(status.extendedResourceClaimStatus, at.extendedResourceClaimStatus, spec)
  yield* validateNodeAllocations(status, at, spec)
}

function* validateNamedClaims(
  statuses: readonly PodResourceClaimStatus[],
  at: Ref<PodResourceClaimStatus[]>,
  spec: PodSpec,
): Iterable<FieldError> {
  const known = new Set((spec.resourceClaims ?? []).map(claim => claim.name))
  const seen = new Set<string>()
  for (const [i, { name = '', resourceClaimName }] of statuses.entries()) {
    const place = at[i]!
    if (!known.has(name)) yield invalid(place.name, 'must match the name of an entry in `spec.resourceClaims`')
    if (seen.has(name)) yield duplicate(place.name)
    seen.add(name)
    if (resourceClaimName !== undefined) yield* validateObjectName(resourceClaimName, place.resourceClaimName)
  }
}

function* validateExtendedClaim(
  { requestMappings, resourceClaimName }: PodExtendedResourceClaimStatus,
  at: Ref<PodExtendedResourceClaimStatus>,
  spec: PodSpec,
): Iterable<FieldError> {
  const containers = new Map([...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(container => [container.name, container]))
  if (!requestMappings?.length) yield required(at.requestMappings, 'at least one request mapping is required')
  const seen = new Set<string>()
  for (const [i, { containerName = '', resourceName = '', requestName = '' }] of (requestMappings ?? []).entries()) {
    const place = at.requestMappings[i]!
    const container = containers.get(containerName)
    if (!container)
      yield invalid(place.containerName, 'must match the name of an entry in spec.initContainers.name or spec.containers.name')
    else if (getOwn(container.resources?.requests ?? {}, resourceName) === undefined)
      yield invalid(
        place.resourceName,
        'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
      )
    yield* validateLabelText(requestName, under(at, 'requestName'))
    const identity = JSON.stringify([containerName, resourceName, requestName])
    if (seen.has(identity)) for (const field of ['containerName', 'resourceName', 'requestName'] as const) yield duplicate(place[field])
    seen.add(identity)
  }
  if (!resourceClaimName) yield required(at.resourceClaimName)
  else yield* validateObjectName(resourceClaimName, at.resourceClaimName)
}

function* validateNodeAllocations(status: PodStatus, at: Ref<PodStatus>, spec: PodSpec): Iterable<FieldError> {
  const claims = new Set([...(spec.resourceClaims ?? []), ...(status.resourceClaimStatuses ?? [])].map(claim => claim.resourceClaimName))
  for (const [i, allocation] of (status.nodeAllocatableResourceClaimStatuses ?? []).entries()) {
    const place = at.nodeAllocatableResourceClaimStatuses[i]!
    if (!allocation.resourceClaimName) continue
    if (!claims.has(allocation.resourceClaimName)) yield invalid(place.resourceClaimName, 'no mapping found in pod reference')
    yield* validateAllocation(allocation, place)
  }
}

function* validateAllocation(
  { mapping, overhead }: NodeAllocatableResourceClaimStatus,
  at: Ref<NodeAllocatableResourceClaimStatus>,
): Iterable<FieldError> {
  for (const [i, { name = '', quantity }] of (mapping ?? []).entries()) {
    yield* validateAllocatableName(name, at.mapping[i]!.name)
    yield* validateAmount(quantity, at.mapping[i]!.quantity)
  }
  for (const [i, { name = '', perPod, perContainer }] of (overhead ?? []).entries()) {
    const place = at.overhead[i]!
    yield* validateAllocatableName(name, place.name)
    if (perPod === undefined && perContainer === undefined)
      yield invalid(withValue(place, ''), 'at least one of perPod or perContainer must be set')
    yield* validateAmount(perPod, place.perPod)
    yield* validateAmount(perContainer, place.perContainer)
  }
}

function* validateAllocatableName(name: string, at: Ref<string>): Iterable<FieldError> {
  if (!isNodeAllocatableResource(name)) yield invalid(at, 'must be a node allocatable resource name')
}

function* validateAmount(amount: string | null | undefined, at: Ref<string>): Iterable<FieldError> {
  if (amount && quantitySign(parseQuantity(amount)) < 0) yield invalid(at, 'must be non-negative')
}
