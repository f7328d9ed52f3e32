/** Rules for the status of pods: it must match the spec, and terminated containers cannot run again. */
import { parseIPSloppy } from '../../../lib/ip.ts'
import { getOwn } from '../../../lib/json-value.ts'
import { inclusiveRangeMessage, isValidGroupID, nameIsDNSSubdomain } from '../../../lib/names.ts'
import { parseQuantity, quantitySign } from '../../../lib/quantity.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  internal,
  invalid,
  invalidEach,
  type Ref,
  required,
  tooLong,
  unsupported,
  withValue,
} from '../../../schema/refs.ts'
import type { RequestContext } from '../../../schema/request-context.ts'
import { under } from '../../rules/error-paths.ts'
import { internalRepresentation } from '../../rules/internal-representation.ts'
import { validatePodAnnotations } from '../../rules/pod/annotation-rules.ts'
import type { Container } from '../../rules/pod/containers/container.ts'
import type { PodOptions } from '../../rules/pod/options.ts'
import { isNodeAllocatableResource } from '../../rules/pod/resources/resource-rules.ts'
import type { PodSpec } from '../../rules/pod/spec.ts'
import type { ContainerStatus, LinuxContainerUser, ResourceHealth } from '../../rules/pod/status/container-status.ts'
import {
  type NodeAllocatableResourceClaimStatus,
  type PodCondition,
  type PodExtendedResourceClaimStatus,
  PodIP,
  type PodResourceClaimStatus,
  type PodStatus,
} from '../../rules/pod/status/status.ts'
import { validateVolumeHealth } from '../../rules/pod/status/volume-health-rules.ts'
import { validateLabelText, validateObjectName, validateQualifiedName } from '../../rules/text-rules.ts'
import type { Pod } from './pod.ts'
import { optionsOfPod } from './rules.ts'
import { validateAnnotationChanges } from './update-rules.ts'

/** The errors of a status, and of its change. */
export function* validatePodStatusUpdate(pod: Pod, at: Ref<Pod>, ctx: RequestContext & { readonly old?: Pod }): Iterable<FieldError> {
  const old = ctx.old ?? pod
  const options = optionsOfPod(pod, ctx)
  const { status, spec } = pod
  yield* validateAnnotationChanges(pod, old, at)
  yield* validatePodAnnotations(pod.metadata, at.metadata.annotations, { spec, options })
  yield* validateConditions(status.conditions ?? [], at.status.conditions)
  if ((spec.nodeName ?? '') !== (old.spec.nodeName ?? '')) yield forbidden(under(at.status, 'nodeName'), 'may not be changed directly')
  yield* validateNomination(status, old, { at: at.status, gate: ctx.gate })
  if ((status.observedGeneration ?? 0) < 0) yield invalid(at.status.observedGeneration, 'must be a non-negative integer')
  if ((status.qosClass ?? '') !== (old.status.qosClass ?? '')) yield invalid(at.status.qosClass, 'field is immutable')
  yield* validateStateTransitions(status, old, { at: at.status, options })
  yield* validateClaimStatuses(pod, at.status)
  yield* validateVolumeHealth(status.volumeHealth ?? [], at.status.volumeHealth, new Set((spec.volumes ?? []).map(({ name }) => name)))
  yield* validatePodIPs(status, at.status, { old: old.status, options })
  yield* validateHostIPs(status, at.status, { old: old.status, options })
  yield* validateContainerStatuses(pod, at.status, options)
}

const SYSTEM_CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized'])

function* validateConditions(conditions: readonly PodCondition[], at: Ref<PodCondition[]>): Iterable<FieldError> {
  for (const [i, { type = '', observedGeneration = 0 }] of conditions.entries()) {
    if (observedGeneration < 0) yield invalid(at[i]!.observedGeneration, 'must be a non-negative integer')
    if (!SYSTEM_CONDITIONS.has(type)) yield* validateQualifiedName(type, under(at[i]!, 'Type'))
  }
}

/** A pod has a nominated node only until it is bound. */
function* validateNomination(
  { nominatedNodeName: name }: PodStatus,
  old: Pod,
  { at, gate }: { readonly at: Ref<PodStatus>; readonly gate: RequestContext['gate'] },
): Iterable<FieldError> {
  if (!name || name === old.status.nominatedNodeName) return
  yield* invalidEach(at.nominatedNodeName, nameIsDNSSubdomain(name))
  if (old.spec.nodeName && gate('ClearingNominatedNodeNameAfterBinding'))
    yield forbidden(at.nominatedNodeName, 'may not be set on pods that are already bound to a node')
}

