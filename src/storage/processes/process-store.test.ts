import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import { StoreProcess } from '../../../test/kits/storage/store-processes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Limits } from '../quota.ts'
import type { Store } from '../store.ts'
import { makeFamily } from './family.ts'
import { openProcessStore } from './process-store.ts'

const base = mkdtempSync(join(tmpdir(), 'keelson-processes-'))
const other = new StoreProcess()
after(async () => {
  await other.kill()
  rmSync(base, { recursive: true, force: true })
})

type Kept = Limits & { readonly dir: string }
const kept = new WeakMap<Store, Kept>()
let count = 0

/** The store as this process has it, while another one has it open as well, as the primary or as a follower. */
async function openIn(options: Kept, clock: Clock, isPrimary: boolean): Promise<Store> {
  const family = makeFamily()
  const openHere = () => openProcessStore({ ...options, clock, family })
  const openThere = () => other.tell({ do: 'open', options: { ...options, family: { socket: family.socket, secret: family.secret } } })
  let store: Store
  if (isPrimary) {
    store = await openHere()
    await openThere()
  } else {
    await openThere()
    store = await openHere()
  }
  const closing = store.close.bind(store)
  let closed: Promise<void> | undefined
  store.close = () =>
    (closed ??= (async () => {
      await closing()
      await other.tell({ do: 'close', dir: options.dir })
      family[Symbol.dispose]()
    })())
  kept.set(store, options)
  return store
}

for (const isPrimary of [true, false]) {
  describeStore(isPrimary ? 'the primary of a process' : 'the follower of a process', {
    open: (clock, options) => openIn({ dir: join(base, `${count++}`), ...options }, clock, isPrimary),
    async reopen(store, clock) {
      await store.close()
      return openIn(kept.get(store)!, clock, isPrimary)
    },
    ...(!isPrimary && { remote: true, hasQuota: true }),
    runs: 20,
  })
}
