/** Common parts of the store tests. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Clock } from '../../../src/lib/clock.ts'
import type { Limits } from '../../../src/storage/quota.ts'
import type { Event, Revision, Store, Swap } from '../../../src/storage/store.ts'

/** The parts of the suite. */
export type Part = 'swaps' | 'reads' | 'lists' | 'watches' | 'compaction' | 'quota' | 'time to live' | 'closing' | 'against a model'

export type Subject = {
  /** Opens a new, empty store. */
  open(clock: Clock, options?: Limits): Promise<Store>
  /** Closes a store and opens its data again; left out where nothing outlives a close. */
  reopen?(store: Store, clock: Clock): Promise<Store>
  /** Set where another process keeps the data: it has its own clock, and watches may receive a write after its writer's response. */
  remote?: boolean
  /** Set where `open` of a remote store takes limits. */
  hasQuota?: boolean
  /** The number of random histories; fewer where opening a store takes long. */
  runs?: number
  /** The parts that are run; all of them where this is left out. */
  parts?: readonly Part[]
}

/** An open store for one test, closed after it. */
export type Opener = (t: TestContext, clock?: Clock) => Promise<Store>

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
export const text = (value: Uint8Array): string => new TextDecoder().decode(value)

/** Writes a key whatever its value, or deletes it, and returns the revision. */
export async function put(store: Store, key: string, value: string | null, ttlSeconds?: number): Promise<Revision> {
  const { entry } = await store.get(key)
  const change = {
    expect: entry?.modified ?? 0,
    value: value === null ? null : bytes(value),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
  }
  return revisionOf(await store.swap(key, change))
}

/** The revision of a swap that must have succeeded. */
export function revisionOf(swap: Swap): Revision {
  assert.ok(swap.ok, 'the swap should have succeeded')
  return swap.revision
}

/** Reads a key as text. */
export async function read(store: Store, key: string, at?: Revision): Promise<string | undefined> {
  const { entry } = await store.get(key, at)
  return entry && text(entry.value)
}

/** Watches until some events have arrived, checking that each batch is in order and within its revision. */
export async function collect(
  store: Store,
  { prefix = '/', after, count }: { prefix?: string; after: Revision; count: number },
): Promise<Event[]> {
  const stop = new AbortController()
  const seen: Event[] = []
  let reached = after
  for await (const batch of store.watch(prefix, after, stop.signal)) {
    assert.ok(batch.revision >= reached, 'a batch went back')
    for (const event of batch.events) {
      assert.ok(event.revision > (seen.at(-1)?.revision ?? after), 'events are in order, none twice')
      assert.ok(event.revision > reached && event.revision <= batch.revision, 'an event is outside of its batch')
      seen.push(event)
    }
    reached = batch.revision
    if (seen.length >= count) stop.abort()
  }
  return seen
}