type Addresses = readonly PodIP[]
type Changed = { readonly old: PodStatus; readonly options: PodOptions }

/** Addresses of the pod: one of each family, the first also in the field for one address. */
function* validatePodIPs(status: PodStatus, at: Ref<PodStatus>, { old, options }: Changed): Iterable<FieldError> {
  const ips = status.podIPs ?? []
  yield* validateAddresses(ips, at.podIPs, { stored: old.podIPs, options })
  if (Boolean(status.podIP) !== ips.length > 0)
    yield invalid(shown(at.podIPs, status.podIPs), 'podIP and podIPs must either both be set or both be unset')
  else if (ips.length > 0 && status.podIP !== ips[0]!.ip) yield invalid(at.podIPs[0]!.ip, 'must be equal to `podIP`')
}

/** Addresses of the node: likewise. */
function* validateHostIPs(status: PodStatus, at: Ref<PodStatus>, { old, options }: Changed): Iterable<FieldError> {
  const ips = status.hostIPs ?? []
  if (ips.length === 0) return
  if ((status.hostIP ?? '') !== ips[0]!.ip) yield invalid(at.hostIPs[0]!.ip, 'must be equal to `hostIP`')
  yield* validateAddresses(ips, at.hostIPs, { stored: old.hostIPs, options })
}

/** Addresses are valid or unchanged, and a pair has one of each family. */
function* validateAddresses(
  ips: Addresses,
  at: Ref<PodIP[]>,
  { stored, options }: { readonly stored: Addresses | undefined; readonly options: PodOptions },
): Iterable<FieldError> {
  const known = new Set((stored ?? []).map(({ ip = '' }) => ip))
  for (const [i, { ip = '' }] of ips.entries()) yield* invalidEach(withValue(at[i]!, ip), options.addresses.ip(ip, known))
  if (ips.length < 2) return
  const parsed = ips.map(({ ip }) => parseIPSloppy(ip ?? '')?.family)
  const unreadable = parsed.indexOf(undefined)
  if (unreadable >= 0) yield internal(at, `failed to check for dual stack with error:invalid IP[${unreadable}]: ${ips[unreadable]!.ip}`)
  if (unreadable >= 0 || new Set(parsed).size !== 2 || ips.length > 2)
    yield invalid(shown(at, ips), 'may specify no more than one IP for each IP family')
}

const shown = (at: Ref<any>, ips: Addresses | undefined) => withValue(at, ips?.map(ip => internalRepresentation(PodIP, ip)) ?? null)

/** Rules for claims, claims made for extended resources, and allocations of claims on a node. */
function* validateClaimStatuses({ spec, status }: Pod, at: Ref<PodStatus>): Iterable<FieldError> {
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
    const itemAt = at[i]!
    if (!known.has(name)) yield invalid(itemAt.name, 'must match the name of an entry in `spec.resourceClaims`')
    if (seen.has(name)) yield duplicate(itemAt.name)
    seen.add(name)
    if (resourceClaimName !== undefined) yield* validateObjectName(resourceClaimName, itemAt.resourceClaimName)
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
    const itemAt = at.requestMappings[i]!
    const container = containers.get(containerName)
    if (!container)
      yield invalid(itemAt.containerName, 'must match the name of an entry in spec.initContainers.name or spec.containers.name')
    else if (getOwn(container.resources?.requests ?? {}, resourceName) === undefined)
      yield invalid(
        itemAt.resourceName,
        'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
      )
    yield* validateLabelText(requestName, under(at, 'requestName'))
    const identity = JSON.stringify([containerName, resourceName, requestName])
    if (seen.has(identity)) for (const field of ['containerName', 'resourceName', 'requestName'] as const) yield duplicate(itemAt[field])
    seen.add(identity)
  }
  if (!resourceClaimName) yield required(at.resourceClaimName)
  else yield* validateObjectName(resourceClaimName, at.resourceClaimName)
}

function* validateNodeAllocations(status: PodStatus, at: Ref<PodStatus>, spec: PodSpec): Iterable<FieldError> {
  const claims = new Set([...(spec.resourceClaims ?? []), ...(status.resourceClaimStatuses ?? [])].map(claim => claim.resourceClaimName))
  for (const [i, allocation] of (status.nodeAllocatableResourceClaimStatuses ?? []).entries()) {
    const itemAt = at.nodeAllocatableResourceClaimStatuses[i]!
    if (!allocation.resourceClaimName) continue
    if (!claims.has(allocation.resourceClaimName)) yield invalid(itemAt.resourceClaimName, 'no mapping found in pod reference')
    yield* validateAllocation(allocation, itemAt)
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
    const itemAt = at.overhead[i]!
    yield* validateAllocatableName(name, itemAt.name)
    if (perPod === undefined && perContainer === undefined)
      yield invalid(withValue(itemAt, ''), 'at least one of perPod or perContainer must be set')
    yield* validateAmount(perPod, itemAt.perPod)
    yield* validateAmount(perContainer, itemAt.perContainer)
  }
}

