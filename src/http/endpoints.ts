/** Endpoints beside the resources: health, version, metrics, discovery and OpenAPI. */
import type { Catalog } from '../registry/catalog.ts'
import { methodNotAllowed, noSuchResource } from '../schema/status-error.ts'
import type { User } from '../schema/user.ts'
import type { Aggregated } from './aggregated.ts'
import type { ApiPart } from './documents/own-api.ts'
import { bytesResponse, type Request, type Response, textResponse, withoutBody } from './message.ts'
import type { Route } from './route.ts'

/** Serves a path; undefined when it does not exist after all. */
export type Endpoint = (
  request: Request,
  at: { readonly path: string; readonly query: URLSearchParams; readonly user?: User | undefined },
) => Response | undefined | Promise<Response | undefined>

export type EndpointRule = {
  readonly path: string
  /** Also serves everything below the path. */
  readonly below?: true
  /** A trailing slash makes no difference, and methods other than GET are refused. */
  readonly strict?: true
  /** Whether a path accepts every method. */
  readonly everyMethod?: (path: string) => boolean
  /** Not listed in the index at `/`. */
  readonly hidden?: true
  /** Its part of the document of `/keelson/v1`, for paths below that. */
  readonly describe?: () => Promise<ApiPart>
  readonly answer: Endpoint
}

export class Endpoints {
  readonly #catalog: Catalog
  readonly #aggregated: Aggregated | undefined
  readonly #exact = new Map<string, EndpointRule>()
  readonly #below: readonly EndpointRule[]

  constructor(catalog: Catalog, rules: readonly EndpointRule[], aggregated?: Aggregated) {
    this.#catalog = catalog
    this.#aggregated = aggregated
    for (const rule of rules) {
      this.#exact.set(rule.path, rule)
      if (rule.strict) this.#exact.set(`${rule.path}/`, rule)
    }
    // The longest path decides.
    this.#below = rules.filter(r => r.below).sort((a, b) => b.path.length - a.path.length)
  }

  async answer(request: Request, { path, query }: Extract<Route, { type: 'path' }>, user?: User): Promise<Response> {
    if (path === '/' || path === '/index.html') return this.#index(request)
    const rule = this.#exact.get(path) ?? this.#below.find(r => path.startsWith(`${r.path}/`))
    const found = await rule?.answer(request, { path, query, user })
    if (rule === undefined || found === undefined) return this.#missing(path)
    if (rule.strict && !rule.everyMethod?.(path) && request.method !== 'GET') throw methodNotAllowed()
    return request.method === 'HEAD' ? withoutBody(found) : found
  }

  /** kube-apiserver has two routers, and each has its own 404 response. */
  #missing(path: string): Response {
    const [root = '', group = ''] = path.split('/').slice(1)
    if (root === 'api' || root === 'version' || (root === 'apis' && group !== '' && this.#catalog.hasBuiltInGroup(group)))
      throw noSuchResource()
    return textResponse(404, '404 page not found\n')
  }

  /** The paths that the index at `/` lists, sorted. */
  paths(): readonly string[] {
    const paths = [...this.#exact.values()].filter(r => !r.hidden).map(r => r.path)
    for (const [group, versions] of this.#catalog.groups()) {
      if (group !== '') paths.push(`/apis/${group}`)
      for (const version of versions) paths.push(group === '' ? `/api/${version}` : `/apis/${group}/${version}`)
    }
    for (const { group, version } of this.#aggregated?.all() ?? [])
      if (group !== '') paths.push(`/apis/${group}`, `/apis/${group}/${version}`)
    return [...new Set(paths)].sort()
  }

  #index(request: Request): Response {
    const json = JSON.stringify({ paths: this.paths() }, null, 2)
    const response = bytesResponse(200, 'application/json', Buffer.from(json))
    return request.method === 'HEAD' ? withoutBody(response) : response
  }
}
