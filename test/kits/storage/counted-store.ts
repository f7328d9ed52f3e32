/** A store in a database that others have written to before, which looks like a new one: many tests can share one etcd. */
import {
  type Change,
  Compacted,
  type Entry,
  FencedOff,
  FutureRevision,
  type PageRequest,
  type Revision,
  type Store,
} from '../../../src/storage/store.ts'

/** Counts the revisions of a store from one of them, which becomes 1. Nobody else may write to the database meanwhile. */
export function countedFrom(store: Store, first: Revision): Store {
  const offset = first - 1
  const inner = (revision: Revision) => (revision === 0 ? 0 : revision + offset)
  const outer = (revision: Revision) => revision - offset
  const entryOf = (entry: Entry | undefined) => entry && { ...entry, created: outer(entry.created), modified: outer(entry.modified) }
  const changeOf = ({ expect, fences, ...change }: Change): Change => ({
    ...change,
    expect: inner(expect),
    ...(fences && { fences: fences.map(({ key, modified }) => ({ key, modified: inner(modified) })) }),
  })
  const pageOf = ({ at, ...page }: PageRequest = {}): PageRequest => ({ ...page, ...(at !== undefined && { at: inner(at) }) })
  const rethrow = (asked: Revision | undefined) => (error: unknown) => {
    if (error instanceof Compacted) throw new Compacted(asked ?? 0, outer(error.oldest))
    if (error instanceof FutureRevision) throw new FutureRevision(asked ?? 0, outer(error.newest))
    throw error
  }
  return {
    ...(store.isShared !== undefined && { isShared: store.isShared }),
    async get(key, at, trace) {
      const { revision, entry } = await store.get(key, at === undefined ? at : inner(at), trace).catch(rethrow(at))
      return { revision: outer(revision), entry: entryOf(entry) }
    },
    async list(prefix, page) {
      const { revision, entries, remaining } = await store.list(prefix, pageOf(page)).catch(rethrow(page?.at))
      return { revision: outer(revision), entries: entries.map(entry => entryOf(entry)!), remaining }
    },
    async swap(key, change) {
      const changed = changeOf(change)
      const swap = await store.swap(key, changed).catch(error => {
        if (!(error instanceof FencedOff)) throw error
        throw new FencedOff(change.fences![changed.fences!.indexOf(error.fence)]!)
      })
      return swap.ok ? { ok: true, revision: outer(swap.revision) } : { ok: false, current: entryOf(swap.current) }
    },
    async *watch(prefix, after, signal) {
      try {
        for await (const { revision, events } of store.watch(prefix, inner(after), signal))
          yield {
            revision: outer(revision),
            events: events.map(event => ({ key: event.key, after: entryOf(event.after), revision: outer(event.revision) })),
          }
      } catch (error) {
        rethrow(after)(error)
      }
    },
    fresh: async () => outer(await store.fresh()),
    async extent() {
      const { oldest, newest } = await store.extent()
      return { oldest: outer(oldest), newest: outer(newest) }
    },
    compact: before => store.compact(inner(before)).catch(rethrow(before)),
    probe: () => store.probe(),
    close: () => store.close(),
  }
}
