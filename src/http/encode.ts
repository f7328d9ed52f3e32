/** Encodes results of the registry; objects and lists are sent as they are stored wherever possible. */
import { CBOR } from '../codec/cbor.ts'
import { parseJson, prettyChunks, stringifyJson, stringifyPretty } from '../codec/json.ts'
import { itemBytes } from '../codec/list-item.ts'
import { metadataOnly } from '../codec/metadata-only.ts'
import { PROTOBUF } from '../codec/protobuf-envelope.ts'
import { isPlainTable, singleTableMetadata, type TableOptions, tableHead, tableOf, tableRows } from '../codec/table.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Result } from '../registry/api.ts'
import { internalType } from '../registry/claimed-kind.ts'
import type { Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'
import { cborResponse } from './encode-cbor.ts'
import { protobufResponse } from './encode-protobuf.ts'
import { listBody, listItem, listMetaOf } from './list-body.ts'
import { compactList, documentBody, type ListDocument, prettyList, withStops, YIELD_POINT, yamlList } from './list-document.ts'
import { bytesResponse, type Outlet, type Response, type ResponseBody } from './message.ts'
import type { Format, Representation } from './negotiate.ts'
import { pump } from './streams.ts'
import { warningHeaders } from './warning.ts'
import { watchResponse } from './watch.ts'

/** The response to a call, in the negotiated media type and representation. */
export function encode(result: Exclude<Result, { type: 'forward' | 'session' }>, format: Format, now: Date): MaybePromise<Response> {
  const response = unwarned(result, format, now)
  const warnings = warningsOf(result)
  if (warnings.length === 0) return response
  return whenDone(response, plain => ({ ...plain, headers: { ...plain.headers, warning: warningHeaders(warnings) } }))
}

/** The warnings of the write, after the deprecation warning of the kind. */
function warningsOf(result: Exclude<Result, { type: 'forward' | 'session' }>): readonly string[] {
  const own = 'warnings' in result ? (result.warnings ?? []) : []
  const deprecated = 'resource' in result ? result.resource.def.deprecated : undefined
  return deprecated === undefined ? own : [deprecated, ...own]
}

function unwarned(result: Exclude<Result, { type: 'forward' | 'session' }>, format: Format, now: Date): MaybePromise<Response> {
  if (result.type === 'watch') return watchResponse(result, format)
  if (result.type === 'bytes') return nodeResponse(result, format)
  checkRepresentation(result, format.representation)
  if (result.type === 'list' && format.mediaType === 'application/json' && !format.pretty && format.representation === undefined)
    return { status: 200, headers: { 'content-type': 'application/json' }, body: listBody(result.resource, result.items, result.meta) }
  if (format.mediaType === PROTOBUF) return protobufResponse(result, format.representation)
  return format.mediaType === CBOR ? cborResponse(result, format.representation) : textResponse(result, format, now)
}

/** The response of a node: whole, or chunk by chunk as it arrives. */
function nodeResponse({ code, mediaType, body }: Extract<Result, { type: 'bytes' }>, { messages = false }: Format): Response {
  if (body instanceof Uint8Array && !messages) return bytesResponse(code, mediaType, body)
  const start = (outlet: Outlet) => {
    const pieces = (messages ? inMessages(body) : (body as AsyncIterable<Uint8Array>))[Symbol.asyncIterator]()
    // When the client disconnects, reading ends.
    outlet.once('close', () => void pieces.return?.())
    void pump({ [Symbol.asyncIterator]: () => pieces }, outlet)
  }
  const protocols = messages ? { protocols: READER_PROTOCOLS } : {}
  return { status: code, headers: { 'content-type': mediaType }, body: { type: 'stream', start, ...protocols } }
}

const READER_PROTOCOLS = { 'binary.k8s.io': 'binary', 'base64.binary.k8s.io': 'base64' } as const

/** An empty message shows that the connection is open. */
async function* inMessages(body: Uint8Array | AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  yield new Uint8Array()
  if (!(body instanceof Uint8Array)) yield* body
  else if (body.byteLength > 0) yield body
}

/** Refuses list metadata for an object, and object metadata for a list. */
function checkRepresentation(
  result: Exclude<Result, { type: 'watch' | 'bytes' | 'forward' | 'session' }>,
  representation: Representation | undefined,
): void {
  if (result.type === 'object' && representation?.as === 'PartialObjectMetadataList')
    throw unshaped(
      `you requested PartialObjectMetadataList, but the requested object is not a list (*${goTypeOf(result.resource, result.resource.kind)})`,
    )
  if (result.type === 'list' && representation?.as === 'PartialObjectMetadata')
    throw unshaped(
      `you requested PartialObjectMetadata, but the requested object is a list (*${goTypeOf(result.resource, result.resource.listKind)})`,
    )
}

function textResponse(
  result: Exclude<Result, { type: 'watch' | 'bytes' | 'forward' | 'session' }>,
  format: Format,
  now: Date,
): MaybePromise<Response> {
  if (result.type === 'list')
    return whenDone(chunksOf(listDocument(result, format.representation, now), format), chunks => ({
      status: 200,
      headers: { 'content-type': format.mediaType },
      body: documentBody(chunks),
    }))
  return whenDone(bodyAs(jsonOf(result, format.representation, now), format), body => ({
    status: result.code,
    headers: { 'content-type': format.mediaType },
    body,
  }))
}

/** A list in the requested representation. */
function listDocument(
  { resource, items, meta }: Extract<Result, { type: 'list' }>,
  representation: Representation | undefined,
  now: Date,
): ListDocument {
  const { resourceVersion, ...more } = meta
  const metadata = { ...(resourceVersion !== undefined && { resourceVersion }), ...more } as unknown as JsonObject
  if (representation?.as === 'Table') {
    const options = { ...tableOptions(representation, now), isList: true }
    const head = tableHead(resource, metadata, options)
    // Without columns of its own an empty table has null rows, not an empty list.
    if (items.length === 0 && isPlainTable(resource)) return { head: { ...head, rows: null }, member: 'rows', items: undefined }
    return { head, member: 'rows', items: withStops(tableRows(resource, items, options), items) }
  }
  if (representation)
    return {
      head: { kind: 'PartialObjectMetadataList', apiVersion: representation.apiVersion, metadata },
      member: 'items',
      items: withStops(
        each(items, item => metadataOnly(resource, itemBytes(item), representation.apiVersion).toString()),
        items,
      ),
    }
  return {
    head: { kind: resource.listKind, apiVersion: resource.apiVersion, metadata: listMetaOf(resource, metadata) as JsonObject },
    member: 'items',
    items: each(items, item => listItem(resource, item)),
  }
}

function* each<T>(items: readonly T[], text: (item: T) => string): Generator<string> {
  for (const item of items) yield text(item)
}

function chunksOf(document: ListDocument, { mediaType, pretty }: Format): MaybePromise<Iterable<string>> {
  if (mediaType === 'application/yaml') return import('../codec/yaml-writer.ts').then(writer => yamlList(document, writer))
  return pretty ? prettyList(document) : compactList(document)
}

/** The whole response as JSON, in the requested representation. */
function jsonOf(
  result: Exclude<Result, { type: 'watch' | 'list' | 'bytes' | 'forward' | 'session' }>,
  representation: Representation | undefined,
  now: Date,
): Uint8Array {
  if (result.type === 'status') return Buffer.from(stringifyJson(result.status as unknown as Json))
  if (representation === undefined) return result.json
  if (representation.as === 'PartialObjectMetadata') return metadataOnly(result.resource, result.json, representation.apiVersion)
  return Buffer.from(tableOf(result.resource, [result.json], singleTableMetadata(result.json), tableOptions(representation, now)))
}

const tableOptions = ({ apiVersion, includeObject }: Representation, now: Date): TableOptions => ({
  apiVersion,
  includeObject,
  columns: true,
  now,
})
const goTypeOf = (resource: Resource, kind: string): string =>
  resource.def.custom ? `unstructured.Unstructured${kind === resource.listKind ? 'List' : ''}` : internalType(resource, kind)

const unshaped = (message: string) => new StatusError(406, 'NotAcceptable', message)

/** A large body is encoded while it is sent. */
function bodyAs(json: Uint8Array, { mediaType, pretty }: Format): MaybePromise<ResponseBody> {
  if (mediaType === 'application/yaml')
    return import('../codec/yaml-writer.ts').then(({ yamlChunks }) => documentBody(rewritten(json, yamlChunks)))
  if (!pretty) return json
  return json.byteLength > LIMITS.smallBytes
    ? documentBody(rewritten(json, value => prettyChunks(value)))
    : Buffer.from(stringifyPretty(parseJson(json, { trusted: true }).value))
}

/** A stored object, in another representation or media type. */
function* rewritten(json: Uint8Array, chunksOf: (value: Json) => Iterable<string>): Iterable<string> {
  const { value } = parseJson(json, { trusted: true })
  if (json.byteLength > LIMITS.smallBytes) yield YIELD_POINT
  yield* chunksOf(value)
}
