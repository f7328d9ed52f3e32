import assert from 'node:assert/strict'
import { test } from 'node:test'
import { abortSignalOf, Cancellable } from './cancellation.ts'

test('listeners are told once, unless they have left', () => {
  const cancellable = new Cancellable()
  const told: string[] = []
  const leaving = () => told.push('who left')
  cancellable.addEventListener('abort', () => told.push('first'))
  cancellable.addEventListener('abort', leaving)
  cancellable.addEventListener('abort', () => told.push('second'))
  cancellable.removeEventListener('abort', leaving)
  assert.equal(cancellable.aborted, false)
  const reason = new Error('gone')
  cancellable.abort(reason)
  cancellable.abort(new Error('later'))
  cancellable.addEventListener('abort', () => told.push('too late'))
  assert.deepEqual(told, ['first', 'second'])
  assert.equal(cancellable.aborted, true)
  assert.equal(cancellable.reason, reason)
})

test('Node takes one as a signal', () => {
  const cancellable = new Cancellable()
  const signal = abortSignalOf(cancellable)
  const reason = new Error('gone')
  cancellable.abort(reason)
  assert.equal(signal.reason, reason)
  assert.equal(abortSignalOf(cancellable).reason, reason)
  assert.equal(abortSignalOf(signal), signal)
})
