/** Rules on containers: those that run, those that run before them, and those added to look inside. */
import { duplicate, type FieldError, forbidden, invalid, notFoundValue, type Ref, required, unsupported } from '../../../../schema/refs.ts'
import { validateChoice, validateRequiredLabelText } from '../../text-rules.ts'
import type { PodOptions } from '../options.ts'
import { validateContainerResources } from '../resources/resource-rules.ts'
import { validateSecurityContext } from '../security/security-rules.ts'
import type { PodSpec } from '../spec.ts'
import type { Container, EphemeralContainer } from './container.ts'
import { isSidecar } from './containers.ts'
import { validateEnv, validateEnvFrom } from './environment-rules.ts'
import { type Volumes, validateVolumeDevices, validateVolumeMounts } from './mount-rules.ts'
import { validateContainerPorts, validateHostPortConflicts } from './port-rules.ts'
import { validateLifecycle, validateProbes } from './probe-rules.ts'
import { validateContainerRestartPolicy, validateInitRestartPolicy, validateResizePolicies } from './restart-rules.ts'

/** What containers are checked against: the pod around them. */
export type Surroundings = {
  readonly spec: PodSpec
  /** The valid volumes of the pod. */
  readonly volumes: Volumes
  /** The names of the resource claims of the pod. */
  readonly claims: ReadonlySet<string>
  readonly options: PodOptions
}

/** There is a container, each is well formed, and neither names nor ports of the node are used twice. */
export function* validateContainers(at: Ref<Container[]>, around: Surroundings): Iterable<FieldError> {
  const { spec, options } = around
  const containers = spec.containers ?? []
  if (containers.length === 0) return yield required(at)
  const names = new Set<string>()
  for (const [i, container] of containers.entries()) {
    const place = at[i]!
    yield* validateContainer(container, place, around)
    if (names.has(container.name)) yield duplicate(place.name)
    names.add(container.name)
    yield* validateLife(container, place, spec)
    if (options.restartRules) yield* validateContainerRestartPolicy(container, place, options)
    else if (container.restartPolicy !== undefined) yield forbidden(place.restartPolicy, 'may not be set for non-init containers')
  }
  yield* validateHostPortConflicts(containers, at)
}

/** Init containers run one by one, so each has all ports; only sidecars have a life to be probed. */
export function* validateInitContainers(at: Ref<Container[]>, around: Surroundings): Iterable<FieldError> {
  const { spec, options } = around
  const names = new Set((spec.containers ?? []).map(container => container.name))
  for (const [i, container] of (spec.initContainers ?? []).entries()) {
    const place = at[i]!
    const sidecar = isSidecar(container)
    yield* validateContainer(container, place, around)
    if (options.restartRules) yield* validateInitRestartPolicy(container, place, options)
    else if (container.restartPolicy !== undefined && !sidecar) yield unsupported(place.restartPolicy, 'Always')
    if (names.has(container.name)) yield duplicate(place.name)
    else if (container.name) names.add(container.name)
    // One container at a time: its place in the list is lost to the errors that clients know.
    yield* validateHostPortConflicts([container], at)
    if (sidecar) yield* validateLife(container, place, spec)
    else
      for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
        if (container[field]) yield forbidden(place[field], 'may not be set for init containers without restartPolicy=Always')
    if (sidecar || options.allowRestartOnInitResize) continue
    for (const [j, { restartPolicy }] of (container.resizePolicy ?? []).entries())
      if (restartPolicy === 'RestartContainer')
        yield invalid(place.resizePolicy[j]!.restartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
  }
}

const NOT_FOR_EPHEMERAL = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const

/** Containers added for a while: no part of the service, so without what services need. */
export function* validateEphemeralContainers(at: Ref<EphemeralContainer[]>, around: Surroundings): Iterable<FieldError> {
  const { spec } = around
  const message = 'cannot be set for an Ephemeral Container'
  const others = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(container => container.name))
  const names = new Set(others)
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries()) {
    const place = at[i]!
    yield* validateContainer(container, place as unknown as Ref<Container>, around)
    yield* validateImagePadding(container, place.image)
    if (names.has(container.name)) yield duplicate(place.name)
    names.add(container.name)
    const { targetContainerName: target } = container
    if (target && !others.has(target)) yield notFoundValue(place.targetContainerName)
    for (const field of NOT_FOR_EPHEMERAL) if (isSet(field, container)) yield forbidden(place[field], message)
    for (const [j, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries()) {
      if (subPath) yield forbidden(place.volumeMounts[j]!.subPath, message)
      if (subPathExpr) yield forbidden(place.volumeMounts[j]!.subPathExpr, message)
    }
  }
}

/** In pods, though not in templates, the image has no space around it. */
export function* validateImagePadding({ image = '' }: { image?: string }, at: Ref<string>): Iterable<FieldError> {
  if (image.trim() !== image) yield invalid(at, 'must not have leading or trailing whitespace')
}

/** Requirements are always there, but may hold nothing. */
const isSet = (field: (typeof NOT_FOR_EPHEMERAL)[number], container: EphemeralContainer): boolean =>
  field === 'resources' ? Object.keys(container.resources ?? {}).length > 0 : (container[field] ?? undefined) !== undefined

function* validateLife(container: Container, at: Ref<Container>, spec: PodSpec): Iterable<FieldError> {
  const grace = spec.terminationGracePeriodSeconds
  if (container.lifecycle) yield* validateLifecycle(container.lifecycle, at.lifecycle, { grace, os: spec.os })
  yield* validateProbes(container, at, grace)
}

/** What is asked of every container. */
function* validateContainer(container: Container, at: Ref<Container>, around: Surroundings): Iterable<FieldError> {
  const { spec, volumes, claims, options } = around
  yield* validateRequiredLabelText(container.name, at.name)
  if (!container.image) yield required(at.image)
  yield* validateChoice(container.terminationMessagePolicy, at.terminationMessagePolicy, 'File', 'FallbackToLogsOnError')
  yield* validateContainerPorts(container.ports, at.ports)
  yield* validateEnv(container.env, at.env, options)
  yield* validateEnvFrom(container.envFrom, at.envFrom)
  yield* validateVolumeMounts(container, at.volumeMounts, volumes)
  yield* validateVolumeDevices(container, at.volumeDevices, volumes)
  yield* validateChoice(container.imagePullPolicy, at.imagePullPolicy, 'Always', 'IfNotPresent', 'Never')
  yield* validateContainerResources(container.resources ?? {}, at.resources, {
    claims,
    allowIndivisibleHugePages: options.allowIndivisibleHugePages,
  })
  yield* validateResizePolicies(container.resizePolicy, at.resizePolicy, spec.restartPolicy)
  if (container.securityContext)
    yield* validateSecurityContext(container.securityContext, at.securityContext, { hostUsers: spec.hostUsers !== false, options })
}
