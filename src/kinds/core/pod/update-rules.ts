/** Rules for changes of pods: images, deadlines and tolerations may change, and little else. */
import { deepEqual, getOwn } from '../../../lib/json-value.ts'
import { inclusiveRangeMessage } from '../../../lib/names.ts'
import { entry, type FieldError, forbidden, invalid, type Ref, withValue } from '../../../schema/refs.ts'
import { describeChange, meansTheSame } from '../../rules/compare.ts'
import { internalRepresentation } from '../../rules/internal-representation.ts'
import { APPARMOR_PREFIX, MIRROR_ANNOTATION } from '../../rules/pod/annotation-rules.ts'
import type { Container } from '../../rules/pod/containers/container.ts'
import type { NodeAffinity, Toleration } from '../../rules/pod/scheduling/affinity.ts'
import { NodeSelectorTerm } from '../../rules/pod/scheduling/node-selector.ts'
import { PodSpec } from '../../rules/pod/spec.ts'
import type { Pod } from './pod.ts'

const MAX_INT32 = 2 ** 31 - 1
const CHANGEABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

/** The errors of a change of a pod, beside those of the pod itself. Stops at errors that would cause further ones. */
export function* validatePodUpdate(pod: Pod, old: Pod, at: Ref<Pod>): Iterable<FieldError> {
  yield* validateAnnotationChanges(pod, old, at)
  for (const list of ['containers', 'initContainers'] as const)
    if ((pod.spec[list] ?? []).length !== (old.spec[list] ?? []).length)
      return yield forbidden(at.spec[list], 'pod updates may not add or remove containers')
  const deadline = deadlineFault(pod.spec, old.spec)
  if (deadline) {
    yield invalid(withValue(at.spec.activeDeadlineSeconds, pod.spec.activeDeadlineSeconds ?? null), deadline.message)
    if (deadline.stops) return
  }
  yield* validateOnlyAddedTolerations(pod.spec, old.spec, at.spec)
  yield* validateOnlyDeletedGates(pod.spec, old.spec, at.spec)
  if (old.spec.schedulingGates?.length) yield* validateGatedChanges(pod.spec, old.spec, at.spec)
  const rest = withoutChangeable(pod.spec, old.spec)
  if (!meansTheSame(PodSpec, rest, old.spec))
    yield forbidden(at.spec, `pod updates may not change fields other than ${CHANGEABLE}\n${describeChange(PodSpec, old.spec, rest)}`)
}

/** Annotations that were read when the pod started are immutable. */
export function* validateAnnotationChanges(pod: Pod, old: Pod, at: Ref<Pod>): Iterable<FieldError> {
  const before = old.metadata.annotations ?? {}
  const now = pod.metadata.annotations ?? {}
  const itemAt = (key: string) => entry(at.metadata.annotations, key)
  for (const [key, value] of Object.entries(before)) {
    if (getOwn(now, key) === value) continue
    if (key.startsWith(APPARMOR_PREFIX)) yield forbidden(itemAt(key), 'may not remove or update AppArmor annotations')
    if (key === MIRROR_ANNOTATION) yield forbidden(itemAt(key), 'may not remove or update mirror pod annotation')
  }
  for (const key of Object.keys(now)) {
    if (Object.hasOwn(before, key)) continue
    if (key.startsWith(APPARMOR_PREFIX)) yield forbidden(itemAt(key), 'may not add AppArmor annotations')
    if (key === MIRROR_ANNOTATION) yield forbidden(itemAt(key), 'may not add mirror pod annotation')
  }
}

/** A deadline may be set, and shortened. */
function deadlineFault(
  { activeDeadlineSeconds: now }: PodSpec,
  { activeDeadlineSeconds: before }: PodSpec,
): { message: string; stops: boolean } | undefined {
  if (now === undefined)
    return before === undefined ? undefined : { message: 'must not update from a positive integer to nil value', stops: false }
  if (now < 0 || now > MAX_INT32) return { message: inclusiveRangeMessage(0, MAX_INT32), stops: true }
  return before !== undefined && before < now ? { message: 'must be less than or equal to previous value', stops: true } : undefined
}

