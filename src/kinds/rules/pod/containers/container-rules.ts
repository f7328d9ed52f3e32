/** Rules for containers: containers, init containers and ephemeral containers. */
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFoundValue,
  type Ref,
  required,
  tooMany,
  unsupported,
  withValue,
} from '../../../../schema/refs.ts'
import { validateChoice, validateRequiredLabelText } from '../../text-rules.ts'
import type { PodOptions } from '../options.ts'
import { validateContainerResources } from '../resources/resource-rules.ts'
import type { ContainerResizePolicy } from '../resources/resources.ts'
import { validateSecurityContext } from '../security/security-rules.ts'
import type { PodSpec } from '../spec.ts'
import { type Container, type ContainerRestartRule, type EphemeralContainer, isSidecar } from './container.ts'
import { validateEnv, validateEnvFrom } from './environment.ts'
import { type Volumes, validateVolumeDevices, validateVolumeMounts } from './mount-rules.ts'
import { validateContainerPorts, validateHostPortConflicts } from './ports.ts'
import { validateLifecycle, validateProbes } from './probes.ts'

/** The pod around the containers. */
type Surroundings = {
  readonly spec: PodSpec
  /** The valid volumes of the pod. */
  readonly volumes: Volumes
  /** The names of the resource claims of the pod. */
  readonly claims: ReadonlySet<string>
  readonly options: PodOptions
}

/** There is a container, each is valid, and neither names nor host ports are used twice. */
export function* validateContainers(at: Ref<Container[]>, around: Surroundings): Iterable<FieldError> {
  const { spec, options } = around
  const containers = spec.containers ?? []
  if (containers.length === 0) return yield required(at)
  const names = new Set<string>()
  for (const [i, container] of containers.entries()) {
    const itemAt = at[i]!
    yield* validateContainer(container, itemAt, around)
    if (names.has(container.name)) yield duplicate(itemAt.name)
    names.add(container.name)
    yield* validateLife(container, itemAt, spec)
    if (options.restartRules) yield* validateContainerRestartPolicy(container, itemAt, options)
    else if (container.restartPolicy !== undefined) yield forbidden(itemAt.restartPolicy, 'may not be set for non-init containers')
  }
  yield* validateHostPortConflicts(containers, at)
}

