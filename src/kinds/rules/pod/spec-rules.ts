/** Rules for the spec of a pod, alone and inside a template: all errors, in the order of kube-apiserver. */

import { goQuote } from '../../../lib/go-text.ts'
import { inclusiveRangeMessage, isPrefixedLabelKey } from '../../../lib/names.ts'
import { validateAnnotations, validateLabels } from '../../../schema/meta-rules.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  notFoundValue,
  type Ref,
  required,
  tooMany,
  withValue,
} from '../../../schema/refs.ts'
import { notReserved } from '../declared-formats.ts'
import { under, wholeObject } from '../error-paths.ts'
import { internalRepresentation } from '../internal-representation.ts'
import { validateChoice, validateLabelText, validateObjectName, validateQualifiedName } from '../text-rules.ts'
import {
  annotationOf,
  MIRROR_ANNOTATION,
  validateAppArmorAgreement,
  validatePodAnnotations,
  validateSeccompAgreement,
} from './annotation-rules.ts'
import { containersWithRefs } from './containers/container-list-rules.ts'
import { validateContainers, validateEphemeralContainers, validateInitContainers } from './containers/container-rules.ts'
import {
  validateDNSConfig,
  validateHostAliases,
  validateHostNetworkPorts,
  validateHostnameOverride,
  validateHostUsers,
} from './network-rules.ts'
import { POD_OPTIONS, type PodOptions } from './options.ts'
import { validatePodResources } from './resources/level-resources.ts'
import { validateContainerResources } from './resources/resource-rules.ts'
import type { ResourceRequirements } from './resources/resources.ts'
import { validateAffinity } from './scheduling/affinity.ts'
import { validateTolerations } from './scheduling/toleration-rules.ts'
import { validateTopologySpread } from './scheduling/topology-spread-rules.ts'
import { validatePodSecurityContext } from './security/security-rules.ts'
import { validateHostProcesses, validateOS } from './security/windows-rules.ts'
import { type EvictionResponder, PodResourceClaim, type PodSpec, type PodTemplateSpec } from './spec.ts'
import { validateVolumes } from './volumes/volume-rules.ts'
import type { Volume } from './volumes/volumes.ts'

const MAX_INT32 = 2 ** 31 - 1
const MAX_RESPONDERS = 10
const MAX_RESPONDER_PRIORITY = 100_000
const RESERVED_PRIORITIES = 1000

/** Rules for a pod template; its metadata has only labels and annotations. */
export function* validatePodTemplateSpec(
  template: PodTemplateSpec,
  at: Ref<PodTemplateSpec>,
  options: PodOptions = POD_OPTIONS,
): Iterable<FieldError> {
  const { metadata, spec } = template
  // Error paths leave out `metadata` before labels and annotations.
  const annotations = under(at, 'annotations', metadata.annotations ?? {})
  yield* validateLabels(metadata.labels, under(at, 'labels', metadata.labels ?? {}))
  yield* validateAnnotations(metadata.annotations, annotations)
  yield* validatePodAnnotations(metadata, annotations, { spec, options })
  yield* validatePodSpec(spec, at.spec, options)
  yield* validateSeccompAgreement(metadata, spec, at.spec)
  yield* validateAppArmorAgreement(metadata, spec, at.spec)
  if (spec.ephemeralContainers?.length) yield forbidden(at.spec.ephemeralContainers, 'ephemeral containers not allowed in pod template')
}

