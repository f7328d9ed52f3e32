import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PolicyRule } from '../kinds/rbac/policy-rule.ts'
import type { Attributes, Decision } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import { rbacAuthorizer } from './rbac.ts'
import { RoleIndex, type RoleResource } from './role-index.ts'

type Subject = { kind: string; name: string; namespace?: string; apiGroup?: string }
type Role = { namespace: string; name: string; rules: PolicyRule[] }
type Binding = { namespace: string; name: string; roleRef: { kind: string; name: string; apiGroup: string }; subjects: Subject[] }

const REQUEST = { signal: new AbortController().signal }
const apiGroup = 'rbac.authorization.k8s.io'
const resourceOf = ({ namespace }: { namespace: string }, what: 'role' | 'binding'): RoleResource =>
  what === 'role' ? (namespace === '' ? 'clusterroles' : 'roles') : namespace === '' ? 'clusterrolebindings' : 'rolebindings'

function indexOf(roles: readonly Role[], bindings: readonly Binding[]): RoleIndex {
  const index = new RoleIndex()
  for (const role of roles) index.put(resourceOf(role, 'role'), { ...role, read: () => role })
  for (const binding of bindings) index.put(resourceOf(binding, 'binding'), { ...binding, read: () => binding })
  return index
}
const decide = (index: RoleIndex, user: User, attributes: Attributes) =>
  rbacAuthorizer(index, 'k8s.io').authorize(user, attributes, REQUEST) as Decision

/** The question as kube-apiserver goes about it: every binding, every rule. */
function naive(roles: readonly Role[], bindings: readonly Binding[], user: User, { verb, path, resource }: Attributes): boolean {
  const applies = ({ kind, name, namespace }: Subject, ownNamespace: string) => {
    if (kind === 'User') return user.name === name
    if (kind === 'Group') return user.groups.includes(name)
    return (namespace ?? ownNamespace) !== '' && user.name === `system:serviceaccount:${namespace ?? ownNamespace}:${name}`
  }
  const allows = ({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule) => {
    if (!verbs.some(each => each === '*' || each === verb)) return false
    if (!resource) return nonResourceURLs.some(url => url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, ''))))
    const { group, plural, subresource, name } = resource
    const whole = subresource === '' ? plural : `${plural}/${subresource}`
    return (
      apiGroups.some(each => each === '*' || each === group) &&
      resources.some(each => each === '*' || each === whole || (subresource !== '' && each === `*/${subresource}`)) &&
      (resourceNames.length === 0 || resourceNames.includes(name))
    )
  }
  return bindings.some(({ namespace, roleRef, subjects }) => {
    if (namespace !== '' && namespace !== resource?.namespace) return false
    const ownNamespace = roleRef.kind === 'Role' ? namespace : ''
    const role = roles.find(each => each.namespace === ownNamespace && each.name === roleRef.name)
    return subjects.some(subject => applies(subject, namespace)) && (role?.rules.some(allows) ?? false)
  })
}

const few = <T>(...values: T[]) => fc.constantFrom(...values)
const some = <T>(arb: fc.Arbitrary<T>, max = 3) => fc.array(arb, { minLength: 1, maxLength: max })
const rules = fc.oneof(
  fc.record({
    verbs: some(few('get', 'list', 'update', '*')),
    apiGroups: some(few('', 'apps', '*', 'a/b')),
    resources: some(few('pods', 'pods/log', '*/scale', '*', 'deployments', 'deployments/scale', 'b/pods')),
    resourceNames: fc.oneof(fc.constant<string[]>([]), some(few('a', 'b'))),
  }),
  fc.record({ verbs: some(few('get', 'post', '*')), nonResourceURLs: some(few('/healthz', '/api/*', '*', '/a**', '/')) }),
)
const NAMESPACES = ['', 'one', 'two']
const roles = fc.uniqueArray(
  fc.record({ namespace: few(...NAMESPACES), name: few('r1', 'r2', 'r3'), rules: fc.array(rules, { maxLength: 3 }) }),
  { maxLength: 6, selector: ({ namespace, name }) => `${namespace}/${name}` },
)
const subjects = fc.oneof(
  fc.record({ kind: few('User'), name: few('jane', 'joe', 'system:serviceaccount:one:bot'), apiGroup: fc.constant(apiGroup) }),
  fc.record({ kind: few('Group'), name: few('devs', 'ops', 'jane'), apiGroup: fc.constant(apiGroup) }),
  fc.record({ kind: few('ServiceAccount'), name: few('bot'), namespace: few('one', 'two') }),
  fc.record({ kind: few('ServiceAccount'), name: few('bot') }),
)
const bindings = fc
  .uniqueArray(
    fc.record({
      namespace: few(...NAMESPACES),
      name: few('b1', 'b2', 'b3'),
      roleRef: fc.record({ kind: few('Role', 'ClusterRole'), name: few('r1', 'r2', 'r3', 'gone'), apiGroup: fc.constant(apiGroup) }),
      subjects: fc.array(subjects, { maxLength: 3 }),
    }),
    { maxLength: 8, selector: ({ namespace, name }) => `${namespace}/${name}` },
  )
  .map(all => all.filter(({ namespace, roleRef }) => namespace !== '' || roleRef.kind === 'ClusterRole'))
