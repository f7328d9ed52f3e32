/** The paths and operations of a resource, in a form from which both OpenAPI versions are generated. */
import { APPLY_CBOR_PATCH, CBOR, CBOR_SEQUENCE } from '../../codec/cbor.ts'
import { PROTOBUF, PROTOBUF_STREAM } from '../../codec/protobuf-envelope.ts'
import { type JsonObject, setOwn } from '../../lib/json-value.ts'
import type { Verb } from '../../schema/kind.ts'
import type { Resource, Subresource } from '../../schema/resource.ts'
import { capitalize, groupInWords } from './openapi-names.ts'
import {
  BELOW,
  DELETE,
  DELETE_COLLECTION,
  LIST,
  NAME,
  NAMESPACE,
  optionParameters,
  PATCH,
  type Parameter,
  PRETTY,
  WRITE,
} from './openapi-parameters.ts'
import type { GroupVersionKind } from './openapi-schemas.ts'

export type Method = 'get' | 'put' | 'post' | 'delete' | 'patch' | 'head' | 'options'
export type Operation = {
  readonly method: Method
  readonly operationId: string
  readonly doc: string
  readonly tag: string
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly schema: JsonObject; readonly media: readonly string[]; readonly required: boolean }
  readonly codes: readonly (200 | 201 | 202)[]
  /** The schema of all successful responses. */
  readonly answer: JsonObject
  readonly media: readonly string[]
  /** The accepted media types of an operation without a body. Default: any. */
  readonly consumes?: readonly string[]
  readonly action?: string
  readonly kind?: GroupVersionKind
}
export type PathItem = { readonly path: string; readonly parameters: readonly Parameter[]; readonly operations: readonly Operation[] }

/** References to the schemas that a resource's operations use. */
export type Schemas = {
  readonly own: JsonObject
  readonly list: JsonObject
  readonly status: JsonObject
  readonly deleteOptions: JsonObject
  readonly patch: JsonObject
  readonly watchEvent: JsonObject
  /** The body of a subresource, where it is not the object. */
  readonly bodyOf: (subresource: string) => JsonObject | undefined
}

type Writing = {
  readonly operation: (operation: Operation) => JsonObject
  readonly parameter: (parameter: Parameter) => JsonObject
}

/** The paths of a document, with operations and parameters in its version of OpenAPI. */
export function pathItems(paths: readonly PathItem[], { operation: write, parameter }: Writing): JsonObject {
  const items: JsonObject = {}
  for (const { path, parameters, operations } of paths) {
    const item: JsonObject = {}
    for (const operation of operations) item[operation.method] = write(operation)
    if (parameters.length) item['parameters'] = parameters.map(parameter)
    setOwn(items, path, item)
  }
  return items
}

const MEDIA: readonly string[] = ['application/json', 'application/yaml', PROTOBUF]
const STREAMS: readonly string[] = [...MEDIA, 'application/json;stream=watch', PROTOBUF_STREAM]
const PATCHES: readonly string[] = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
]
/** Custom kinds have no protobuf and no strategic merge patch. */
const CUSTOM_MEDIA: readonly string[] = ['application/json', 'application/yaml']
const CUSTOM_STREAMS: readonly string[] = ['application/json', 'application/json;stream=watch', 'application/yaml']
const CUSTOM_PATCHES: readonly string[] = PATCHES.slice(0, 3)
const ANY = ['*/*']

/** A path of a server that serves CBOR, too. Custom kinds do not publish it. */
export const withCbor = ({ operations, ...item }: PathItem): PathItem => ({ ...item, operations: operations.map(cborToo) })

function cborToo({ body, media, consumes, ...operation }: Operation): Operation {
  return {
    ...operation,
    ...(body && { body: { ...body, media: body.media === PATCHES ? [...PATCHES, APPLY_CBOR_PATCH] : body.media } }),
    media: withCborMedia(media),
    ...(consumes && { consumes: withCborMedia(consumes) }),
  }
}