/** Rules for the spec of a pod. */
export function* validatePodSpec(spec: PodSpec, at: Ref<PodSpec>, options: PodOptions = POD_OPTIONS): Iterable<FieldError> {
  if (spec.terminationGracePeriodSeconds === undefined) yield required(at.terminationGracePeriodSeconds)
  const volumes = new Map<string, Volume>()
  const claims = new Set((spec.resourceClaims ?? []).map(claim => claim.name).filter(Boolean))
  yield* validateVolumes(spec.volumes, at.volumes, { options, valid: volumes })
  yield* validateResourceClaims(spec.resourceClaims ?? [], at.resourceClaims, options)
  const around = { spec, volumes, claims, options }
  yield* validateContainers(at.containers, around)
  yield* validateInitContainers(at.initContainers, around)
  yield* validateEphemeralContainers(at.ephemeralContainers, around)
  yield* validatePodResources(spec, at, { claims, options })
  yield* validateHostNetworkPorts(spec, at, options)
  yield* validateChoice(spec.restartPolicy, at.restartPolicy, 'Always', 'OnFailure', 'Never')
  yield* validateChoice(spec.dnsPolicy, at.dnsPolicy, 'ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None')
  yield* validateLabels(spec.nodeSelector, at.nodeSelector)
  yield* validatePodSecurityContext(spec, at.securityContext, options)
  if (spec.shareProcessNamespace && spec.hostPID)
    yield invalid(at.shareProcessNamespace, 'ShareProcessNamespace and HostPID cannot both be enabled')
  if (spec.affinity) yield* validateAffinity(spec.affinity, at.affinity, options)
  yield* validateDNSConfig(spec, at.dnsConfig, options)
  yield* validateGates(spec, at)
  yield* validateTopologySpread(spec.topologySpreadConstraints, at.topologySpreadConstraints, options)
  yield* validateHostProcesses(spec, at, options)
  yield* validateHostUsers(spec, at, options)
  yield* validateHostnameOverride(spec, at)
  yield* validateNames(spec, at)
  yield* validateTolerations(spec.tolerations, at.tolerations, options)
  yield* validateHostAliases(spec.hostAliases, at.hostAliases, options)
  yield* validateClasses(spec, at, options)
  yield* validateOS(spec, at)
  yield* validateSchedulingGroup(spec, at)
  yield* validateFileVariables(spec, at)
  yield* validateEvictionResponders(spec.evictionResponders ?? [], at.evictionResponders)
}

