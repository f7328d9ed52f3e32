/** Authorization checks in expressions: `authorizer.group('apps').resource('deployments').check('create').allowed()`. */

import { nameIsDNSLabel, nameIsDNSSubdomain } from '../../lib/names.ts'
import type { Library } from '../checker/library.ts'
import { boolType, type CelType, objectType, stringType } from '../checker/types.ts'
import { type CelFault, CelOpaque, type CelValue, fault, noSuchOverload } from '../runtime/values.ts'
import { actualSize, unitCost } from './call-costs.ts'
import { fn, member } from './declare.ts'

export const authorizerType = objectType('kubernetes.authorization.Authorizer')
export const pathCheckType = objectType('kubernetes.authorization.PathCheck')
export const groupCheckType = objectType('kubernetes.authorization.GroupCheck')
export const resourceCheckType = objectType('kubernetes.authorization.ResourceCheck')
export const decisionType = objectType('kubernetes.authorization.Decision')

/** The subject of a check: the user of a request, or a service account named in an expression. */
export interface CelUser {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: ReadonlyMap<string, readonly string[]>
}

/** The attributes of a check: a path, or a resource; selectors are strings, and invalid ones select nothing. */
export type CelAccess =
  | { readonly kind: 'path'; readonly path: string; readonly verb: string }
  | {
      readonly kind: 'resource'
      readonly verb: string
      readonly group: string
      readonly resource: string
      readonly subresource: string
      readonly namespace: string
      readonly name: string
      readonly fieldSelector: string
      readonly labelSelector: string
    }

export interface CelDecision {
  readonly allowed: boolean
  readonly reason: string
  /** The error of the decision, if any. */
  readonly error?: string
}

/** Decides synchronously: expressions do not wait. */
export type CelAuthorizer = (user: CelUser, access: CelAccess) => CelDecision

/** Values that only have member functions. */
abstract class ReceiverOnly extends CelOpaque {
  equalTo(): CelFault {
    return noSuchOverload
  }
}

class AuthorizerValue extends ReceiverOnly {
  readonly type = authorizerType
  readonly user: CelUser
  readonly decide: CelAuthorizer
  constructor(user: CelUser, decide: CelAuthorizer) {
    super()
    this.user = user
    this.decide = decide
  }
}

class PathCheckValue extends ReceiverOnly {
  readonly type = pathCheckType
  readonly authorizer: AuthorizerValue
  readonly path: string
  constructor(authorizer: AuthorizerValue, path: string) {
    super()
    this.authorizer = authorizer
    this.path = path
  }
}

class GroupCheckValue extends ReceiverOnly {
  readonly type = groupCheckType
  readonly authorizer: AuthorizerValue
  readonly group: string
  constructor(authorizer: AuthorizerValue, group: string) {
    super()
    this.authorizer = authorizer
    this.group = group
  }
}

type ResourceAccess = Omit<Extract<CelAccess, { kind: 'resource' }>, 'kind' | 'verb'>

class ResourceCheckValue extends ReceiverOnly {
  readonly type = resourceCheckType
  readonly authorizer: AuthorizerValue
  readonly access: ResourceAccess
  constructor(authorizer: AuthorizerValue, access: ResourceAccess) {
    super()
    this.authorizer = authorizer
    this.access = access
  }
}

class DecisionValue extends ReceiverOnly {
  readonly type = decisionType
  readonly decision: CelDecision
  constructor(decision: CelDecision) {
    super()
    this.decision = decision
  }
}

/** The value of the variable `authorizer`. */
export const authorizerValue = (user: CelUser, decide: CelAuthorizer): CelValue => new AuthorizerValue(user, decide)

/** The value of the variable `authorizer.requestResource`: a check for the resource of the request. */
export function requestResourceValue(user: CelUser, decide: CelAuthorizer, about: Partial<ResourceAccess>): CelValue {
  return new ResourceCheckValue(new AuthorizerValue(user, decide), { ...anything, ...about })
}

const anything: ResourceAccess = {
  group: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  fieldSelector: '',
  labelSelector: '',
}

/** Allows two checks per expression. */
const CHECK_COST = 350_000

