/** Content negotiation: Accept, Content-Type, pretty, compression. */

import { APPLY_CBOR_PATCH, CBOR, CBOR_SEQUENCE } from '../codec/cbor.ts'
import { PROTOBUF, PROTOBUF_STREAM } from '../codec/protobuf-envelope.ts'
import { hasProtobuf } from '../codec/protobuf-fields.ts'
import { goQuote } from '../lib/go-text.ts'
import type { Call } from '../registry/api.ts'
import { CUSTOM_PATCH_TYPES, PATCH_TYPES } from '../registry/patch-body.ts'
import { badRequest, notAcceptable, StatusError, unsupportedMediaType } from '../schema/status-error.ts'
import { accepts, type Clause, parseAccept } from './accept.ts'
import { header, type Request } from './message.ts'

export type MediaType = 'application/json' | 'application/yaml' | typeof PROTOBUF | typeof CBOR

/** Another representation of the object: a table, or metadata only. */
export type Representation = {
  readonly as: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  /** The requested version of the meta group. */
  readonly apiVersion: string
  readonly includeObject: 'None' | 'Metadata' | 'Object'
}

export type Format = {
  readonly mediaType: MediaType
  readonly pretty: boolean
  readonly representation: Representation | undefined
  /** Each event of a watch in a message of its own, for a protocol that has messages. */
  readonly messages?: boolean
}

const JSON_TYPE = 'application/json'
const SERVED: readonly MediaType[] = [JSON_TYPE, 'application/yaml', PROTOBUF]
const STREAMED = [`${JSON_TYPE};stream=watch`, PROTOBUF_STREAM]

/** The media types of a server, with CBOR only behind its gate, and its group of common kinds. */
export type ServedMedia = {
  readonly metaGroup: string
  readonly served: readonly MediaType[]
  readonly streamed: readonly string[]
  /** Those that the router of built-in kinds lets pass to a list or a watch. */
  readonly listed: readonly string[]
  readonly patches: readonly string[]
  readonly customPatches: readonly string[]
}

export function servedMedia({
  groupDomain,
  gate,
}: {
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
}): ServedMedia {
  const metaGroup = `meta.${groupDomain}`
  if (!gate('CBORServingAndStorage'))
    return { metaGroup, served: SERVED, streamed: STREAMED, listed: SERVED, patches: PATCH_TYPES, customPatches: CUSTOM_PATCH_TYPES }
  const served = [...SERVED, CBOR] as const
  return {
    metaGroup,
    served,
    streamed: [...STREAMED, CBOR_SEQUENCE],
    listed: [...served, CBOR_SEQUENCE],
    patches: [...PATCH_TYPES, APPLY_CBOR_PATCH],
    customPatches: [...CUSTOM_PATCH_TYPES, APPLY_CBOR_PATCH],
  }
}

/** The format for clients without preferences. */
export const PLAIN: Format = { mediaType: JSON_TYPE, pretty: false, representation: undefined }

/** Media type and representation of the response to a call; throws 406 when the client accepts none that is available. */
export function negotiate(req: Request, call: Call, media: ServedMedia): Format {
  const accept = header(req.headers, 'accept')
  const pretty = isPretty(req, call.query)
  if (!pretty && (accept === undefined || accept === JSON_TYPE || accept === '*/*')) return PLAIN
  if (accept === undefined || accept === '') return { ...PLAIN, pretty }
  const clauses = parseAccept(accept)
  // kube-apiserver's router of built-in kinds knows no ranges such as `application/*`, except `*/*`.
  const isCustom = call.resource.def.custom !== undefined
  const isRouted = (clause: Clause) => clause.subtype !== '*' || clause.type === '*'
  const { served, metaGroup } = media
  const routed = isListing(call) ? media.listed : served
  if (!isCustom && !clauses.some(clause => isRouted(clause) && routed.some(type => accepts(clause, type))))
    throw nothingAvailable(call, media)
  for (const clause of clauses) {
    const mediaType = served.find(m => accepts(clause, m))
    if (mediaType === undefined) continue
    const representation = representationOf(clause.params, metaGroup)
    if (representation === null || (clause.params.get('stream') ?? 'watch') !== 'watch') continue
    if (mediaType === PROTOBUF && !isProtobufFor(call, representation)) continue
    if (representation?.as === 'Table' && (mediaType === CBOR || !hasTable(call))) continue
    if (call.verb === 'watch' && mediaType === 'application/yaml') throw notAcceptable(media.streamed)
    const includeObject = representation?.as === 'Table' ? includeOf(call.query) : 'Metadata'
    return {
      mediaType,
      pretty: (pretty || clause.params.get('pretty') === '1') && call.verb !== 'watch',
      representation: representation && { ...representation, includeObject },
    }
  }
  throw notAcceptable(served)
}

/** Tables have no protobuf encoding; metadata always has, and objects if their kind is built in. */
const isProtobufFor = (call: Call, representation: Pick<Representation, 'as'> | undefined) =>
  representation === undefined ? speaksProtobuf(call) : representation.as !== 'Table'

