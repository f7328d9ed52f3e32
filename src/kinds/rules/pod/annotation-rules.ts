/** Rules for the annotations that affect pods, and for the fields that replaced them. */

import { messageOf } from '../../../lib/error-message.ts'
import { goQuote } from '../../../lib/go-text.ts'
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { entry, type FieldError, forbidden, invalid, type Ref, withValue } from '../../../schema/refs.ts'
import { under } from '../error-paths.ts'
import { containersOf } from './containers/container.ts'
import { containersWithRefs } from './containers/container-list-rules.ts'
import type { PodOptions } from './options.ts'
import type { Toleration } from './scheduling/affinity.ts'
import { validateTolerations } from './scheduling/toleration-rules.ts'
import type { AppArmorProfile, SeccompProfile } from './security/security.ts'
import type { PodSpec } from './spec.ts'
import { validateLocalDescendingPath } from './volumes/path-rules.ts'

export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'
export const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/'
const TOLERATIONS_ANNOTATION = 'scheduler.alpha.kubernetes.io/tolerations'
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'
const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod'
const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/'
const LOCALHOST = 'localhost/'
const RUNTIME_DEFAULT = 'runtime/default'
const DOCKER_DEFAULT = 'docker/default'
const UNCONFINED = 'unconfined'

type Annotations = Record<string, string>

/** The annotation of that key, if the object has it. */
export const annotationOf = (meta: ObjectMeta | undefined, key: string): string | undefined =>
  meta?.annotations && Object.hasOwn(meta.annotations, key) ? meta.annotations[key] : undefined

/** Rules for the annotations of a pod or a pod template. */
export function* validatePodAnnotations(
  meta: ObjectMeta,
  at: Ref<Annotations>,
  { spec, options }: { readonly spec: PodSpec; readonly options: PodOptions },
): Iterable<FieldError> {
  if (annotationOf(meta, MIRROR_ANNOTATION) !== undefined && !spec.nodeName)
    yield invalid(entry(at, MIRROR_ANNOTATION), 'must set spec.nodeName if mirror pod annotation is set')
  const tolerations = annotationOf(meta, TOLERATIONS_ANNOTATION)
  if (tolerations) yield* validateTolerationsText(tolerations, at, options)
  if (!options.allowInvalidDeletionCost && !hasValidDeletionCost(meta)) yield invalid(entry(at, DELETION_COST), 'must be a 32bit integer')
  yield* validateSeccompAnnotations(meta, at)
  yield* validateAppArmorAnnotations(meta, at, spec)
}

function* validateTolerationsText(text: string, at: Ref<Annotations>, options: PodOptions): Iterable<FieldError> {
  const parsed = parseTolerations(text)
  if (typeof parsed === 'string') yield invalid(withValue(at, TOLERATIONS_ANNOTATION), parsed)
  else yield* validateTolerations(parsed, under(at, TOLERATIONS_ANNOTATION, parsed), options)
}

/** Tolerations parsed from JSON, or the error. Only strings and numbers of the expected fields are used. */
function parseTolerations(text: string): Toleration[] | string {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    return messageOf(error)
  }
  if (parsed === null) return []
  if (!Array.isArray(parsed)) return 'json: cannot unmarshal value into Go value of type []core.Toleration'
  return parsed.map(item => {
    const toleration: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(item ?? {})) {
      const field = TOLERATION_FIELDS.find(name => name.toLowerCase() === key.toLowerCase())
      if (field && typeof value === (field === 'tolerationSeconds' ? 'number' : 'string')) toleration[field] = value
    }
    return toleration as Toleration
  })
}
const TOLERATION_FIELDS = ['key', 'operator', 'value', 'effect', 'tolerationSeconds'] as const

/** Whether the pod deletion cost, if set, is a canonical 32-bit integer. */
export function hasValidDeletionCost(meta: ObjectMeta | undefined): boolean {
  const cost = annotationOf(meta, DELETION_COST)
  if (cost === undefined || cost === '0') return true
  return /^-?[0-9]+$/.test(cost) && !cost.startsWith('0') && Number(cost) >= -(2 ** 31) && Number(cost) < 2 ** 31
}

