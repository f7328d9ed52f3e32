import assert from 'node:assert/strict'
import test from 'node:test'
import { widgets } from '../../test/kits/cache/widgets.ts'
import { MemoryStore } from '../storage/memory.ts'
import { Caches } from './caches.ts'

test('closing lets go of those who wait for a revision, and nobody waits after it', async () => {
  const store = new MemoryStore()
  const caches = await Caches.open({ store, resources: [widgets], onFailure: assert.ifError })
  const waiting = caches.reached(1_000_000)
  await caches[Symbol.asyncDispose]()
  await waiting
  await caches.reached(2_000_000)
  await store.close()
})
