import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { attributesOf } from '../../test/kits/admission.ts'
import { ConfigMap } from '../kinds/core/configmap.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import { Node } from '../kinds/core/node.ts'
import { resourceOf } from '../schema/resource.ts'
import type { Attributes } from './attributes.ts'
import { MatchIndex } from './match-index.ts'
import { type MatchCriteria, RequestMatcher } from './matching.ts'

const configMaps = resourceOf(ConfigMap, 'k8s.io')
const namespaces = resourceOf(Namespace, 'k8s.io')
const nodes = resourceOf(Node, 'k8s.io')
const rule = (more: object = {}) => ({ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'], ...more })
const matcherOf = (criteria: Partial<MatchCriteria>) => ({ matcher: new RequestMatcher({ rules: [rule()], ...criteria }) })
const configMap = attributesOf(
  configMaps,
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', labels: { app: 'x' } } },
  { namespace: 'n', name: 'c' },
)
const namespaceOf = (name: string) =>
  name === 'n' ? { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { team: 'a' } } } : undefined

test('an index has those that may match, in their order, and the others', () => {
  const [a, b, c] = [
    matcherOf({}),
    matcherOf({ rules: [rule({ resources: ['secrets'] })] }),
    matcherOf({ rules: [rule({ resourceNames: ['e'] })] }),
  ]
  const index = new MatchIndex([a, b, c])
  assert.deepEqual(
    index.byRules(configMap).map(({ item, position }) => [item, position]),
    [
      [a, 0],
      [c, 2],
    ],
  )
  assert.deepEqual(index.others(configMap), [b])
})

test('what requires a label that is not there is not looked at', () => {
  const all = [
    matcherOf({ namespaceSelector: { matchLabels: { team: 'b' } } }),
    matcherOf({ namespaceSelector: { matchLabels: { team: 'a' } } }),
    matcherOf({ objectSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } }),
    matcherOf({ objectSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['y', 'z'] }] } }),
    matcherOf({ objectSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['x'] }] } }),
    matcherOf({}),
  ]
  const positions = new MatchIndex(all).byLabels(configMap, namespaceOf).map(({ position }) => position)
  assert.deepEqual(positions, [1, 2, 4, 5])
})

const labels = fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('1', '2'))
const selector = fc.record(
  {
    matchLabels: labels,
    matchExpressions: fc.array(
      fc.oneof(
        fc.record({ key: fc.constantFrom('a', 'b'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
        fc.record({
          key: fc.constantFrom('a', 'b'),
          operator: fc.constantFrom('In', 'NotIn'),
          values: fc.array(fc.constantFrom('1', '2'), { minLength: 1 }),
        }),
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
)
const criteria = fc.record({ namespaceSelector: selector, objectSelector: selector }, { requiredKeys: [] })

test('nothing that matches is left out, whatever the labels', () => {
  const all = fc.array(criteria, { maxLength: 8 })
  const about = fc.constantFrom(configMaps, namespaces, nodes)
  const operation = fc.constantFrom<Attributes['operation']>('CREATE', 'UPDATE', 'DELETE')
  fc.assert(
    fc.property(all, about, operation, labels, labels, labels, (given, resource, does, ofNamespace, ofObject, ofOld) => {
      const items = given.map(each => matcherOf({ ...(each as MatchCriteria), rules: [rule({ resources: ['*'] })] }))
      const object = (own: Record<string, string>) => ({ apiVersion: 'v1', kind: resource.kind, metadata: { name: 'c', labels: own } })
      const attributes = attributesOf(resource, object(ofObject), {
        operation: does,
        name: 'c',
        namespace: resource.namespaced ? 'n' : '',
        ...(does !== 'CREATE' && { oldObject: object(ofOld) }),
        ...(does === 'DELETE' && { object: undefined }),
      })
      const find = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: ofNamespace } })
      const found = new MatchIndex(items).byLabels(attributes, find).map(({ position }) => position)
      const matching = items.flatMap(({ matcher }, i) => (matcher.match(attributes, find).matches ? [i] : []))
      assert.deepEqual(
        found.filter(position => matching.includes(position)),
        matching,
      )
    }),
  )
})
