/** Attribute-based access control: policies in a file, one JSON object a line; the first that matches allows a request. */
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { Attributes, RulesFound } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { NamedAuthorizer } from './modes.ts'

export type Policy = {
  readonly user: string
  readonly group: string
  readonly readonly: boolean
  readonly apiGroup: string
  readonly resource: string
  readonly namespace: string
  readonly nonResourcePath: string
}

/** A line of the file that is no policy; the message names file and line. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
}

const ALL_AUTHENTICATED = 'system:authenticated'

/** The policies of a file, and whether lines without a version are among them. Throws PolicyError. */
export function readPolicies(text: string, path: string): { readonly policies: readonly Policy[]; readonly hasUnversioned: boolean } {
  const policies: Policy[] = []
  let hasUnversioned = false
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const fail = (why: string) => new PolicyError(`error reading policy file ${path}, line ${i + 1}: ${line}: ${why}`)
    const object = objectIn(line, fail)
    const isVersioned = object['apiVersion'] === 'abac.authorization.kubernetes.io/v1beta1' && object['kind'] === 'Policy'
    if (!isVersioned) hasUnversioned = true
    policies.push(isVersioned ? versioned(object, fail) : unversioned(object, fail))
  }
  return { policies, hasUnversioned }
}

type Fail = (why: string) => PolicyError

function objectIn(line: string, fail: Fail): JsonObject {
  let value: Json
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw fail(`couldn't get version/kind; json parse error: ${(error as Error).message}`)
  }
  if (!isObject(value)) throw fail("couldn't get version/kind; json parse error: not an object")
  return value
}

function versioned({ spec = {} }: JsonObject, fail: Fail): Policy {
  if (!isObject(spec)) throw fail('json: cannot unmarshal spec into Go struct field Policy.spec of type v1beta1.PolicySpec')
  const policy = fieldsOf(spec, fail)
  // An asterisk stands for everybody who is authenticated.
  return policy.user === '*' || policy.group === '*' ? { ...policy, user: '', group: ALL_AUTHENTICATED } : policy
}

/** Lines of the oldest format: absent means everything. */
function unversioned(object: JsonObject, fail: Fail): Policy {
  const { user, group, readonly, resource, namespace } = fieldsOf(object, fail)
  const isForAll = (user === '' && group === '') || user === '*' || group === '*'
  return {
    user: user === '*' || group === '*' ? '' : user,
    group: isForAll ? ALL_AUTHENTICATED : group,
    readonly,
    apiGroup: '*',
    resource: resource || '*',
    namespace: namespace || '*',
    nonResourcePath: namespace === '' && resource === '' ? '*' : '',
  }
}

function fieldsOf(object: JsonObject, fail: Fail): Policy {
  const text = (name: string): string => {
    const value = Object.hasOwn(object, name) ? (object[name] ?? '') : ''
    if (typeof value !== 'string') throw fail(`json: cannot unmarshal ${typeof value} into Go struct field .${name} of type string`)
    return value
  }
  const readonly = (Object.hasOwn(object, 'readonly') ? object['readonly'] : undefined) ?? false
  if (typeof readonly !== 'boolean') throw fail(`json: cannot unmarshal ${typeof readonly} into Go struct field .readonly of type bool`)
  return {
    user: text('user'),
    group: text('group'),
    readonly,
    apiGroup: text('apiGroup'),
    resource: text('resource'),
    namespace: text('namespace'),
    nonResourcePath: text('nonResourcePath'),
  }
}

export const abacAuthorizer = (policies: readonly Policy[]): NamedAuthorizer => ({
  name: 'abac',
  authorize: (user, attributes) =>
    policies.some(policy => isSubject(policy, user) && matches(policy, attributes))
      ? { verdict: 'allow' }
      : { verdict: 'no-opinion', reason: 'No policy matched.' },
  rulesFor: (user, namespace): RulesFound => {
    const found = policies.filter(policy => isSubject(policy, user) && (policy.namespace === '*' || policy.namespace === namespace))
    return {
      resourceRules: found.flatMap(policy =>
        policy.resource === '' ? [] : { verbs: verbsOf(policy), apiGroups: [policy.apiGroup], resources: [policy.resource] },
      ),
      nonResourceRules: found.flatMap(policy =>
        policy.nonResourcePath === '' ? [] : { verbs: verbsOf(policy), nonResourceURLs: [policy.nonResourcePath] },
      ),
      incomplete: false,
    }
  },
})

const verbsOf = ({ readonly }: Policy): string[] => (readonly ? [...READS] : ['*'])
const READS: readonly string[] = ['get', 'list', 'watch']

/** A policy that names neither user nor group is for nobody. */
function isSubject({ user, group }: Policy, { name, groups }: User): boolean {
  if (user !== '' && user !== '*' && user !== name) return false
  if (group !== '' && group !== '*' && !groups.includes(group)) return false
  return user !== '' || group !== ''
}

function matches(policy: Policy, { verb, path, resource }: Attributes): boolean {
  if (policy.readonly && !READS.includes(verb)) return false
  if (resource === undefined) return isPath(policy.nonResourcePath, path)
  const is = (wanted: string, actual: string) => wanted === '*' || wanted === actual
  return is(policy.namespace, resource.namespace) && is(policy.resource, resource.plural) && is(policy.apiGroup, resource.group)
}

const isPath = (wanted: string, path: string): boolean =>
  wanted === path || (wanted.endsWith('*') && path.startsWith(wanted.replace(/\*+$/, '')))
