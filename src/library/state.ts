/**
 * Saves and restores the whole state of a server. Restoring is writing: revisions continue, and watches receive the differences as changes.
 */
import type { Resource } from '../schema/resource.ts'
import { isApart } from '../server/data/cluster-records.ts'
import type { Entry, Revision, Store } from '../storage/store.ts'

export type SavedRecord = Pick<Entry, 'value' | 'created' | 'modified'>

/** The records of the cluster at one revision. */
export type SavedState = {
  readonly revision: Revision
  /** Each under its key, in the order of keys. */
  readonly records: ReadonlyMap<string, SavedRecord>
  /** The bytes of all keys and values. */
  readonly bytes: number
}

const PAGE = 1000
/** How often concurrent changes of components are undone again. */
const MAX_ROUNDS = 10

export async function saveState(store: Store): Promise<SavedState> {
  const records = new Map<string, SavedRecord>()
  const revision = await store.fresh()
  let bytes = 0
  for await (const { key, value, created, modified } of entriesIn(store, revision)) {
    records.set(key, { value, created, modified })
    bytes += key.length + value.length
  }
  return { revision, records, bytes }
}

export type Restoring = {
  readonly store: Store
  /** The resources with a TTL, and that TTL. */
  readonly resources: () => Iterable<Resource>
  /** Resolves when components have no more work. */
  readonly settled: () => Promise<void>
}

/** Restores a state. Components then continue from there. */
export async function restoreState(saved: SavedState, restoring: Restoring): Promise<void> {
  await undo(saved, restoring)
}

/** Restores a state in which components had no work: pending writes of components are undone, too. */
export async function restoreSettled(saved: SavedState, restoring: Restoring): Promise<void> {
  let undone = await undo(saved, restoring)
  for (let round = 0; undone > 0 && round < MAX_ROUNDS; round++) {
    await restoring.settled()
    // Objects that they have changed since, such as a lease, are theirs to change.
    undone = await undo(saved, restoring, { keepsChanged: true })
  }
}

/** The number of changes to undo. Deletions come first: two objects may not have the same address. */
async function undo({ records: saved }: SavedState, { store, resources }: Restoring, { keepsChanged = false } = {}): Promise<number> {
  const [added, changed]: [Entry[], Entry[]] = [[], []]
  const missing = new Set(saved.keys())
  for await (const entry of entriesIn(store)) {
    const value = saved.get(entry.key)?.value
    missing.delete(entry.key)
    if (value === undefined) added.push(entry)
    else if (!keepsChanged && Buffer.compare(value, entry.value) !== 0) changed.push(entry)
  }
  const shortLived = [...resources()].filter(({ def }) => def.ttlSeconds !== undefined)
  const lifeOf = (key: string) => shortLived.find(({ prefix }) => key.startsWith(prefix))?.def.ttlSeconds
  const write = (key: string, expect: number) => {
    const ttlSeconds = lifeOf(key)
    return store.swap(key, { expect, value: saved.get(key)!.value, ...(ttlSeconds !== undefined && { ttlSeconds }) })
  }
  await Promise.all(added.map(({ key, modified }) => store.swap(key, { expect: modified, value: null })))
  await Promise.all(Array.from(missing, key => write(key, 0)))
  await Promise.all(changed.map(({ key, modified }) => write(key, modified)))
  return added.length + changed.length + missing.size
}

/** The records of the cluster: those of its servers, such as keys, are none of its state. */
async function* entriesIn(store: Store, from?: Revision): AsyncIterable<Entry> {
  let at = from
  for (let after: string | undefined; ; ) {
    const page = await store.list('', { limit: PAGE, ...(after !== undefined && { after }), ...(at !== undefined && { at }) })
    for (const entry of page.entries) if (!isApart(entry.key)) yield entry
    if (page.remaining === 0 || page.entries.length === 0) return
    at = page.revision
    after = page.entries.at(-1)!.key
  }
}
