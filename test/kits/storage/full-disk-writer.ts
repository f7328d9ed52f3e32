/** Test support: a process that writes until its disk is full, waits for space, and writes again. */

import { openEmbeddedStore } from '../../../src/storage/embedded/embedded.ts'
import { StoreUnavailable } from '../../../src/storage/store.ts'

/** The reports of the process when the disk was full, and after it had space again. */
export type Report = {
  message: string
  unavailable: boolean
  acknowledged: number
  newest: number
  watched: number
  readable: number
  unhandled: number
}

const store = await openEmbeddedStore({ dir: process.argv[2]! })
let acknowledged = 1
let watched = 1
let unhandled = 0
process.on('unhandledRejection', () => unhandled++)
void (async () => {
  for await (const { revision } of store.watch('/', 1, new AbortController().signal)) watched = revision
})()

/** Writes some values concurrently, from many writers, and returns the error of a failed write. */
async function fill(writes: number): Promise<unknown> {
  let failure: unknown
  const write = async (writer: number) => {
    for (let n = 0; n < writes && !failure; n++) {
      try {
        const swap = await store.swap(`/fill/${writer}/${process.hrtime.bigint()}`, {
          expect: 0,
          value: new Uint8Array(3_000).fill(writer),
        })
        if (swap.ok) acknowledged = Math.max(acknowledged, swap.revision)
      } catch (error) {
        failure = error
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, i) => write(i)))
  return failure
}

async function report(error: unknown): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 50))
  const { newest } = await store.extent()
  const { entries } = await store.list('/')
  process.send!({
    message: error instanceof Error ? error.message : '',
    unavailable: error instanceof StoreUnavailable,
    acknowledged,
    newest,
    watched,
    readable: entries.filter(entry => entry.fault === undefined && entry.value.length === 3_000).length,
    unhandled,
  } satisfies Report)
}

await report(await fill(Infinity))
process.once('message', async () => {
  await report(await fill(20))
  await store.close()
  process.disconnect()
})
