import assert from 'node:assert/strict'
import test from 'node:test'
import { widgets } from '../../test/kits/cache/widgets.ts'
import { MemoryStore } from '../storage/memory.ts'
import { Caches } from './caches.ts'

test('closing resolves everything that waits for a revision, and later waits resolve at once', async () => {
  const store = new MemoryStore()
  const caches = await Caches.open({ store, resources: [widgets], onFailure: assert.ifError })
  const waiting = caches.reached(1_000_000)
  await caches[Symbol.asyncDispose]()
  await waiting
  await caches.reached(2_000_000)
  await store.close()
})
