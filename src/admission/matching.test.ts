import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributesOf } from '../../test/kits/admission.ts'
import { ConfigMap } from '../kinds/core/configmap.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import { resourceOf } from '../schema/resource.ts'
import type { Attributes } from './attributes.ts'
import { type MatchCriteria, RequestMatcher } from './matching.ts'

const configMaps = resourceOf(ConfigMap, 'k8s.io')
const namespaces = resourceOf(Namespace, 'k8s.io')
const rule = (more: object = {}) => ({ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'], ...more })

const configMap = (more: Partial<Attributes> = {}, labels: Record<string, string> = {}) =>
  attributesOf(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', labels } }, { namespace: 'n', name: 'c', ...more })
const namespaceOf = (name: string) =>
  name === 'n' ? { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { team: 'a' } } } : undefined
const outcome = (criteria: MatchCriteria, attributes: Attributes) => {
  const match = new RequestMatcher(criteria).match(attributes, namespaceOf)
  return match.matches ? 'matches' : match.because
}

const rules: [what: string, rule: object, request: Partial<Attributes>, expected: string][] = [
  ['the very resource', {}, {}, 'matches'],
  ['all of everything', { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }, {}, 'matches'],
  ['another operation', { operations: ['UPDATE'] }, {}, 'rules'],
  ['another version', { apiVersions: ['v2'] }, {}, 'rules'],
  ['another group', { apiGroups: ['apps'] }, {}, 'rules'],
  ['the object where the request is about a subresource', {}, { subresource: 'status' }, 'rules'],
  ['all resources but not their subresources', { resources: ['*'] }, { subresource: 'status' }, 'rules'],
  ['all subresources of all', { resources: ['*/*'] }, { subresource: 'status' }, 'matches'],
  ['all subresources, which the object itself is among', { resources: ['*/*'] }, {}, 'matches'],
  ['one subresource of all', { resources: ['*/scale'] }, { subresource: 'status' }, 'rules'],
  ['objects of namespaces', { scope: 'Namespaced' }, {}, 'matches'],
  ['objects of the cluster', { scope: 'Cluster' }, {}, 'rules'],
  ['an object by its name', { resourceNames: ['c'] }, {}, 'matches'],
  ['another object by its name', { resourceNames: ['d'] }, {}, 'rules'],
]
for (const [what, more, request, expected] of rules)
  test(`a rule that names ${what}: ${expected}`, () => {
    assert.equal(outcome({ rules: [rule(more)] }, configMap(request)), expected)
  })

test('an excluded resource is not matched', () => {
  assert.equal(outcome({ rules: [rule()], excludeRules: [rule({ resourceNames: ['c'] })] }, configMap()), 'excludeResourceRules')
  assert.equal(outcome({ rules: [rule()], excludeRules: [rule({ resourceNames: ['d'] })] }, configMap()), 'matches')
})

test('without rules a binding matches everything, and a webhook nothing', () => {
  assert.equal(outcome({ rules: [], matchesWithoutRules: true }, configMap()), 'matches')
  assert.equal(outcome({ rules: [] }, configMap()), 'rules')
})

test('labels of the namespace decide, and those of a namespace itself where that is written', () => {
  const team = (a: string) => ({ namespaceSelector: { matchLabels: { team: a } } })
  assert.equal(outcome({ rules: [rule()], ...team('a') }, configMap()), 'matches')
  assert.equal(outcome({ rules: [rule()], ...team('b') }, configMap()), 'namespaceSelector')
  assert.throws(() => outcome({ rules: [rule()], ...team('a') }, configMap({ namespace: 'gone' })), /namespaces "gone" not found/)
  const written = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new', labels: { team: 'b' } } }
  const request = attributesOf(namespaces, written, { namespace: 'new', name: 'new' })
  assert.equal(outcome({ rules: [rule({ resources: ['namespaces'] })], ...team('b') }, request), 'matches')
})

test('an object is selected by its new labels or by its old ones', () => {
  const criteria = { rules: [rule({ operations: ['*'] })], objectSelector: { matchLabels: { a: 'b' } } }
  const old = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', labels: { a: 'b' } } }
  assert.equal(outcome(criteria, configMap()), 'objectSelector')
  assert.equal(outcome(criteria, configMap({}, { a: 'b' })), 'matches')
  assert.equal(outcome(criteria, configMap({ operation: 'UPDATE', oldObject: old })), 'matches')
  assert.equal(outcome(criteria, configMap({ operation: 'DELETE', object: undefined, oldObject: old })), 'matches')
})

test('a missing namespace is an error only for what matches otherwise', () => {
  const criteria = { rules: [rule()], namespaceSelector: { matchLabels: { a: 'b' } }, objectSelector: { matchLabels: { a: 'b' } } }
  assert.equal(outcome(criteria, configMap({ namespace: 'gone' })), 'objectSelector')
  assert.throws(() => outcome(criteria, configMap({ namespace: 'gone' }, { a: 'b' })), /namespaces "gone" not found/)
})
