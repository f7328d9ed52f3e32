/** Resolves method and path to a call on a resource, an endpoint, or a rejection. */

import { goQuote } from '../lib/go-text.ts'
import { LIMITS } from '../lib/limits.ts'
import { isValidPathSegmentName } from '../lib/names.ts'
import type { Call } from '../registry/api.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Attributes } from '../schema/access.ts'
import type { Verb } from '../schema/kind.ts'
import type { Resource } from '../schema/resource.ts'
import { parseFieldSelector, requiredFieldValue } from '../schema/selectors.ts'
import { badRequest, methodNotAllowed, noSuchResource, notFound, type StatusError } from '../schema/status-error.ts'

/**
 * Attributes are derived from the path, whether or not it is served: they are authorized before a missing path is distinguished from a
 * forbidden one.
 */
export type Route = { readonly attributes: Attributes; readonly query: URLSearchParams } & Target

export type Target =
  | { readonly type: 'call'; readonly call: Call }
  | { readonly type: 'path'; readonly path: string }
  | { readonly type: 'refused'; readonly error: StatusError }

const NO_QUERY = new URLSearchParams()

/** Resolves routes of a catalog, and caches those of collections: creates, lists and watches name the same few again and again. */
export class Router {
  readonly #catalog: Catalog
  readonly #known = new Map<string, Map<string, Route>>()
  #size = 0
  #version = -1

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  find(method: string, target: string): Route {
    if (this.#version !== this.#catalog.version || this.#size >= LIMITS.cachedRoutes) this.#forget()
    const known = this.#known.get(method)?.get(target)
    if (known) return known
    const found = route(method, target, this.#catalog)
    if (found.type === 'call' && found.call.name === '' && target.length <= LIMITS.cachedTargetLength) this.#keep(method, target, found)
    return found
  }

  #keep(method: string, target: string, found: Route): void {
    const byTarget = this.#known.get(method) ?? new Map<string, Route>()
    this.#known.set(method, byTarget.set(target, found))
    this.#size++
  }

  #forget(): void {
    this.#known.clear()
    this.#size = 0
    this.#version = this.#catalog.version
  }
}

/** Resolves a request's method and target. */
export function route(method: string, target: string, catalog: Catalog): Route {
  const mark = target.indexOf('?')
  const query = mark === -1 || mark === target.length - 1 ? NO_QUERY : new URLSearchParams(target.slice(mark + 1))
  const path = decodePath(mark === -1 ? target : target.slice(0, mark))
  if (path === undefined) {
    const error = badRequest('the path of the request is not valid')
    return { attributes: { verb: method.toLowerCase(), path: '' }, query, type: 'refused', error }
  }
  const parts = splitPath(path)
  const at = parts[0] === 'api' ? 1 : parts[0] === 'apis' ? 2 : 0
  if (at === 0 || parts.length < at + 2) return { attributes: { verb: method.toLowerCase(), path }, query, type: 'path', path }

  const group = at === 1 ? '' : parts[1]!
  const version = parts[at]!
  const viaWatch = parts[at + 1] === 'watch'
  const parsed = parseParts(parts, viaWatch ? at + 2 : at + 1, catalog.find(group, version, 'namespaces'))
  const line = { method, query, viaWatch, path }
  const { plural, name, subresource, namespace } = parsed
  const verb = viaWatch ? 'watch' : (verbOf(line, parsed) ?? '')
  const attributes: Attributes = {
    verb,
    path,
    resource: {
      group,
      version,
      plural,
      subresource,
      namespace,
      name: name === '' && (verb === 'list' || verb === 'watch') ? nameInSelector(query) : name,
      ...(name === '' && query.has('fieldSelector') && { fieldSelector: query.get('fieldSelector')! }),
      ...(name === '' && query.has('labelSelector') && { labelSelector: query.get('labelSelector')! }),
    },
  }
  // An empty segment names no group, and no path begins with one.
  const isNamed = !path.startsWith('//') && (at === 1 || group !== '')
  const found = isNamed ? resolve(line, parsed, catalog.find(group, version, plural)) : undefined
  // Outside the groups of built-in kinds, a missing resource gets the 404 of the server as a whole.
  const isNowhere = found === undefined && (!isNamed || !catalog.hasBuiltInGroup(group))
  return { attributes, query, ...(found ?? (isNowhere ? { type: 'path', path } : { type: 'refused', error: noSuchResource() })) }
}

type RequestLine = { readonly method: string; readonly query: URLSearchParams; readonly viaWatch: boolean; readonly path: string }
/** A parsed path: `NAMESPACE/PLURAL/NAME/SUBRESOURCE` and the rest. */
type ParsedPath = {
  readonly scope: 'namespace' | 'all'
  readonly namespace: string
  readonly plural: string
  readonly name: string
  readonly subresource: string
  readonly depth: number
  /** The path below the subresource; empty if there is none. */
  readonly below: string
}

