/** One store that several servers use, as each of them sees it: sometimes late, or not at all. */
import type { MemoryStore } from '../../src/storage/memory.ts'
import { type Batch, type Revision, type Store, StoreUnavailable, type Swap } from '../../src/storage/store.ts'

/** The view of one server on a store that others write to as well. */
export class SharedView implements Store {
  readonly isShared = true
  readonly #inner: MemoryStore
  #released: Promise<void> = Promise.resolve()
  #release = () => {}
  #isCut = false
  #lost = new AbortController()
  /** Writes in flight, where they are held back. */
  #held: { readonly key: string; arrive(): Promise<unknown> }[] | undefined
  /** The number of requests for the newest revision. */
  questions = 0

  constructor(inner: MemoryStore) {
    this.#inner = inner
  }

  /** Holds back the events of watches. */
  hold(): void {
    this.#released = new Promise(resolve => (this.#release = resolve))
  }
  release(): void {
    this.#release()
  }
  /** Simulates a network partition: no responses, and watches are silent. */
  cut(): void {
    this.hold()
    this.#isCut = true
  }
  /** Simulates closed connections, too: watches fail, and have to be opened again. */
  lose(): void {
    this.#isCut = true
    this.#lost.abort()
    this.#lost = new AbortController()
  }
  /** Holds back writes on their way to the store. */
  holdWrites(): void {
    this.#held = []
  }
  get heldWrites(): readonly string[] {
    return this.#held?.map(({ key }) => key) ?? []
  }
  /** Delivers the held writes late. Resolves when the store has decided on all of them. */
  async deliverWrites(): Promise<void> {
    const held = this.#held ?? []
    this.#held = undefined
    await Promise.allSettled(held.map(({ arrive }) => arrive()))
  }
  mend(): void {
    this.#isCut = false
    this.release()
  }

  get = (...[key, at]: Parameters<Store['get']>) => this.#reach(() => this.#inner.get(key, at))
  list = (...[prefix, page]: Parameters<Store['list']>) => this.#reach(() => this.#inner.list(prefix, page))
  swap = (...[key, change]: Parameters<Store['swap']>) =>
    this.#reach(() => {
      const held = this.#held
      if (!held) return this.#inner.swap(key, change)
      return new Promise<Swap>((resolve, reject) => {
        const arrive = () => this.#inner.swap(key, change).then(resolve, reject)
        held.push({ key, arrive })
      })
    })
  extent = () => this.#reach(() => this.#inner.extent())
  compact = (before: Revision) => this.#reach(() => this.#inner.compact(before))
  probe = () => this.#reach(() => this.#inner.probe())
  fresh = (): Promise<Revision> =>
    this.#reach(async () => {
      this.questions++
      return (await this.#inner.extent()).newest
    })
  async close(): Promise<void> {}

  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<Batch> {
    const lost = this.#lost.signal
    if (this.#isCut) throw UNREACHABLE()
    let arrived = after
    for await (const batch of this.#inner.watch(prefix, after, AbortSignal.any([signal, lost]))) {
      await this.#released
      // A round trip lies between a store and its watchers; earlier writes arrive with it.
      if (batch.revision > arrived) {
        const { newest } = await this.#inner.extent()
        await new Promise(setImmediate)
        arrived = newest
      }
      yield batch
    }
    if (lost.aborted) throw UNREACHABLE()
  }

  async #reach<R>(ask: () => Promise<R>): Promise<R> {
    await new Promise(setImmediate)
    if (this.#isCut) throw UNREACHABLE()
    return ask()
  }
}

const UNREACHABLE = () => new StoreUnavailable('the store cannot be reached', { problem: 'the store cannot be reached' })