function* validateSeccompAnnotations(meta: ObjectMeta, at: Ref<Annotations>): Iterable<FieldError> {
  const ofPod = annotationOf(meta, SECCOMP_POD)
  if (ofPod !== undefined) yield* validateSeccompText(ofPod, under(at, SECCOMP_POD))
  for (const [key, profile] of Object.entries(meta.annotations ?? {}))
    if (key.startsWith(SECCOMP_PREFIX)) yield* validateSeccompText(profile, under(at, key))
}

function* validateSeccompText(profile: string, at: Ref<any>): Iterable<FieldError> {
  if (profile === RUNTIME_DEFAULT || profile === DOCKER_DEFAULT || profile === UNCONFINED) return
  if (profile.startsWith(LOCALHOST)) yield* validateLocalDescendingPath(profile.slice(LOCALHOST.length), at)
  else yield invalid(withValue(at, profile), 'must be a valid seccomp profile')
}

function* validateAppArmorAnnotations(meta: ObjectMeta, at: Ref<Annotations>, spec: PodSpec): Iterable<FieldError> {
  let names: Set<string> | undefined
  for (const [key, profile] of Object.entries(meta.annotations ?? {})) {
    if (!key.startsWith(APPARMOR_PREFIX)) continue
    names ??= new Set([...containersOf(spec)].map(container => container.name))
    const container = key.slice(APPARMOR_PREFIX.length)
    if (!names.has(container)) yield invalid(withValue(entry(at, key), container), 'container not found')
    if (profile !== '' && profile !== RUNTIME_DEFAULT && profile !== UNCONFINED && !profile.startsWith(LOCALHOST))
      yield invalid(entry(at, key), `invalid AppArmor profile name: ${goQuote(profile)}`)
  }
}

type Profile = SeccompProfile | AppArmorProfile

/** A seccomp annotation and the field must agree. */
export function* validateSeccompAgreement(meta: ObjectMeta, spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const ofPod = spec.securityContext?.seccompProfile
  if (ofPod)
    yield* validateAgreement(ofPod, at.securityContext.seccompProfile, { feature: 'seccomp', annotation: annotationOf(meta, SECCOMP_POD) })
  for (const placed of containersWithRefs(spec, at)) {
    const { name, securityContext } = placed.container
    if (securityContext?.seccompProfile)
      yield* validateAgreement(securityContext.seccompProfile, placed.at.securityContext.seccompProfile, {
        feature: 'seccomp',
        annotation: annotationOf(meta, SECCOMP_PREFIX + name),
      })
  }
}

/** An AppArmor annotation and the field must agree; not allowed on Windows. */
export function* validateAppArmorAgreement(meta: ObjectMeta, spec: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  if (spec.os?.name === 'windows') return
  for (const placed of containersWithRefs(spec, at)) {
    const { name, securityContext } = placed.container
    const profile = securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile
    if (profile)
      yield* validateAgreement(profile, placed.at.securityContext.appArmorProfile, {
        feature: 'apparmor',
        annotation: annotationOf(meta, APPARMOR_PREFIX + name),
      })
  }
}

function* validateAgreement(
  { type, localhostProfile }: Profile,
  at: Ref<Profile>,
  { feature, annotation }: { readonly feature: 'seccomp' | 'apparmor'; readonly annotation: string | undefined },
): Iterable<FieldError> {
  if (annotation === undefined) return
  const otherType = () => forbidden(at.type, `${feature} type in annotation and field must match`)
  if (type === 'Unconfined') {
    if (annotation !== UNCONFINED) yield otherType()
  } else if (type === 'RuntimeDefault') {
    if (annotation !== RUNTIME_DEFAULT && !(feature === 'seccomp' && annotation === DOCKER_DEFAULT)) yield otherType()
  } else if (type === 'Localhost') {
    if (!annotation.startsWith(LOCALHOST)) yield otherType()
    else if (annotation.slice(LOCALHOST.length) !== localhostProfile)
      yield forbidden(at.localhostProfile, `${feature} profile in annotation and field must match`)
  }
}
