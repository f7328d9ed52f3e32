/**
 * A reader of the store itself, which follows a part of the keys and is slow. Servers follow all keys, and read at once: only here are
 * there batches without events, batches that wait, and watches that fall behind.
 */
import { Compacted, type Event, type Revision } from '../../src/storage/store.ts'
import type { Random } from '../robustness/random.ts'
import { firstAfter } from '../robustness/timeline.ts'
import type { Database } from './database.ts'
import type { World } from './world.ts'

/** Clients of every run write here, and none of these keys expires. */
const PREFIX = '/core/configmaps/'
const MAX_PAUSE_MS = 100
/** One batch in so many is the last of its watch; the next watch may begin so many revisions before. */
const LEAVES_ONE_IN = 8
const MAX_BACK = 20
const LOOK_MS = 20
const PATIENCE_MS = 10_000

export class StoreFollower {
  readonly #world: World
  readonly #database: Database
  readonly #random: Random
  readonly #stop = new AbortController()
  /** The writes below the prefix since it began, in the order of revisions. */
  readonly #written: { readonly key: string; readonly revision: Revision }[] = []
  readonly #first: Revision
  readonly #following: Promise<void>
  #position: Revision

  constructor(world: World, database: Database, random: Random) {
    this.#world = world
    this.#database = database
    this.#random = random
    this.#first = this.#position = database.inner.fresh()
    database.onWrite.add(({ key, revision }) => {
      if (key.startsWith(PREFIX)) this.#written.push({ key, revision })
    })
    this.#following = world.in(database.process, 'follower', () => this.#follow())
  }

  /** Ends when everything that is written was read. */
  async end(): Promise<void> {
    const last = this.#database.inner.fresh()
    for (let waited = 0; this.#position < last && waited < PATIENCE_MS; waited += LOOK_MS) await this.#pause(LOOK_MS)
    if (this.#position < last) this.#world.failures.push(`a watch of the store is at ${this.#position}, and not at ${last}`)
    this.#stop.abort()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { inner } = this.#database
    while (!this.#stop.signal.aborted) {
      try {
        for await (const { revision, events } of inner.watch(PREFIX, this.#position, this.#stop.signal)) {
          await this.#pause(this.#random.next() * MAX_PAUSE_MS)
          this.#compare(events, revision)
          this.#position = revision
          if (this.#random.oneIn(LEAVES_ONE_IN)) break
        }
        if (this.#random.oneIn(2)) this.#position = Math.max(this.#first, this.#position - this.#random.below(MAX_BACK))
      } catch (error) {
        if (!(error instanceof Compacted)) throw error
        this.#position = inner.fresh()
      }
      await this.#pause(this.#random.next() * MAX_PAUSE_MS)
    }
  }

  /** Events of a batch are all writes after the position, up to its revision. */
  #compare(events: readonly Event[], revision: Revision): void {
    const written = this.#written.slice(firstAfter(this.#written, this.#position), firstAfter(this.#written, revision))
    const [expected, seen] = [written, events].map(list => list.map(each => `${each.key} at ${each.revision}`).join(', '))
    if (expected !== seen)
      this.#world.failures.push(
        `a watch of the store from ${this.#position} to ${revision} has ${seen || 'nothing'}; written was ${expected || 'nothing'}`,
      )
  }

  #pause(ms: number): Promise<void> {
    return this.#world.sleep(ms, 'follower', this.#database.process)
  }
}