const users = fc.record({
  name: few('jane', 'joe', 'system:serviceaccount:one:bot', 'system:serviceaccount:two:bot'),
  groups: fc.array(few('devs', 'ops', 'others'), { maxLength: 2 }),
})
const questions: fc.Arbitrary<Attributes> = fc.oneof(
  fc.record({
    verb: few('get', 'list', 'update', '*'),
    path: fc.constant(''),
    resource: fc.record({
      group: few('', 'apps', 'a', 'a/b'),
      version: fc.constant('v1'),
      plural: few('pods', 'deployments', 'b/pods'),
      subresource: few('', 'log', 'scale'),
      namespace: few(...NAMESPACES),
      name: few('', 'a', 'b'),
    }),
  }),
  fc.record({ verb: few('get', 'post'), path: few('/healthz', '/healthz/x', '/api', '/api/v1', '/', '/a*') }),
)

test('property: the index decides as a scan over all bindings and rules', () => {
  fc.assert(
    fc.property(roles, bindings, users, questions, (roles, bindings, user, question) => {
      const { verdict } = decide(indexOf(roles, bindings), user, question)
      assert.equal(verdict, naive(roles, bindings, user, question) ? 'allow' : 'no-opinion')
    }),
    { numRuns: 3000 },
  )
})

test('property: an index that followed changes decides as one built from the final objects', () => {
  fc.assert(
    fc.property(roles, bindings, roles, bindings, users, questions, (oldRoles, oldBindings, newRoles, newBindings, user, question) => {
      const index = indexOf(oldRoles, oldBindings)
      decide(index, user, question)
      for (const role of oldRoles) index.remove(resourceOf(role, 'role'), role)
      for (const role of newRoles) index.put(resourceOf(role, 'role'), { ...role, read: () => role })
      decide(index, user, question)
      for (const binding of newBindings) index.put(resourceOf(binding, 'binding'), { ...binding, read: () => binding })
      const stays = new Set(newBindings.map(({ namespace, name }) => `${namespace}/${name}`))
      for (const binding of oldBindings)
        if (!stays.has(`${binding.namespace}/${binding.name}`)) index.remove(resourceOf(binding, 'binding'), binding)
      assert.equal(decide(index, user, question).verdict, naive(newRoles, newBindings, user, question) ? 'allow' : 'no-opinion')
    }),
    { numRuns: 500 },
  )
})

const bind = (name: string, namespace: string, role: string, ...subjects: Subject[]): Binding => {
  const [kind, roleName] = role.split(' ') as [string, string]
  return { namespace, name, roleRef: { kind, name: roleName, apiGroup }, subjects }
}
const reader: Role = { namespace: '', name: 'reader', rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] }
const getPod: Attributes = {
  verb: 'get',
  path: '',
  resource: { group: '', version: 'v1', plural: 'pods', subresource: '', namespace: 'one', name: '' },
}

