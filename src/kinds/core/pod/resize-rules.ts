/** Rules for resizing a running pod. */

import { parseQuantity, quantitySign } from '../../../lib/quantity.ts'
import { type FieldError, forbidden, invalid, type Ref, withValue } from '../../../schema/refs.ts'
import type { RequestContext } from '../../../schema/request-context.ts'
import { meansTheSame } from '../../rules/compare.ts'
import { wholeObject } from '../../rules/error-paths.ts'
import { internalRepresentation } from '../../rules/internal-representation.ts'
import { annotationOf, MIRROR_ANNOTATION } from '../../rules/pod/annotation-rules.ts'
import { Container, isSidecar } from '../../rules/pod/containers/container.ts'
import type { PodOptions } from '../../rules/pod/options.ts'
import { coverageFault } from '../../rules/pod/resources/claim-coverage-rules.ts'
import { qosClassOf } from '../../rules/pod/resources/qos.ts'
import { ResourceRequirements } from '../../rules/pod/resources/resources.ts'
import { PodSpec } from '../../rules/pod/spec.ts'
import { Volume } from '../../rules/pod/volumes/volumes.ts'
import type { Pod } from './pod.ts'
import { optionsOfPod, validateContent } from './rules.ts'

type Amounts = Record<string, string>

/** The errors of a resized pod: only cpu and memory may change, and neither may be removed. */
export function* validatePodResize(pod: Pod, at: Ref<Pod>, ctx: RequestContext & { readonly old?: Pod }): Iterable<FieldError> {
  const old = ctx.old ?? pod
  if (annotationOf(old.metadata, MIRROR_ANNOTATION) !== undefined) return yield forbidden(wholeObject, 'static pods cannot be resized')
  if (old.spec.os?.name === 'windows') return yield forbidden(wholeObject, 'windows pods cannot be resized')
  let faults = 0
  for (const error of validateResizable(pod, at, { old, options: optionsOfPod(pod, ctx), gate: ctx.gate })) {
    faults++
    yield error
  }
  if (faults > 0) return
  const back = {
    ...pod.spec,
    containers: old.spec.containers,
    initContainers: old.spec.initContainers,
    volumes: old.spec.volumes,
    resources: old.spec.resources,
  }
  if (!meansTheSame(PodSpec, back, old.spec)) yield forbidden(at.spec, 'only cpu and memory resources are mutable')
}

type Resize = { readonly old: Pod; readonly options: PodOptions; readonly gate: RequestContext['gate'] }

function* validateResizable(pod: Pod, at: Ref<Pod>, { old, options, gate }: Resize): Iterable<FieldError> {
  yield* validateContent(pod, at, options)
  if ((old.status?.qosClass || qosClassOf(old.spec, gate)) !== qosClassOf(pod.spec, gate))
    yield invalid(withValue(at.spec, pod.status?.qosClass ?? ''), 'Pod QOS Class may not change as a result of resizing')
  if (!runsWhereResizable(old)) yield forbidden(at.spec, 'Pod running on node without support for resize')
  if (hasPodLevelResources(old.spec) || hasPodLevelResources(pod.spec)) {
    if (!options.podLevelResize)
      return yield forbidden(
        wholeObject,
        'resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled',
      )
    yield* validatePodLevel(pod.spec, old.spec, at.spec)
    const fault = gate('DRANodeAllocatableResources') ? coverageFault(pod.spec, pod.status ?? {}) : undefined
    if (fault) yield invalid(withValue(at.spec.resources, internalRepresentation(ResourceRequirements, pod.spec.resources)), fault)
  }
  let ordered = true
  for (const error of validateOrder(pod.spec, old.spec, at.spec)) {
    ordered = false
    yield error
  }
  if (!ordered) return
  for (const list of ['initContainers', 'containers'] as const)
    for (const [i, container] of (old.spec[list] ?? []).entries())
      yield* validateNothingRemoved(pod.spec[list]![i]!.resources ?? {}, container.resources ?? {}, at.spec[list][i]!.resources)
  yield* validateContainerChanges(pod.spec, old.spec, at.spec)
  yield* validateVolumeChanges(pod.spec, at.spec, { old, options, gate })
}

/** A node that reports the resources of running containers can change them. */
function runsWhereResizable({ status }: Pod): boolean {
  const running = (status?.containerStatuses ?? []).find(container => container.state?.running)
  return running === undefined || running.resources !== undefined
}

const hasPodLevelResources = ({ resources }: PodSpec): boolean =>
  Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0

const isRemoved = (now: Amounts | undefined, before: Amounts | undefined): boolean =>
  Object.keys(before ?? {}).some(name => !Object.hasOwn(now ?? {}, name))

