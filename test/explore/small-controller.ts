/** A controller of few lines, with caches as informers keep them: a list that may be stale, then changes, and a list again after a failure. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoredObject, UserAccess, WatchEvent } from '../../src/index.ts'

/** Plurals of the core group that controllers here use. */
export type Plural = 'configmaps' | 'persistentvolumeclaims' | 'pods'

export type ControllerParts = {
  readonly watches: readonly Plural[]
  /** Called for each change, before it is in the cache. */
  readonly onEvent?: (plural: Plural, event: WatchEvent) => void
  /** Compares desired and observed state, and is called again after a failure. */
  readonly reconcile: (caches: Caches) => Promise<void>
}

export type Caches = Readonly<Record<Plural, ReadonlyMap<string, StoredObject>>>

const RETRY_MS = 20

/** Runs until the signal is aborted. */
export async function runController(
  access: UserAccess,
  signal: AbortSignal,
  { watches, onEvent = () => {}, reconcile }: ControllerParts,
): Promise<void> {
  const caches = { configmaps: new Map(), persistentvolumeclaims: new Map(), pods: new Map() } satisfies Record<
    Plural,
    Map<string, StoredObject>
  >
  let wake = () => {}
  let isDirty = true
  const changed = () => {
    isDirty = true
    wake()
  }
  const synced = watches.map(plural => {
    let onSynced = () => {}
    const done = new Promise<void>(resolve => {
      onSynced = resolve
    })
    void follow(plural, onSynced)
    return done
  })
  await Promise.all(synced)
  while (!signal.aborted) {
    while (isDirty) {
      isDirty = false
      await reconcile(caches).catch(() => {
        isDirty = true
      })
      if (isDirty) await sleep(RETRY_MS)
      if (signal.aborted) return
    }
    await new Promise<void>(resolve => {
      wake = resolve
    })
  }

  async function follow(plural: Plural, onSynced: () => void): Promise<void> {
    for (; !signal.aborted; await sleep(RETRY_MS)) {
      try {
        const response = await access.fetch(`/api/v1/namespaces/default/${plural}?resourceVersion=0`)
        const list = (await response.json()) as { metadata: { resourceVersion: string }; items: StoredObject[] }
        caches[plural].clear()
        for (const item of list.items) caches[plural].set(item.metadata.name, item)
        changed()
        onSynced()
        const { resourceVersion } = list.metadata
        for await (const event of access.watch(plural, { namespace: 'default', resourceVersion, signal })) {
          onEvent(plural, event)
          const { name } = event.object.metadata
          if (event.type === 'DELETED') caches[plural].delete(name)
          else caches[plural].set(name, event.object)
          changed()
        }
      } catch {
        // Whatever went wrong, the next list shows the current state.
      }
    }
  }
}
