/** Warnings about pods and templates that are valid but may not work as their author expects. */
import { goQuote } from '../../../lib/go-text.ts'
import { warningsForIP } from '../../../lib/ip.ts'
import { getOwn } from '../../../lib/json-value.ts'
import { isDNS1123Label, isValidLabelValue } from '../../../lib/names.ts'
import { milliValue, parseQuantity } from '../../../lib/quantity.ts'
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { entry, pathOf, type Ref, refTo } from '../../../schema/refs.ts'
import { type Container, containersOf } from './containers/container.ts'
import { type ContainerWithRef, containersWithRefs } from './containers/container-list-rules.ts'
import type { ContainerPort } from './containers/ports.ts'
import type { PodAffinity } from './scheduling/affinity.ts'
import { deprecatedNodeLabel } from './scheduling/node-labels.ts'
import type { NodeSelectorTerm } from './scheduling/node-selector.ts'
import { APP_ARMOR_ANNOTATION, appArmorProfileOf, isSameProfile } from './security/security.ts'
import type { PodSpec, PodTemplateSpec } from './spec.ts'
import type { PodStatus } from './status/status.ts'
import { warnAboutVolumes } from './volumes/volume-warnings.ts'

type Template = { readonly metadata: ObjectMeta; readonly spec: PodSpec }

/** Warnings about addresses of a pod and its node that are written in odd ways. */
export function* warnAboutAddresses({ podIPs = [], hostIPs = [] }: PodStatus): Iterable<string> {
  for (const [i, { ip = '' }] of podIPs.entries()) yield* warningsForIP(() => `status.podIPs[${i}].ip`, ip)
  for (const [i, { ip = '' }] of hostIPs.entries()) yield* warningsForIP(() => `status.hostIPs[${i}].ip`, ip)
}

/** Warnings about a new pod. */
export function* warnAboutPod(pod: Template): Iterable<string> {
  const faults = isDNS1123Label(pod.metadata.name ?? '')
  if (faults.length > 0)
    yield `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${faults.join(' ')}]`
  yield* warnAbout(pod, refTo(pod))
  for (const container of containersOf(pod.spec)) yield* warnAboutTakenOver(container, pod)
}

/** Warnings about the template of a workload; `at` is its path. */
export const warnAboutPodTemplate = (template: PodTemplateSpec, at: Ref<PodTemplateSpec>): Iterable<string> => warnAbout(template, at)

function* warnAbout({ metadata, spec }: Template, at: Ref<Template>): Iterable<string> {
  yield* warnAboutPlacement(spec, at.spec)
  yield* warnAboutAnnotations({ metadata, spec }, at)
  yield* warnAboutVolumes(spec.volumes ?? [], at.spec.volumes)
  yield* warnAboutRepetition(spec, at.spec)
  for (const name of FRACTIONLESS) yield* warnAboutFraction(spec.overhead, at.spec.overhead, name)
  const containers = containersWithRefs(spec, at.spec)
  for (const placed of containers) yield* warnAboutContainer(placed, { metadata, spec }, at)
  yield* warnAboutPorts(containers)
  if (spec.terminationGracePeriodSeconds < 0)
    yield `${pathOf(at.spec.terminationGracePeriodSeconds)}: must be >= 0; negative values are invalid and will be treated as 1`
  yield* warnAboutNeighbours(spec.affinity?.podAffinity, at.spec.affinity.podAffinity)
  yield* warnAboutNeighbours(spec.affinity?.podAntiAffinity, at.spec.affinity.podAntiAffinity)
  for (const [i, server] of (spec.dnsConfig?.nameservers ?? []).entries())
    yield* warningsForIP(() => pathOf(at.spec.dnsConfig.nameservers[i]!), server)
  for (const [i, { ip }] of (spec.hostAliases ?? []).entries()) yield* warningsForIP(() => pathOf(at.spec.hostAliases[i]!.ip), ip)
}

const FRACTIONLESS = ['memory', 'ephemeral-storage'] as const

const DEPRECATED_ANNOTATIONS: readonly [key: string, advice: string][] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
]
const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod'
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/'
const SECCOMP_ADVICE = 'non-functional in v1.27+; use the "seccompProfile" field instead'
const APP_ARMOR_ADVICE = 'deprecated since v1.30; use the "appArmorProfile" field instead'