function* validatePodLevel({ resources: now }: PodSpec, { resources: before }: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  if (before && !now) return yield forbidden(at.resources, 'pod-level resources cannot be removed')
  if (isRemoved(now?.requests, before?.requests)) yield forbidden(at.resources.requests, 'pod-level resource requests cannot be removed')
  if (isRemoved(now?.limits, before?.limits)) yield forbidden(at.resources.limits, 'pod-level resource limits cannot be removed')
  if (!meansTheSame(ResourceRequirements, withOldComputeResources(now ?? {}, before ?? {}), before ?? {}))
    yield forbidden(at, 'only cpu and memory resources are mutable at pod-level')
}

function* validateOrder(spec: PodSpec, old: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  for (const list of ['containers', 'initContainers'] as const) {
    const [now, before] = [spec[list] ?? [], old[list] ?? []]
    if (now.length !== before.length) yield forbidden(at[list], `${list} may not be added or removed on resize`)
    else
      for (const [i, { name }] of before.entries())
        if (now[i]!.name !== name) yield forbidden(at[list][i]!.name, `${list} may not be renamed or reordered on resize`)
  }
}

function* validateNothingRemoved(
  now: ResourceRequirements,
  before: ResourceRequirements,
  at: Ref<ResourceRequirements>,
): Iterable<FieldError> {
  if (isRemoved(now.requests, before.requests)) yield forbidden(at.requests, 'resource requests cannot be removed')
  if (isRemoved(now.limits, before.limits)) yield forbidden(at.limits, 'resource limits cannot be removed')
}

function* validateContainerChanges(spec: PodSpec, old: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const isOtherwiseSame = (container: Container, before: Container) =>
    meansTheSame(Container, { ...container, resources: withOldComputeResources(container.resources ?? {}, before.resources ?? {}) }, before)
  for (const [i, before] of (old.containers ?? []).entries())
    if (!isOtherwiseSame(spec.containers[i]!, before)) yield forbidden(at, 'only cpu and memory resources are mutable')
  for (const [i, before] of (old.initContainers ?? []).entries()) {
    const container = spec.initContainers![i]!
    if (!isOtherwiseSame(container, before))
      yield forbidden(at.initContainers[i]!, 'only cpu and memory resources for init or sidecar containers are mutable')
    if (isSidecar(container) || meansTheSame(Container, container, before)) continue
    for (const { restartPolicy } of container.resizePolicy ?? [])
      if (restartPolicy === 'RestartContainer')
        yield forbidden(at.initContainers[i]!, 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized')
  }
}

/** The new requirements with the old cpu and memory, so that any remaining difference is refused. */
function withOldComputeResources(now: ResourceRequirements, before: ResourceRequirements): ResourceRequirements {
  const part = (bound: 'requests' | 'limits'): Amounts => {
    const { cpu: _, memory: __, ...others } = now[bound] ?? {}
    const { cpu, memory } = before[bound] ?? {}
    return { ...others, ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) }
  }
  return { ...now, requests: part('requests'), limits: part('limits') }
}

/** With the feature, volumes in memory may change their size; without it, no volume may change. */
function* validateVolumeChanges(spec: PodSpec, at: Ref<PodSpec>, { old, options }: Resize): Iterable<FieldError> {
  const [now, before] = [spec.volumes ?? [], old.spec.volumes ?? []]
  if (!options.memoryVolumeResize) {
    if (now.length !== before.length || !now.every((volume, i) => meansTheSame(Volume, volume, before[i])))
      yield forbidden(
        at.volumes,
        'volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is disabled',
      )
    return
  }
  if (now.length !== before.length) return yield forbidden(at.volumes, 'volumes may not be added or removed on resize')
  for (const [i, volume] of now.entries()) yield* validateVolumeChange(volume, before[i]!, at.volumes[i]!)
}

function* validateVolumeChange(volume: Volume, old: Volume, at: Ref<Volume>): Iterable<FieldError> {
  if (volume.name !== old.name) return yield forbidden(at.name, 'volumes may not be renamed or reordered on resize')
  const [now, before] = [volume.emptyDir, old.emptyDir]
  const rest = now && before ? { ...volume, emptyDir: { ...now, sizeLimit: before.sizeLimit } } : volume
  if (!meansTheSame(Volume, rest, old)) return yield forbidden(at, 'only sizeLimit of memory-backed emptyDir volumes is mutable on resize')
  if (!now || !before) return
  if (hasLimit(now.sizeLimit) !== hasLimit(before.sizeLimit))
    yield forbidden(at.emptyDir.sizeLimit, 'adding or removing sizeLimit on an existing volume is not allowed')
  else if (!meansTheSame(Volume, volume, old) && now.medium !== 'Memory')
    yield forbidden(at.emptyDir.sizeLimit, 'sizeLimit is only mutable for memory-backed emptyDir volumes')
}

const hasLimit = (limit: string | undefined): boolean => limit !== undefined && quantitySign(parseQuantity(limit)) !== 0
