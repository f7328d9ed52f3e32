/** Common parts of workload kinds: counts, conditions, rolling updates, template rules, columns. */
import { isDNS1123Label, isValidPercent } from '../../lib/names.ts'
import type { Cell, Column } from '../../schema/columns.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, unsupported, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import type { ScaleSubresource } from '../../schema/subresources.ts'
import { int32 } from '../../schema/types.ts'
import { formatLabelSelector, isEmptySelector, type LabelSelector, labelTermsOf, rejectsLabels, validateLabelSelector } from './meta.ts'
import { gatedPodOptions, podOptionsFor } from './pod/ratchet-rules.ts'
import type { PodTemplateSpec } from './pod/spec.ts'
import { validatePodTemplateSpec } from './pod/spec-rules.ts'
import { warnAboutPodTemplate } from './pod/warnings.ts'

/** A number of pods or seconds. */
export const count = int32.min(0)

type Amount = number | string

/** A non-negative number, or a percentage. */
export function validateAmount(amount: Amount, at: Ref<Amount>): Iterable<FieldError> {
  if (typeof amount === 'string') return invalidEach(at, isValidPercent(amount))
  return amount < 0 ? [invalid(at, 'must be greater than or equal to 0')] : []
}

/** A percentage of at most 100%. */
export function* validateAtMostWhole(amount: Amount, at: Ref<Amount>): Iterable<FieldError> {
  if (typeof amount === 'string' && isValidPercent(amount).length === 0 && amountOf(amount) > 100)
    yield invalid(at, 'must not be greater than 100%')
}

/** The number in an amount, whether it is a count or a percentage; 0 if absent. */
export function amountOf(amount: Amount): number {
  if (typeof amount === 'number') return amount
  return /^[+-]?\d+%?$/.test(amount) ? Number.parseInt(amount, 10) : 0
}

/** An amount of `total`: a number unchanged, a percentage rounded up or down. */
export function scaledAmount(amount: Amount, total: number, rounding: 'up' | 'down'): number {
  if (typeof amount === 'number') return amount
  const part = (amountOf(amount) * total) / 100
  return rounding === 'up' ? Math.ceil(part) : Math.floor(part)
}

/** The context of template rules: the stored template on updates, and the feature gates. */
export type Stored = { readonly old: PodTemplateSpec | undefined; readonly gate: RequestContext['gate'] }

/** Rules for a template with restartPolicy Always: the selector must match it, and activeDeadlineSeconds is not allowed. */
export function* validateTemplate(
  { selector, template }: { selector: LabelSelector | null; template: PodTemplateSpec },
  at: Ref<{ selector: LabelSelector; template: PodTemplateSpec }>,
  { owner, old, gate }: Stored & { readonly owner: string },
): Iterable<FieldError> {
  const { labels } = template.metadata
  if (rejectsLabels(selector, labels))
    yield invalid(withValue(at.template.metadata.labels, labels ?? null), '`selector` does not match template `labels`')
  yield* validateLastingTemplate(template, at.template, { owner, old, gate })
}

/** Rules for a template with restartPolicy Always: activeDeadlineSeconds is not allowed. */
export function* validateLastingTemplate(
  template: PodTemplateSpec,
  at: Ref<PodTemplateSpec>,
  { owner, old, gate }: Stored & { readonly owner: string },
): Iterable<FieldError> {
  yield* validatePodTemplateSpec(template, at, podOptionsFor(old, gatedPodOptions(gate)))
  yield* validateLasting(template, at, owner)
}

/** The pods of a template must run forever. */
export function* validateLasting(template: PodTemplateSpec, at: Ref<PodTemplateSpec>, owner: string): Iterable<FieldError> {
  if (template.spec.restartPolicy !== 'Always') yield unsupported(at.spec.restartPolicy, 'Always')
  if (template.spec.activeDeadlineSeconds !== undefined)
    yield forbidden(at.spec.activeDeadlineSeconds, `activeDeadlineSeconds in ${owner} is not Supported`)
}