function* validateAllocatableName(name: string, at: Ref<string>): Iterable<FieldError> {
  if (!isNodeAllocatableResource(name)) yield invalid(at, 'must be a node allocatable resource name')
}

function* validateAmount(amount: string | null | undefined, at: Ref<string>): Iterable<FieldError> {
  if (amount && quantitySign(parseQuantity(amount)) < 0) yield invalid(at, 'must be non-negative')
}

const LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const

/** A terminated container cannot change state unless its restart policy allows it. */
function* validateStateTransitions(
  status: PodStatus,
  { spec, status: before }: Pod,
  { at, options }: { readonly at: Ref<PodStatus>; readonly options: PodOptions },
): Iterable<FieldError> {
  const containers = { containerStatuses: spec.containers, initContainerStatuses: spec.initContainers }
  const restartsAll = options.restartRules && options.restartAllContainers && restartsAllContainers(spec)
  for (const list of LISTS) {
    if (restartsAll && list !== 'ephemeralContainerStatuses') continue
    const byName = list === 'ephemeralContainerStatuses' ? undefined : firstByName(containers[list] ?? [])
    const running = new Set((status[list] ?? []).filter(({ state }) => !state?.terminated).map(({ name }) => name))
    for (const [i, { name, state }] of (before[list] ?? []).entries()) {
      if (!state?.terminated || !running.has(name)) continue
      if (byName && mayRestart(byName.get(name), spec, { exitCode: state.terminated.exitCode ?? 0, options })) continue
      yield forbidden(at[list][i]!.state, 'may not be transitioned to non-terminated state')
    }
  }
}

/** The first of several with the same name counts. */
const firstByName = <T extends { name: string }>(items: readonly T[]): ReadonlyMap<string, T> =>
  new Map([...items].reverse().map(item => [item.name, item]))

const restartsAllContainers = ({ initContainers, containers }: PodSpec): boolean =>
  [...(initContainers ?? []), ...(containers ?? [])].some(container =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  )

type Ending = { readonly exitCode: number; readonly options: PodOptions }

function mayRestart(container: Container | undefined, spec: PodSpec, { exitCode, options }: Ending): boolean {
  if (!options.restartRules) return container?.restartPolicy === 'Always' || restartsAfter(spec.restartPolicy, exitCode)
  if (!container) return false
  if (container.restartPolicy === undefined) return restartsAfter(spec.restartPolicy, exitCode)
  const rule = (container.restartPolicyRules ?? []).find(({ exitCodes }) => {
    const listed = exitCodes?.values?.includes(exitCode) ?? false
    return (exitCodes?.operator === 'In' && listed) || (exitCodes?.operator === 'NotIn' && !listed)
  })
  if (rule?.action === 'Restart' || (rule?.action === 'RestartAllContainers' && options.restartAllContainers)) return true
  const known = ['Always', 'OnFailure', 'Never'].includes(container.restartPolicy)
  return restartsAfter(known ? container.restartPolicy : spec.restartPolicy, exitCode)
}

const restartsAfter = (policy: string | undefined, exitCode: number): boolean =>
  policy === 'OnFailure' ? exitCode !== 0 : policy !== 'Never'

/** Rules for users, resources and volumes in the statuses of containers. */
function* validateContainerStatuses({ spec, status }: Pod, at: Ref<PodStatus>, options: PodOptions): Iterable<FieldError> {
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const)
    for (const [i, { user }] of (status[list] ?? []).entries())
      if (user?.linux) yield* validateUser(user.linux, at[list][i]!.user.linux, spec)
  yield* validateAllocations(status, at, { list: 'containerStatuses', containers: spec.containers ?? [] })
  yield* validateAllocations(status, at, { list: 'initContainerStatuses', containers: spec.initContainers ?? [] })
  for (const [i, { allocatedResourcesStatus }] of (status.ephemeralContainerStatuses ?? []).entries())
    if (allocatedResourcesStatus?.length)
      yield forbidden(at.ephemeralContainerStatuses[i]!.allocatedResourcesStatus, 'must not be specified in container status')
  if (options.imageVolumeDigest) for (const list of LISTS) yield* validateImageVolumes(status[list] ?? [], at[list])
}