function* warnAboutPlacement(spec: PodSpec, at: Ref<PodSpec>): Iterable<string> {
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const advice = deprecatedNodeLabel(key)
    if (advice) yield `${pathOf(entry(at.nodeSelector, key))}: ${advice}`
  }
  const nodes = spec.affinity?.nodeAffinity
  const nodesAt = at.affinity.nodeAffinity
  const required = nodes?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  for (const [i, term] of required.entries())
    yield* warnAboutNodeTerm(term, nodesAt.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[i]!, 'keys')
  for (const [i, { preference }] of (nodes?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries())
    yield* warnAboutNodeTerm(preference, nodesAt.preferredDuringSchedulingIgnoredDuringExecution[i]!.preference, 'keys and values')
  for (const [i, { topologyKey, labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const itemAt = at.topologySpreadConstraints[i]!
    const advice = deprecatedNodeLabel(topologyKey)
    if (advice) yield `${pathOf(itemAt.topologyKey)}: ${topologyKey} is ${advice}`
    if (!labelSelector) yield selectsNothing(itemAt.labelSelector)
  }
}

/** Values of preferences are not validated, so that a wrong one merely never matches. */
function* warnAboutNodeTerm(term: NodeSelectorTerm, at: Ref<NodeSelectorTerm>, about: 'keys' | 'keys and values'): Iterable<string> {
  for (const [i, { key, values }] of (term.matchExpressions ?? []).entries()) {
    const itemAt = at.matchExpressions[i]!
    const advice = deprecatedNodeLabel(key)
    if (advice) yield `${pathOf(itemAt.key)}: ${key} is ${advice}`
    if (about === 'keys') continue
    for (const [j, value] of (values ?? []).entries())
      for (const fault of isValidLabelValue(value)) yield `${pathOf(itemAt.values[j]!)}: ${value} is invalid, ${fault}`
  }
}

function* warnAboutNeighbours(affinity: PodAffinity | undefined, at: Ref<PodAffinity>): Iterable<string> {
  for (const [i, term] of (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries())
    if (!term.labelSelector) yield selectsNothing(at.requiredDuringSchedulingIgnoredDuringExecution[i]!.labelSelector)
  for (const [i, { podAffinityTerm }] of (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries())
    if (!podAffinityTerm.labelSelector)
      yield selectsNothing(at.preferredDuringSchedulingIgnoredDuringExecution[i]!.podAffinityTerm.labelSelector)
}

const selectsNothing = (at: Ref<any>): string => `${pathOf(at)}: a null labelSelector results in matching no pod`

function* warnAboutAnnotations({ metadata: { annotations = {} }, spec }: Template, at: Ref<Template>): Iterable<string> {
  for (const [key, advice] of DEPRECATED_ANNOTATIONS)
    if (Object.hasOwn(annotations, key)) yield `${pathOf(entry(at.metadata.annotations, key))}: ${advice}`
  if (!spec.securityContext?.seccompProfile && Object.hasOwn(annotations, SECCOMP_POD))
    yield `${pathOf(entry(at.metadata.annotations, SECCOMP_POD))}: ${SECCOMP_ADVICE}`
}

function* warnAboutRepetition({ hostAliases = [], imagePullSecrets = [] }: PodSpec, at: Ref<PodSpec>): Iterable<string> {
  const addresses = new Set<string>()
  for (const [i, { ip }] of hostAliases.entries()) {
    if (addresses.has(ip)) yield `${pathOf(at.hostAliases[i]!.ip)}: duplicate ip ${goQuote(ip)}`
    addresses.add(ip)
  }
  const secrets = new Set<string>()
  for (const [i, { name = '' }] of imagePullSecrets.entries()) {
    if (secrets.has(name)) yield `${pathOf(at.imagePullSecrets[i]!.name)}: duplicate name ${goQuote(name)}`
    secrets.add(name)
  }
  for (const [i, { name }] of imagePullSecrets.entries()) if (!name) yield `${pathOf(at.imagePullSecrets[i]!.name)}: invalid empty name ""`
}

function* warnAboutContainer(placed: ContainerWithRef, owner: Template, ownerAt: Ref<Template>): Iterable<string> {
  const { container } = placed
  const { metadata, spec } = owner
  const annotations = metadata.annotations ?? {}
  const seccomp = SECCOMP_CONTAINER + container.name
  if (!container.securityContext?.seccompProfile && Object.hasOwn(annotations, seccomp))
    yield `${pathOf(entry(ownerAt.metadata.annotations, seccomp))}: ${SECCOMP_ADVICE}`
  const appArmor = APP_ARMOR_ANNOTATION + container.name
  const annotation = getOwn(annotations, appArmor)
  if (annotation !== undefined && saysOtherwise(annotation, container, spec))
    yield `${pathOf(entry(ownerAt.metadata.annotations, appArmor))}: ${APP_ARMOR_ADVICE}`
  const { limits, requests } = container.resources ?? {}
  for (const name of FRACTIONLESS) {
    if (limits) yield* warnAboutFraction(limits, placed.at.resources.limits, name)
    if (requests) yield* warnAboutFraction(requests, placed.at.resources.requests, name)
  }
  if (container.env) yield* warnAboutHiddenVariables(container, placed.at)
}

/** A profile from an annotation has already been copied to the field. */
function* warnAboutTakenOver({ name, securityContext }: Pick<Container, 'name' | 'securityContext'>, pod: Template): Iterable<string> {
  const own = securityContext?.appArmorProfile
  const annotation = getOwn(pod.metadata.annotations ?? {}, APP_ARMOR_ANNOTATION + name)
  const given = annotation === undefined ? undefined : appArmorProfileOf(annotation)
  if (own && given && isSameProfile(given, own) && !isSameProfile(given, pod.spec.securityContext?.appArmorProfile))
    yield `metadata.annotations[${APP_ARMOR_ANNOTATION}${name}]: ${APP_ARMOR_ADVICE}`
}

/** Whether an annotation differs from the container and the pod. */
function saysOtherwise(annotation: string, { securityContext }: Container, spec: PodSpec): boolean {
  const own = securityContext?.appArmorProfile
  const profile = appArmorProfileOf(annotation)
  return own === undefined && (profile === undefined || !isSameProfile(profile, spec.securityContext?.appArmorProfile))
}

function* warnAboutFraction(amounts: Record<string, string> | undefined, at: Ref<Record<string, string>>, name: string): Iterable<string> {
  const amount = getOwn(amounts ?? {}, name)
  if (amount !== undefined && milliValue(parseQuantity(amount)) % 1000n !== 0n)
    yield `${pathOf(entry(at, name))}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`
}

/** A later variable may extend an earlier one of the same name, but not just replace it. */
function* warnAboutHiddenVariables({ env = [] }: Container, at: Ref<Container>): Iterable<string> {
  const seen = new Set<string>()
  for (const [i, { name, value = '', valueFrom }] of env.entries()) {
    const reference = `$(${name})`
    const extendsEarlier = !valueFrom && value !== reference && value.includes(reference)
    if (seen.has(name) && !extendsEarlier)
      yield `${pathOf(at.env[i]!)}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`
    seen.add(name)
  }
}

type PortAt = { readonly port: ContainerPort; readonly path: string }

/** Warnings about the ports of all containers of a pod, which share one address. */
function* warnAboutPorts(containers: readonly ContainerWithRef[]): Iterable<string> {
  const ports = containers.flatMap(placed =>
    (placed.container.ports ?? []).map((port, i): PortAt => ({ port, path: pathOf(placed.at.ports[i]!) })),
  )
  yield* warnAboutNumbers(ports)
  yield* warnAboutNames(ports)
}

function* warnAboutNumbers(ports: readonly PortAt[]): Iterable<string> {
  const seen = new Map<string, PortAt[]>()
  for (const { port, path } of ports) {
    const { hostIP = '', hostPort = 0 } = port
    if (hostIP && !hostPort) yield `${path}: hostIP set without hostPort: ${printed(port)}`
    const number = `${port.containerPort}/${port.protocol}`
    const others = seen.get(number) ?? []
    for (const { port: other, path: otherPath } of others) {
      const { hostIP: otherIP = '', hostPort: otherPort = 0 } = other
      if (hostIP === otherIP && hostPort === otherPort) yield `${path}: duplicate port definition with ${otherPath}`
      else if (!hostPort || !otherPort) yield `${path}: overlapping port definition with ${otherPath}`
      else if (hostPort === otherPort && (hostIP === '') !== (otherIP === ''))
        yield `${path}: dangerously ambiguous port definition with ${otherPath}`
    }
    // Beyond a few, more of the same warnings do not help, and comparing all pairs would take long.
    if (others.length < MAX_COMPARED) seen.set(number, [...others, { port, path }])
  }
}

function* warnAboutNames(ports: readonly PortAt[]): Iterable<string> {
  const seen = new Map<string, string>()
  for (const { port, path } of ports) {
    if (!port.name) continue
    const other = seen.get(port.name)
    if (other === undefined) seen.set(port.name, path)
    else
      yield `${path}: duplicate port name ${goQuote(port.name)} with ${other}, services and probes that select ports by name will use ${other}`
  }
}

const MAX_COMPARED = 20

/** A structure as Go prints it, in the warnings of kube-apiserver. */
const printed = ({ name = '', hostPort = 0, containerPort, protocol, hostIP = '' }: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`
