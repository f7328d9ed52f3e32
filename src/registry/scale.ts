/** The scale subresource: an object's size, read and written as a Scale. */
import { parseObject } from '../codec/stored-bytes.ts'
import { Scale } from '../kinds/autoscaling/scale.ts'
import { copyJson, isObject } from '../lib/json-value.ts'
import { isStep, type Step } from '../lib/step.ts'
import { withManagedFields } from '../patch/managers.ts'
import { parentManagedFields, type ReplicasPaths, scaleManagedFields } from '../patch/scale-ownership.ts'
import { check } from '../schema/check.ts'
import { conform } from '../schema/conform.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { refTo } from '../schema/refs.ts'
import { resourceOf } from '../schema/resource.ts'
import { badRequest, conflict, internalError, invalidObject } from '../schema/status-error.ts'
import type { ScaleSubresource } from '../schema/subresources.ts'
import type { Body, Call, Result } from './api.ts'
import { mergeConfiguration, readConfiguration } from './configuration.ts'
import { checkUid } from './identity.ts'
import { writeOptions } from './options.ts'
import { setManagers } from './ownership.ts'
import { mergePatch, patchBody } from './patch-body.ts'
import type { Handler, Request } from './request.ts'
import { takeReplacement } from './sent-object.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'

const SCALE = resourceOf(Scale, '')

/** Reads the object itself by `read`. */
export const readScale = (read: Handler) =>
  function* (request: Request): Step<Result> {
    const { call } = request
    const reading = read(request)
    const result = isStep(reading) ? yield* reading : reading
    if (result.type === 'object' && declaredScale(call).replicas(parseObject(result.json)) === undefined)
      throw internalError(`the spec replicas field ${JSON.stringify(`.${pathOf(call)}`)} does not exist`)
    return answer(call, result)
  }

export function* replaceScale(request: Request): Step<Result> {
  const { call, ctx } = request
  const options = writeOptions(call.query, 'UpdateOptions', ctx)
  return answer(call, yield* runWrite(newWrite(request, { options, kind: SCALE, change: REPLACE })))
}

export function* patchScale(request: Request): Step<Result> {
  const { call, ctx } = request
  const { body, isApply } = patchBody(request)
  const options = writeOptions(call.query, 'PatchOptions', { groupDomain: ctx.groupDomain, isApply })
  const change: Change = {
    ...CHANGE,
    merge(write) {
      showStored(write)
      return isApply ? applyScale(write, body) : mergePatch(write, body)
    },
  }
  return answer(call, yield* runWrite(newWrite(request, { options, kind: SCALE, change })))
}

/** Admission and field managers see a Scale; the object itself is prepared, validated and stored. */
const CHANGE: Change = { effect: 'change', convert: resize, show: write => scaleOf(write.call, write.object!) }
const REPLACE: Change = {
  ...CHANGE,
  decode: takeReplacement,
  merge(write) {
    checkUid(write)
    showStored(write)
  },
}

/** Shows the stored object as a Scale. */
function showStored(write: Write): void {
  write.old = scaleOf(write.call, write.before!, UNSET)
}

function applyScale(write: Write, body: Body): Step<void> {
  const { applied, strictError } = readConfiguration(write.kind, body)
  const named = isObject(applied['metadata']) ? applied : { ...applied, metadata: { name: write.call.name } }
  return mergeConfiguration(write, { applied: named, strictError })
}

/** Writes a Scale into the object: its size, and the managers of that. */
function resize(write: Write): void {
  const { call, before } = write
  const scale = write.object as Scale
  if (scale.spec.replicas === UNSET) throw badRequest(`the spec replicas field ${JSON.stringify(`.${pathOf(call)}`)} cannot be empty`)
  checkScale(call, scale, before!)
  const object = copyJson(before!)
  declaredScale(call).setReplicas(object, scale.spec.replicas ?? 0)
  const { resourceVersion, managedFields = [] } = scale.metadata
  if (resourceVersion) object.metadata.resourceVersion = resourceVersion
  const parent = before!.metadata.managedFields ?? []
  setManagers(object, parentManagedFields({ parent, scale: managedFields, paths: pathsOf(call), apiVersion: call.resource.apiVersion }))
  write.object = object
}

function checkScale({ resource, name }: Call, scale: Scale, { metadata }: AnyObject): void {
  // The size of a custom object is checked by the rules of the object.
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
/** The size of an object that has none yet, until a write sets one. */
const UNSET = -(2 ** 31)

/** An object as its Scale, with the managers of its size. */
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
