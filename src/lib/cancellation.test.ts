import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { abortedWith, abortSignalOf, Cancellable } from './cancellation.ts'

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

test('a controller is aborted with the first of some signals, and none of them holds it afterwards', () => {
  const [first, second] = [new AbortController(), new AbortController()]
  const listening = () => [first, second].map(({ signal }) => getEventListeners(signal, 'abort').length)
  const following = abortedWith(first.signal, second.signal)
  assert.deepEqual(listening(), [1, 1])
  const reason = new Error('gone')
  second.abort(reason)
  assert.equal(following.signal.reason, reason)
  assert.deepEqual(listening(), [0, 0])
  assert.equal(abortedWith(first.signal, second.signal).signal.reason, reason)
  const needed = abortedWith(first.signal)
  needed.abort()
  assert.deepEqual(listening(), [0, 0])
  assert.equal(first.signal.aborted, false)
})
