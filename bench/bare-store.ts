/** The ceiling of writes: the store alone, doing the same durable commits with as many writers. */
import { readFileSync } from 'node:fs'
import { openEmbeddedStore } from '../src/storage/embedded/embedded.ts'

const [, , dir, valueFile, writers, seconds, mode] = process.argv
const value = readFileSync(valueFile!)
const store = await openEmbeddedStore({ dir: dir! })
const keys = new Map<string, number>()
if (mode === 'replace')
  await Promise.all(
    Array.from({ length: Number(writers) }, async (_, w) => {
      const swap = await store.swap(`/bench/${w}`, { expect: 0, value })
      if (swap.ok) keys.set(`/bench/${w}`, swap.revision)
    }),
  )
let count = 0
const end = performance.now() + Number(seconds) * 1000
const start = performance.now()
await Promise.all(
  Array.from({ length: Number(writers) }, async (_, w) => {
    for (let i = 0; performance.now() < end; i++) {
      const key = mode === 'replace' ? `/bench/${w}` : `/bench/${w}-${i}`
      const swap = await store.swap(key, { expect: keys.get(key) ?? 0, value: Buffer.from(value) })
      if (!swap.ok) throw new Error(`a write of ${key} was refused`)
      if (mode === 'replace') keys.set(key, swap.revision)
      count++
    }
  }),
)
const perSecond = count / ((performance.now() - start) / 1000)
await store.close()
process.stdout.write(`${perSecond}\n`)