/** Objects that are created and not stored, such as a review or a binding, are no rows of a table. */
const hasTable = ({ resource: { def }, subresource }: Call): boolean =>
  subresource === '' ? !def.virtual?.review && !def.virtual?.forwardsTo : !def.subresources?.creates?.[subresource]

/** Custom objects have no protobuf encoding; their subresources of built-in kinds, such as Scale, have. */
const speaksProtobuf = ({ resource, subresource }: Call) =>
  (!resource.def.custom && hasProtobuf(resource.type)) ||
  (subresource !== '' && resource.subresources.some(s => s.name === subresource && s.bodyKind !== undefined))

/** The media type of an error: the client's choice if it is served and a plain object, JSON otherwise. An error is never replaced by 406. */
export function negotiateError(req: Request, served: readonly MediaType[] = SERVED): Pick<Format, 'mediaType' | 'pretty'> {
  const mark = req.target.indexOf('?')
  const pretty = isPretty(req, new URLSearchParams(mark === -1 ? '' : req.target.slice(mark + 1)))
  const accept = header(req.headers, 'accept')
  if (accept === undefined || accept === JSON_TYPE || accept === '') return { mediaType: JSON_TYPE, pretty }
  for (const clause of parseAccept(accept)) {
    const mediaType = served.find(m => accepts(clause, m))
    if (mediaType !== undefined && !['as', 'g', 'v'].some(p => clause.params.has(p))) return { mediaType, pretty }
  }
  return { mediaType: JSON_TYPE, pretty: true }
}

/** The media type of a body, without its parameters; throws 415 when it is not supported. */
export function bodyType(req: Request, call: Call, media: ServedMedia): string {
  const sent = header(req.headers, 'content-type') ?? ''
  const encoding = header(req.headers, 'content-encoding') ?? 'identity'
  if (encoding !== 'identity') throw new StatusError(415, 'UnsupportedMediaType', `content encoding ${goQuote(encoding)} is not supported`)
  const semicolon = sent.indexOf(';')
  const type = (semicolon === -1 ? sent : sent.slice(0, semicolon)).trim().toLowerCase()
  if (call.verb === 'patch') {
    if (call.resource.def.custom) {
      if (media.customPatches.includes(type)) return type
      throw unsupportedMediaType(media.customPatches)
    }
    if (media.patches.includes(type)) return type
    throw new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  }
  if (type === '') return JSON_TYPE
  const readable = readableOf(call, media)
  // kube-apiserver's message lists protobuf for custom kinds, too.
  if (!readable.includes(type as MediaType)) throw unsupportedMediaType(call.resource.def.custom ? media.served : readable)
  return type
}

/** DeleteOptions have a protobuf encoding, whatever the kind of the object. */
const readableOf = (call: Call, { served }: ServedMedia) =>
  call.verb === 'delete' || call.verb === 'deletecollection' || speaksProtobuf(call) ? served : served.filter(type => type !== PROTOBUF)

/** Whether the client accepts gzip; a quality of zero means that it does not. */
export function acceptsGzip(req: Request): boolean {
  const accepted = header(req.headers, 'accept-encoding')
  return accepted?.split(',').some(token => /^\s*gzip\s*(;\s*q\s*=\s*(?!0(\.0*)?\s*$).*)?$/i.test(token)) ?? false
}

/** Requested in the query, or by a client whose output people read. */
export function isPretty(req: Request, query: URLSearchParams): boolean {
  const asked = query.get('pretty')
  if (asked !== null && asked !== '') return /^(1|t|T|true|TRUE|True)$/.test(asked)
  return /^(curl|Wget|Mozilla\/5\.0)/.test(header(req.headers, 'user-agent') ?? '')
}

const isListing = (call: Call) => call.verb === 'list' || call.verb === 'watch'

function nothingAvailable(call: Call, { served, streamed }: ServedMedia): StatusError {
  const available = isListing(call) ? [...served, ...streamed] : served
  return new StatusError(406, 'NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`, {})
}

/** The representation that a clause requests; undefined for the object itself, null for an unknown one. */
function representationOf(
  params: ReadonlyMap<string, string>,
  metaGroup: string,
): Pick<Representation, 'as' | 'apiVersion'> | undefined | null {
  const as = params.get('as')
  const version = params.get('v')
  if (as === undefined && version === undefined && !params.has('g')) return undefined
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList') return null
  const group = params.get('g')
  // Clients have the group of Kubernetes compiled in; it is accepted whatever the group domain is, and used in the response.
  if ((group !== metaGroup && group !== 'meta.k8s.io') || (version !== 'v1' && version !== 'v1beta1')) return null
  return { as, apiVersion: `${group}/${version}` }
}

function includeOf(query: URLSearchParams): Representation['includeObject'] {
  const value = query.get('includeObject') ?? ''
  if (value === '') return 'Metadata'
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${goQuote(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  )
}
