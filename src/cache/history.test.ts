import assert from 'node:assert/strict'
import test from 'node:test'
import { entryOf, widgets } from '../../test/kits/cache/widgets.ts'
import { defineKind } from '../schema/kind.ts'
import { resourceOf } from '../schema/resource.ts'
import { message } from '../schema/types.ts'
import { MemoryStore } from '../storage/memory.ts'
import { Caches } from './caches.ts'

const Gadget = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Gadget',
  scope: 'Namespaced',
  names: { plural: 'gadgets' },
  spec: message('GadgetSpec', {}),
})
const gadgets = resourceOf(Gadget, 'k8s.io')
const fail = (error: unknown) => {
  throw error
}
const patient = { timeout: 60_000 }

/** Writes an object of so many bytes again and again. */
async function rewrite(store: MemoryStore, key: string, { bytes, times }: { bytes: number; times: number }): Promise<void> {
  const { value } = entryOf('default/a', { color: 'x'.repeat(bytes) }, 0)
  let { revision: expect } = { revision: (await store.get(key)).entry?.modified ?? 0 }
  for (let i = 0; i < times; i++) {
    const swap = await store.swap(key, { expect, value })
    expect = swap.ok ? swap.revision : fail(swap)
  }
}

test('history ages by the clock, also when nothing is written any more', patient, async () => {
  const store = new MemoryStore()
  const history = { bytes: 1 << 20, entries: 1000, ageMs: 200 }
  await using caches = await Caches.open({ store, resources: [widgets], onFailure: fail, history })
  await rewrite(store, `${widgets.prefix}default/a`, { bytes: 1000, times: 3 })
  const { newest } = await store.extent()
  // At 6256f0f1 history was looked through at writes only, so this never ended.
  while (caches.of(widgets).oldest < newest) await new Promise(resolve => setTimeout(resolve, 20))
  assert.equal(caches.historyBytes, 0)
  assert.equal(caches.of(widgets).get(`${widgets.prefix}default/a`)!.revision, newest)
})

test('all resources share a limit of history, and the one that is written most gives up its own', async () => {
  const store = new MemoryStore()
  const history = { bytes: 1 << 20, entries: 1000, ageMs: 600_000, totalBytes: 256 << 10 }
  await using caches = await Caches.open({ store, resources: [widgets, gadgets], onFailure: fail, history })
  const start = caches.revision
  await rewrite(store, `${gadgets.prefix}default/a`, { bytes: 1000, times: 3 })
  await rewrite(store, `${widgets.prefix}default/a`, { bytes: 10_000, times: 100 })
  await caches.reached((await store.extent()).newest)
  assert.ok(caches.historyBytes <= 256 << 10)
  assert.equal(caches.of(gadgets).oldest, start)
  assert.ok(caches.of(widgets).oldest > start)
})

test('history that the store forgets is dropped first', async () => {
  const store = new MemoryStore()
  await using caches = await Caches.open({ store, resources: [widgets], onFailure: fail })
  await rewrite(store, `${widgets.prefix}default/a`, { bytes: 1000, times: 5 })
  const { newest } = await store.extent()
  await caches.reached(newest)
  caches.forgetBefore(newest - 2)
  assert.equal(caches.of(widgets).oldest, newest - 2)
  assert.equal([...caches.of(widgets).since(newest - 2)].length, 2)
})
