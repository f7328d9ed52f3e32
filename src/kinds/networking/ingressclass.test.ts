import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { IngressClass } from './ingressclass.ts'

const controller = 'example.com/controller'
const withParameters = (more: object) => ({ spec: { controller, parameters: { kind: 'K', name: 'n', ...more } } })

test('the controller is a domain and a path', () => {
  assert.deepEqual(check(IngressClass, { spec: { controller } }), [])
  assert.deepEqual(check(IngressClass, {}), ['spec.controller: Required value'])
  assert.deepEqual(check(IngressClass, { spec: { controller: 'nginx' } }), [
    'spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as "acme.io/foo")',
  ])
  assert.ok(
    check(IngressClass, { spec: { controller: `${controller}${'x'.repeat(250)}` } }).includes(
      'spec.controller: Too long: may not be more than 250 bytes',
    ),
  )
})

test('the controller does not change', () => {
  assert.deepEqual(check(IngressClass, { spec: { controller: 'example.com/other' } }, { old: { spec: { controller } } }), [
    'spec.controller: Invalid value: "example.com/other": field is immutable',
  ])
})

test('parameters are of the cluster unless they say otherwise, and then name a namespace', () => {
  assert.equal(withDefaults(IngressClass, withParameters({})).spec.parameters.scope, 'Cluster')
  assert.deepEqual(check(IngressClass, withParameters({})), [])
  assert.deepEqual(check(IngressClass, withParameters({ namespace: 'a' })), [
    "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
  ])
  assert.deepEqual(check(IngressClass, withParameters({ scope: 'Namespace' })), [
    "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
  ])
  assert.deepEqual(check(IngressClass, withParameters({ scope: 'Galaxy' })), [
    'spec.parameters.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespace"',
  ])
  assert.deepEqual(check(IngressClass, withParameters({ kind: '', name: 'a/b' })), [
    'spec.parameters.kind: Required value',
    'spec.parameters.name: Invalid value: "a/b": may not contain \'/\'',
  ])
})

test('its table marks the default class and shows the parameters', () => {
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' }
  const shown = cells(IngressClass, { metadata: { name: 'web', annotations }, ...withParameters({ apiGroup: 'example.com' }) })
  assert.deepEqual([shown['Name'], shown['Parameters']], ['web (default)', 'K.example.com/n'])
  assert.equal(cells(IngressClass, {})['Parameters'], '<none>')
})