function withCborMedia(media: readonly string[]): readonly string[] {
  const after = media.indexOf(PROTOBUF) + 1
  if (after === 0) return media
  return [...media.slice(0, after), CBOR, ...media.slice(after), ...(media === STREAMS ? [CBOR_SEQUENCE] : [])]
}
const TEXT: JsonObject = { type: 'string' }
const METHODS: Readonly<Partial<Record<Verb, Method>>> = { get: 'get', update: 'put', patch: 'patch', create: 'post', delete: 'delete' }

/** Every path of a resource, including the deprecated watch paths. */
export function pathsOf(resource: Resource, schemas: Schemas): PathItem[] {
  const base = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const scoped = resource.namespaced ? `/namespaces/{namespace}/${resource.plural}` : `/${resource.plural}`
  const write = new Writer(resource, schemas)
  const scope = resource.namespaced ? [NAMESPACE] : []
  const items: PathItem[] = [
    { path: base + scoped, parameters: [...scope, PRETTY], operations: write.collection() },
    { path: `${base}${scoped}/{name}`, parameters: [NAME, ...scope, PRETTY], operations: write.item() },
    ...resource.subresources.flatMap(sub => write.subresourcePaths(sub, `${base}${scoped}/{name}/${sub.name}`, [NAME, ...scope])),
  ]
  if (resource.namespaced) items.push({ path: `${base}/${resource.plural}`, parameters: [PRETTY], operations: write.everywhere() })
  // Custom kinds are served at the deprecated watch paths as well, but do not publish them.
  if (resource.verbs.includes('watch') && !resource.def.custom) {
    const watch = `${base}/watch`
    items.push({ path: watch + scoped, parameters: [...scope, PRETTY], operations: [write.watchList()] })
    items.push({ path: `${watch}${scoped}/{name}`, parameters: [NAME, ...scope, PRETTY], operations: [write.watchOne()] })
    if (resource.namespaced) {
      items.push({ path: `${watch}/${resource.plural}`, parameters: [PRETTY], operations: [write.watchEverywhere()] })
    }
  }
  return items.filter(({ operations }) => operations.length > 0)
}

/** A path with only a GET operation, such as those of discovery. */
export function readOnlyPath(
  path: string,
  {
    operationId,
    doc,
    tag,
    answer,
    media = MEDIA,
  }: Pick<Operation, 'operationId' | 'doc' | 'tag' | 'answer'> & Partial<Pick<Operation, 'media'>>,
): PathItem {
  return {
    path,
    parameters: [],
    operations: [{ method: 'get', operationId, doc, tag, parameters: [], codes: [200], answer, media, consumes: media }],
  }
}

/** `apps_v1`, `rbacAuthorization_v1`. */
export function tagOf(group: string, version?: string): string {
  const words = groupInWords(group)
  const name = words.slice(0, 1).toLowerCase() + words.slice(1)
  return version === undefined ? name : `${name}_${version}`
}

type Draft = Pick<Operation, 'method' | 'doc' | 'answer'> & Partial<Operation> & { readonly id: readonly [verb: string, ...rest: string[]] }

class Writer {
  readonly #resource: Resource
  readonly #schemas: Schemas
  readonly #scope: string
  readonly #isCustom: boolean

  constructor(resource: Resource, schemas: Schemas) {
    this.#resource = resource
    this.#schemas = schemas
    this.#scope = resource.namespaced ? 'Namespaced' : ''
    this.#isCustom = resource.def.custom !== undefined
  }

