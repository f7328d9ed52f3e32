/** OpenAPI documents of the catalog, built on first use and cached until the catalog changes. */
import { stringifyJson } from '../../codec/json.ts'
import type { JsonObject } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { Resource } from '../../schema/resource.ts'
import { accepts, parseAccept } from '../accept.ts'
import type { Aggregated, Described } from '../aggregated.ts'
import { contentHash, quoted, type ServedDocument } from './discovery-document.ts'
import { type Contents, contentsOf, type Part, partsOf } from './openapi-contents.ts'
import { mergeV2 } from './openapi-foreign.ts'
import { type Naming, namingOf } from './openapi-names.ts'
import { openApiV2Protobuf } from './openapi-protobuf.ts'
import { type Dialect, V2, V3 } from './openapi-schemas.ts'
import { openApiV2 } from './openapi-v2.ts'
import { openApiV3 } from './openapi-v3.ts'

export type OpenApiRequest = {
  /** The request's Accept header. */
  readonly accept?: string | undefined
  /** The `hash` parameter, with which clients request exactly the content that the index named. */
  readonly hash?: string | undefined
  readonly now: Date
  /** Group versions of other servers. */
  readonly aggregated?: Aggregated | undefined
  /** Whether the server serves CBOR. */
  readonly servesCbor?: boolean
  /** Whether the values of closed sets are left out. */
  readonly hidesEnums?: boolean
}
export type OpenApiAnswer =
  | { readonly type: 'document'; readonly document: ServedDocument }
  /** 301: the content has changed, and so has its hash. */
  | { readonly type: 'moved'; readonly location: string }
  /** 406 */
  | { readonly type: 'not-acceptable' }

const JSON_TYPE = 'application/json'
const PROTOBUF_V2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
const PROTOBUF_V2_OLD = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

/** The document at a path below `/openapi`: `/openapi/v2`, `/openapi/v3` and the documents that the latter lists; undefined for others. */
export function* openApiDocument(catalog: Catalog, path: string, request: OpenApiRequest): Step<OpenApiAnswer | undefined> {
  const documents = documentsOf(catalog, request)
  if (path === '/openapi/v2') return yield* v2Answer(documents, request)
  if (path === '/openapi/v3' || path === '/openapi/v3/') return document(yield* documents.index(), JSON_TYPE)
  if (!path.startsWith('/openapi/v3/')) return undefined
  const key = path.slice('/openapi/v3/'.length)
  const content = yield* documents.v3(key)
  return content && v3Answer(key, content, request)
}

type Content = { readonly body: Buffer; readonly hash: string }

function* v2Answer(documents: Documents, { accept }: OpenApiRequest): Step<OpenApiAnswer> {
  switch (chosen(accept, [JSON_TYPE, PROTOBUF_V2_OLD, PROTOBUF_V2])) {
    case JSON_TYPE:
      return document(yield* documents.v2(), JSON_TYPE)
    case undefined:
      return { type: 'not-acceptable' }
    default:
      return document(yield* documents.v2Protobuf(), PROTOBUF_V2)
  }
}

function v3Answer(key: string, content: Content, { accept, hash, now }: OpenApiRequest): OpenApiAnswer {
  if (!chosen(accept, [JSON_TYPE])) return { type: 'not-acceptable' }
  if (!hash) return document(content, JSON_TYPE)
  if (hash !== content.hash) return { type: 'moved', location: addressOf(key, content) }
  const expires = new Date(now)
  expires.setUTCFullYear(now.getUTCFullYear() + 1)
  return document(content, JSON_TYPE, { 'cache-control': 'public, immutable', expires: expires.toUTCString() })
}

function document({ body, hash }: Content, contentType: string, headers: Record<string, string> = {}): OpenApiAnswer {
  const etag = quoted(hash)
  const kept = { 'cache-control': 'no-cache, private', ...headers }
  return { type: 'document', document: { contentType, body, etag, headers: { etag, vary: 'Accept', ...kept } } }
}