/**
 * Percent-encoding is decoded before the path is split, as in kube-apiserver: an encoded slash separates like any other, so that no name
 * can smuggle one into a storage key. Undefined for an invalid path.
 */
function decodePath(path: string): string | undefined {
  let decoded = path
  if (path.includes('%')) {
    try {
      decoded = decodeURIComponent(path)
    } catch {
      return undefined
    }
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it refuses them.
  return !decoded.startsWith('/') || /[\u0000-\u001f\u007f]/.test(decoded) ? undefined : decoded
}

function splitPath(path: string): string[] {
  let start = 0
  let end = path.length
  while (start < end && path.charCodeAt(start) === 0x2f) start++
  while (end > start && path.charCodeAt(end - 1) === 0x2f) end--
  const parts: string[] = []
  if (start === end) return parts
  // A loop: `split` takes several times as long, as V8 searches its cache of split strings first.
  for (let at = start; at < end; at++) {
    if (path.charCodeAt(at) !== 0x2f) continue
    parts.push(path.slice(start, at))
    start = at + 1
  }
  parts.push(path.slice(start, end))
  return parts
}

/** Parses the segments from an index on: `namespaces/NS/…` is inside a namespace, unless a subresource of the namespace itself follows. */
function parseParts(parts: readonly string[], at: number, namespaces: Resource | undefined): ParsedPath {
  const depth = parts.length - at
  const first = parts[at] ?? ''
  const second = parts[at + 1] ?? ''
  const third = parts[at + 2]
  if (first === 'namespaces' && third !== undefined && !namespaces?.subresources.some(s => s.name === third)) {
    const name = parts[at + 3] ?? ''
    const subresource = parts[at + 4] ?? ''
    return {
      scope: 'namespace',
      namespace: second,
      plural: third,
      name,
      subresource,
      depth: depth - 2,
      below: belowOf(parts, at + 5),
    }
  }
  // Requests for a namespace are authorized in that namespace.
  const namespace = first === 'namespaces' ? second : ''
  return { scope: 'all', namespace, plural: first, name: second, subresource: third ?? '', depth, below: belowOf(parts, at + 3) }
}

const belowOf = (parts: readonly string[], at: number): string => (parts.length > at ? `/${parts.slice(at).join('/')}` : '')

function verbOf({ method, query, viaWatch }: RequestLine, { name, subresource }: ParsedPath): Verb | undefined {
  const collection = name === ''
  if (viaWatch) return method === 'GET' ? 'watch' : undefined
  switch (method) {
    case 'GET':
    case 'HEAD':
      return !collection ? 'get' : isSet(query.get('watch')) ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return collection && subresource === '' ? 'deletecollection' : 'delete'
    default:
      return undefined
  }
}

/** A flag in a query: present means true, unless it is `false`. */
const isSet = (value: string | null) => value !== null && value !== '0' && value.toLowerCase() !== 'false'

/**
 * A list or watch of one name is authorized as that name, if a path could name it. Other verbs are not: a selector does not determine the
 * name of a created object.
 */
function nameInSelector(query: URLSearchParams): string {
  const selector = query.get('fieldSelector')
  if (selector === null) return ''
  try {
    const name = requiredFieldValue(parseFieldSelector(selector), 'metadata.name') ?? ''
    return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name
  } catch {
    return ''
  }
}

const COLLECTION: readonly Verb[] = ['create', 'deletecollection', 'list', 'watch']
const ITEM: readonly Verb[] = ['delete', 'get', 'patch', 'update']

/** Undefined where there is no such path. */
function resolve(line: RequestLine, parsed: ParsedPath, resource: Resource | undefined): Target | undefined {
  if (resource === undefined) return undefined
  if (resource.def.custom !== undefined) return resolveCustom(line, parsed, resource)
  const verbs = servedAt(line, parsed, resource)
  if (verbs.length === 0) return undefined
  // Below an object there is no collection, even if the name in the path is empty.
  const isUnnamed = parsed.depth > 2 && parsed.name === ''
  const plain = isUnnamed ? { ...parsed, name: '?' } : parsed
  const verb = isPassedOn(line, verbs) ? 'get' : line.method === 'HEAD' ? undefined : verbOf(line, plain)
  if (verb === undefined || !verbs.includes(verb)) return { type: 'refused', error: refusalOf(verb, verbs, resource) }
  return targetOf(verb, { line, parsed, resource })
}

/**
 * Custom kinds have no fixed paths and methods: verb, namespace, name and subresource decide, as parsed for authorization. So a POST that
 * names an object creates the one in its body, and the path after a subresource is ignored.
 */
function resolveCustom(line: RequestLine, parsed: ParsedPath, resource: Resource): Target | undefined {
  const { namespace, name, subresource } = parsed
  const verb = line.viaWatch ? 'watch' : verbOf(line, parsed)
  const isOfAll = resource.namespaced && namespace === ''
  if (isOfAll ? verb !== 'list' && verb !== 'watch' : !resource.namespaced && parsed.scope === 'namespace' && namespace !== '')
    return undefined
  const verbs = subresource === '' ? resource.verbs : resource.subresources.find(s => s.name === subresource)?.verbs
  const { deprecated } = resource.def
  const warned = (error: StatusError): Target => {
    if (deprecated !== undefined) error.warnings = [deprecated]
    return { type: 'refused', error }
  }
  if (verbs === undefined) return warned(notFound(resource, name))
  if (verb === undefined || !verbs.includes(verb) || (line.method === 'HEAD' && verb === 'watch'))
    return warned(notSupported(verb ?? '', resource))
  const found = verb === 'create' ? { ...parsed, name: '' } : parsed
  return targetOf(verb, { line, parsed: found, resource })
}

type Named = { readonly line: RequestLine; readonly parsed: ParsedPath; readonly resource: Resource }

function targetOf(verb: Verb, { line, parsed, resource }: Named): Target {
  const fault = namingFault(verb, parsed, resource)
  if (fault !== undefined) return { type: 'refused', error: badRequest(fault) }
  const { namespace, name, subresource } = parsed
  const call: Call = {
    verb,
    resource,
    namespace: resource.namespaced ? namespace : '',
    name,
    subresource,
    query: queryOf(line, parsed, resource),
  }
  return { type: 'call', call }
}

/**
 * The error of a path's name and namespace. A collection without a namespace can be read in all namespaces. It cannot be deleted, although
 * kube-apiserver does: a script with an empty variable would empty the cluster.
 */
function namingFault(verb: Verb, { namespace, name, depth }: ParsedPath, resource: Resource): string | undefined {
  if (name === '' && (depth > 2 || (verb !== 'deletecollection' && ITEM.includes(verb)))) return 'name must be provided'
  const faults = isValidPathSegmentName(name)
  if (faults.length > 0) return `Name parameter invalid: ${goQuote(name)}: ${faults.join(';')}`
  const needsNamespace = verb === 'deletecollection' || (depth > 1 && verb !== 'watch' && verb !== 'create') || depth > 2
  return needsNamespace && resource.namespaced && namespace === '' ? 'Namespace parameter required.' : undefined
}

/** The path below a subresource that forwards requests is one of its options, whatever the query contains. */
function queryOf({ query, path }: RequestLine, { subresource, below }: ParsedPath, { def }: Resource): URLSearchParams {
  const connect = def.subresources?.connect
  if (subresource === '' || !connect || !Object.hasOwn(connect, subresource) || !connect[subresource]!.options?.['path']) return query
  const completed = new URLSearchParams(query)
  completed.set('path', path.endsWith('/') ? `${below}/` : below)
  return completed
}

/** Whether a method without a verb is forwarded: a proxy forwards all methods. */
const isPassedOn = ({ method }: RequestLine, verbs: readonly Verb[]): boolean =>
  (method === 'HEAD' || method === 'OPTIONS') && verbs.includes('create') && verbs.includes('get') && verbs.includes('delete')

/** The verbs that are served at a path by any method; none means that there is no such path. */
function servedAt({ viaWatch }: RequestLine, { scope, depth, subresource }: ParsedPath, resource: Resource): readonly Verb[] {
  const everywhere = scope === 'all'
  if (resource.namespaced ? everywhere && depth > 1 : !everywhere) return NONE
  const served = servedBy(resource)
  if (viaWatch) return depth <= 2 ? served.watch : NONE
  if (depth === 1) return resource.namespaced && everywhere ? served.allNamespaces : served.collection
  if (depth === 2) return served.item
  const found = resource.subresources.find(s => s.name === subresource)
  const open = Object.hasOwn(resource.def.subresources?.connect ?? {}, subresource)
  return found === undefined || (depth > 3 && !open) ? NONE : found.verbs
}

/** 405, with a reason of its own for a resource that can be listed but not watched. */
function refusalOf(verb: Verb | undefined, verbs: readonly Verb[], resource: Resource): StatusError {
  return verb === 'watch' && verbs.includes('list') ? notSupported(verb, resource) : methodNotAllowed()
}

const notSupported = (verb: string, { group, plural, qualified }: Resource): StatusError =>
  methodNotAllowed(`${verb} is not supported on resources of kind "${qualified}"`, { ...(group !== '' && { group }), kind: plural })

const NONE: readonly Verb[] = []
type Served = { readonly [type in 'collection' | 'allNamespaces' | 'item' | 'watch']: readonly Verb[] }
const served = new WeakMap<Resource, Served>()

/** A resource's verbs by type of path, computed once. */
function servedBy(resource: Resource): Served {
  let found = served.get(resource)
  if (found === undefined) {
    const of = (verbs: readonly Verb[]) => resource.verbs.filter(v => verbs.includes(v))
    found = { collection: of(COLLECTION), allNamespaces: of(['list', 'watch']), item: of(ITEM), watch: of(['watch']) }
    served.set(resource, found)
  }
  return found
}