const refining = (name: string, id: string, field: keyof ResourceAccess, cost: (args: readonly CelValue[]) => number = unitCost) =>
  fn(
    name,
    member({ id, params: [resourceCheckType, stringType], result: resourceCheckType, cost }, (check: ResourceCheckValue, text: string) => {
      return new ResourceCheckValue(check.authorizer, { ...check.access, [field]: text })
    }),
  )

const telling = (name: string, id: string, result: CelType, tell: (decision: CelDecision) => CelValue) =>
  fn(
    name,
    member({ id, params: [decisionType], result, cost: unitCost }, (value: DecisionValue) => tell(value.decision)),
  )

/** path, group, serviceAccount, resource, subresource, namespace, name, check, errored, error, allowed and reason. */
export const authorizerLibrary = (): Library => ({
  functions: [
    fn('path', member({ id: 'authorizer_path', params: [authorizerType, stringType], result: pathCheckType, cost: unitCost }, checkPath)),
    fn(
      'group',
      member(
        { id: 'authorizer_group', params: [authorizerType, stringType], result: groupCheckType, cost: unitCost },
        (authorizer: AuthorizerValue, group: string) => new GroupCheckValue(authorizer, group),
      ),
    ),
    fn(
      'serviceAccount',
      member(
        {
          id: 'authorizer_serviceaccount',
          params: [authorizerType, stringType, stringType],
          result: authorizerType,
          cost: unitCost,
        },
        asServiceAccount,
      ),
    ),
    fn(
      'resource',
      member({ id: 'groupcheck_resource', params: [groupCheckType, stringType], result: resourceCheckType, cost: unitCost }, ofGroup),
    ),
    refining('subresource', 'resourcecheck_subresource', 'subresource'),
    refining('namespace', 'resourcecheck_namespace', 'namespace'),
    refining('name', 'resourcecheck_name', 'name'),
    fn(
      'check',
      member(
        { id: 'pathcheck_check', params: [pathCheckType, stringType], result: decisionType, cost: () => CHECK_COST },
        ({ authorizer: { user, decide }, path }: PathCheckValue, verb: string) =>
          new DecisionValue(decide(user, { kind: 'path', path, verb })),
      ),
      member(
        { id: 'resourcecheck_check', params: [resourceCheckType, stringType], result: decisionType, cost: () => CHECK_COST },
        ({ authorizer: { user, decide }, access }: ResourceCheckValue, verb: string) =>
          new DecisionValue(decide(user, { kind: 'resource', verb, ...access })),
      ),
    ),
    telling('errored', 'decision_errored', boolType, ({ error }) => error !== undefined),
    telling('error', 'decision_error', stringType, ({ error }) => error ?? ''),
    telling('allowed', 'decision_allowed', boolType, ({ allowed }) => allowed),
    telling('reason', 'decision_reason', stringType, ({ reason }) => reason),
  ],
})

/** fieldSelector and labelSelector. */
export const selectorsLibrary = (): Library => ({
  functions: [
    refining('fieldSelector', 'authorizer_fieldselector', 'fieldSelector', selectorCost),
    refining('labelSelector', 'authorizer_labelselector', 'labelSelector', selectorCost),
  ],
})

/** A list, parsing the string, and a requirement with its values for every second character at most. */
function selectorCost(args: readonly CelValue[]): number {
  const length = actualSize(args[1])
  return 10 + Math.ceil(length * 0.1) + Math.ceil(length * 0.5) * 50
}

function checkPath(authorizer: AuthorizerValue, path: string): CelValue {
  return path.trim() === '' ? fault('path must not be empty') : new PathCheckValue(authorizer, path)
}

function ofGroup({ authorizer, group }: GroupCheckValue, resource: string): CelValue {
  if (resource.trim() === '') return fault('resource must not be empty')
  return new ResourceCheckValue(authorizer, { ...anything, group, resource })
}

function asServiceAccount({ decide }: AuthorizerValue, namespace: string, name: string): CelValue {
  if (nameIsDNSSubdomain(name).length > 0) return fault('Invalid service account name')
  if (nameIsDNSLabel(namespace).length > 0) return fault('Invalid service account namespace')
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
  return new AuthorizerValue({ name: `system:serviceaccount:${namespace}:${name}`, groups }, decide)
}
