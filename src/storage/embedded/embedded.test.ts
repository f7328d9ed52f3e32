import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Limits } from '../quota.ts'
import { type Store, StoreUnavailable } from '../store.ts'
import { openEmbeddedStore } from './embedded.ts'

const base = mkdtempSync(join(tmpdir(), 'keelson-store-'))
after(() => rmSync(base, { recursive: true, force: true }))

type Kept = Limits & { readonly dir: string }
const kept = new WeakMap<Store, Kept>()
let count = 0

async function openIn(options: Kept, clock: Clock): Promise<Store> {
  const store = await openEmbeddedStore({ ...options, clock })
  kept.set(store, options)
  return store
}

describeStore('embedded', {
  open: (clock, options) => openIn({ dir: join(base, `${count++}`), ...options }, clock),
  async reopen(store, clock) {
    await store.close()
    return openIn(kept.get(store)!, clock)
  },
})

test('compactions that were asked for before the store closes are made', async () => {
  await using store = await openEmbeddedStore({ dir: join(base, `${count++}`) })
  for (let i = 0; i < 3; i++) await store.swap(`/${i}`, { expect: 0, value: Buffer.from('x') })
  const { newest } = await store.extent()
  const asked = [newest - 1, newest].map(revision => store.compact(revision))
  await store.close()
  await Promise.all(asked)
  await assert.rejects(store.compact(newest), StoreUnavailable)
})
