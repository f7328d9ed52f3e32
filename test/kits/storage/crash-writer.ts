/** Test support: a process that opens a store and writes to it until it is killed, reporting every acknowledgement to its parent. */
import { openEmbeddedStore } from '../../../src/storage/embedded/embedded.ts'

/** A report of the process: it is open, or a write was acknowledged; `value` is null for a delete. */
export type Report = { newest: number } | { key: string; value: string | null; revision: number } | { refused: string }

const [, , dir, round] = process.argv

const tell = (report: Report) => process.send!(report)

async function run(): Promise<void> {
  const store = await openEmbeddedStore({ dir: dir! })
  tell({ newest: (await store.extent()).newest })
  await Promise.all(Array.from({ length: 16 }, (_, i) => write(store, i)))
}

async function write(store: Awaited<ReturnType<typeof openEmbeddedStore>>, writer: number): Promise<void> {
  for (let n = 0; ; n++) {
    const key = `/w/${writer}/${n % 7}`
    const { entry } = await store.get(key)
    const value = entry && n % 5 === 4 ? null : `${round} ${writer} ${n} ${'x'.repeat((n * 37) % 3_000)}`
    const swap = await store.swap(key, { expect: entry?.modified ?? 0, value: value === null ? null : Buffer.from(value) })
    if (!swap.ok) throw new Error('nobody else writes this key')
    tell({ key, value, revision: swap.revision })
    if (writer === 0 && n % 20 === 19) await store.compact(Math.max(1, swap.revision - 50))
  }
}

run().catch(error => tell({ refused: error.message }))