  collection(): Operation[] {
    const { kind, verbs } = this.#resource
    const found: Operation[] = []
    if (verbs.includes('list')) found.push(this.#list(['list', this.#scope, kind]))
    if (verbs.includes('create')) found.push(this.#create({ id: ['create', this.#scope, kind], doc: `create ${withArticle(kind)}` }))
    if (verbs.includes('deletecollection')) {
      found.push(
        this.#operation({
          id: ['delete', 'Collection', this.#scope, kind],
          method: 'delete',
          action: 'deletecollection',
          doc: `delete collection of ${kind}`,
          parameters: DELETE_COLLECTION,
          body: { schema: this.#schemas.deleteOptions, media: ANY, required: false },
          answer: this.#schemas.status,
        }),
      )
    }
    return found
  }

  item(): Operation[] {
    const { kind, verbs, def } = this.#resource
    const found = this.#readAndWrite(verbs, { words: kind, doc: `the specified ${kind}`, schema: this.#schemas.own })
    if (verbs.includes('delete')) {
      found.push(
        this.#operation({
          id: ['delete', this.#scope, kind],
          method: 'delete',
          action: 'delete',
          doc: `delete ${withArticle(kind)}`,
          parameters: DELETE,
          body: { schema: this.#schemas.deleteOptions, media: ANY, required: false },
          codes: [200, 202],
          answer: def.deletion?.returns === 'object' && !def.deletion.hasSpecFinalizers ? this.#schemas.own : this.#schemas.status,
        }),
      )
    }
    return found
  }

  everywhere(): Operation[] {
    return this.#resource.verbs.includes('list') ? [this.#list(['list', this.#resource.kind, 'ForAllNamespaces'])] : []
  }

  /** The paths of a subresource; a proxy also has one for everything below it. */
  subresourcePaths(sub: Subresource, path: string, named: readonly Parameter[]): PathItem[] {
    const { connect } = this.#resource.def.subresources ?? {}
    const declared = connect && Object.hasOwn(connect, sub.name) ? connect[sub.name] : undefined
    if (!declared) return [{ path, parameters: [...named, PRETTY], operations: this.#subresource(sub) }]
    const words = this.#resource.kind + capitalize(sub.name)
    const options = [...named, ...optionParameters(declared.options ?? {})]
    if (declared.isRead) return [{ path, parameters: [...options, PRETTY], operations: [this.#readText(sub, words)] }]
    const paths = [{ path, parameters: options, operations: this.#connect(sub, words) }]
    if (!isProxy(sub)) return paths
    return [...paths, { path: `${path}/{path}`, parameters: [...options, BELOW], operations: this.#connect(sub, `${words}WithPath`) }]
  }

  #subresource(sub: Subresource): Operation[] {
    const { kind, def } = this.#resource
    const words = kind + capitalize(sub.name)
    const bodyKind = sub.bodyKind ?? this.#kind()
    const schema = this.#schemas.bodyOf(sub.name) ?? this.#schemas.own
    const found = this.#readAndWrite(sub.verbs, { words, doc: `${sub.name} of the specified ${kind}`, schema, kind: bodyKind })
    if (sub.verbs.includes('create')) {
      const action = def.subresources?.creates?.[sub.name]
      const answer = action?.returns === 'object' ? this.#schemas.own : schema
      found.push(
        this.#create({
          id: ['create', this.#scope, words],
          doc: `create ${sub.name} of ${withArticle(kind)}`,
          schema,
          answer,
          kind: bodyKind,
        }),
      )
    }
    return found
  }

  watchOne(): Operation {
    const { kind } = this.#resource
    return this.#watch(['watch', this.#scope, kind], 'watch', `watch changes to an object of kind ${kind}`)
  }

  watchList(): Operation {
    return this.#watch(['watch', this.#scope, this.#resource.listKind], 'watchlist', `watch changes to a list of ${this.#resource.kind}`)
  }

  watchEverywhere(): Operation {
    const { kind, listKind } = this.#resource
    return this.#watch(['watch', listKind, 'ForAllNamespaces'], 'watchlist', `watch changes to a list of ${kind}`)
  }

  #readAndWrite(
    verbs: readonly Verb[],
    { words, doc, schema, kind = this.#kind() }: { words: string; doc: string; schema: JsonObject; kind?: GroupVersionKind },
  ): Operation[] {
    const found: Operation[] = []
    const scope = this.#scope
    if (verbs.includes('get')) {
      found.push(this.#operation({ id: ['read', scope, words], method: 'get', action: 'get', doc: `read ${doc}`, answer: schema, kind }))
    }
    if (verbs.includes('update')) {
      const body = { schema, media: ANY, required: true }
      const more = { parameters: WRITE, body, codes: [200, 201] as const, answer: schema, kind }
      found.push(this.#operation({ id: ['replace', scope, words], method: 'put', action: 'put', doc: `replace ${doc}`, ...more }))
    }
    if (verbs.includes('patch')) {
      const body = { schema: this.#schemas.patch, media: this.#isCustom ? CUSTOM_PATCHES : PATCHES, required: true }
      const more = { parameters: PATCH, body, codes: [200, 201] as const, answer: schema, kind }
      found.push(
        this.#operation({ id: ['patch', scope, words], method: 'patch', action: 'patch', doc: `partially update ${doc}`, ...more }),
      )
    }
    return found
  }

  #create({
    id,
    doc,
    schema = this.#schemas.own,
    answer = schema,
    kind = this.#kind(),
  }: {
    id: Draft['id']
    doc: string
    schema?: JsonObject
    answer?: JsonObject
    kind?: GroupVersionKind
  }): Operation {
    const body = { schema, media: ANY, required: true }
    return this.#operation({ id, method: 'post', action: 'post', doc, parameters: WRITE, body, codes: [200, 201, 202], answer, kind })
  }

  #list(id: Draft['id']): Operation {
    const doc = `list or watch objects of kind ${this.#resource.kind}`
    return this.#operation({
      id,
      method: 'get',
      action: 'list',
      doc,
      parameters: LIST,
      answer: this.#schemas.list,
      media: this.#isCustom ? CUSTOM_STREAMS : STREAMS,
    })
  }

  #watch(id: Draft['id'], action: string, doc: string): Operation {
    const old = `${doc}. deprecated: use the 'watch' parameter with a list operation instead`
    return this.#operation({ id, method: 'get', action, doc: old, parameters: LIST, answer: this.#schemas.watchEvent, media: STREAMS })
  }

  /** A path that a node serves as text. */
  #readText({ name }: Subresource, words: string): Operation {
    const { kind } = this.#resource
    return this.#operation({
      id: ['read', this.#scope, words],
      method: 'get',
      action: 'get',
      doc: `read ${name} of the specified ${kind}`,
      answer: TEXT,
      media: ['text/plain', ...MEDIA],
    })
  }

  /** Paths that stream to a node. */
  #connect(sub: Subresource, words: string): Operation[] {
    const { name, verbs, bodyKind = this.#kind() } = sub
    const methods = verbs.flatMap(verb => METHODS[verb] ?? [])
    const all: readonly Method[] = isProxy(sub) ? [...methods, 'head', 'options'] : methods
    return all.map(method =>
      this.#operation({
        id: ['connect', capitalize(method), this.#scope, words],
        method,
        action: 'connect',
        doc: `connect ${method.toUpperCase()} requests to ${name} of ${this.#resource.kind}`,
        answer: TEXT,
        media: ANY,
        kind: bodyKind,
      }),
    )
  }

  #operation({ id: [verb, ...rest], parameters = [], codes = [200], media, kind = this.#kind(), ...draft }: Draft): Operation {
    const { group, version } = this.#resource
    const operationId = [verb, groupInWords(group), capitalize(version), ...rest].join('')
    return {
      ...draft,
      operationId,
      tag: tagOf(group, version),
      parameters,
      codes,
      media: media ?? (this.#isCustom ? CUSTOM_MEDIA : MEDIA),
      kind,
    }
  }

  #kind(): GroupVersionKind {
    const { group, version, kind } = this.#resource
    return { group, version, kind }
  }
}

/** A proxy forwards every method, and everything below its path. */
const isProxy = ({ verbs }: Subresource): boolean => verbs.includes('delete')

const withArticle = (kind: string) => `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`
