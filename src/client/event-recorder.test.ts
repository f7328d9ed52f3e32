import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EventDraft, type EventWriter, eventRecorder } from './event-recorder.ts'

test('components that record events about one object in the same millisecond lose none', async () => {
  const created = new Map<string, EventDraft>()
  const events: EventWriter = {
    now: () => new Date('2026-07-01T12:00:00.123Z'),
    async create(event) {
      assert.ok(!created.has(event.metadata.name), `${event.metadata.name} exists`)
      created.set(event.metadata.name, event)
    },
    patch: async () => false,
  }
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { namespace: 'default', name: 'data', uid: '1' } }
  const recorders = Array.from({ length: 20 }, (_, i) => eventRecorder({ events, component: `component-${i}`, onError: assert.ifError }))
  for (const recorder of recorders) for (const reason of ['Began', 'Succeeded']) recorder.event(claim, 'Normal', reason, 'done')
  await Promise.all(recorders.map(recorder => recorder.flushed()))
  assert.equal(created.size, 40)
  for (const name of created.keys()) assert.match(name, /^data\.[0-9a-f]{16}$/)
})
