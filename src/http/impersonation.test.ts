import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authorizer } from '../authz/authorizer.ts'
import type { Attributes } from '../schema/access.ts'
import { StatusError } from '../schema/status-error.ts'
import type { User } from '../schema/user.ts'
import { Impersonation, impersonatedUser } from './impersonation.ts'

const request = new AbortController()
const jane: User = { name: 'jane', groups: ['devs'] }
const LIST_PODS: Attributes = {
  verb: 'list',
  path: '/api/v1/namespaces/default/pods',
  resource: { group: '', version: 'v1', plural: 'pods', subresource: '', namespace: 'default', name: '' },
}

const lines = (...pairs: [string, string][]) => ({
  headers: Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value])),
  headerLines: pairs.flat(),
})

/** Allows the listed `verb group/resource/subresource namespace/name`, and records the checks. */
function rules(...allowed: string[]): { authorizer: Authorizer; asked: string[] } {
  const asked: string[] = []
  const authorizer: Authorizer = {
    authorize(user, { verb, path, resource: r }) {
      const what = r ? `${r.group}/${r.plural}${r.subresource && `/${r.subresource}`} ${r.namespace && `${r.namespace}/`}${r.name}` : path
      asked.push(`${user.name}: ${verb} ${what}`)
      return { verdict: allowed.includes(`${verb} ${what}`) ? 'allow' : 'no-opinion' }
    },
  }
  return { authorizer, asked }
}

type Asking = { allowed: string[]; headers: [string, string][]; requestor?: User; isConstrained?: boolean; attributes?: Attributes }
async function become({ allowed, headers, requestor = jane, isConstrained = false, attributes = LIST_PODS }: Asking) {
  const { authorizer, asked } = rules(...allowed)
  const impersonation = new Impersonation({ authorizer, groupDomain: 'k8s.io', isConstrained })
  const impersonated = impersonatedUser(lines(...headers))!
  try {
    const { user, constraint } = await impersonation.become({ impersonated, requestor, attributes, request })
    return { user, constraint, asked }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return { refused: `${error.code} ${error.message}`, asked }
  }
}

test('a request without the headers is its own', () => {
  assert.equal(impersonatedUser(lines(['Accept', '*/*'])), undefined)
  assert.equal(impersonatedUser(lines(['Impersonate-User', ''])), undefined)
  assert.equal(impersonatedUser({ headers: {} }), undefined)
})

test('repeated headers and commas in names are kept apart, keys of extra are unescaped, text is UTF-8', () => {
  const utf8 = Buffer.from('jürgen').toString('latin1')
  const impersonated = impersonatedUser(
    lines(
      ['Impersonate-User', utf8],
      ['Impersonate-Group', 'a, b'],
      ['impersonate-group', 'c'],
      ['Impersonate-Extra-Acme.com%2FProject', 'x'],
      ['Impersonate-Extra-acme.com%2fproject', 'y'],
      ['Impersonate-Extra-%zz', 'z'],
      ['Impersonate-Uid', 'u1'],
    ),
  )!
  assert.deepEqual([impersonated.name, impersonated.uid, impersonated.groups], ['jürgen', 'u1', ['a, b', 'c']])
  assert.deepEqual(
    [...impersonated.extra],
    [
      ['acme.com/project', ['x', 'y']],
      ['%zz', ['z']],
    ],
  )
})

test('impersonating a group requires a user', () => {
  const refusal = (...pairs: [string, string][]) => {
    try {
      impersonatedUser(lines(...pairs))
    } catch (error) {
      return `${(error as StatusError).code} ${(error as Error).message}`
    }
    return undefined
  }
  assert.equal(
    refusal(['Impersonate-Group', 'system:masters']),
    '400 requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"system:masters"}, Extra:map[string][]string(nil)} without impersonating a user name',
  )
  assert.equal(
    refusal(['Impersonate-Extra-B', '1'], ['Impersonate-Extra-A', '2'], ['Impersonate-Uid', 'u']),
    '400 requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"2"}, "b":[]string{"1"}}} without impersonating a user name',
  )
  assert.match(refusal(['Impersonate-User', ''], ['Impersonate-User', 'admin'], ['Impersonate-Uid', 'u'])!, /^400 requested /)
})

test('an impersonated user is in the group system:authenticated', async () => {
  const { user, asked } = await become({ allowed: ['impersonate /users bob'], headers: [['Impersonate-User', 'bob']] })
  assert.deepEqual(user, { name: 'bob', groups: ['system:authenticated'] })
  assert.deepEqual(asked, ['jane: impersonate /users bob'])
})

