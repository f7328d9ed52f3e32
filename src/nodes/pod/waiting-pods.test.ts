import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Missing } from './references.ts'
import { WaitingPods } from './waiting-pods.ts'

const missing = (...objects: Missing['objects'][number][]): Missing => ({ message: '', objects })

test('pods are found by the object that they wait for, in their namespace', () => {
  const waiting = new WaitingPods()
  waiting.set('a/p', 'a', [missing({ plural: 'configmaps', name: 'm' }), missing({ plural: 'secrets', name: 's' })])
  waiting.set('a/q', 'a', [missing({ plural: 'configmaps', name: 'm' })])
  assert.deepEqual([...waiting.for('configmaps', 'a', 'm')], ['a/p', 'a/q'])
  assert.deepEqual([...waiting.for('secrets', 'a', 's')], ['a/p'])
  assert.deepEqual([...waiting.for('configmaps', 'b', 'm')], [])
})

test('objects of the cluster are found whatever the namespace of the pod', () => {
  const waiting = new WaitingPods()
  for (const plural of ['clustertrustbundles', 'signers', 'volumeattachments'] as const) {
    waiting.set('a/p', 'a', [missing({ plural, name: 'x' })])
    assert.deepEqual([...waiting.for(plural, '', 'x')], ['a/p'])
  }
})

test('a pod waits for the objects that were set last, and for none when it is forgotten', () => {
  const waiting = new WaitingPods()
  waiting.set('a/p', 'a', [missing({ plural: 'configmaps', name: 'm' })])
  waiting.set('a/p', 'a', [missing({ plural: 'secrets', name: 's' })])
  assert.deepEqual([[...waiting.for('configmaps', 'a', 'm')], [...waiting.for('secrets', 'a', 's')]], [[], ['a/p']])
  waiting.forget('a/p')
  assert.deepEqual([...waiting.for('secrets', 'a', 's')], [])
  waiting.set('a/p', 'a', [missing()])
  assert.deepEqual([...waiting.for('secrets', 'a', 's')], [])
})