const MAX_UINT32 = 2 ** 32 - 1

function* validateUser(
  { uid = 0, gid = 0, supplementalGroups }: LinuxContainerUser,
  at: Ref<LinuxContainerUser>,
  { os }: PodSpec,
): Iterable<FieldError> {
  if (os?.name === 'windows') return yield forbidden(at, 'cannot be set for a windows pod')
  if (os && os.name !== 'linux') return
  if (uid < 0 || uid > MAX_UINT32) yield invalid(at.uid, inclusiveRangeMessage(0, MAX_UINT32))
  yield* invalidEach(at.gid, isValidGroupID(gid))
  for (const [i, group] of (supplementalGroups ?? []).entries()) yield* invalidEach(at.supplementalGroups[i]!, isValidGroupID(group))
}

/** Allocated resources of a container are among its requests, each listed once. */
function* validateAllocations(
  status: PodStatus,
  at: Ref<PodStatus>,
  { list, containers }: { readonly list: 'containerStatuses' | 'initContainerStatuses'; readonly containers: readonly Container[] },
): Iterable<FieldError> {
  const byName = firstByName(containers)
  for (const [i, { name, allocatedResourcesStatus }] of (status[list] ?? []).entries()) {
    if (!allocatedResourcesStatus) continue
    const container = byName.get(name)
    const asked = container && askedFor(container, status.extendedResourceClaimStatus)
    for (const [j, { name, resources }] of allocatedResourcesStatus.entries()) {
      const itemAt = at[list][i]!.allocatedResourcesStatus[j]!
      // A container that was removed from the pod may still have a status.
      if (asked && !asked.has(name)) yield invalid(itemAt.name, name.startsWith(CLAIM) ? CLAIM_MESSAGE : REQUEST_MESSAGE)
      yield* validateHealth(resources ?? [], itemAt.resources)
    }
  }
}

const CLAIM = 'claim:'
const REQUEST_MESSAGE = "must match one of the container's resource requests"
const CLAIM_MESSAGE =
  "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"

/** The possible allocations of a container: resources by name, claims and requests in claims, and those made for its extended resources. */
function askedFor({ name, resources }: Container, extended: PodExtendedResourceClaimStatus | undefined): ReadonlySet<string> {
  const { requests = {}, claims = [] } = resources ?? {}
  const asked = new Set(Object.keys(requests).filter(resource => !resource.startsWith(CLAIM)))
  for (const { name: claim, request } of claims) asked.add(request ? `${CLAIM}${claim}/${request}` : CLAIM + claim)
  for (const { containerName, requestName, resourceName } of extended?.requestMappings ?? []) {
    const amount = getOwn(requests, resourceName)
    if (containerName !== name || amount === undefined || quantitySign(parseQuantity(amount)) === 0) continue
    if (extended?.resourceClaimName && requestName) asked.add(`${CLAIM}${extended.resourceClaimName}/${requestName}`)
  }
  return asked
}

const MAX_HEALTH_MESSAGE = 1024

function* validateHealth(resources: readonly ResourceHealth[], at: Ref<ResourceHealth[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { resourceID, health = '', message }] of resources.entries()) {
    const itemAt = at[i]!
    if (!['Healthy', 'Unhealthy', 'Unknown'].includes(health)) yield unsupported(itemAt.health, 'Healthy', 'Unhealthy', 'Unknown')
    if (message === '') yield required(itemAt.message, 'must be non-empty if specified')
    else if (message !== undefined && Buffer.byteLength(message) > MAX_HEALTH_MESSAGE) yield tooLong(itemAt.message, MAX_HEALTH_MESSAGE)
    if (seen.has(resourceID)) yield duplicate(itemAt.resourceID)
    seen.add(resourceID)
  }
}

const MAX_IMAGE_REFERENCE = 256

function* validateImageVolumes(statuses: readonly ContainerStatus[], at: Ref<ContainerStatus[]>): Iterable<FieldError> {
  for (const [i, { volumeMounts }] of statuses.entries())
    for (const [j, { volumeStatus }] of (volumeMounts ?? []).entries()) {
      if (!volumeStatus?.image) continue
      const { imageRef = '' } = volumeStatus.image
      const itemAt = under(at[i]!.volumeMounts[j]!.volumeStatus, 'imageVolumeStatus.imageRef', imageRef)
      if (!imageRef) yield required(itemAt, 'imageRef must not be empty')
      if (Buffer.byteLength(imageRef) > MAX_IMAGE_REFERENCE) yield tooLong(itemAt, MAX_IMAGE_REFERENCE)
    }
}