test('every group, uid and value is asked for', async () => {
  const headers: [string, string][] = [
    ['Impersonate-User', 'bob'],
    ['Impersonate-Group', 'ops'],
    ['Impersonate-Extra-Scopes', 'view'],
    ['Impersonate-Uid', 'u1'],
  ]
  const all = [
    'impersonate /users bob',
    'impersonate authentication.k8s.io/uids u1',
    'impersonate /groups ops',
    'impersonate authentication.k8s.io/userextras/scopes view',
  ]
  const { user, asked } = await become({ allowed: all, headers })
  assert.deepEqual(user, { name: 'bob', uid: 'u1', groups: ['ops', 'system:authenticated'], extra: { scopes: ['view'] } })
  assert.deepEqual(
    asked,
    all.map(line => `jane: ${line}`),
  )
  const refusals = await Promise.all(all.map((_, i) => become({ allowed: all.toSpliced(i, 1), headers })))
  assert.deepEqual(
    refusals.map(({ refused }) => refused),
    [
      '403 users "bob" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope',
      '403 uids.authentication.k8s.io "u1" is forbidden: User "jane" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope',
      '403 groups "ops" is forbidden: User "jane" cannot impersonate resource "groups" in API group "" at the cluster scope',
      '403 userextras.authentication.k8s.io "view" is forbidden: User "jane" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope',
    ],
  )
})

test('service accounts bring their groups, the anonymous user its own', async () => {
  const account = await become({
    allowed: ['impersonate /serviceaccounts ns/a'],
    headers: [['Impersonate-User', 'system:serviceaccount:ns:a']],
  })
  assert.deepEqual(account.user!.groups, ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'])
  const anonymous = await become({ allowed: ['impersonate /users system:anonymous'], headers: [['Impersonate-User', 'system:anonymous']] })
  assert.deepEqual(anonymous.user!.groups, ['system:unauthenticated'])
  const unknown = await become({
    allowed: ['impersonate /users bob', 'impersonate /groups system:unauthenticated'],
    headers: [
      ['Impersonate-User', 'bob'],
      ['Impersonate-Group', 'system:unauthenticated'],
    ],
  })
  assert.deepEqual(unknown.user!.groups, ['system:unauthenticated'])
})

test('the right may be given for some requests alone', async () => {
  const headers: [string, string][] = [['Impersonate-User', 'bob']]
  const allowed = ['impersonate-on:user-info:list /pods default/', 'impersonate:user-info authentication.k8s.io/users bob']
  const { user, asked } = await become({ allowed, headers, isConstrained: true })
  assert.deepEqual(user, { name: 'bob', groups: ['system:authenticated'] })
  assert.deepEqual(
    asked,
    allowed.map(line => `jane: ${line}`),
  )
  const other = { ...LIST_PODS, verb: 'delete' }
  const { refused } = await become({ allowed, headers, isConstrained: true, attributes: other })
  assert.equal(
    refused,
    '403 pods is forbidden: User "jane" cannot impersonate-on:user-info:delete resource "pods" in API group "" in the namespace "default"',
  )
  const whole = await become({ allowed: ['impersonate /users bob'], headers, isConstrained: true })
  assert.equal(whole.user!.name, 'bob')
})

test('a constrained right never makes masters, nodes only of the name, and accounts run as their own node', async () => {
  const on = (mode: string) => `impersonate-on:${mode}:list /pods default/`
  const masters = await become({
    allowed: [
      on('user-info'),
      'impersonate:user-info authentication.k8s.io/users bob',
      'impersonate:user-info authentication.k8s.io/groups system:masters',
    ],
    headers: [
      ['Impersonate-User', 'bob'],
      ['Impersonate-Group', 'system:masters'],
    ],
    isConstrained: true,
  })
  assert.match(masters.refused!, /: impersonating the system:masters group is not allowed$/)
  const node = await become({
    allowed: [on('arbitrary-node'), 'impersonate:arbitrary-node authentication.k8s.io/nodes n1'],
    headers: [['Impersonate-User', 'system:node:n1']],
    isConstrained: true,
  })
  assert.deepEqual(node.user, { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] })
  const agent: User = {
    name: 'system:serviceaccount:ns:agent',
    groups: [],
    extra: { 'authentication.kubernetes.io/node-name': ['n1'], 'authentication.kubernetes.io/pod-name': ['p'] },
  }
  const asAgent = (name: string) =>
    become({
      allowed: [on('associated-node'), 'impersonate:associated-node authentication.k8s.io/nodes *'],
      headers: [['Impersonate-User', name]],
      requestor: agent,
      isConstrained: true,
    })
  assert.equal((await asAgent('system:node:n1')).user?.name, 'system:node:n1')
  assert.match((await asAgent('system:node:n2')).refused!, /cannot impersonate-on:arbitrary-node:list/)
})

test('many groups are asked for at once first, and invalid keys of extra are reported', async () => {
  const groups = ['a', 'b', 'c', 'd']
  const headers: [string, string][] = [['Impersonate-User', 'bob'], ...groups.map(g => ['Impersonate-Group', g] as [string, string])]
  const allowed = [
    'impersonate-on:user-info:list /pods default/',
    'impersonate:user-info authentication.k8s.io/users bob',
    'impersonate:user-info authentication.k8s.io/groups *',
  ]
  const { user } = await become({ allowed, headers, isConstrained: true })
  assert.deepEqual(user!.groups, [...groups, 'system:authenticated'])
  const { refused } = await become({
    allowed,
    headers: [
      ['Impersonate-User', 'bob'],
      ['Impersonate-Extra-scopes', 'x'],
    ],
    isConstrained: true,
  })
  assert.match(
    refused!,
    /impersonating an invalid key in extra is not allowed: extra\.key: Invalid value: "scopes": must be a domain-prefixed path/,
  )
})
