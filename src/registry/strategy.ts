/** Writes as the declaration of a kind wants them: preparing, validating and warning, on create and on update. */
import { copyJson, deepEqual } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Step } from '../lib/step.ts'
import { check, ruledFields } from '../schema/check.ts'
import { conform } from '../schema/conform.ts'
import { fillDefaults } from '../schema/defaults.ts'
import { validateFinalizerDomains, validateObjectMeta, validateObjectMetaUpdate } from '../schema/meta-rules.ts'
import type { AnyObject, ObjectMeta } from '../schema/object-meta.ts'
import { type FieldError, gatherErrors, type Ref, refTo } from '../schema/refs.ts'
import type { DefaultingContext, RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import type { UpdateRule } from '../schema/rules.ts'
import { invalidObject } from '../schema/status-error.ts'
import type { UpdateSubresource } from '../schema/subresources.ts'

/** The part of an object that a write changes: the object itself, one of its subresources, or the fields that a message changes. */
export type Target = {
  readonly resource: Resource
  readonly subresource: string
  readonly update: UpdateSubresource<AnyObject> | undefined
  readonly isMessage: boolean
}

export function targetOf(resource: Resource, subresource: string): Target {
  const { status, updates, creates } = resource.def.subresources ?? {}
  const update = subresource === 'status' ? status : subresource === '' ? undefined : updates?.[subresource]
  return { resource, subresource, update, isMessage: subresource !== '' && creates?.[subresource] !== undefined }
}

/** Fills declared defaults in place. */
export function setDefaults({ type, def }: Resource, object: AnyObject, ctx: DefaultingContext): void {
  if (def.custom) def.custom.fillDefaults(object)
  else fillDefaults(type, object)
  def.defaults?.(object, ctx)
}

/** Makes a decoded object ready to be stored for the first time. */
export function prepareCreate({ def }: Resource, object: AnyObject, ctx: RequestContext): void {
  const { metadata } = object
  if (def.status && !def.keepsStatusOnCreate && keepsStatus(def, ctx))
    fillDefaults(def.status, (object['status'] = conform(def.status, {}).value))
  if (countsGenerations(def, ctx)) metadata.generation = 1
  def.prepareForCreate?.(object, ctx)
}

/** Makes a sent object the successor of the stored one: fields that the write may not change are taken over. */
export function prepareUpdate(target: Target, sent: AnyObject, stored: AnyObject, ctx: RequestContext): AnyObject {
  const { resource, update, subresource } = target
  const { def } = resource
  // The kind itself made this object; there is nothing a client could have slipped in.
  if (target.isMessage) return sent
  const object = update
    ? takeSubresource(update, subresource, sent, stored)
    : { ...sent, ...(def.status && keepsStatus(def, ctx) && { status: stored['status'] }) }
  const { metadata } = object
  const old = stored.metadata
  carry(metadata, old, 'generation')
  if (update) update.prepareForUpdate?.(object, stored, ctx)
  else def.prepareForUpdate?.(object, stored, ctx)
  metadata.uid ||= old.uid!
  carry(metadata, old, 'creationTimestamp')
  // An object that is being deleted stays so; an update that marks another one is refused by the rules of metadata.
  if (old.deletionTimestamp) metadata.deletionTimestamp = old.deletionTimestamp
  if (old.deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds ??= old.deletionGracePeriodSeconds
  delete metadata.selfLink
  // A status tells an observation, even if annotations come with it: it is no new intent.
  if (subresource !== 'status' && countsGenerations(def, ctx) && movesGeneration(resource, object, stored))
    metadata.generation = next(old.generation ?? 0)
  return object
}

/** Throws all errors of an object to be created as one. */
export function* validateCreate(resource: Resource, object: AnyObject, ctx: RequestContext): Step<void> {
  const at = refTo(object, '', resource.type)
  const errors = yield* gatherErrors(
    () => metaErrors(resource, object, at),
    () => bodyErrors(resource, object, at, undefined),
    found => resource.def.validate?.(object, at, ctx, found),
  )
  refuse(resource, object, errors)
}

/** Throws all errors of a change as one. */
export function* validateUpdate(
  { resource, update, subresource, isMessage }: Target,
  object: AnyObject,
  old: AnyObject,
  ctx: RequestContext,
): Step<void> {
  if (isMessage) return
  const at = refTo(object, '', resource.type)
  const rules = update ?? resource.def
  const validateUpdate = rules.validateUpdate as UpdateRule<AnyObject> | undefined
  const errors = yield* gatherErrors(
    () => validateObjectMetaUpdate(object.metadata, old.metadata, at.metadata),
    () => finalizerErrors(resource, object.metadata, at),
    () => validateUpdate?.(object, old, at, ctx),
    () => bodyErrors(resource, object, at, old, update?.validate && subresource),
    found => rules.validate?.(object, at, { old, ...ctx }, found),
  )
  refuse(resource, object, errors)
}

/** The warnings about an object, each once. A write through a path of its own is not warned about the rest of the object. */
export function warningsOf(
  { resource: { def }, update }: Target,
  object: AnyObject,
  old: AnyObject | undefined,
  ctx: RequestContext,
): readonly string[] {
  const found = old && update ? update.warn?.(object, old, ctx) : def.warn?.(object, old, ctx)
  if (!found) return NO_WARNINGS
  const warnings = new Set<string>()
  for (const warning of found) {
    warnings.add(warning)
    if (warnings.size === LIMITS.warnings) break
  }
  return [...warnings]
}
const NO_WARNINGS: readonly string[] = []

function* metaErrors(resource: Resource, { metadata }: AnyObject, at: Ref<AnyObject>): Iterable<FieldError> {
  yield* validateObjectMeta(metadata, at.metadata as Ref<ObjectMeta>, resource)
  yield* finalizerErrors(resource, metadata, at)
}

function* finalizerErrors({ def }: Resource, { finalizers }: ObjectMeta, at: Ref<AnyObject>): Iterable<FieldError> {
  if (finalizers && !def.unqualifiedFinalizers) yield* validateFinalizerDomains(finalizers, at.metadata.finalizers as Ref<string[]>)
}

/**
 * The errors by the types of the kind's own fields; metadata has its own rules, and custom kinds declare no types.
 * A subresource with rules of its own is held to those of the one field it is about, such as the status.
 */
function* bodyErrors(
  { type, def }: Resource,
  object: AnyObject,
  at: Ref<AnyObject>,
  old: AnyObject | undefined,
  only?: string,
): Iterable<FieldError> {
  if (type.shape.kind !== 'message' || def.custom) return
  for (const [name, field] of ruledFields(type.shape))
    if (name !== 'metadata' && (only === undefined || name === only))
      yield* check(field, object[name], at[name]!, old && { value: old[name] })
}

function refuse({ group, kind }: Resource, { metadata }: AnyObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject({ group, kind }, metadata.name ?? '', errors)
}

function takeSubresource(update: UpdateSubresource<AnyObject>, name: string, sent: AnyObject, stored: AnyObject): AnyObject {
  const taken = update.merge ? update.merge(sent, copyJson(stored)) : { ...stored, [name]: sent[name] }
  const kept = { ...stored.metadata, resourceVersion: sent.metadata.resourceVersion ?? stored.metadata.resourceVersion! }
  const metadata = update.keepsMetadata
    ? { ...kept, ...(sent.metadata.managedFields && { managedFields: sent.metadata.managedFields }) }
    : { ...sent.metadata }
  return { ...taken, metadata }
}

/** Whether plain writes leave the status alone. */
const keepsStatus = ({ statusGate: gate }: Resource['def'], ctx: RequestContext): boolean => gate === undefined || ctx.gate(gate)

const countsGenerations = ({ generation, generationGate: gate }: Resource['def'], ctx: RequestContext): boolean =>
  generation !== undefined && (gate === undefined || ctx.gate(gate))

function movesGeneration({ def }: Resource, object: AnyObject, old: AnyObject): boolean {
  if (!def.generation) return false
  const part = def.generation === true ? (o: AnyObject) => o['spec'] : def.generation
  return !deepEqual(part(object), part(old))
}

/** One more than a generation, whatever its size. */
export const next = (value: number | bigint): number | bigint => (typeof value === 'bigint' ? value + 1n : value + 1)

function carry(to: ObjectMeta, from: ObjectMeta, field: 'generation' | 'creationTimestamp'): void {
  if (from[field] === undefined) delete to[field]
  else (to as Record<string, unknown>)[field] = from[field]
}