/** An empty selector would make a workload adopt all pods. */
export function* validateNotEmpty(selector: LabelSelector | null, at: Ref<LabelSelector>, kind: string): Iterable<FieldError> {
  if (selector && isEmptySelector(selector)) yield invalid(at, `empty selector is invalid for ${kind}`)
}

type Replicated = { selector: LabelSelector; template: PodTemplateSpec }
/** Rules for the selector and template of a workload with replicas. */
export function* validateReplicated(spec: Replicated, at: Ref<Replicated>, stored: Stored): Iterable<FieldError> {
  const { selector } = spec
  if (selector) {
    yield* validateLabelSelector(selector, at.selector)
    yield* validateNotEmpty(selector, at.selector, 'deployment')
  }
  if (labelTermsOf(selector) === undefined) yield invalid(at.selector, 'invalid label selector')
  else yield* validateTemplate(spec, at, { owner: 'ReplicaSet', ...stored })
}

type Counts = { replicas?: number; readyReplicas?: number; availableReplicas?: number; [part: string]: any }
/** No count of some replicas exceeds the number of all. `part` is a further count of the kind. */
export function* validateReplicaCounts(status: Counts, at: Ref<Counts>, part: string): Iterable<FieldError> {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  for (const name of [part, 'readyReplicas', 'availableReplicas'])
    if ((status[name] ?? 0) > replicas) yield invalid(at[name]!, 'cannot be greater than status.replicas')
  if (availableReplicas > readyReplicas) yield invalid(at.availableReplicas, 'cannot be greater than readyReplicas')
}

/** Drops the count of terminating pods where that feature is off, unless it is stored already. */
export function dropTerminating(
  status: { terminatingReplicas?: number },
  old: { terminatingReplicas?: number },
  ctx: RequestContext,
): void {
  if (!ctx.gate('DeploymentReplicaSetTerminatingReplicas') && old.terminatingReplicas === undefined) delete status.terminatingReplicas
}

/** The collision count only grows. */
export function* validateCollisions(
  status: { collisionCount?: number },
  old: { collisionCount?: number },
  at: Ref<{ collisionCount?: number }>,
): Iterable<FieldError> {
  if (old.collisionCount !== undefined && (status.collisionCount ?? -1) < old.collisionCount)
    yield invalid(withValue(at.collisionCount, status.collisionCount ?? 0), 'cannot be decremented')
}

/** Warnings about a template that is new or may have changed. */
export const warnAboutTemplate = warnAboutPodTemplate

/** A warning about names that make poor host names. */
export function* warnAboutName({ name = '' }: { name?: string }): Iterable<string> {
  const faults = isDNS1123Label(name)
  if (faults.length > 0)
    yield `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${faults.join(' ')}]`
}

type Workload = { spec: { template: PodTemplateSpec } }
const containers = (part: 'name' | 'image') => (o: Workload) => o.spec.template.spec.containers?.map(c => c[part] ?? '').join(',') ?? ''
export const containersColumn: Column<Workload> = ['string', containers('name'), 'Names of each container in the template.', 'wide']
export const imagesColumn: Column<Workload> = [
  'string',
  containers('image'),
  'Images referenced by each container in the template.',
  'wide',
]
/** The selector of a workload, as a table cell. */
export const selectorCell = (o: { spec: { selector: LabelSelector } }): Cell => formatLabelSelector(o.spec.selector)

type Scaled = { spec: { replicas: number }; status: { replicas?: number } }

/** The scale subresource of kinds with `spec.replicas` and `status.replicas`, without the selector of their pods. */
export const REPLICAS_SCALE: Omit<ScaleSubresource<Scaled>, 'selector'> = {
  replicas: o => o.spec.replicas,
  setReplicas(o, replicas) {
    o.spec.replicas = replicas
  },
  observed: o => o.status.replicas ?? 0,
}
