/** The scale subresource: an object's size, read and written as a Scale. */

import { parseObject } from '../codec/stored-bytes.ts'
import { Scale } from '../kinds/autoscaling/scale.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { applyConfiguration } from '../patch/apply.ts'
import { withManagedFields } from '../patch/managers.ts'
import { trackUpdate } from '../patch/ownership.ts'
import { parentManagedFields, type ReplicasPaths, scaleManagedFields } from '../patch/scale-ownership.ts'
import { check } from '../schema/check.ts'
import { conform } from '../schema/conform.ts'
import type { AnyObject, ManagedFieldsEntry } from '../schema/object-meta.ts'
import { refTo } from '../schema/refs.ts'
import { resourceOf } from '../schema/resource.ts'
import { badRequest, conflict, internalError, invalidObject, MODIFIED, StatusError, unsupportedMediaType } from '../schema/status-error.ts'
import type { ScaleSubresource } from '../schema/subresources.ts'
import type { Call, CallContext, Result } from './api.ts'
import { readConfiguration, refusedApply, strictProblems } from './apply.ts'
import { change, checkIdentity } from './change.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { type WriteOptions, writeOptions } from './options.ts'
import { setManagers, writeOf } from './ownership.ts'
import { APPLY_PATCH, CUSTOM_PATCH_TYPES, PATCH_TYPES, patchValue } from './patch.ts'
import { conformPatched } from './patched.ts'
import { read } from './read.ts'

const SCALE = resourceOf(Scale, '')

export async function readScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const result = await read(deps, call, ctx)
  if (result.form === 'object' && viewOf(call).replicas(parseObject(result.json)) === undefined)
    throw internalError(`the spec replicas field ${JSON.stringify(`.${pathOf(call)}`)} does not exist`)
  return answer(call, result)
}

export function replaceScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const options = writeOptions(call.query, 'UpdateOptions', ctx)
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  const { object, warnings } = decodeObject(SCALE, body, options.fieldValidation)
  checkIdentity(call, object)
  return resize(deps, { call, ctx, options }, () => ({ scale: object as Scale, warnings }))
}

export async function patchScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const body = ctx.body ?? { mediaType: '', bytes: new Uint8Array() }
  if (call.resource.def.custom && !CUSTOM_PATCH_TYPES.includes(body.mediaType)) throw unsupportedMediaType(CUSTOM_PATCH_TYPES)
  if (!PATCH_TYPES.includes(body.mediaType)) throw new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  const isApply = body.mediaType === APPLY_PATCH
  const options = writeOptions(call.query, 'PatchOptions', { groupDomain: ctx.groupDomain, isApply })
  const writing: Resize = { call, ctx, options }
  return resize(deps, writing, live => {
    const { value, managers, ...patch } = isApply
      ? applied(writing, live, body.bytes)
      : { ...patchValue(SCALE, body, live as unknown as Json), managers: undefined }
    const { object, warnings } = conformPatched(SCALE, value, { ...patch, validation: options.fieldValidation })
    checkIdentity(call, object)
    return { scale: object as Scale, warnings, managers }
  })
}

type Resize = { readonly call: Call; readonly ctx: CallContext; readonly options: WriteOptions }
/** The scale a write wants, and who owns it then, where the write itself decides that. */
type Wanted = { readonly scale: Scale; readonly warnings: readonly string[]; readonly managers?: readonly ManagedFieldsEntry[] | undefined }

async function resize(deps: Deps, { call, ctx, options }: Resize, wanted: (live: Scale) => Wanted): Promise<Result> {
  let owners: readonly ManagedFieldsEntry[] = []
  const result = await change(deps, {
    call,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const live = scaleOf(call, stored, UNSET)
      const { scale, warnings, managers } = wanted(live)
      if (scale.spec.replicas === UNSET) throw badRequest(`the spec replicas field ${JSON.stringify(`.${pathOf(call)}`)} cannot be empty`)
      checkScale(call, scale, stored)
      owners =
        managers ??
        trackUpdate({ ...scaleWrite({ call, ctx, options }), live: live as unknown as JsonObject, next: scale as unknown as JsonObject })
      const object = structuredClone(stored)
      viewOf(call).setReplicas(object, scale.spec.replicas ?? 0)
      return { object, warnings }
    },
    own(sent, stored) {
      const parent = stored.metadata.managedFields ?? []
      setManagers(sent, parentManagedFields({ parent, scale: owners, paths: pathsOf(call), apiVersion: call.resource.apiVersion }))
    },
  })
  return answer(call, result)
}

function applied({ call, ctx, options }: Resize, live: Scale, bytes: Uint8Array) {
  const { applied: configuration, strictError } = readConfiguration(bytes)
  const outcome = applyConfiguration({
    ...scaleWrite({ call, ctx, options }),
    kind: SCALE.kind,
    live: live as unknown as JsonObject,
    applied: isObject(configuration['metadata']) ? configuration : { ...configuration, metadata: { name: call.name } },
    force: options.force === true,
  })
  if (!outcome.ok) throw refusedApply(outcome)
  return { value: outcome.object, problems: strictProblems(strictError, options), managers: outcome.managedFields }
}

/** A write of the scale itself: its owners own a Scale's field, which is the object's in another name. */
const scaleWrite = ({ call, ctx, options }: Resize) => ({
  ...writeOf({ resource: SCALE, subresource: '' }, { options, ctx }),
  writer: writeOf({ resource: SCALE, subresource: call.subresource }, { options, ctx }).writer,
})

function checkScale(call: Call, scale: Scale, stored: AnyObject): void {
  const errors = [...check(SCALE.type, scale, refTo(scale))]
  if (errors.length > 0) throw invalidObject(SCALE, call.name, errors)
  const { uid, resourceVersion } = scale.metadata
  if (uid && uid !== stored.metadata.uid)
    throw badRequest(`the uid of the scale (${uid}) is not that of the object (${stored.metadata.uid})`)
  if (resourceVersion && resourceVersion !== stored.metadata.resourceVersion) throw conflict(call.resource, call.name, MODIFIED)
}

const viewOf = ({ resource }: Call): ScaleSubresource<AnyObject> => resource.def.subresources!.scale!
const pathOf = (call: Call) => viewOf(call).path ?? 'spec.replicas'
const pathsOf = ({ resource }: Call): ReplicasPaths =>
  new Map(
    resource.forms.map(({ apiVersion, def: { subresources: { scale } = {} } }) => [
      apiVersion,
      scale ? (scale.path ?? 'spec.replicas') : null,
    ]),
  )
/** The size of an object that has none yet, until a write says one. */
const UNSET = -(2 ** 31)

/** An object as its Scale, with those who own its size. */
function scaleOf(call: Call, object: AnyObject, unset = 0): Scale {
  const view = viewOf(call)
  const { name, namespace, uid, resourceVersion, creationTimestamp, managedFields = [] } = object.metadata
  const { value } = conform(SCALE.type, {
    kind: SCALE.kind,
    apiVersion: SCALE.apiVersion,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as Record<string, string>,
    spec: { replicas: view.replicas(object) ?? unset },
    status: { replicas: view.observed(object), selector: view.selector(object) },
  })
  return withManagedFields(value, scaleManagedFields(managedFields, pathsOf(call))) as unknown as Scale
}

/** The answer about an object, told as its Scale; owners are told with the object alone. */
function answer(call: Call, result: Result): Result {
  if (result.form !== 'object') return result
  const scale = scaleOf(call, parseObject(result.json))
  delete scale.metadata.managedFields
  return { ...result, resource: SCALE, json: Buffer.from(JSON.stringify(scale)) }
}
