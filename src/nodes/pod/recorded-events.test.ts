import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodEvent } from './pod-draft.ts'
import { RecordedEvents } from './recorded-events.ts'

const event = (reason: string, more: Partial<PodEvent> = {}): PodEvent => ({ type: 'Warning', reason, message: 'm', ...more })
const lasting = (reason: string, more: Partial<PodEvent> = {}) => event(reason, { ...more, repeats: true })

test('an event that lasts is news once, and again after it has ceased', () => {
  const recorded = new RecordedEvents()
  const failed = lasting('FailedMount')
  assert.deepEqual(recorded.news('p', [failed]), [failed])
  assert.deepEqual(recorded.news('p', [failed]), [])
  assert.deepEqual(recorded.news('p', []), [])
  assert.deepEqual(recorded.news('p', [failed]), [failed])
})

test('pods, messages and parts of a pod are told apart', () => {
  const recorded = new RecordedEvents()
  recorded.news('p', [lasting('Unhealthy', { fieldPath: 'a' })])
  for (const other of [lasting('Unhealthy', { fieldPath: 'b' }), lasting('Unhealthy', { fieldPath: 'a', message: 'n' })])
    assert.deepEqual(recorded.news('p', [lasting('Unhealthy', { fieldPath: 'a' }), other]), [other])
  assert.equal(recorded.news('q', [lasting('Unhealthy', { fieldPath: 'a' })]).length, 1)
})

test('an event that happens is news each time, and a pod that is forgotten begins anew', () => {
  const recorded = new RecordedEvents()
  const [started, failed] = [event('Started'), lasting('Failed')]
  assert.deepEqual(recorded.news('p', [started, failed]), [started, failed])
  assert.deepEqual(recorded.news('p', [started, failed]), [started])
  recorded.forget('p')
  assert.deepEqual(recorded.news('p', [failed]), [failed])
})
