/** Prepares a pod before it is validated and stored. */
import { copyJson, getOwn } from '../../../lib/json-value.ts'

import type { RequestContext } from '../../../schema/request-context.ts'
import type { LabelSelector } from '../../rules/meta.ts'
import type { Container } from '../../rules/pod/containers/container.ts'
import { containersOf } from '../../rules/pod/containers/container.ts'
import { dropDisabledPodFields } from '../../rules/pod/features.ts'
import { fillPodLevelResources, fillsAfterAdmission } from '../../rules/pod/resources/level-resources.ts'
import { qosClassOf } from '../../rules/pod/resources/qos.ts'
import type { PodAffinityTerm } from '../../rules/pod/scheduling/affinity.ts'
import type { AppArmorProfile } from '../../rules/pod/security/security.ts'
import { APP_ARMOR_ANNOTATION, appArmorProfileOf, isSameProfile } from '../../rules/pod/security/security.ts'

import { setPodCondition } from '../../rules/pod/status/conditions.ts'
import type { PodCondition, PodStatus } from '../../rules/pod/status/status.ts'
import type { Pod } from './pod.ts'

/** Completes a new pod: its status, its resources, and selectors with the values of its labels. */
export function prepareNewPod(pod: Pod, { now, gate }: RequestContext): void {
  pod.status = { phase: 'Pending' }
  dropDisabledPodFields(pod, undefined, gate)
  if (pod.spec.schedulingGates?.length) setPodCondition(pod.status, SCHEDULING_GATED, now)
  mergeLabelKeys(pod)
  takeOverAppArmorAnnotations(pod)
  if (fillsAfterAdmission(gate)) fillPodLevelResources(pod.spec)
  pod.status.qosClass = qosClassOf(pod.spec, gate)
}

/** Completes a changed pod; resources of the whole pod are kept when a client that does not support the field leaves it out. */
export function prepareChangedPod(pod: Pod, old: Pod, { gate }: RequestContext): void {
  if (old.spec.resources && fillsAfterAdmission(gate)) pod.spec.resources ??= copyJson(old.spec.resources)
  dropDisabledPodFields(pod, old, gate)
}

/** Completes a status: fields that an old client does not support, or must not change, are kept. */
export function prepareChangedStatus(pod: Pod, old: Pod, { gate }: RequestContext): void {
  const { metadata, status } = pod
  for (const key of ['deletionTimestamp', 'ownerReferences'] as const) {
    if (old.metadata[key] === undefined) delete metadata[key]
    else Object.assign(metadata, { [key]: old.metadata[key] })
  }
  for (const key of KEPT_STATUS) if (old.status[key] !== undefined) Object.assign(status, { [key]: status[key] ?? old.status[key] })
  keepObservedGenerations(status, old.status)
  dropDisabledPodFields(pod, old, gate)
}

const SCHEDULING_GATED = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
}
const KEPT_STATUS = [
  'qosClass',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
  'observedGeneration',
] as const

/** There may be several conditions of one type: the first without a generation takes that of the first stored one, and so on. */
function keepObservedGenerations(status: PodStatus, old: PodStatus): void {
  const stored = new Map<string, PodCondition[]>()
  // In reverse order, so that the first is popped off the end.
  for (const condition of (old.conditions ?? []).toReversed()) {
    const alike = stored.get(condition.type)
    if (alike) alike.push(condition)
    else stored.set(condition.type, [condition])
  }
  for (const condition of status.conditions ?? []) {
    const same = stored.get(condition.type)?.pop()
    if (!condition.observedGeneration && same?.observedGeneration) condition.observedGeneration = same.observedGeneration
  }
}

/** Converts label keys to conditions on the values of this pod, so that the scheduler needs only the selectors. */
function mergeLabelKeys({ metadata: { labels = {} }, spec }: Pod): void {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {}
  for (const affinity of [podAffinity, podAntiAffinity]) {
    for (const { podAffinityTerm } of affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []) mergeTerm(podAffinityTerm, labels)
    for (const term of affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) mergeTerm(term, labels)
  }
  for (const { labelSelector, matchLabelKeys } of spec.topologySpreadConstraints ?? [])
    mergeKeys(labelSelector, matchLabelKeys, 'In', labels)
}

function mergeTerm({ labelSelector, matchLabelKeys, mismatchLabelKeys }: PodAffinityTerm, labels: Record<string, string>): void {
  mergeKeys(labelSelector, matchLabelKeys, 'In', labels)
  mergeKeys(labelSelector, mismatchLabelKeys, 'NotIn', labels)
}

function mergeKeys(
  selector: LabelSelector | undefined,
  keys: readonly string[] | undefined,
  operator: 'In' | 'NotIn',
  labels: Record<string, string>,
): void {
  if (!selector) return
  for (const key of keys ?? []) {
    const value = getOwn(labels, key)
    if (value !== undefined) (selector.matchExpressions ??= []).push({ key, operator, values: [value] })
  }
}

/** Copies profiles from annotations to their containers, if these have none. */
function takeOverAppArmorAnnotations({ metadata: { annotations }, spec }: Pod): void {
  if (!annotations || spec.os?.name === 'windows') return
  for (const container of containersOf(spec)) {
    const annotation = getOwn(annotations, APP_ARMOR_ANNOTATION + container.name)
    const profile = annotation === undefined ? undefined : appArmorProfileOf(annotation)
    if (profile && !container.securityContext?.appArmorProfile && !isSameProfile(profile, spec.securityContext?.appArmorProfile))
      setProfile(container, profile)
  }
}

function setProfile(container: Pick<Container, 'securityContext'>, profile: AppArmorProfile): void {
  container.securityContext = { ...container.securityContext, appArmorProfile: profile }
}
