import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuditPolicy, type PolicyDocument, validatePolicy } from './policy.ts'

const jane = { name: 'jane', groups: ['dev', 'system:authenticated'] }
const pods = (more: object = {}) => ({
  verb: 'get',
  path: '/api/v1/namespaces/a/pods/p',
  resource: { group: '', version: 'v1', plural: 'pods', subresource: '', namespace: 'a', name: 'p', ...more },
})
const version = { verb: 'get', path: '/version' }

const levelOf = (rule: object, attributes: object = pods(), user: typeof jane | undefined = jane) =>
  new AuditPolicy({ rules: [{ level: 'Metadata', ...rule }] } as PolicyDocument).ruleFor(user, attributes as never).level

test('the first rule that matches decides, and a request that none matches is not recorded', () => {
  const policy = new AuditPolicy({
    rules: [
      { level: 'None', users: ['jane'], verbs: ['watch'] },
      { level: 'Request', users: ['jane'] },
      { level: 'Metadata', userGroups: ['dev'] },
    ],
    omitStages: ['RequestReceived'],
  } as PolicyDocument)
  assert.equal(policy.ruleFor(jane, pods()).level, 'Request')
  assert.equal(policy.ruleFor(jane, { ...pods(), verb: 'watch' }).level, 'None')
  assert.equal(policy.ruleFor({ name: 'joe', groups: ['dev'] }, pods()).level, 'Metadata')
  assert.equal(policy.ruleFor({ name: 'joe', groups: [] }, pods()).level, 'None')
  assert.equal(policy.ruleFor(undefined, pods()).level, 'None')
})

test('rules match users, groups, verbs, resources, names, namespaces and paths', () => {
  for (const [rule, attributes, matches] of [
    [{ resources: [{ group: '' }] }, pods(), true],
    [{ resources: [{ group: 'apps' }] }, pods(), false],
    [{ resources: [{ group: '*' }] }, pods(), true],
    [{ resources: [{ resources: ['pods'] }] }, pods(), true],
    [{ resources: [{ resources: ['pods'] }] }, pods({ subresource: 'log' }), false],
    [{ resources: [{ resources: ['pods/log'] }] }, pods({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['*/log'] }] }, pods({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['pods/*'] }] }, pods({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['pods/*'] }] }, pods(), true],
    [{ resources: [{ resources: ['*'] }] }, pods({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['pods'], resourceNames: ['q'] }] }, pods(), false],
    [{ resources: [{ resources: ['pods'], resourceNames: ['p', 'q'] }] }, pods(), true],
    [{ namespaces: ['a'] }, pods(), true],
    [{ namespaces: [''] }, pods(), false],
    [{ namespaces: [''] }, pods({ namespace: '' }), true],
    [{ namespaces: ['a'] }, version, false],
    [{ nonResourceURLs: ['/version'] }, version, true],
    [{ nonResourceURLs: ['/ver*'] }, version, true],
    [{ nonResourceURLs: ['*'] }, version, true],
    [{ nonResourceURLs: ['*'] }, pods(), false],
    [{ nonResourceURLs: ['/versions'] }, version, false],
    [{}, version, true],
  ] as const)
    assert.equal(levelOf(rule, attributes) === 'Metadata', matches, JSON.stringify([rule, attributes]))
})

test('stages of the policy and of the rule are both omitted; the rule decides about managed fields', () => {
  const rules = [{ level: 'Metadata', omitStages: ['Panic'], omitManagedFields: false }]
  const rule = new AuditPolicy({ rules, omitStages: ['RequestReceived'], omitManagedFields: true } as PolicyDocument).ruleFor(jane, pods())
  assert.deepEqual([...rule.omitStages], ['RequestReceived', 'Panic'])
  assert.equal(rule.omitManagedFields, false)
})

test("mistakes are reported with kube-apiserver's messages", () => {
  const errors = (rule: object, more: object = {}) =>
    Array.from(validatePolicy({ rules: [rule], ...more } as PolicyDocument), ({ field, message }) => `${field}: ${message}`)
  assert.deepEqual(errors({ level: 'Metadata' }), [])
  assert.deepEqual(errors({ level: '' }), ['rules[0].level: Required value'])
  assert.deepEqual(errors({ level: 'All' }), [
    'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
  ])
  assert.deepEqual(errors({ level: 'None', nonResourceURLs: ['a*b', '*'] }), [
    `rules[0].nonResourceURLs[0]: Invalid value: "a*b": non-resource URL rules must begin with a '/' character`,
    `rules[0].nonResourceURLs[0]: Invalid value: "a*b": non-resource URL wildcards '*' must be the final character of the rule`,
  ])
  assert.deepEqual(errors({ level: 'None', nonResourceURLs: ['/a'], namespaces: ['b'] }), [
    'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
  ])
  assert.deepEqual(errors({ level: 'None', resources: [{ group: 'apps/v1' }] }).length, 1)
  assert.match(
    errors({ level: 'None', resources: [{ group: 'apps/v1' }] })[0]!,
    /^rules\[0\]\.resources\.group: Invalid value: "apps\/v1": /,
  )
  assert.deepEqual(errors({ level: 'None', resources: [{ resourceNames: ['a'] }] }), [
    'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
  ])
  assert.deepEqual(errors({ level: 'None' }, { omitStages: ['Later'] }), [
    'omitStages[0]: Invalid value: "Later": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
  ])
})
