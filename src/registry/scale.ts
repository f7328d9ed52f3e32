/** The scale subresource: an object's size, read and written as a Scale. */
import { Scale } from '../kinds/autoscaling/scale.ts'
import type { Json } from '../lib/json-value.ts'
import { check } from '../schema/check.ts'
import { conform } from '../schema/conform.ts'
import type { ScaleView } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { refTo } from '../schema/refs.ts'
import { resourceOf } from '../schema/resource.ts'
import { badRequest, conflict, invalidObject, MODIFIED, StatusError } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { change, checkIdentity } from './change.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { type WriteOptions, writeOptions } from './options.ts'
import { ownChanged } from './ownership.ts'
import { APPLY_PATCH, PATCH_TYPES, patchValue } from './patch.ts'
import { conformPatched } from './patched.ts'
import { read } from './read.ts'
import { readStored } from './stored-form.ts'

const SCALE = resourceOf(Scale, '')

export async function readScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  return answer(call, await read(deps, call, ctx))
}

export function replaceScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const options = writeOptions(call.query, 'UpdateOptions')
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  const { object, warnings } = decodeObject(SCALE, body, options.fieldValidation)
  checkIdentity(call, object)
  return resize(deps, { call, ctx, options }, () => ({ scale: object as Scale, warnings }))
}

export async function patchScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const body = ctx.body ?? { mediaType: '', bytes: new Uint8Array() }
  if (!PATCH_TYPES.includes(body.mediaType)) throw new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  const isApply = body.mediaType === APPLY_PATCH
  const options = writeOptions(call.query, 'PatchOptions', isApply)
  return resize(deps, { call, ctx, options }, stored => {
    // A Scale has one field to set, so applying one is merging it.
    const patch = isApply ? { ...body, mediaType: 'application/merge-patch+json' } : body
    const { value, problems } = patchValue(SCALE, patch, scaleOf(call, stored) as unknown as Json)
    const { object, warnings } = conformPatched(SCALE, value, { problems, validation: options.fieldValidation })
    checkIdentity(call, object)
    return { scale: object as Scale, warnings }
  })
}

type Resize = { readonly call: Call; readonly ctx: CallContext; readonly options: WriteOptions }

async function resize(
  deps: Deps,
  { call, ctx, options }: Resize,
  wanted: (stored: AnyObject) => { scale: Scale; warnings: readonly string[] },
): Promise<Result> {
  const result = await change(deps, {
    call,
    ctx,
    dryRun: options.dryRun,
    want(stored) {
      const { scale, warnings } = wanted(stored)
      checkScale(call, scale, stored)
      const object = structuredClone(stored)
      viewOf(call).setReplicas(object, scale.spec.replicas ?? 0)
      const isConditional = Boolean(scale.metadata.resourceVersion) && scale.metadata.resourceVersion !== stored.metadata.resourceVersion
      return { object, warnings, isConditional }
    },
    own: (sent, stored) => ownChanged(call, { sent, stored, options, ctx }),
  })
  return answer(call, result)
}

function checkScale(call: Call, scale: Scale, stored: AnyObject): void {
  const errors = [...check(SCALE.type, scale, refTo(scale))]
  if (errors.length > 0) throw invalidObject(SCALE, call.name, errors)
  const { uid, resourceVersion } = scale.metadata
  if (uid && uid !== stored.metadata.uid)
    throw badRequest(`the uid of the scale (${uid}) is not that of the object (${stored.metadata.uid})`)
  if (resourceVersion && resourceVersion !== stored.metadata.resourceVersion) throw conflict(call.resource, call.name, MODIFIED)
}

const viewOf = ({ resource }: Call): ScaleView<AnyObject> => resource.def.subresources!.scale!

function scaleOf(call: Call, object: AnyObject): Scale {
  const view = viewOf(call)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const { value } = conform(SCALE.type, {
    kind: SCALE.kind,
    apiVersion: SCALE.apiVersion,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as Record<string, string>,
    spec: { replicas: view.replicas(object) },
    status: { replicas: view.observed(object), selector: view.selector(object) },
  })
  return value
}

/** The answer about an object, told as its Scale. */
function answer(call: Call, result: Result): Result {
  if (result.form !== 'object') return result
  const scale = scaleOf(call, readStored(result.json).value as unknown as AnyObject)
  return { ...result, resource: SCALE, json: Buffer.from(JSON.stringify(scale)) }
}