/** The first of the offered media types that the client accepts, by the client's preference. */
function chosen(accept: string | undefined, offered: readonly string[]): string | undefined {
  for (const clause of parseAccept(accept?.trim() || '*/*')) {
    const found = clause.q > 0 ? offered.find(mediaType => accepts(clause, mediaType)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

const addressOf = (key: string, { hash }: Content) => `/openapi/v3/${key}?hash=${hash}`

const kept = new WeakMap<Catalog, Documents>()

function documentsOf(catalog: Catalog, { aggregated, servesCbor = false, hidesEnums = false }: OpenApiRequest): Documents {
  const now = kept.get(catalog)
  if (now?.version === catalog.version && now.others === (aggregated?.version ?? 0)) return now
  const documents = new Documents(catalog, { aggregated, servesCbor, hidesEnums }, now)
  kept.set(catalog, documents)
  return documents
}

type DocumentsOptions = { readonly aggregated: Aggregated | undefined; readonly servesCbor: boolean; readonly hidesEnums: boolean }

/** The documents of one state of the catalog. */
class Documents {
  readonly version: number
  readonly others: number
  /** The documents of the other servers. */
  readonly #foreign: readonly Described[]
  readonly #catalog: Catalog
  readonly #naming: Naming
  readonly #servesCbor: boolean
  readonly #hidesEnums: boolean
  readonly #parts: ReadonlyMap<string, Part>
  /** The resources of each part. */
  readonly #served: ReadonlyMap<string, readonly Resource[]>
  readonly #v3 = new Map<string, Content>()
  readonly #others = new Map<string, Content>()
  #v2Value: JsonObject | undefined
  /** Documents that a request has begun to build: others wait for it. */
  readonly #building = new Map<string, Promise<void>>()

  /** Documents of unchanged parts are taken from `former`: a new kind does not change all documents. */
  constructor(catalog: Catalog, { aggregated, servesCbor, hidesEnums }: DocumentsOptions, former: Documents | undefined) {
    this.#servesCbor = servesCbor
    this.#hidesEnums = hidesEnums
    this.version = catalog.version
    this.others = aggregated?.version ?? 0
    const others = [...(aggregated?.all() ?? [])]
    this.#foreign = others.flatMap(({ described }) => described ?? [])
    this.#catalog = catalog
    this.#naming = namingOf(catalog)
    const taken = new Set(others.map(({ group, version }) => `apis/${group}/${version}`))
    const own = partsOf(catalog).filter(({ key }) => !taken.has(key))
    this.#parts = new Map(own.map(part => [part.key, part]))
    this.#served = new Map([...this.#parts].map(([key, part]) => [key, servedIn(catalog, part)]))
    if (!former) return
    for (const [key, content] of former.#v3) if (isSame(this.#served.get(key), former.#served.get(key))) this.#v3.set(key, content)
  }

  v2(): Step<Content> {
    return this.#once(this.#others, 'v2', () => contentOf(this.#v2Document()))
  }

  v2Protobuf(): Step<Content> {
    return this.#once(this.#others, 'v2 protobuf', () => this.#makeProtobuf())
  }

  *#makeProtobuf(): Step<Content> {
    return hashed(openApiV2Protobuf(yield* this.#v2Document()))
  }

  *v3(key: string): Step<Content | undefined> {
    const part = this.#parts.get(key)
    if (!part) return this.#v3.get(key) ?? this.#converted(key)
    return yield* this.#once(this.#v3, key, () => contentOf(this.#v3Document(part)))
  }

  *#v3Document(part: Part): Step<JsonObject> {
    return openApiV3(yield* this.#contents([part], V3))
  }

  /** Builds a document unless it has been built. Large ones take long, so nobody builds one that another request has begun. */
  *#once(kept: Map<string, Content>, key: string, build: () => Step<Content>): Step<Content> {
    for (let begun = this.#building.get(key); begun; begun = this.#building.get(key)) yield begun
    const known = kept.get(key)
    if (known) return known
    let end = () => {}
    this.#building.set(key, new Promise(resolve => (end = resolve)))
    try {
      const content = yield* build()
      kept.set(key, content)
      return content
    } finally {
      this.#building.delete(key)
      end()
    }
  }

  /** A document of another server that this one has converted. */
  #converted(key: string): Content | undefined {
    for (const { convertedV3 } of this.#foreign) {
      const document = convertedV3?.get(key)
      if (!document) continue
      const content = hashed(Buffer.from(stringifyJson(document)))
      this.#v3.set(key, content)
      return content
    }
    return undefined
  }

  index(): Step<Content> {
    return this.#once(this.#others, 'index', () => this.#makeIndex())
  }

  *#makeIndex(): Step<Content> {
    const addresses = new Map<string, string>()
    for (const key of this.#parts.keys()) addresses.set(key, addressOf(key, (yield* this.v3(key))!))
    for (const { openApiV3, convertedV3 } of this.#foreign) {
      for (const key of convertedV3?.keys() ?? []) addresses.set(key, addressOf(key, (yield* this.v3(key))!))
      for (const [key, address] of openApiV3 ?? []) addresses.set(key, address)
    }
    const paths = Object.fromEntries([...addresses].map(([key, serverRelativeURL]) => [key, { serverRelativeURL }]))
    return hashed(Buffer.from(JSON.stringify({ paths })))
  }

  #contents(parts: readonly Part[], dialect: Dialect): Step<Contents> {
    const enumerating = { ...dialect, hidesEnums: this.#hidesEnums }
    return contentsOf(this.#catalog, { parts, naming: this.#naming, dialect: enumerating, servesCbor: this.#servesCbor })
  }

  *#v2Document(): Step<JsonObject> {
    if (this.#v2Value) return this.#v2Value
    const contents = yield* this.#contents([...this.#parts.values()], V2)
    const own = openApiV2(contents)
    yield
    this.#v2Value = mergeV2(
      own,
      this.#foreign.flatMap(({ openApiV2: part }) => (part ? [part] : [])),
    )
    return this.#v2Value
  }
}

const servedIn = (catalog: Catalog, { group, version }: Part): readonly Resource[] =>
  group === undefined || version === undefined ? [] : (catalog.resources(group, version) ?? [])

const isSame = (a: readonly Resource[] | undefined, b: readonly Resource[] | undefined) =>
  a !== undefined && b !== undefined && a.length === b.length && a.every((resource, i) => resource === b[i])

const hashed = (body: Buffer): Content => ({ body, hash: contentHash(body) })

/** A document as JSON. Others may run between its steps. */
function* contentOf(document: Step<JsonObject>): Step<Content> {
  const value = yield* document
  yield
  const text = stringifyJson(value)
  yield
  return hashed(Buffer.from(text))
}
