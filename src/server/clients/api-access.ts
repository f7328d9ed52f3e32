/** Requests of controllers by path: authorized as any other, then answered by the registry or the server of an APIService. */
import type { Registration, Registrations } from '../../aggregation/registrations.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { ApiAccess, ApiRequest, DiscoveredResource } from '../../client/api-access.ts'
import type { Identity } from '../../client/identity.ts'
import { parseJson, stringifyJson } from '../../codec/json.ts'
import { itemBytes } from '../../codec/list-item.ts'
import { servedGroups } from '../../http/documents/discovery-groups.ts'
import { route } from '../../http/route.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { Registry, Result } from '../../registry/api.ts'
import { byPreference, type Catalog } from '../../registry/catalog.ts'
import type { Attributes } from '../../schema/access.ts'
import { Budget } from '../../schema/budget.ts'
import { forbidden } from '../../schema/forbidden.ts'
import { badRequest, StatusError } from '../../schema/status-error.ts'
import { failureOf } from '../../transport/webhook-transport.ts'

export type ApiAccessParts = {
  readonly catalog: Catalog
  readonly registry: Registry
  readonly authorizer: Authorizer
  readonly registrations: Registrations
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly now: () => Date
}

export function apiAccess(parts: ApiAccessParts): ApiAccess {
  const { catalog, authorizer, registrations } = parts
  const isElsewhere = ({ group, version }: { group: string; version: string }) => registrations.find(group, version) !== undefined
  const resourcesElsewhere = () => [...registrations.all()].flatMap(resourcesOf)
  return {
    async send(identity, request, signal) {
      const { method, path, query = {} } = request
      // Names in the path come from users' objects, and the router decodes a slash: it would lead to a subresource.
      if (/%2f/i.test(path)) throw badRequest('invalid resource name: may not contain "/"')
      const search = new URLSearchParams(query).toString()
      const target = search === '' ? path : `${path}?${search}`
      const routed = route(method, target, catalog)
      const { attributes } = routed
      const decision = await authorizer.authorize(identity.user, attributes, { signal })
      if (decision.verdict !== 'allow') throw forbidden(identity.user, attributes, decision.reason)
      const elsewhere = registrations.at(attributes)
      if (elsewhere) return ask(elsewhere, { ...request, target }, { attributes, identity, signal })
      if (routed.type === 'call') return handle(routed.call, request, { ...parts, identity, signal })
      const { group = '', version = '' } = attributes.resource ?? {}
      if (routed.type === 'refused' && catalog.resources(group, version)) throw routed.error
      throw generic(404, '', method, attributes)
    },
    resourcesOfKind(group, kind) {
      const own = [...catalog].filter(each => each.group === group && each.kind === kind && !isElsewhere(each))
      const others = resourcesElsewhere().filter(each => each.group === group && each.kind === kind)
      return [...own.map(({ version, plural, namespaced, verbs }) => ({ group, version, plural, namespaced, verbs })), ...others].sort(
        (a, b) => byPreference(a.version, b.version),
      )
    },
    versionsOf: name => servedGroups(catalog, registrations).find(({ group }) => group === name)?.versions ?? [],
    elsewhere: () => ({
      resources: resourcesElsewhere(),
      unknown: [...registrations.all()]
        .filter(({ described }) => described?.discovery['freshness'] !== 'Current')
        .map(({ group, version }) => `${group}/${version}`),
    }),
    onElsewhereChange: (listener, signal) => registrations.onChange(listener, signal),
  }
}

type Call = Extract<ReturnType<typeof route>, { type: 'call' }>['call']

async function handle(
  call: Call,
  { body }: ApiRequest,
  { registry, identity, groupDomain, gate, now, signal }: ApiAccessParts & Asking,
): Promise<Json> {
  const bytes = body === undefined ? undefined : Buffer.from(stringifyJson(body))
  const query = body === undefined ? call.query : new URLSearchParams([...call.query, ['fieldManager', identity.manager]])
  const result = await registry.handle(
    { ...call, query },
    {
      user: identity.user,
      now: now(),
      groupDomain,
      gate,
      budget: new Budget(),
      userAgent: identity.manager,
      signal,
    },
    bytes && { mediaType: 'application/json', bytes },
  )
  return readResult(result)
}
type Asking = { readonly identity: Identity; readonly signal: AbortSignal }

function readResult(result: Result): Json {
  switch (result.type) {
    case 'object':
      return parseJson(result.json).value
    case 'list': {
      const { resource, items, meta } = result
      const { apiVersion, listKind } = resource
      return { kind: listKind, apiVersion, metadata: { ...meta } as JsonObject, items: items.map(item => parseJson(itemBytes(item)).value) }
    }
    case 'status':
      return result.status as unknown as Json
    default:
      throw new StatusError(406, 'NotAcceptable', 'only objects and lists are read')
  }
}

type Sent = ApiRequest & { readonly target: string }

async function ask(
  registration: Registration,
  { method, target, body }: Sent,
  { attributes, identity, signal }: Asking & { attributes: Attributes },
): Promise<Json> {
  if (!registration.isAvailable) throw generic(503, '', method, attributes)
  const answer = await registration.backend
    .send({
      method,
      path: target,
      user: identity.user,
      ...(body !== undefined && { body: stringifyJson(body) }),
      timeoutMs: LIMITS.deadlineMs,
      maxBytes: LIMITS.aggregatedDocumentBytes,
      signal,
    })
    .catch(() => undefined)
  if (!answer) throw generic(503, '', method, attributes)
  const value = tryParse(answer.body)
  if (answer.status >= 200 && answer.status < 300) {
    if (value !== undefined) return value
    throw new StatusError(500, 'InternalError', 'the answer is not JSON')
  }
  if (isObject(value) && value['kind'] === 'Status' && typeof value['message'] === 'string' && value['message'] !== '')
    throw new StatusError(answer.status, String(value['reason'] ?? ''), value['message'])
  throw generic(answer.status, answer.body.toString('utf8'), method, attributes)
}

function tryParse(bytes: Buffer): Json | undefined {
  try {
    return parseJson(bytes).value
  } catch {
    return undefined
  }
}

/** The message of Kubernetes' clients for a response without a Status. */
function generic(status: number, body: string, method: string, { resource, path }: Attributes): StatusError {
  const explanation = failureOf({ status, body, contentType: '' }) ?? ''
  const name = resource?.name ? ` ${resource.name}` : ''
  const about = resource ? `${resource.plural}${resource.group === '' ? '' : `.${resource.group}`}${name}` : path
  const reason = status === 404 ? 'NotFound' : status === 503 ? 'ServiceUnavailable' : status === 409 ? 'Conflict' : ''
  return new StatusError(status, reason, `${explanation} (${method.toLowerCase()} ${about})`)
}

type Kinded = DiscoveredResource & { readonly kind: string }

/** The resources of a server, from its discovery. */
function resourcesOf({ group, version, described }: Registration): Kinded[] {
  const resources = described?.discovery['resources']
  if (!Array.isArray(resources)) return []
  return resources.filter(isObject).map(each => ({
    group,
    version,
    plural: String(each['resource'] ?? ''),
    namespaced: each['scope'] === 'Namespaced',
    verbs: Array.isArray(each['verbs']) ? each['verbs'].map(String) : [],
    kind: String((isObject(each['responseKind']) && each['responseKind']['kind']) || ''),
  }))
}
