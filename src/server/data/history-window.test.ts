// How far back a server reaches without `--history-window`, on a clock that the test moves.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from '../../../test/kits/storage/conformance-kit.ts'
import { ManualClock } from '../../../test/kits/storage/manual-clock.ts'
import { startCompaction } from '../../storage/compaction.ts'
import { MemoryStore } from '../../storage/memory.ts'
import { DEFAULTS } from '../config.ts'
import { historyAge, pageAge } from './history-window.ts'

const MINUTE = 60_000

/** Lets time pass, and the compactions that it sets off. */
async function pass(clock: ManualClock, minutes: number): Promise<void> {
  for (let i = 0; i < minutes * 6; i++) {
    clock.advance(MINUTE / 6)
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  }
}

test('the value before a change can be read ten minutes later, and is forgotten after half an hour', async () => {
  const clock = new ManualClock()
  await using store = new MemoryStore({ clock })
  await put(store, '/web', 'replicas: 2')
  const { newest: before } = await store.extent()
  await using _compaction = startCompaction(store, { clock, maxAgeMs: historyAge(DEFAULTS) })
  await put(store, '/web', 'replicas: 5')
  await pass(clock, 29)
  assert.ok((await store.extent()).oldest <= before)
  await pass(clock, 2)
  assert.ok((await store.extent()).oldest > before)
})

test('pages of lists expire between five and ten minutes, as clients of kube-apiserver expect; so does all history on etcd', () => {
  assert.deepEqual([pageAge(DEFAULTS), historyAge({ ...DEFAULTS, store: 'etcd' })], [8 * MINUTE, 8 * MINUTE])
  const asked = { ...DEFAULTS, historyMs: 90_000 }
  assert.deepEqual([pageAge(asked), historyAge(asked)], [90_000, 90_000])
})