function* validateResourceClaims(
  claims: readonly PodResourceClaim[],
  at: Ref<PodResourceClaim[]>,
  { pod }: PodOptions,
): Iterable<FieldError> {
  const names = new Set<string>()
  const mirrored = annotationOf(pod, MIRROR_ANNOTATION) !== undefined
  for (const [i, claim] of claims.entries()) {
    if (mirrored) {
      yield forbidden(wholeObject, 'static pods do not support resource claims')
      continue
    }
    const { name, resourceClaimName, resourceClaimTemplateName } = claim
    const itemAt = at[i]!
    if (!name) yield required(itemAt.name)
    else if (names.has(name)) yield duplicate(itemAt.name)
    else {
      yield* validateLabelText(name, itemAt.name)
      names.add(name)
    }
    const whole = () => withValue(itemAt, internalRepresentation(PodResourceClaim, claim))
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
      yield invalid(whole(), 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified')
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
      yield invalid(whole(), 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`')
    if (resourceClaimName !== undefined) yield* validateObjectName(resourceClaimName, itemAt.resourceClaimName)
    if (resourceClaimTemplateName !== undefined) yield* validateObjectName(resourceClaimTemplateName, itemAt.resourceClaimTemplateName)
  }
}

/** Rules for readiness gates and scheduling gates. */
function* validateGates({ readinessGates, schedulingGates }: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  for (const [i, { conditionType = '' }] of (readinessGates ?? []).entries())
    yield* validateQualifiedName(conditionType, at.readinessGates[i]!.conditionType)
  const seen = new Set<string>()
  for (const [i, { name = '' }] of (schedulingGates ?? []).entries()) {
    const itemAt = withValue(at.schedulingGates[i]!, name)
    yield* validateQualifiedName(name, itemAt)
    if (seen.has(name)) yield duplicate(itemAt)
    seen.add(name)
  }
}

function* validateNames(spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const { serviceAccountName = '', serviceAccount = '', nodeName, activeDeadlineSeconds, hostname, subdomain } = spec
  if (serviceAccountName) yield* validateObjectName(serviceAccountName, at.serviceAccountName)
  if (serviceAccount !== serviceAccountName)
    yield invalid(
      under(at, 'deprecatedServiceAccount', serviceAccount),
      `must be the same as serviceAccountName: ${goQuote(serviceAccountName)}`,
    )
  if (nodeName) yield* validateObjectName(nodeName, at.nodeName)
  if (activeDeadlineSeconds !== undefined && (activeDeadlineSeconds < 1 || activeDeadlineSeconds > MAX_INT32))
    yield invalid(at.activeDeadlineSeconds, inclusiveRangeMessage(1, MAX_INT32))
  if (hostname) yield* validateLabelText(hostname, at.hostname)
  if (subdomain) yield* validateLabelText(subdomain, at.subdomain)
}

function* validateClasses(spec: PodSpec, at: Ref<PodSpec>, options: PodOptions): Iterable<FieldError> {
  const { priorityClassName, runtimeClassName, preemptionPolicy, overhead } = spec
  if (priorityClassName) yield* validateObjectName(priorityClassName, at.priorityClassName)
  if (runtimeClassName !== undefined) yield* validateObjectName(runtimeClassName, at.runtimeClassName)
  if (preemptionPolicy !== undefined) yield* validateChoice(preemptionPolicy, at.preemptionPolicy, 'PreemptLowerPriority', 'Never')
  // Overhead is checked like limits, and error paths say limits.
  if (overhead)
    yield* validateContainerResources({ limits: overhead }, withValue<ResourceRequirements>(at.overhead, { limits: overhead }), options)
}

function* validateSchedulingGroup({ schedulingGroup, evictionResponders }: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  if (!schedulingGroup) return
  const { podGroupName } = schedulingGroup
  if (podGroupName === undefined) yield invalid(withValue(at.schedulingGroup.podGroupName, null), 'must specify one of: `podGroupName`')
  else yield* validateObjectName(podGroupName, at.schedulingGroup.podGroupName)
  if (evictionResponders?.length) yield forbidden(at.schedulingGroup, 'may not be set when evictionResponders is set')
}

/** Variables read from files are in emptyDir volumes of the pod. */
function* validateFileVariables(spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const volumes = new Map((spec.volumes ?? []).map(volume => [volume.name, volume]))
  for (const placed of containersWithRefs(spec, at))
    for (const [i, { valueFrom }] of (placed.container.env ?? []).entries()) {
      if (!valueFrom?.fileKeyRef) continue
      const name = placed.at.env[i]!.valueFrom.fileKeyRef.volumeName
      const volume = volumes.get(valueFrom.fileKeyRef.volumeName)
      if (!volume) yield notFoundValue(name)
      else if (!volume.emptyDir) yield invalid(name, 'referenced volume must be of type emptyDir')
    }
}

/** Rules for eviction responders and their order. */
function* validateEvictionResponders(responders: readonly EvictionResponder[], at: Ref<EvictionResponder[]>): Iterable<FieldError> {
  if (responders.length > MAX_RESPONDERS) return yield tooMany(at, responders.length, MAX_RESPONDERS)
  const names = new Set<string>()
  for (const [i, { name = '' }] of responders.entries()) {
    if (names.has(name)) yield duplicate(at[i]!)
    names.add(name)
  }
  for (const [i, { name, priority }] of responders.entries()) {
    const itemAt = at[i]!
    if (!name) yield required(itemAt.name)
    else {
      yield* notReserved(name, itemAt.name)
      yield* invalidEach(itemAt.name, isPrefixedLabelKey(name))
    }
    if (priority === undefined || priority === null) yield required(itemAt.priority)
    else if (priority > MAX_RESPONDER_PRIORITY) yield invalid(itemAt.priority, `must be less than or equal to ${MAX_RESPONDER_PRIORITY}`)
    else if (priority < 0) yield invalid(itemAt.priority, 'must be greater than or equal to 0')
    else if (priority < RESERVED_PRIORITIES)
      yield invalid(itemAt.priority, 'priorities 0-999 are reserved for responders with *.k8s.io suffix')
  }
}
