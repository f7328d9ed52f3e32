/** Create: decode → default → mutate → own → claim → prepare → validate → admit → store. */
import { admit } from '../admission/plugin.ts'
import { encodeWrite, withoutRevision, withRevision } from '../codec/stored-bytes.ts'
import { formatTime, instantOf } from '../lib/time.ts'
import { nextTurn } from '../lib/turns.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import { alreadyExists, badRequest } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { type WriteOptions, writeOptions } from './options.ts'
import { ownCreated } from './ownership.ts'
import { isLong } from './pace.ts'
import { prepareCreate, setDefaults, validateCreate, warningsOf } from './strategy.ts'
import { ruledBy, servedJson, storedResource, toServed, toStored, withConversions } from './version-conversion.ts'

const NAME_ATTEMPTS = 8
/** Generated names are cut so that the whole still fits into a label. */
const LONGEST_PREFIX = 58

export async function create(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const options = writeOptions(call.query, 'CreateOptions', ctx)
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  const { object, warnings } = decodeObject(call.resource, body, options.fieldValidation)
  if (isLong(ctx)) await nextTurn()
  setDefaults(call.resource, object, ctx)
  if (isLong(ctx)) await nextTurn()
  return createObject(deps, { call, ctx, options, warnings }, object)
}

export type Creation = {
  readonly call: Call
  readonly ctx: CallContext
  readonly options: WriteOptions
  readonly warnings: readonly string[]
  /** Stamps ownership on the object; plain creates own what they set. */
  readonly own?: (object: AnyObject) => void
}

/** Stores a decoded, defaulted object that does not exist yet. Apply creates through here as well. */
export async function createObject(deps: Deps, creation: Creation, object: AnyObject): Promise<Result> {
  const { call, ctx, options } = creation
  const { resource } = call
  settleNamespace(call, object)
  if (object.metadata.resourceVersion) throw badRequest('resourceVersion should not be set on objects to be created')
  const given = object.metadata.name ?? ''
  for (let attempt = 1; ; attempt++) {
    // Only a generated name can need a second attempt, with the object as it was.
    const candidate = given === '' ? structuredClone(object) : object
    stampIdentity(deps, candidate, ctx.now)
    const attributes = {
      operation: 'CREATE',
      resource,
      subresource: '',
      namespace: call.namespace,
      name: candidate.metadata.name ?? '',
      requestName: call.name,
    } as const
    const about = { object: candidate, old: undefined, dryRun: options.dryRun, ctx, ...attributes }
    resource.def.custom?.beforeCreate?.(candidate.metadata.name ?? '')
    // What plugins add is nobody's: the creator owns what it sent.
    const own = () => (creation.own ? creation.own(candidate) : ownCreated(resource, candidate, { options, ctx }))
    if (resource.hub) await withConversions(resource, own)
    else own()
    if (isLong(ctx)) await nextTurn()
    await admit(deps.plugins, 'mutate', about)
    const home = storedResource(resource)
    const ruled = ruledBy(resource)
    const next = ruled === resource ? candidate : await toStored(resource, candidate, ctx)
    const claiming = { resource: home, object: next, old: undefined, takes: true, dryRun: options.dryRun }
    const result = await deps.ledger.run<Result>(claiming, async () => {
      prepareCreate(ruled, next, ctx)
      if (isLong(ctx)) await nextTurn()
      validateCreate(ruled, next, ctx)
      if (isLong(ctx)) await nextTurn()
      const warnings = [...creation.warnings, ...warningsOf(ruled, next, undefined, ctx)]
      if (isLong(ctx)) await nextTurn()
      await admit(deps.plugins, 'validate', { ...about, object: ruled === resource ? next : await toServed(resource, next) })
      const stored = home === ruled ? next : await toStored(resource, next, ctx)
      const json = await storeNew(deps, { resource: home, object: stored, dryRun: options.dryRun })
      if (!json) return undefined
      return {
        answer: { form: 'object', code: 201, resource, json: resource.hub ? await servedJson(resource, json) : json, warnings },
        stored,
      }
    })
    if (result) return result
    if (given !== '' || attempt === NAME_ATTEMPTS) throw alreadyExists(resource, candidate.metadata.name!)
  }
}

/** Writes a new object. Undefined when its name is taken. */
async function storeNew(
  { caches }: Deps,
  { resource, object, dryRun }: { resource: Resource; object: AnyObject; dryRun: boolean },
): Promise<Uint8Array | undefined> {
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name!)
  const value = encodeWrite(object)
  if (dryRun) return caches.of(resource).get(key) ? undefined : withoutRevision(value)
  resource.def.custom?.beforeCreate?.(object.metadata.name!)
  const { ttlSeconds } = resource.def
  const swap = await caches.write(key, { expect: 0, value, ...(ttlSeconds !== undefined && { ttlSeconds }) }, object)
  if (!swap.ok) return undefined
  const version = caches.of(resource).get(key)
  return version?.revision === swap.revision ? version.json : withRevision(value, swap.revision)
}

/** The namespace of an object is that of the path; a body may repeat it but not contradict it. Those of the cluster have none, whatever they say. */
export function settleNamespace({ resource, namespace }: Call, { metadata }: AnyObject): void {
  const expected = resource.namespaced ? namespace : ''
  if (expected !== '' && metadata.namespace && metadata.namespace !== expected)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (expected !== '') metadata.namespace = expected
  else delete metadata.namespace
}

/** Sets what the server alone may set, before anyone can come to own it. */
function stampIdentity({ newUid, randomSuffix }: Deps, { metadata }: AnyObject, now: Date): void {
  delete metadata.deletionTimestamp
  delete metadata.deletionGracePeriodSeconds
  delete metadata.selfLink
  metadata.uid = newUid()
  metadata.creationTimestamp = formatTime(instantOf(now.getTime()))
  if (!metadata.name && metadata.generateName) metadata.name = metadata.generateName.slice(0, LONGEST_PREFIX) + randomSuffix()
}
