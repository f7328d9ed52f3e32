/** Group commit: collects writes while a commit is running and makes the next commit of all of them, so that they share one sync. */
import { nextIteration } from '../../lib/environment.ts'
import type { Revision } from '../store.ts'
import type { Work } from './engine.ts'

/** A write waiting to become durable. */
export type Write = { readonly header: Uint8Array; readonly body: Uint8Array; readonly isFreeing: boolean }

/** Housekeeping that rides along with writes. */
export type Maintenance = { readonly removes: readonly Uint8Array[]; readonly compacted?: Revision; readonly probe?: true }

/** How writes are committed. */
export type Outcomes<W> = {
  /** Called with the writes of each commit, in the order they were added, as soon as it is durable. */
  committed(writes: readonly W[]): void
  /** Called with all writes there are when a commit fails: those after it were decided on what it would have changed. */
  failed(writes: readonly W[], error: unknown): void
}

type Waiting = { readonly maintenance: Maintenance; resolve(): void; reject(error: unknown): void }

// Preparing a write takes some 5 µs of the event loop and storing it as much of another thread.
const MAX_BATCH_WRITES = 512
const MAX_BATCH_BYTES = 4 << 20

/** Commits one group after the other; writes keep their order. */
export class GroupCommit<W extends Write> {
  readonly #commit: (work: Work) => Promise<void>
  readonly #outcomes: Outcomes<W>
  #writes: W[] = []
  #maintenance: Waiting[] = []
  #running: Promise<void> | undefined
  #committing: Promise<void> | undefined
  /** Resolves when commits may go on. */
  #gate: Promise<void> | undefined

  constructor(commit: (work: Work) => Promise<void>, outcomes: Outcomes<W>) {
    this.#commit = commit
    this.#outcomes = outcomes
  }

  /** Has a write committed after all those added before. */
  add(write: W): void {
    this.#writes.push(write)
    this.#running ??= this.#run()
  }

  /** Has maintenance done with one of the next commits; resolves once it is durable. */
  do(maintenance: Maintenance): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#maintenance.push({ maintenance, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when the commit that is running has ended, whatever its outcome; undefined if none is. */
  get committing(): Promise<void> | undefined {
    return this.#committing
  }

  /** Resolves when no commit is running, and none begins until the result is called. */
  async pause(): Promise<() => void> {
    while (this.#gate) await this.#gate
    let resume = () => {}
    this.#gate = new Promise(resolve => {
      resume = () => {
        this.#gate = undefined
        resolve()
      }
    })
    await this.#committing
    return resume
  }

  /** Waits until nothing is left to commit. */
  async drained(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    while (this.#writes.length > 0 || this.#maintenance.length > 0) {
      // Writes of the same iteration of the event loop share the commit.
      await new Promise<void>(nextIteration)
      while (this.#gate) await this.#gate
      await (this.#committing = this.#commitOnce())
      this.#committing = undefined
    }
    this.#running = undefined
  }

  async #commitOnce(): Promise<void> {
    const writes = this.#writes.splice(0, howMany(this.#writes))
    const waiting = this.#maintenance.shift()
    try {
      await this.#commit({ puts: writes, removes: [], ...waiting?.maintenance })
    } catch (error) {
      this.#outcomes.failed([...writes, ...this.#writes.splice(0)], error)
      waiting?.reject(error)
      return
    }
    if (writes.length > 0) this.#outcomes.committed(writes)
    waiting?.resolve()
  }
}

function howMany(writes: readonly Write[]): number {
  let bytes = 0
  let count = 0
  while (count < writes.length && count < MAX_BATCH_WRITES && bytes < MAX_BATCH_BYTES) bytes += writes[count++]!.body.length
  return count
}
