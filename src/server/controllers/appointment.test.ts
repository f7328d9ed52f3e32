import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../lib/clock.ts'
import type { Fence } from '../../lib/fence.ts'
import { MemoryStore } from '../../storage/memory.ts'
import { type Change, OutcomeUnknown } from '../../storage/store.ts'
import { type AppointmentParts, runWhenAppointed } from './appointment.ts'
import { TERM } from './leadership.ts'

/** A store that does not say whether it has made the first write; it has, or not. */
class SilentStore extends MemoryStore {
  #isFirst = true
  readonly #makes: boolean

  constructor(makes: boolean) {
    super()
    this.#makes = makes
  }

  override async swap(key: string, change: Change) {
    const isFirst = this.#isFirst
    this.#isFirst = false
    if (isFirst && this.#makes) await super.swap(key, change)
    if (isFirst) throw new OutcomeUnknown('the process that keeps the store does not answer')
    return await super.swap(key, change)
  }
}

for (const makes of [true, false])
  test(`duties begin though nobody knows at first whether their term has begun; the write was ${makes ? '' : 'not '}made`, async () => {
    const store = new SilentStore(makes)
    const ending = new AbortController()
    let fence: Fence | undefined
    const log = { enabled: () => false, debug() {}, info() {}, warn() {}, error: assert.fail }
    const parts = {
      store,
      log,
      clock: systemClock,
      signal: ending.signal,
      groupDomain: 'k8s.io',
      gate: () => false,
      siblings: { appointed: Promise.resolve(), id: 'these', number: 2 },
      clientFor: (guard: { readonly fence: Fence }) => {
        fence = guard.fence
        return () => ({})
      },
      start: async () => ({ startOthers: async () => {} }),
    }
    const leadership = runWhenAppointed(parts as unknown as AppointmentParts)
    await Promise.race([leadership.begun, leadership.ended])
    assert.deepEqual(fence, { key: TERM, modified: (await store.get(TERM)).entry!.modified })
    ending.abort()
    await leadership.ended
  })