function* validateOnlyAddedTolerations(spec: PodSpec, old: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const identityOf = ({ key = '', operator = '', value = '', effect = '' }: Toleration) => JSON.stringify([key, operator, value, effect])
  const now = new Set((spec.tolerations ?? []).map(identityOf))
  if (!(old.tolerations ?? []).every(toleration => now.has(identityOf(toleration))))
    yield forbidden(at.tolerations, 'existing toleration can not be modified except its tolerationSeconds')
}

function* validateOnlyDeletedGates(spec: PodSpec, old: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const before = new Set((old.schedulingGates ?? []).map(gate => gate.name))
  const added = new Map((spec.schedulingGates ?? []).map(({ name }, i) => [name, i]))
  for (const [name, i] of added)
    if (!before.has(name)) yield forbidden(at.schedulingGates[i]!.name, `only deletion is allowed, but found new scheduling gate '${name}'`)
}

/** A pod with scheduling gates may restrict its nodes further. */
function* validateGatedChanges(spec: PodSpec, old: PodSpec, at: Ref<PodSpec>): Iterable<FieldError> {
  const nodes = spec.nodeSelector ?? {}
  if (Object.entries(old.nodeSelector ?? {}).some(([key, value]) => getOwn(nodes, key) !== value))
    yield invalid(
      withValue(at.nodeSelector, spec.nodeSelector ?? null),
      'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    )
  yield* validateNodeAffinityChange(spec.affinity?.nodeAffinity, old.affinity?.nodeAffinity, at.affinity.nodeAffinity)
}

function* validateNodeAffinityChange(
  affinity: NodeAffinity | undefined,
  old: NodeAffinity | undefined,
  at: Ref<NodeAffinity>,
): Iterable<FieldError> {
  const before = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const now = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const itemAt = at.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
  if (before.length > 0 && before.length !== now.length)
    return yield invalid(
      withValue(itemAt, now.length === 0 ? null : now.map(shownTerm)),
      'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
    )
  for (const [i, term] of before.entries())
    if (!onlyAdds(now[i]!, term))
      yield invalid(withValue(itemAt[i]!, shownTerm(now[i])), 'only additions are allowed (no mutations or deletions)')
}

/** A term in errors. */
const shownTerm = (term: NodeSelectorTerm | undefined) => internalRepresentation(NodeSelectorTerm, term)

/** Requirements may be appended to a term that has some; a term without any matches nothing and cannot change. */
function onlyAdds(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const
  const count = (one: NodeSelectorTerm) => lists.reduce((sum, list) => sum + (one[list]?.length ?? 0), 0)
  if (count(old) === 0 && count(term) > 0) return false
  return lists.every(list => {
    const before = old[list] ?? []
    return deepEqual((term[list] ?? []).slice(0, before.length), before)
  })
}

/** The new spec with all mutable fields reset, so that any remaining difference is refused. */
function withoutChangeable(spec: PodSpec, old: PodSpec): PodSpec {
  const back: Partial<Record<keyof PodSpec, unknown>> = {
    containers: withOldImages(spec.containers, old.containers),
    initContainers: withOldImages(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
  }
  const grace = old.terminationGracePeriodSeconds
  if (grace !== undefined && grace < 0 && spec.terminationGracePeriodSeconds === 1) back.terminationGracePeriodSeconds = grace
  if (old.schedulingGates?.length) {
    back.nodeSelector = old.nodeSelector
    back.affinity = withOldNodeAffinity(spec, old)
  }
  return { ...spec, ...back } as PodSpec
}

const withOldImages = (containers: Container[] | null | undefined, old: Container[] | null | undefined) =>
  containers?.map((container, i) => ({ ...container, image: old?.[i]?.image }))

function withOldNodeAffinity(spec: PodSpec, old: PodSpec): unknown {
  const nodeAffinity = old.affinity?.nodeAffinity
  if (meansTheSame(PodSpec, { affinity: { nodeAffinity: spec.affinity?.nodeAffinity } }, { affinity: { nodeAffinity } }))
    return spec.affinity
  if (!spec.affinity) return nodeAffinity ? { nodeAffinity } : undefined
  const { podAffinity, podAntiAffinity } = spec.affinity
  if (!old.affinity && !podAffinity && !podAntiAffinity) return undefined
  return { ...spec.affinity, nodeAffinity }
}
