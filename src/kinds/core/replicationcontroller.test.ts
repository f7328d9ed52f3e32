import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { ReplicationController } from './replicationcontroller.ts'

const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }

test('selector and labels default to those of the template', () => {
  const { metadata, spec } = withDefaults(ReplicationController, { spec: { template } })
  assert.deepEqual([metadata.labels, spec.selector, spec.replicas], [labels, labels, 1])
})

test('a controller needs a template that its selector matches', () => {
  assert.deepEqual(check(ReplicationController, { spec: { template } }), [])
  assert.deepEqual(check(ReplicationController, {}), ['spec.selector: Required value', 'spec.template: Required value'])
  assert.deepEqual(check(ReplicationController, { spec: { template, selector: { app: 'db' } } }), [
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ])
})

test('its pods run for good', () => {
  const ending = { ...template, spec: { ...template.spec, restartPolicy: 'Never', activeDeadlineSeconds: 5 } }
  assert.deepEqual(check(ReplicationController, { spec: { template: ending } }), [
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported',
  ])
})

test('what could not be converted has to stay', () => {
  const annotations = { 'non-convertible.kubernetes.io/spec.selector': 'x' }
  const old = { metadata: { annotations }, spec: { template } }
  const more = { ...template, metadata: { labels: { ...labels, tier: 'a' } } }
  assert.deepEqual(check(ReplicationController, { metadata: { annotations }, spec: { template: more } }, { old }), [
    'spec.selector: Invalid value: {"app":"web","tier":"a"}: cannot update non-convertible selector',
  ])
})

test('no part of the replicas outnumbers the whole', () => {
  const stored = { spec: { template } }
  assert.deepEqual(checkSubresource(ReplicationController, 'status', { status: { replicas: 1, readyReplicas: 2 } }, stored), [
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ])
})

test('names that make poor host names are warned about', () => {
  assert.equal(warnings(ReplicationController, { metadata: { name: 'a.b' }, spec: { template } }).length, 1)
})

test('its size is read and set through scale, with the selector as text', () => {
  const { scale } = ReplicationController.def.subresources!
  const o = withDefaults(ReplicationController, { spec: { template, replicas: 3, selector: { b: 'c', app: 'web' } } })
  assert.deepEqual([scale!.replicas(o), scale!.selector(o)], [3, 'app=web,b=c'])
})

test('its table shows the containers', () => {
  const { Age: _, ...shown } = cells(ReplicationController, { spec: { template } })
  assert.deepEqual(shown, { Desired: 1, Current: 0, Ready: 0, Containers: 'c', Images: 'i', Selector: 'app=web' })
})
