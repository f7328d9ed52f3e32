/** Rules on the statuses of containers: who they run as, what they were given, and which states may follow which. */
import { getOwn } from '../../lib/json-value.ts'
import { inclusiveRangeMessage, isValidGroupID } from '../../lib/names.ts'
import { parseQuantity, quantitySign } from '../../lib/quantity.ts'
import { duplicate, type FieldError, forbidden, invalid, invalidEach, type Ref, required, tooLong, unsupported } from '../../schema/refs.ts'
import { under } from '../shapes/error-values.ts'
import type { Container } from '../shapes/pod/containers/container.ts'
import type { PodOptions } from '../shapes/pod/options.ts'
import type { PodSpec } from '../shapes/pod/spec.ts'
import type { ContainerStatus, LinuxContainerUser, ResourceHealth } from '../shapes/pod/status/container-status.ts'
import type { PodExtendedResourceClaimStatus, PodStatus } from '../shapes/pod/status/status.ts'
import type { PodObject } from './pod-preparation.ts'

const LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const

/** A container that ended stays so unless it may be started again. */
export function* validateStateTransitions(
  status: PodStatus,
  { spec, status: before }: PodObject,
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

/** Names may come twice; the first is meant. */
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

/** What the statuses of containers say of users, resources and volumes. */
export function* validateContainerStatuses({ spec, status }: PodObject, at: Ref<PodStatus>, options: PodOptions): Iterable<FieldError> {
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

/** Devices given to a container are such as it asked for, each told once. */
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
      const place = at[list][i]!.allocatedResourcesStatus[j]!
      // A container that is gone from the pod may still be told of.
      if (asked && !asked.has(name)) yield invalid(place.name, name.startsWith(CLAIM) ? CLAIM_MESSAGE : REQUEST_MESSAGE)
      yield* validateHealth(resources ?? [], place.resources)
    }
  }
}

const CLAIM = 'claim:'
const REQUEST_MESSAGE = "must match one of the container's resource requests"
const CLAIM_MESSAGE =
  "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"

/** What a container can be given: resources by name, claims and requests in claims, and those made for its extended resources. */
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
    const place = at[i]!
    if (!['Healthy', 'Unhealthy', 'Unknown'].includes(health)) yield unsupported(place.health, 'Healthy', 'Unhealthy', 'Unknown')
    if (message === '') yield required(place.message, 'must be non-empty if specified')
    else if (message !== undefined && Buffer.byteLength(message) > MAX_HEALTH_MESSAGE) yield tooLong(place.message, MAX_HEALTH_MESSAGE)
    if (seen.has(resourceID)) yield duplicate(place.resourceID)
    seen.add(resourceID)
  }
}

const MAX_IMAGE_REFERENCE = 256

function* validateImageVolumes(statuses: readonly ContainerStatus[], at: Ref<ContainerStatus[]>): Iterable<FieldError> {
  for (const [i, { volumeMounts }] of statuses.entries())
    for (const [j, { volumeStatus }] of (volumeMounts ?? []).entries()) {
      if (!volumeStatus?.image) continue
      const { imageRef = '' } = volumeStatus.image
      const place = under(at[i]!.volumeMounts[j]!.volumeStatus, 'imageVolumeStatus.imageRef', imageRef)
      if (!imageRef) yield required(place, 'imageRef must not be empty')
      if (Buffer.byteLength(imageRef) > MAX_IMAGE_REFERENCE) yield tooLong(place, MAX_IMAGE_REFERENCE)
    }
}
