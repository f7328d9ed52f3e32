/** Virtual kinds, whose objects are never stored: creates are reviews or messages to other objects, reads describe the server itself. */
import { encodeObject } from '../codec/stored-bytes.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { gatherErrors, refTo } from '../schema/refs.ts'
import type { ReviewContext } from '../schema/request-context.ts'
import { assertSelectable, matchesFieldTerms, matchesLabelTerms } from '../schema/selectors.ts'
import { badRequest, invalidObject, methodNotAllowed, noSuchResource, notFound } from '../schema/status-error.ts'
import { bodyOf, type Call, type CallContext, type Result } from './api.ts'
import { createSubresource, reviewContextOf } from './create-subresource.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { listOptions, writeOptions } from './options.ts'
import { settleNamespace } from './strategy.ts'
import { wipeIdentity, write } from './write.ts'
import { type Change, newWrite } from './write-value.ts'

/** Creates of virtual kinds: reviews are answered, messages are forwarded. */
export async function createVirtual(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const { review, forwardsTo } = call.resource.def.virtual ?? {}
  if (review) return answer(deps, call, ctx)
  if (forwardsTo) return forward(deps, call, ctx)
  throw methodNotAllowed()
}

/** Answers a review. */
function answer(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const change = question(reviewContextOf(deps, call, ctx))
  return write(newWrite({ deps, call, ctx }, { options: writeOptions(call.query, 'CreateOptions', ctx), change }))
}

const question = (context: ReviewContext): Change => ({
  does: 'message',
  decode(write) {
    const { call, options, kind } = write
    const { object, warnings } = decodeObject(kind, bodyOf(write.ctx), options.fieldValidation, write.deps.findKind)
    settleNamespace(call, object)
    wipeIdentity(object)
    write.object = object
    write.warnings.push(...warnings)
  },
  validate({ kind, object, ctx }) {
    const errors = gatherErrors(() => kind.def.validate?.(object!, refTo(object!), ctx))
    // Errors about reviews name the group only.
    if (errors.length > 0) throw invalidObject({ group: kind.group, kind: '' }, '', errors)
  },
  async store(write) {
    const answered = await write.kind.def.virtual!.review!(write.object!, context)
    write.result = { type: 'object', code: 201, resource: write.kind, json: encodeObject(answered), warnings: write.warnings }
  },
})

/** Forwards a created object as a message to the object that it names. */
async function forward(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const to = call.resource.def.virtual!.forwardsTo!
  const resource = deps.find?.(to.group, to.version, to.plural)
  if (!resource) throw noSuchResource()
  // Only whom it is for; createSubresource reads the whole of it, as strictly as the client wants.
  const { metadata } = decodeObject(call.resource, bodyOf(ctx), 'Ignore').object
  const { name = '', namespace = '' } = metadata
  if (namespace !== '' && namespace !== call.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (name === '') throw badRequest('Name parameter required.')
  return createSubresource(deps, { ...call, resource, name, subresource: to.subresource }, ctx, { admittedAs: call })
}

/** One object that describes the server. */
export async function readVirtual(deps: Deps, call: Call): Promise<Result> {
  const { resource, namespace, name } = call
  const found = (await virtualObjects(deps, call)).find(({ metadata }) => metadata.name === name)
  // Clients know these under the name of one.
  if (!found) throw notFound({ ...resource, plural: resource.singular }, namespace === '' ? name : `${namespace}/${name}`)
  return { type: 'object', code: 200, resource, json: encodeObject(found), warnings: [] }
}

/** All objects that describe the server. */
export async function listVirtual(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const { resource } = call
  const { labels, fields } = listOptions(call.query, ctx)
  assertSelectable(fields, { namespaced: resource.namespaced })
  const fieldOf =
    ({ metadata }: AnyObject) =>
    (field: string) =>
      (field === 'metadata.name' ? metadata.name : field === 'metadata.namespace' ? metadata.namespace : undefined) ?? ''
  const items = (await virtualObjects(deps, call)).filter(
    item => matchesLabelTerms(labels, item.metadata.labels) && matchesFieldTerms(fields, fieldOf(item)),
  )
  return { type: 'list', resource, items: items.map(item => encodeObject(item)), meta: {} }
}

async function virtualObjects({ parts, sources = {} }: Deps, { resource, namespace, name }: Call): Promise<readonly AnyObject[]> {
  const { kind, apiVersion, def } = resource
  const { list, source } = def.virtual ?? {}
  const read = source === undefined ? undefined : sources[source]
  const objects = read ? [...(await read({ namespace, name }))] : (list?.(parts?.() ?? []) ?? [])
  return objects.map(object => ({ ...object, kind, apiVersion }))
}
