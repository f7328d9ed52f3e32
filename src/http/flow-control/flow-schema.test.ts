import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distinguisherOf, type FlowSchema, inOrder, matchesSchema, type PolicyRules } from './flow-schema.ts'

const schema = (rules: PolicyRules, more: Partial<FlowSchema> = {}): FlowSchema => ({
  name: 'test',
  uid: '',
  level: 'a',
  matchingPrecedence: 1000,
  distinguisher: undefined,
  rules: [rules],
  ...more,
})
const jane = { name: 'jane', groups: ['dev', 'system:authenticated'] }
const robot = { name: 'system:serviceaccount:team:robot', groups: ['system:serviceaccounts'] }
const ALL = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }
const pods = (verb: string, namespace = 'team', subresource = '') => ({
  verb,
  path: '/',
  resource: { group: '', version: 'v1', plural: 'pods', subresource, namespace, name: '' },
})

test('subjects are users, groups and service accounts, one or all of them', () => {
  const matches = (subject: object, user = jane) =>
    matchesSchema(schema({ subjects: [subject as never], resourceRules: [ALL] }), user, pods('get'))
  assert.ok(matches({ kind: 'User', user: { name: 'jane' } }))
  assert.ok(matches({ kind: 'User', user: { name: '*' } }))
  assert.ok(!matches({ kind: 'User', user: { name: 'joe' } }))
  assert.ok(matches({ kind: 'Group', group: { name: 'dev' } }))
  assert.ok(matches({ kind: 'Group', group: { name: '*' } }))
  assert.ok(!matches({ kind: 'Group', group: { name: 'ops' } }))
  assert.ok(matches({ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: 'robot' } }, robot))
  assert.ok(matches({ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: '*' } }, robot))
  assert.ok(!matches({ kind: 'ServiceAccount', serviceAccount: { namespace: 'tea', name: '*' } }, robot))
  assert.ok(!matches({ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: 'rob' } }, robot))
  assert.ok(!matches({ kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: '*' } }))
  assert.ok(!matches({ kind: 'User' }))
})

test('rules about resources name verbs, groups, resources and namespaces', () => {
  const matches = (rule: object, attributes = pods('get')) =>
    matchesSchema(schema({ subjects: [{ kind: 'Group', group: { name: '*' } }], resourceRules: [{ ...ALL, ...rule }] }), jane, attributes)
  assert.ok(matches({ verbs: ['list', 'get'] }))
  assert.ok(!matches({ verbs: ['list'] }))
  assert.ok(matches({ resources: ['pods'] }))
  assert.ok(!matches({ resources: ['pods'] }, pods('get', 'team', 'status')))
  assert.ok(matches({ resources: ['pods/status'] }, pods('get', 'team', 'status')))
  assert.ok(!matches({ apiGroups: ['apps'] }))
  assert.ok(matches({ apiGroups: [''] }))
  assert.ok(matches({ namespaces: ['team'] }))
  assert.ok(!matches({ namespaces: ['other'] }))
  assert.ok(!matches({ clusterScope: false }, pods('list', '')))
  assert.ok(matches({ clusterScope: true, namespaces: [] }, pods('list', '')))
  assert.ok(!matches({}, { verb: 'get', path: '/healthz' } as never))
})

test('rules about other paths name them, all below them, or all', () => {
  const matches = (path: string, nonResourceURLs: string[]) =>
    matchesSchema(
      schema({ subjects: [{ kind: 'User', user: { name: '*' } }], nonResourceRules: [{ verbs: ['get'], nonResourceURLs }] }),
      jane,
      { verb: 'get', path },
    )
  assert.ok(matches('/healthz', ['/healthz']))
  assert.ok(matches('/healthz/etcd', ['/healthz']))
  assert.ok(matches('/apis/apps', ['/apis/*']))
  assert.ok(matches('/anything', ['*']))
  assert.ok(!matches('/healthzz', ['/healthz']))
  assert.ok(!matches('/healthz', ['/livez']))
})

test('schemas are tried by precedence and name; flows differ by user or namespace', () => {
  const rules = {}
  const all = [schema(rules, { name: 'b' }), schema(rules, { name: 'a' }), schema(rules, { name: 'c', matchingPrecedence: 1 })]
  assert.equal(
    inOrder(all)
      .map(({ name }) => name)
      .join(''),
    'cab',
  )
  assert.equal(distinguisherOf(schema(rules, { distinguisher: 'ByUser' }), jane, pods('get')), 'jane')
  assert.equal(distinguisherOf(schema(rules, { distinguisher: 'ByNamespace' }), jane, pods('get')), 'team')
  assert.equal(distinguisherOf(schema(rules), jane, pods('get')), '')
})
