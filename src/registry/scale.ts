/** The scale subresource: an object's size, read and written as a Scale. */
import { parseObject } from '../codec/stored-bytes.ts'
import { Scale } from '../kinds/autoscaling/scale.ts'
import { isObject } from '../lib/json-value.ts'
import { withManagedFields } from '../patch/managers.ts'
import { parentManagedFields, type ReplicasPaths, scaleManagedFields } from '../patch/scale-ownership.ts'
import { check } from '../schema/check.ts'
import { conform } from '../schema/conform.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { refTo } from '../schema/refs.ts'
import { resourceOf } from '../schema/resource.ts'
import { badRequest, conflict, internalError, invalidObject } from '../schema/status-error.ts'
import type { ScaleSubresource } from '../schema/subresources.ts'
import type { Body, Call, CallContext, Result } from './api.ts'
import { mergeConfiguration, readConfiguration } from './apply.ts'
import type { Deps } from './deps.ts'
import { writeOptions } from './options.ts'
import { setManagers } from './ownership.ts'
import { patchBody, patchChange } from './patch.ts'
import { read } from './read.ts'
import { checkUid, decodeReplacement } from './replace.ts'
import { write } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'

const SCALE = resourceOf(Scale, '')

export async function readScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const result = await read(deps, call, ctx)
  if (result.type === 'object' && declaredScale(call).replicas(parseObject(result.json)) === undefined)
    throw internalError(`the spec replicas field ${JSON.stringify(`.${pathOf(call)}`)} does not exist`)
  return answer(call, result)
}

export async function replaceScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const options = writeOptions(call.query, 'UpdateOptions', ctx)
  return answer(call, await write(newWrite({ deps, call, ctx }, { options, kind: SCALE, change: REPLACE })))
}

export async function patchScale(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const { body, isApply } = patchBody(call, ctx)
  const options = writeOptions(call.query, 'PatchOptions', { groupDomain: ctx.groupDomain, isApply })
  const merge = isApply ? (write: Write) => applyScale(write, body) : patchChange(body).merge!
  const change: Change = {
    ...CHANGE,
    merge(write) {
      showStored(write)
      return merge(write)
    },
  }
  return answer(call, await write(newWrite({ deps, call, ctx }, { options, kind: SCALE, change })))
}

/** Admission and field managers see a Scale; what is prepared, validated and stored is the object. */
const CHANGE: Change = { does: 'change', convert: resize, show: write => scaleOf(write.call, write.object!) }
const REPLACE: Change = {
  ...CHANGE,
  decode: decodeReplacement,
  merge(write) {
    checkUid(write)
    showStored(write)
  },
}

/** What is stored, as a Scale. */
function showStored(write: Write): void {
  write.old = scaleOf(write.call, write.before!, UNSET)
}

function applyScale(write: Write, body: Body) {
  const { applied, strictError } = readConfiguration(body)
  const named = isObject(applied['metadata']) ? applied : { ...applied, metadata: { name: write.call.name } }
  return mergeConfiguration(write, { applied: named, strictError })
}

/** Writes a Scale into the object: its size, and who owns that. */
function resize(write: Write): void {
  const { call, before } = write
  const scale = write.object as Scale
  if (scale.spec.replicas === UNSET) throw badRequest(`the spec replicas field ${JSON.stringify(`.${pathOf(call)}`)} cannot be empty`)
  checkScale(call, scale, before!)
  const object = structuredClone(before!)
  declaredScale(call).setReplicas(object, scale.spec.replicas ?? 0)
  const { resourceVersion, managedFields = [] } = scale.metadata
  if (resourceVersion) object.metadata.resourceVersion = resourceVersion
  const parent = before!.metadata.managedFields ?? []
  setManagers(object, parentManagedFields({ parent, scale: managedFields, paths: pathsOf(call), apiVersion: call.resource.apiVersion }))
  write.object = object
}

function checkScale({ resource, name }: Call, scale: Scale, { metadata }: AnyObject): void {
  // What is wrong with the size of a custom object is found by the rules of the object.
  const errors = resource.def.custom ? [] : [...check(SCALE.type, scale, refTo(scale))]
  if (errors.length > 0) throw invalidObject(SCALE, name, errors)
  const { uid } = scale.metadata
  if (uid && uid !== metadata.uid)
    throw conflict(
      { ...resource, plural: `${resource.plural}/scale` },
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    )
}

const declaredScale = ({ resource }: Call): ScaleSubresource<AnyObject> => resource.def.subresources!.scale!
const pathOf = (call: Call) => declaredScale(call).path ?? 'spec.replicas'
const pathsOf = ({ resource }: Call): ReplicasPaths =>
  new Map(
    resource.versions.map(({ apiVersion, def: { subresources: { scale } = {} } }) => [
      apiVersion,
      scale ? (scale.path ?? 'spec.replicas') : null,
    ]),
  )
/** The size of an object that has none yet, until a write says one. */
const UNSET = -(2 ** 31)

/** An object as its Scale, with those who own its size. */
function scaleOf(call: Call, object: AnyObject, unset = 0): Scale {
  const declared = declaredScale(call)
  const { name, namespace, uid, resourceVersion, creationTimestamp, managedFields = [] } = object.metadata
  const { value } = conform(SCALE.type, {
    kind: SCALE.kind,
    apiVersion: SCALE.apiVersion,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as Record<string, string>,
    spec: { replicas: declared.replicas(object) ?? unset },
    status: { replicas: declared.observed(object), selector: declared.selector(object) },
  })
  return withManagedFields(value, scaleManagedFields(managedFields, pathsOf(call))) as unknown as Scale
}

/** The response as a Scale of the object; managedFields are shown with the object only. */
function answer(call: Call, result: Result): Result {
  if (result.type !== 'object') return result
  const scale = scaleOf(call, parseObject(result.json))
  delete scale.metadata.managedFields
  return { ...result, resource: SCALE, json: Buffer.from(JSON.stringify(scale)) }
}
