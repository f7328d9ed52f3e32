/** Virtual kinds, whose objects are never stored: creates are reviews or messages to other objects, reads describe the server itself. */
import { encodeObject } from '../codec/stored-bytes.ts'
import { type Step, waitFor } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { gatherErrors, refTo } from '../schema/refs.ts'
import type { ReviewContext } from '../schema/request-context.ts'
import { assertSelectable, matchesFieldTerms, matchesLabelTerms } from '../schema/selectors.ts'
import { badRequest, invalidObject, methodNotAllowed, noSuchResource, notFound } from '../schema/status-error.ts'
import { EMPTY_BODY, type Result } from './api.ts'
import { decodeObject } from './decode.ts'
import { sendMessage } from './message.ts'
import { listOptions, writeOptions } from './options.ts'
import type { Request } from './request.ts'
import { reviewContextOf } from './review-context.ts'
import { takeNew } from './sent-object.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite } from './write-value.ts'

/** Creates of virtual kinds: reviews are answered, messages are forwarded. */
export function createVirtual(request: Request): Step<Result> {
  const { review, forwardsTo } = request.call.resource.def.virtual ?? {}
  if (review) return answer(request)
  if (forwardsTo) return forward(request)
  throw methodNotAllowed()
}

/** Answers a review. */
function answer(request: Request): Step<Result> {
  const { call, ctx } = request
  const change = question(reviewContextOf(request))
  return runWrite(newWrite(request, { options: writeOptions(call.query, 'CreateOptions', ctx), change }))
}

const question = (context: ReviewContext): Change => ({
  effect: 'message',
  decode: takeNew,
  *validate({ kind, object, ctx }): Step<void> {
    const errors = yield* gatherErrors(() => kind.def.validate?.(object!, refTo(object!), ctx))
    // Errors about reviews name the group only.
    if (errors.length > 0) throw invalidObject({ group: kind.group, kind: '' }, '', errors)
  },
  *store(write): Step<void> {
    const reviewed = yield* waitFor(write.kind.def.virtual!.review!(write.object!, context))
    write.result = { type: 'object', code: 201, resource: write.kind, json: encodeObject(reviewed), warnings: write.warnings }
  },
})

/** Forwards a created object as a message to the object that it names. */
function* forward(request: Request): Step<Result> {
  const { deps, call, body = EMPTY_BODY } = request
  const to = call.resource.def.virtual!.forwardsTo!
  const resource = deps.find?.(to.group, to.version, to.plural)
  if (!resource) throw noSuchResource()
  // Only its receiver; `sendMessage` reads the whole of it, as strictly as the client wants.
  const { metadata } = (yield* decodeObject(call.resource, body, 'Ignore')).object
  const { name = '', namespace = '' } = metadata
  if (namespace !== '' && namespace !== call.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (name === '') throw badRequest('Name parameter required.')
  return yield* sendMessage(request.part({ ...call, resource, name, subresource: to.subresource }), { admittedAs: call })
}

/** One object that describes the server. */
export function* readVirtual(request: Request): Step<Result> {
  const { resource, namespace, name } = request.call
  const found = (yield* virtualObjects(request)).find(({ metadata }) => metadata.name === name)
  // Clients know these under the name of one.
  if (!found) throw notFound({ ...resource, plural: resource.singular }, namespace === '' ? name : `${namespace}/${name}`)
  return { type: 'object', code: 200, resource, json: encodeObject(found), warnings: [] }
}

/** All objects that describe the server. */
export function* listVirtual(request: Request): Step<Result> {
  const { call, ctx } = request
  const { resource } = call
  const { labels, fields } = listOptions(call.query, ctx)
  assertSelectable(fields, { namespaced: resource.namespaced })
  const fieldOf =
    ({ metadata }: AnyObject) =>
    (field: string) =>
      (field === 'metadata.name' ? metadata.name : field === 'metadata.namespace' ? metadata.namespace : undefined) ?? ''
  const items = (yield* virtualObjects(request)).filter(
    item => matchesLabelTerms(labels, item.metadata.labels) && matchesFieldTerms(fields, fieldOf(item)),
  )
  return { type: 'list', resource, items: items.map(item => encodeObject(item)), meta: {} }
}

function* virtualObjects({ deps: { parts, sources = {} }, call: { resource, namespace, name } }: Request): Step<readonly AnyObject[]> {
  const { kind, apiVersion, def } = resource
  const { list, source } = def.virtual ?? {}
  const read = source === undefined ? undefined : sources[source]
  const objects = read ? [...(yield* waitFor(read({ namespace, name })))] : (list?.(parts?.() ?? []) ?? [])
  return objects.map(object => ({ ...object, kind, apiVersion }))
}