test('the reason names the binding and the subject that allowed a request', () => {
  const jane = { name: 'jane', groups: ['devs'] }
  const reason = (binding: Binding, user: User = jane) => decide(indexOf([reader], [binding]), user, getPod).reason
  const group = { kind: 'Group', name: 'devs' }
  const allowed = 'RBAC: allowed by'
  assert.equal(
    reason(bind('b', '', 'ClusterRole reader', group)),
    `${allowed} ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"`,
  )
  assert.equal(
    reason(bind('b', 'one', 'ClusterRole reader', { kind: 'User', name: 'x' }, { kind: 'User', name: 'jane' }, group)),
    `${allowed} RoleBinding "b/one" of ClusterRole "reader" to User "jane"`,
  )
  const bot = { name: 'system:serviceaccount:one:bot', groups: [] }
  assert.equal(
    reason(bind('b', 'one', 'ClusterRole reader', { kind: 'ServiceAccount', name: 'bot' }), bot),
    `${allowed} RoleBinding "b/one" of ClusterRole "reader" to ServiceAccount "bot/one"`,
  )
})

test('missing roles are reported once each, and other bindings still apply', () => {
  const user = { name: 'jane', groups: ['devs'] }
  const jane = { kind: 'User', name: 'jane' }
  const devs = { kind: 'Group', name: 'devs' }
  const gone = [bind('a', '', 'ClusterRole x', jane, devs), bind('b', 'one', 'Role y', jane), bind('c', '', 'ClusterRole x', devs)]
  assert.deepEqual(decide(indexOf([], gone.slice(0, 1)), user, getPod), {
    verdict: 'no-opinion',
    reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
  })
  assert.equal(
    decide(indexOf([], gone), user, getPod).reason,
    'RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found, role.rbac.authorization.k8s.io "y" not found]',
  )
  assert.equal(decide(indexOf([reader], [...gone, bind('z', '', 'ClusterRole reader', jane)]), user, getPod).verdict, 'allow')
})

test('a changed role takes effect at once, and an unchanged one is compiled once', () => {
  let reads = 0
  const index = indexOf([], [bind('b', '', 'ClusterRole reader', { kind: 'User', name: 'jane' })])
  const note = (rules: PolicyRule[]) =>
    index.put('clusterroles', {
      namespace: '',
      name: 'reader',
      read: () => {
        reads++
        return { rules }
      },
    })
  const jane = { name: 'jane', groups: [] }
  note(reader.rules)
  for (let i = 0; i < 3; i++) assert.equal(decide(index, jane, getPod).verdict, 'allow')
  assert.equal(reads, 1)
  note([])
  assert.equal(decide(index, jane, getPod).verdict, 'no-opinion')
  assert.equal(reads, 2)
})

test('the rules of a user include those of the namespace', () => {
  const other: Role = { namespace: 'one', name: 'other', rules: [{ verbs: ['*'], nonResourceURLs: ['/x'] }] }
  const jane = { kind: 'User', name: 'jane' }
  const index = indexOf([reader, other], [bind('b', '', 'ClusterRole reader', jane, jane), bind('c', 'one', 'Role other', jane)])
  const { rulesFor } = rbacAuthorizer(index, 'k8s.io')
  const user = { name: 'jane', groups: [] }
  assert.deepEqual(rulesFor(user, 'one'), {
    resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/x'] }],
    incomplete: false,
  })
  assert.deepEqual(rulesFor(user, 'two').nonResourceRules, [])
})

test('rules with very many groups and resources decide correctly without an index entry per pair', () => {
  const many = (word: string, n: number) => Array.from({ length: n }, (_, i) => `${word}${i}`)
  const rules = [{ verbs: ['get'], apiGroups: ['', ...many('g', 20_000)], resources: ['pods', '*/scale', ...many('r', 20_000)] }]
  const index = indexOf([{ namespace: '', name: 'wide', rules }], [bind('b', '', 'ClusterRole wide', { kind: 'User', name: 'jane' })])
  const ask = (resource: object, verb = 'get') =>
    decide(index, { name: 'jane', groups: [] }, { ...getPod, verb, resource: { ...getPod.resource!, ...resource } }).verdict
  assert.deepEqual([ask({}), ask({ group: 'g7', plural: 'r9' }), ask({ plural: 'x', subresource: 'scale' })], ['allow', 'allow', 'allow'])
  assert.deepEqual(
    [ask({}, 'list'), ask({ group: 'h' }), ask({ subresource: 'log' }), ask({ plural: 'x' })],
    ['no-opinion', 'no-opinion', 'no-opinion', 'no-opinion'],
  )
})
