/** Kinds of which nothing is stored: their creates are messages to other objects, their reads tell of the server itself. */
import { stringifyJson } from '../codec/json.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { assertSelectable, matchesFieldTerms, matchesLabelTerms, parseFieldSelector, parseLabelSelector } from '../schema/selectors.ts'
import { badRequest, methodNotAllowed, noSuchResource, notFound } from '../schema/status-error.ts'
import { act } from './action.ts'
import type { Call, CallContext, Result } from './api.ts'
import { decodeObject } from './decode.ts'
import type { Deps } from './deps.ts'
import { listOptions } from './options.ts'

/** Hands a created object as a message to the object that it names. */
export async function forward(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const to = call.resource.def.unstored?.sentTo
  if (!to) throw methodNotAllowed()
  const resource = deps.find?.(to.group, to.version, to.plural)
  if (!resource) throw noSuchResource()
  const body = ctx.body ?? { mediaType: 'application/json', bytes: new Uint8Array() }
  // Only whom it is for; the action reads the whole of it, as strictly as the client wants.
  const { metadata } = decodeObject(call.resource, body, 'Ignore').object
  const { name = '', namespace = '' } = metadata
  if (namespace !== '' && namespace !== call.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (name === '') throw badRequest('Name parameter required.')
  return act(deps, { ...call, resource, name, subresource: to.action }, ctx)
}

/** One object that tells of the server. */
export async function tellOne(deps: Deps, call: Call): Promise<Result> {
  const { resource, name } = call
  const found = told(deps, call).find(({ metadata }) => metadata.name === name)
  // Clients know these under the name of one.
  if (!found) throw notFound({ ...resource, plural: resource.singular }, name)
  return { form: 'object', code: 200, resource, json: jsonOf(found), warnings: [] }
}

/** All objects that tell of the server. */
export async function tellAll(deps: Deps, call: Call): Promise<Result> {
  const { resource } = call
  const options = listOptions(call.query)
  const labels = parseLabelSelector(options.labelSelector)
  const fields = parseFieldSelector(options.fieldSelector)
  assertSelectable(fields, { namespaced: resource.namespaced })
  const items = told(deps, call).filter(
    ({ metadata }) =>
      matchesLabelTerms(labels, metadata.labels) &&
      matchesFieldTerms(fields, field => (field === 'metadata.name' ? (metadata.name ?? '') : '')),
  )
  return { form: 'list', resource, items: items.map(jsonOf), meta: {} }
}

function told({ parts }: Deps, { resource }: Call): readonly AnyObject[] {
  const { kind, apiVersion, def } = resource
  return (def.unstored?.tells?.(parts?.() ?? []) ?? []).map(object => ({ ...object, kind, apiVersion }))
}

const jsonOf = ({ kind, apiVersion, ...rest }: AnyObject) => Buffer.from(stringifyJson({ kind, apiVersion, ...rest } as never))
