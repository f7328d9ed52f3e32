import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Limits } from '../quota.ts'
import type { Store } from '../store.ts'
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
