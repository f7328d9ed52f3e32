/** Rules on the status of pods: what is observed must fit the pod, and what is over stays over. */
import { isValidIPForLegacyField, parseIPSloppy } from '../../lib/ip.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { type FieldError, forbidden, internal, invalid, invalidEach, type Ref, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { IP_FORM, shownAs, under } from '../shapes/error-values.ts'
import { validatePodAnnotations } from '../shapes/pod/annotation-rules.ts'
import type { PodCondition, PodIP, PodStatus } from '../shapes/pod/status/status.ts'
import { validateVolumeHealth } from '../shapes/pod/status/volume-health-rules.ts'
import { validateQualifiedName } from '../shapes/text-rules.ts'
import { validateClaimStatuses } from './pod-claim-status-rules.ts'
import { validateContainerStatuses, validateStateTransitions } from './pod-container-status-rules.ts'
import type { PodObject } from './pod-preparation.ts'
import { optionsOfPod } from './pod-rules.ts'
import { validateAnnotationChanges } from './pod-update-rules.ts'

/** What is wrong with a status, and with the change that brought it. */
export function* validatePodStatusUpdate(
  pod: PodObject,
  at: Ref<PodObject>,
  ctx: RequestContext & { readonly old?: PodObject },
): Iterable<FieldError> {
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
  yield* validatePodIPs(status, old.status, at.status)
  yield* validateHostIPs(status, old.status, at.status)
  yield* validateContainerStatuses(pod, at.status, options)
}

const SYSTEM_CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized'])

function* validateConditions(conditions: readonly PodCondition[], at: Ref<PodCondition[]>): Iterable<FieldError> {
  for (const [i, { type = '', observedGeneration = 0 }] of conditions.entries()) {
    if (observedGeneration < 0) yield invalid(at[i]!.observedGeneration, 'must be a non-negative integer')
    if (!SYSTEM_CONDITIONS.has(type)) yield* validateQualifiedName(type, under(at[i]!, 'Type'))
  }
}

/** The node a pod may get is named until it has one. */
function* validateNomination(
  { nominatedNodeName: name }: PodStatus,
  old: PodObject,
  { at, gate }: { readonly at: Ref<PodStatus>; readonly gate: RequestContext['gate'] },
): Iterable<FieldError> {
  if (!name || name === old.status.nominatedNodeName) return
  yield* invalidEach(at.nominatedNodeName, nameIsDNSSubdomain(name))
  if (old.spec.nodeName && gate('ClearingNominatedNodeNameAfterBinding'))
    yield forbidden(at.nominatedNodeName, 'may not be set on pods that are already bound to a node')
}

type Addresses = readonly PodIP[]

/** Addresses of the pod: one of each family, the first of them also on its own. */
function* validatePodIPs(status: PodStatus, old: PodStatus, at: Ref<PodStatus>): Iterable<FieldError> {
  const ips = status.podIPs ?? []
  yield* validateAddresses(ips, at.podIPs, old.podIPs)
  if (Boolean(status.podIP) !== ips.length > 0)
    yield invalid(shown(at.podIPs, status.podIPs), 'podIP and podIPs must either both be set or both be unset')
  else if (ips.length > 0 && status.podIP !== ips[0]!.ip) yield invalid(at.podIPs[0]!.ip, 'must be equal to `podIP`')
}

/** Addresses of the node: likewise. */
function* validateHostIPs(status: PodStatus, old: PodStatus, at: Ref<PodStatus>): Iterable<FieldError> {
  const ips = status.hostIPs ?? []
  if (ips.length === 0) return
  if ((status.hostIP ?? '') !== ips[0]!.ip) yield invalid(at.hostIPs[0]!.ip, 'must be equal to `hostIP`')
  yield* validateAddresses(ips, at.hostIPs, old.hostIPs)
}

/** Addresses are valid or were there before, and a pair has one of each family. */
function* validateAddresses(ips: Addresses, at: Ref<PodIP[]>, stored: Addresses | undefined): Iterable<FieldError> {
  const known = new Set((stored ?? []).map(({ ip }) => ip))
  for (const [i, { ip = '' }] of ips.entries()) if (!known.has(ip)) yield* invalidEach(withValue(at[i]!, ip), isValidIPForLegacyField(ip))
  if (ips.length < 2) return
  const parsed = ips.map(({ ip }) => parseIPSloppy(ip ?? '')?.family)
  const unreadable = parsed.indexOf(undefined)
  if (unreadable >= 0) yield internal(at, `failed to check for dual stack with error:invalid IP[${unreadable}]: ${ips[unreadable]!.ip}`)
  if (unreadable >= 0 || new Set(parsed).size !== 2 || ips.length > 2)
    yield invalid(shown(at, ips), 'may specify no more than one IP for each IP family')
}

const shown = (at: Ref<any>, ips: Addresses | undefined) => withValue(at, ips === undefined ? null : shownAs(IP_FORM, ips))
