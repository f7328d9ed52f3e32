/** The variables of expressions of webhooks and policies: the objects of a request, the request itself, and the authorizer. */
import { authorizerValue, type CelAuthorizer, type CelUser, requestResourceValue } from '../cel/libraries/authorizer.ts'
import type { Bindings } from '../cel/runtime/program.ts'
import { dynShape } from '../cel/runtime/shapes.ts'
import type { CelValue } from '../cel/runtime/values.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { User } from '../schema/user.ts'
import type { Attributes } from './attributes.ts'
import { requestNamespace } from './request-namespace.ts'

/** A request in the version in which a rule names its resource. */
export type VersionedRequest = {
  readonly attributes: Attributes
  readonly resource: Resource
  readonly kind: GroupVersionKind
  readonly object: AnyObject | undefined
  readonly oldObject: AnyObject | undefined
}
export type GroupVersionKind = { readonly group: string; readonly version: string; readonly kind: string }

const known = new WeakMap<VersionedRequest, Bindings>()

/** The variables that every expression has; the same for all expressions about a request, but for whom they ask about access. */
export function requestVariables(request: VersionedRequest, authorize?: CelAuthorizer): Bindings {
  let shared = known.get(request)
  if (!shared) known.set(request, (shared = objectVariables(request)))
  return authorize ? withAuthorizer(shared, request, authorize) : shared
}

const objectVariables = (request: VersionedRequest): Bindings => ({
  object: celValueOf(request.object),
  oldObject: celValueOf(request.oldObject),
  request: celValueOf(admissionRequest(request)),
})

function withAuthorizer(variables: Bindings, { attributes }: VersionedRequest, authorize: CelAuthorizer): Bindings {
  const { ctx, subresource, name, resource } = attributes
  const user: CelUser = {
    name: ctx.user.name,
    groups: ctx.user.groups,
    ...(ctx.user.uid && { uid: ctx.user.uid }),
    ...(ctx.user.extra && { extra: new Map(Object.entries(ctx.user.extra)) }),
  }
  const about = { group: resource.group, resource: resource.plural, subresource, namespace: requestNamespace(attributes), name }
  return {
    authorizer: authorizerValue(user, authorize),
    'authorizer.requestResource': requestResourceValue(user, authorize, about),
    ...variables,
  }
}

export const celValueOf = (object: unknown): CelValue => dynShape.read((object ?? null) as Json)

/** The request as expressions see it: what AdmissionReview says of it, without the objects. */
export function admissionRequest({ attributes, resource, kind }: VersionedRequest): JsonObject {
  const { subresource, name, operation, dryRun, options, ctx } = attributes
  const namespace = requestNamespace(attributes)
  // Field by field, in the order in which they are written: spreads take V8 long, and every call of a webhook has one of these.
  const about: JsonObject = { kind: { group: kind.group, version: kind.version, kind: kind.kind }, resource: resourceName(resource) }
  if (subresource !== '') about['subResource'] = subresource
  about['requestKind'] = kindName(attributes.kind)
  about['requestResource'] = resourceName(attributes.resource)
  if (subresource !== '') about['requestSubResource'] = subresource
  if (name !== '') about['name'] = name
  if (namespace !== '') about['namespace'] = namespace
  about['operation'] = operation
  about['userInfo'] = userInfo(ctx.user)
  about['dryRun'] = dryRun
  about['options'] = options ?? null
  return about
}

function userInfo({ name, uid, groups, extra }: User): JsonObject {
  const info: JsonObject = {}
  if (name !== '') info['username'] = name
  if (uid) info['uid'] = uid
  if (groups.length > 0) info['groups'] = [...groups]
  if (extra && Object.keys(extra).length > 0) info['extra'] = extra as unknown as JsonObject
  return info
}

const kindName = ({ group, version, kind }: Resource): JsonObject => ({ group, version, kind })
const resourceName = ({ group, version, plural }: Resource): JsonObject => ({ group, version, resource: plural })
