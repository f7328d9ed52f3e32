import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Store } from '../store.ts'
import { openEmbeddedStore } from './embedded.ts'

const base = mkdtempSync(join(tmpdir(), 'keelson-store-'))
after(() => rmSync(base, { recursive: true, force: true }))

const directories = new WeakMap<Store, string>()
let count = 0

async function openIn(dir: string, clock: Clock): Promise<Store> {
  const store = await openEmbeddedStore({ dir, clock })
  directories.set(store, dir)
  return store
}

describeStore('embedded', {
  open: clock => openIn(join(base, `${count++}`), clock),
  async reopen(store, clock) {
    await store.close()
    return openIn(directories.get(store)!, clock)
  },
})
