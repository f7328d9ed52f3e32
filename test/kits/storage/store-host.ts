/** Test support: a process that opens process stores as its parent asks, and writes to them. */
import { openProcessStore, type ProcessStore, type ProcessStoreOptions } from '../../../src/storage/processes/process-store.ts'

type Options = Pick<ProcessStoreOptions, 'dir' | 'family' | 'quotaBytes' | 'mostKeys'>
/** `write` has writers change keys until the process is killed; each acknowledgement is reported. */
export type Order =
  | { readonly do: 'open'; readonly options: Options }
  | { readonly do: 'close'; readonly dir: string }
  | { readonly do: 'role'; readonly dir: string }
  | { readonly do: 'newest'; readonly dir: string }
  | { readonly do: 'write'; readonly dir: string; readonly name: string; readonly writers: number }
  | { readonly do: 'swaps'; readonly dir: string; readonly count: number; readonly name: string }
export type Answer = { readonly id: number; readonly result?: unknown; readonly error?: string }
export type Written = { readonly key: string; readonly value: string | null; readonly revision: number }
export type Doubt = { readonly doubt: string }

const stores = new Map<string, ProcessStore>()
let commits = 0

async function obey(order: Order): Promise<unknown> {
  if (order.do === 'open') {
    const store = await openProcessStore({ ...order.options, onCommit: () => commits++ })
    stores.set(order.options.dir, store)
    return store.role
  }
  const store = stores.get(order.dir)!
  switch (order.do) {
    case 'close':
      return store.close()
    case 'role':
      return { role: store.role, commits }
    case 'newest':
      return store.fresh()
    case 'swaps':
      return swaps(store, order.name, order.count)
    case 'write':
      for (let i = 0; i < order.writers; i++) void write(store, `${order.name}/${i}`)
  }
}

/** So many creates at once. */
async function swaps(store: ProcessStore, name: string, count: number): Promise<number> {
  const made = await Promise.all(
    Array.from({ length: count }, (_, i) => store.swap(`/${name}/${i}`, { expect: 0, value: Buffer.from('x') })),
  )
  return made.filter(({ ok }) => ok).length
}

async function write(store: ProcessStore, name: string): Promise<void> {
  for (let n = 0; ; n++) {
    const key = `/w/${name}/${n % 7}`
    try {
      const { entry } = await store.get(key)
      const value = entry && n % 5 === 4 ? null : `${name} ${n} ${process.pid} ${'x'.repeat((n * 37) % 2_000)}`
      const swap = await store.swap(key, {
        expect: entry?.modified ?? 0,
        value: value === null ? null : Buffer.from(value),
        unique: n % 2 === 0,
      })
      if (!swap.ok) throw new Error(`nobody else writes ${key}`)
      process.send!({ key, value, revision: swap.revision } satisfies Written)
      // A primary of its own may forget history meanwhile.
      if (n % 40 === 39) await store.compact(Math.max(1, swap.revision - 200))
    } catch (error) {
      process.send!({ doubt: `${(error as Error).constructor.name} ${key} ${(error as Error).message}` } satisfies Doubt)
    }
  }
}

process.on('message', ({ id, order }: { id: number; order: Order }) => {
  obey(order).then(
    result => process.send!({ id, result } satisfies Answer),
    (error: Error) => process.send!({ id, error: `${error.constructor.name}: ${error.message}` } satisfies Answer),
  )
})
process.on('disconnect', () => process.exit())
