/** Readers that wait until the cache has reached a revision. */
import type { Cancellation } from '../lib/cancellation.ts'
import type { Revision } from '../storage/store.ts'

type Waiter = { readonly revision: Revision; readonly resolve: () => void }

export class RevisionWaiters {
  #waiters: Waiter[] = []

  /** Resolves once `wake` is called with the revision or a later one, or the signal is aborted. */
  wait(revision: Revision, signal?: Cancellation): Promise<void> {
    return new Promise(resolve => {
      this.#waiters.push({ revision, resolve })
      signal?.addEventListener('abort', () => this.#leave(resolve), { once: true })
    })
  }

  /** Resolves all that wait for this revision or an earlier one. */
  wake(revision: Revision): void {
    if (this.#waiters.length === 0) return
    const all = this.#waiters
    this.#waiters = all.filter(waiter => waiter.revision > revision)
    for (const waiter of all) if (waiter.revision <= revision) waiter.resolve()
  }

  #leave(resolve: () => void): void {
    this.#waiters = this.#waiters.filter(waiter => waiter.resolve !== resolve)
    resolve()
  }
}