/** Init containers run one by one, so each has all ports; only sidecars may have probes. */
export function* validateInitContainers(at: Ref<Container[]>, around: Surroundings): Iterable<FieldError> {
  const { spec, options } = around
  const names = new Set((spec.containers ?? []).map(container => container.name))
  for (const [i, container] of (spec.initContainers ?? []).entries()) {
    const itemAt = at[i]!
    const sidecar = isSidecar(container)
    yield* validateContainer(container, itemAt, around)
    if (options.restartRules) yield* validateInitRestartPolicy(container, itemAt, options)
    else if (container.restartPolicy !== undefined && !sidecar) yield unsupported(itemAt.restartPolicy, 'Always')
    if (names.has(container.name)) yield duplicate(itemAt.name)
    else if (container.name) names.add(container.name)
    // One container at a time: the error paths have no index, as in kube-apiserver.
    yield* validateHostPortConflicts([container], at)
    if (sidecar) yield* validateLife(container, itemAt, spec)
    else
      for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
        if (container[field]) yield forbidden(itemAt[field], 'may not be set for init containers without restartPolicy=Always')
    if (sidecar || options.allowRestartOnInitResize) continue
    for (const [j, { restartPolicy }] of (container.resizePolicy ?? []).entries())
      if (restartPolicy === 'RestartContainer')
        yield invalid(itemAt.resizePolicy[j]!.restartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
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

/** Ephemeral containers: for debugging, so without the fields that services need. */
export function* validateEphemeralContainers(at: Ref<EphemeralContainer[]>, around: Surroundings): Iterable<FieldError> {
  const { spec } = around
  const message = 'cannot be set for an Ephemeral Container'
  const others = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(container => container.name))
  const names = new Set(others)
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries()) {
    const itemAt = at[i]!
    yield* validateContainer(container, itemAt as unknown as Ref<Container>, around)
    yield* validateImagePadding(container, itemAt.image)
    if (names.has(container.name)) yield duplicate(itemAt.name)
    names.add(container.name)
    const { targetContainerName: target } = container
    if (target && !others.has(target)) yield notFoundValue(itemAt.targetContainerName)
    for (const field of NOT_FOR_EPHEMERAL) if (isSet(field, container)) yield forbidden(itemAt[field], message)
    for (const [j, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries()) {
      if (subPath) yield forbidden(itemAt.volumeMounts[j]!.subPath, message)
      if (subPathExpr) yield forbidden(itemAt.volumeMounts[j]!.subPathExpr, message)
    }
  }
}

/** In pods, but not in templates, the image has no space around it. */
export function* validateImagePadding({ image = '' }: { image?: string }, at: Ref<string>): Iterable<FieldError> {
  if (image.trim() !== image) yield invalid(at, 'must not have leading or trailing whitespace')
}

/** Requirements are always present, but may be empty. */
const isSet = (field: (typeof NOT_FOR_EPHEMERAL)[number], container: EphemeralContainer): boolean =>
  field === 'resources' ? Object.keys(container.resources ?? {}).length > 0 : (container[field] ?? undefined) !== undefined

function* validateLife(container: Container, at: Ref<Container>, spec: PodSpec): Iterable<FieldError> {
  const grace = spec.terminationGracePeriodSeconds
  if (container.lifecycle) yield* validateLifecycle(container.lifecycle, at.lifecycle, { grace, os: spec.os })
  yield* validateProbes(container, at, grace)
}

/** Rules for every container. */
function* validateContainer(container: Container, at: Ref<Container>, around: Surroundings): Iterable<FieldError> {
  const { spec, volumes, claims, options } = around
  // Refs cost more than most of these checks: they are created only for fields that are set.
  yield* validateRequiredLabelText(container.name, at.name)
  if (!container.image) yield required(at.image)
  if (!isOneOf(MESSAGE_POLICIES, container.terminationMessagePolicy))
    yield* validateChoice(container.terminationMessagePolicy, at.terminationMessagePolicy, ...MESSAGE_POLICIES)
  if (container.ports) yield* validateContainerPorts(container.ports, at.ports)
  if (container.env) yield* validateEnv(container.env, at.env, options)
  if (container.envFrom) yield* validateEnvFrom(container.envFrom, at.envFrom)
  if (container.volumeMounts) yield* validateVolumeMounts(container, at.volumeMounts, volumes)
  if (container.volumeDevices) yield* validateVolumeDevices(container, at.volumeDevices, volumes)
  if (!isOneOf(PULL_POLICIES, container.imagePullPolicy))
    yield* validateChoice(container.imagePullPolicy, at.imagePullPolicy, ...PULL_POLICIES)
  if (hasAny(container.resources))
    yield* validateContainerResources(container.resources, at.resources, {
      claims,
      allowIndivisibleHugePages: options.allowIndivisibleHugePages,
    })
  if (container.resizePolicy) yield* validateResizePolicies(container.resizePolicy, at.resizePolicy, spec.restartPolicy)
  if (container.securityContext)
    yield* validateSecurityContext(container.securityContext, at.securityContext, { hostUsers: spec.hostUsers !== false, options })
}

const MESSAGE_POLICIES = ['File', 'FallbackToLogsOnError']
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never']
const isOneOf = (words: readonly string[], word: string | undefined) => word !== undefined && words.includes(word)

function hasAny<T extends object>(value: T | undefined): value is T {
  for (const _ in value) return true
  return false
}

const MAX_RULES = 20
const MAX_EXIT_CODES = 255

/** The restart policy of one container, and its exceptions. */
function* validateContainerRestartPolicy(container: Container, at: Ref<Container>, options: PodOptions): Iterable<FieldError> {
  const { restartPolicy, restartPolicyRules: rules } = container
  const policies = ['Always', 'Never', 'OnFailure']
  if (restartPolicy === undefined) {
    if (!rules?.length) return
    yield required(at.restartPolicy, 'must specify restartPolicy when restart rules are used')
  } else if (!policies.includes(restartPolicy)) yield unsupported(at.restartPolicy, ...policies)
  if ((rules?.length ?? 0) > MAX_RULES) yield tooMany(at.restartPolicyRules, rules!.length, MAX_RULES)
  for (const [i, rule] of (rules ?? []).entries()) yield* validateRestartRule(rule, at.restartPolicyRules[i]!, options)
}

function* validateRestartRule(
  { action = '', exitCodes }: ContainerRestartRule,
  at: Ref<ContainerRestartRule>,
  options: PodOptions,
): Iterable<FieldError> {
  const actions = options.restartAllContainers ? ['Restart', 'RestartAllContainers'] : ['Restart']
  if (!actions.includes(action)) yield unsupported(at.action, ...actions)
  if (!exitCodes) return yield required(at.exitCodes, 'must be specified')
  if (exitCodes.operator !== 'In' && exitCodes.operator !== 'NotIn') yield unsupported(at.exitCodes.operator, 'In', 'NotIn')
  const count = exitCodes.values?.length ?? 0
  if (count > MAX_EXIT_CODES) yield tooMany(at.exitCodes.values, count, MAX_EXIT_CODES)
}

/** As validateContainerRestartPolicy for init containers, whose rules need a policy too. */
function* validateInitRestartPolicy(container: Container, at: Ref<Container>, options: PodOptions): Iterable<FieldError> {
  if (container.restartPolicy !== undefined) yield* validateContainerRestartPolicy(container, at, options)
  else if (container.restartPolicyRules?.length) yield required(at.restartPolicy, 'must specify restartPolicy when restart rules are used')
}

/** The resize policy of each resource; pods that never restart cannot have RestartContainer. */
function* validateResizePolicies(
  policies: readonly ContainerResizePolicy[] | null | undefined,
  at: Ref<ContainerResizePolicy[]>,
  podRestartPolicy: string,
): Iterable<FieldError> {
  const resources = new Set<string>()
  for (const [i, { resourceName = '', restartPolicy = '' }] of (policies ?? []).entries()) {
    if (resources.has(resourceName)) yield duplicate(withValue(at[i]!, resourceName))
    resources.add(resourceName)
    yield* validateWord(resourceName, at, 'cpu', 'memory')
    yield* validateWord(restartPolicy, at, 'NotRequired', 'RestartContainer')
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired')
      yield invalid(withValue(at, restartPolicy), "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
  }
}

/** The error is about the whole list, whichever item is wrong. */
function* validateWord(word: string, at: Ref<any>, ...words: readonly string[]): Iterable<FieldError> {
  if (word === '') yield required(at)
  else if (!words.includes(word)) yield unsupported(withValue(at, word), ...words)
}
