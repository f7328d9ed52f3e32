/** A change of a stored object: what is wanted, made from what is stored, then admitted, prepared, validated and swapped in. */
import { admit } from '../admission/plugin.ts'
import type { ObjectRevision } from '../cache/object-revision.ts'
import { encodeWrite, parseObject, withRevision } from '../codec/stored-bytes.ts'
import { deepEqual, type JsonObject } from '../lib/json-value.ts'
import { nextTurn } from '../lib/turns.ts'
import { keepTimesIfUnchanged } from '../patch/managers.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { invalid, refTo } from '../schema/refs.ts'
import type { Resource } from '../schema/resource.ts'
import { badRequest, conflict, internalError, invalidObject, MODIFIED } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { untilDecided } from './attempts.ts'
import type { Deps } from './deps.ts'
import { isLong } from './pace.ts'
import { prepareUpdate, type Target, targetOf, validateUpdate, warningsOf } from './strategy.ts'
import { ruledBy, servedJson, storedResource, toServed, toStored, withConversions } from './version-conversion.ts'

/** What a change wants the object to be, given what it is. */
export type Wanted = { readonly object: AnyObject; readonly warnings: readonly string[] }
export type Change = {
  readonly call: Call
  readonly ctx: CallContext
  readonly dryRun: boolean
  /** Computes the wanted object from what there is, both in the form of the call. Runs again whenever another write came first. */
  readonly want: (stored: AnyObject) => Wanted
  /** Stamps ownership on the prepared object. */
  readonly own: (object: AnyObject, stored: AnyObject) => void
  /** What to do when there is no such object. Default: 404. */
  readonly whenAbsent?: () => Promise<Result>
}

export function change(deps: Deps, wish: Change): Promise<Result> {
  return untilDecided(deps, wish.call, { once: version => attemptChange(deps, wish, version), whenAbsent: wish.whenAbsent })
}

/** One turn of the loop. Without a result when another write came first. */
async function attemptChange(deps: Deps, wish: Change, version: ObjectRevision): Promise<Result | undefined> {
  const { call, ctx, dryRun } = wish
  const { resource, subresource } = call
  const stored = decodeStored(resource, version)
  const long = isLong(ctx, version.json.byteLength)
  if (long) await nextTurn()
  const live = resource.hub ? await toServed(resource, stored) : stored
  const { object: sent, warnings } = resource.hub ? await withConversions(resource, () => wish.want(live)) : wish.want(live)
  if (long) await nextTurn()
  settleVersion(resource, sent, stored)
  const about = attributesOf(wish, live)
  if (resource.hub) await withConversions(resource, () => wish.own(sent, live))
  else wish.own(sent, live)
  if (long) await nextTurn()
  await admit(deps.plugins, 'mutate', { object: sent, ...about })
  const home = storedResource(resource)
  const ruled = ruledBy(resource)
  const isRuledHere = ruled === resource
  const next = isRuledHere ? sent : await toStored(resource, sent, ctx)
  const old = isRuledHere ? live : stored
  const claiming = { resource: home, object: next, old, takes: subresource === '', dryRun }
  return deps.ledger.run<Result>(claiming, async () => {
    const target = targetOf(ruled, subresource)
    const prepared = prepare(target, next, old, ctx)
    validateUpdate(target, prepared, old, ctx)
    await admit(deps.plugins, 'validate', { object: isRuledHere ? prepared : await toServed(resource, prepared), ...about })
    if (long) await nextTurn()
    const object = home === ruled ? prepared : await toStored(resource, prepared, ctx)
    const swapped = await swap(deps, { resource: home, dryRun }, { key: version.key, version, object, stored })
    if (!swapped) return undefined
    if (long) await nextTurn()
    const all = [...warnings, ...warningsOf(ruled, prepared, old, ctx)]
    const json = resource.hub ? await servedJson(resource, swapped.json) : swapped.json
    return { answer: { form: 'object', code: 200, resource, json, warnings: all }, stored: swapped.goes ? undefined : object }
  })
}

/** The stored object of a version, or an error that says it cannot be read. */
export function decodeStored(resource: Resource, version: ObjectRevision): AnyObject {
  if (version.fault !== undefined)
    throw internalError(`${resource.qualified} "${version.name}" cannot be read from storage: ${version.fault}`)
  return parseObject(version.json)
}

/** Names in a body must be those of the path. */
export function checkIdentity({ resource, namespace, name }: Call, { metadata }: AnyObject): void {
  if (!metadata.name) throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  if (resource.namespaced && metadata.namespace && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (resource.namespaced) metadata.namespace = namespace
}

/** A write that names a version is about that version; one that does not takes the latest, where the kind allows it. */
function settleVersion(resource: Resource, sent: AnyObject, stored: AnyObject): void {
  const { metadata } = sent
  if (!metadata.resourceVersion || metadata.resourceVersion === '0') {
    if (resource.def.allowUnconditionalUpdate === false) {
      const at = refTo({ metadata: { resourceVersion: 0 } }).metadata.resourceVersion
      throw invalidObject({ group: resource.group, kind: resource.plural }, metadata.name ?? '', [
        invalid(at, 'must be specified for an update'),
      ])
    }
    metadata.resourceVersion = stored.metadata.resourceVersion!
  } else if (metadata.resourceVersion !== stored.metadata.resourceVersion) throw conflict(resource, metadata.name ?? '', MODIFIED)
}

const attributesOf = ({ call: { verb, resource, namespace, name, subresource }, dryRun, ctx }: Change, old: AnyObject) =>
  ({ operation: 'UPDATE', verb, resource, subresource, namespace, name, old, dryRun, ctx }) as const

function prepare(target: Target, sent: AnyObject, stored: AnyObject, ctx: CallContext): AnyObject {
  const prepared = prepareUpdate(target, sent, stored, ctx)
  return keepTimesIfUnchanged(stored as unknown as JsonObject, prepared as unknown as JsonObject) as unknown as AnyObject
}

/** Stores the object if it differs, or removes it when nothing holds its deletion back any more. Undefined when another write came first. */
async function swap(
  { caches }: Deps,
  { resource, dryRun }: { resource: Resource; dryRun: boolean },
  { key, version, object, stored }: { key: string; version: ObjectRevision; object: AnyObject; stored: AnyObject },
): Promise<{ json: Uint8Array; goes: boolean } | undefined> {
  // What is stored in an old form is written again though it means the same.
  if (deepEqual(object, stored) && !version.stale) return { json: version.json, goes: false }
  const value = encodeWrite(object)
  if (dryRun) return { json: withRevision(value, version.revision), goes: false }
  const goes = isReleased(resource, object, stored)
  const { ttlSeconds } = resource.def
  const change = { expect: version.revision, value: goes ? null : value, ...(ttlSeconds !== undefined && { ttlSeconds }) }
  const swapped = await caches.write(key, change, object)
  if (!swapped.ok) return undefined
  const latest = caches.of(resource).get(key)
  return { json: latest?.revision === swapped.revision ? latest.json : withRevision(value, swapped.revision), goes }
}

/** Whether an update takes away the last thing that held a deletion back. */
function isReleased({ def }: Resource, object: AnyObject, stored: AnyObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds: grace } = stored.metadata
  if (!deletionTimestamp || (object.metadata.finalizers?.length ?? 0) > 0) return false
  if (def.deletion?.hasSpecFinalizers && (object['spec']?.finalizers?.length ?? 0) > 0) return false
  return grace === undefined || grace === 0
}
