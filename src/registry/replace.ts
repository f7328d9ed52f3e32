/** Replace: the sent object replaces the stored one, or the part of it that a subresource shows. */
import type { InParts } from '../lib/in-parts.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { recordsPath } from '../schema/resource.ts'
import { badRequest, conflict, type StatusError } from '../schema/status-error.ts'
import { bodyOf, type Call, type CallContext, type Result } from './api.ts'
import { decodingObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { type WriteOptions, writeOptions } from './options.ts'
import { write } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'
import { runParts } from './yielding.ts'

export function replace(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const change = call.resource.def.allowCreateOnUpdate && call.subresource === '' ? REPLACE_OR_CREATE : REPLACE
  return write(newWrite({ deps, call, ctx }, { options: writeOptions(call.query, 'UpdateOptions', ctx), change }))
}

const REPLACE: Change = { does: 'change', decode: decodeReplacement, merge: checkUid }
const REPLACE_OR_CREATE: Change = { ...REPLACE, does: 'either' }

/** Reads an object that replaces the one of the path. */
export function decodeReplacement(write: Write): MaybePromise<void> {
  return runParts(write, decodingReplacement(write))
}

function* decodingReplacement(write: Write): InParts<void> {
  const { call, ctx, options, kind } = write
  const { object, warnings } = yield* decodingObject(kind, bodyOf(ctx), options.fieldValidation, write.deps.findKind)
  write.warnings.push(...warnings)
  checkIdentity(call, object)
  write.object = object
}

/** Names in a body must be those of the path. */
export function checkIdentity({ resource, namespace, name }: Call, { metadata }: AnyObject): void {
  if (!metadata.name) throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  if (resource.namespaced && metadata.namespace && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (resource.namespaced) metadata.namespace = namespace
}

/** An object with a uid must replace the object with that uid, not another one of the same name. */
export function checkUid({ call, object, stored, options }: Write): void {
  const { uid } = object!.metadata
  const there = stored?.metadata.uid ?? ''
  if (!uid || uid === there) return
  throw storageConflict(call, options, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${there}`)
}

/** A conflict that kube-apiserver finds where it stores the object. */
export function storageConflict(
  { resource, namespace, name }: Pick<Call, 'resource' | 'namespace' | 'name'>,
  { dryRun }: Pick<WriteOptions, 'dryRun'>,
  why: string,
): StatusError {
  // A dry run does not come as far as where the prefix of all keys is added.
  const key = `${dryRun ? '' : '/registry'}${recordsPath(resource)}${resource.namespaced ? `${namespace}/` : ''}${name}`
  return conflict(resource, name, `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`)
}
