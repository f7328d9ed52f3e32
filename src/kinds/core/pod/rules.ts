/** Rules for pods: new ones, changed ones, and ephemeral containers. */

import { nameIsDNSSubdomain } from '../../../lib/names.ts'
import { type FieldError, forbidden, invalidEach, type Ref, required, unsupported } from '../../../schema/refs.ts'
import type { RequestContext } from '../../../schema/request-context.ts'
import { describeChange, meansTheSame } from '../../rules/compare.ts'
import { wholeObject } from '../../rules/error-paths.ts'
import {
  annotationOf,
  MIRROR_ANNOTATION,
  validateAppArmorAgreement,
  validatePodAnnotations,
  validateSeccompAgreement,
} from '../../rules/pod/annotation-rules.ts'
import { EphemeralContainer } from '../../rules/pod/containers/container.ts'
import { validateImagePadding } from '../../rules/pod/containers/container-rules.ts'
import type { PodOptions } from '../../rules/pod/options.ts'
import { gatedPodOptions, podOptionsFor } from '../../rules/pod/ratchet-rules.ts'
import { validatePodSpec } from '../../rules/pod/spec-rules.ts'
import type { ObjectReference } from '../../rules/references.ts'
import { validateNonNegative } from '../../rules/text-rules.ts'
import type { Pod } from './pod.ts'
import { validateAnnotationChanges, validatePodUpdate } from './update-rules.ts'

type Context = RequestContext & { readonly old?: Pod }

/** The options for a write of a pod, with the stored one if there is one. */
export const optionsOfPod = (pod: Pod, { old, gate }: { readonly old?: Pod | undefined; readonly gate: Context['gate'] }): PodOptions => ({
  ...podOptionsFor(old, gatedPodOptions(gate)),
  pod: pod.metadata,
})

/** All errors of a new pod, or of a change of one. */
export function* validatePod(pod: Pod, at: Ref<Pod>, ctx: Context): Iterable<FieldError> {
  yield* validateContent(pod, at, optionsOfPod(pod, ctx))
  if (ctx.old) yield* validatePodUpdate(pod, ctx.old, at)
  else yield* validateNewPod(pod, at)
}

/** Rules for new pods only: fields that are set later must be empty. */
function* validateNewPod({ metadata, spec }: Pod, at: Ref<Pod>): Iterable<FieldError> {
  if (spec.ephemeralContainers?.length) yield forbidden(at.spec.ephemeralContainers, 'cannot be set on create')
  if (spec.nodeName && spec.schedulingGates?.length)
    yield forbidden(at.spec.nodeName, 'cannot be set until all schedulingGates have been cleared')
  yield* validateSeccompAgreement(metadata, spec, at.spec)
  yield* validateAppArmorAgreement(metadata, spec, at.spec)
}

/** Rules for pods that do not apply to templates. */
export function* validateContent({ metadata, spec }: Pod, at: Ref<Pod>, options: PodOptions): Iterable<FieldError> {
  yield* validatePodAnnotations(metadata, at.metadata.annotations, { spec, options })
  yield* validatePodSpec(spec, at.spec, options)
  if (!spec.serviceAccountName)
    for (const [v, { projected }] of (spec.volumes ?? []).entries())
      for (const [s, { serviceAccountToken }] of (projected?.sources ?? []).entries())
        if (serviceAccountToken)
          yield forbidden(
            at.spec.volumes[v]!.projected.sources[s]!.serviceAccountToken,
            'must not be specified when serviceAccountName is not set',
          )
  yield* validateNonNegative(spec.terminationGracePeriodSeconds, at.spec.terminationGracePeriodSeconds)
  for (const list of ['containers', 'initContainers'] as const)
    for (const [i, container] of (spec[list] ?? []).entries()) yield* validateImagePadding(container, at.spec[list][i]!.image)
}

/** Rules for ephemeral containers added to a pod; existing ones are immutable. */
export function* validatePodEphemeralContainersUpdate(pod: Pod, at: Ref<Pod>, ctx: Context): Iterable<FieldError> {
  const old = ctx.old ?? pod
  if (annotationOf(old.metadata, MIRROR_ANNOTATION) !== undefined)
    return yield forbidden(wholeObject, 'static pods do not support ephemeral containers')
  yield* validateContent(pod, at, optionsOfPod(pod, ctx))
  yield* validateAnnotationChanges(pod, old, at)
  const now = new Map((pod.spec.ephemeralContainers ?? []).map(container => [container.name, container]))
  for (const container of old.spec.ephemeralContainers ?? []) {
    const name = JSON.stringify(container.name)
    const changed = now.get(container.name)
    if (!changed) yield forbidden(at.spec.ephemeralContainers, `existing ephemeral containers ${name} may not be removed\n`)
    else if (!meansTheSame(EphemeralContainer, container, changed))
      yield forbidden(
        at.spec.ephemeralContainers,
        `existing ephemeral containers ${name} may not be changed\n${describeChange(EphemeralContainer, container, changed)}`,
      )
  }
}

/** A binding names a node. */
export function* validateBinding({ target }: { target: ObjectReference }, at: Ref<{ target: ObjectReference }>): Iterable<FieldError> {
  const { kind, name } = target
  if (kind && kind !== 'Node') yield unsupported(at.target.kind, 'Node', '<empty>')
  if (!name) yield required(at.target.name)
  else if (!kind || kind === 'Node') yield* invalidEach(at.target.name, nameIsDNSSubdomain(name))
}
