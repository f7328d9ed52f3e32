import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeferredPods } from './deferred-pods.ts'

test('pods are deferred on their node until they no longer have to wait, or are gone', () => {
  const deferred = new DeferredPods()
  deferred.set('n', 'a/p', { isDeferred: true })
  deferred.set('n', 'a/q', { isDeferred: true })
  deferred.set('m', 'a/r', { isDeferred: true })
  assert.deepEqual([[...deferred.on('n')], [...deferred.on('m')]], [['a/p', 'a/q'], ['a/r']])
  deferred.set('n', 'a/p', { isDeferred: false })
  deferred.forget('m', 'a/r')
  assert.deepEqual([[...deferred.on('n')], [...deferred.on('m')]], [['a/q'], []])
})
