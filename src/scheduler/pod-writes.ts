/** Writes that follow from scheduling decisions. They are deferred, so that the next decision does not wait for the disk. */

/** Resolves to milliseconds when the write is not possible yet and has to be repeated after that time. */
export type Write = () => Promise<number | undefined | void>

/** Runs the writes of one key in the order in which they were added; keys do not wait for each other. */
export class PodWrites {
  readonly #pending = new Map<string, Write[]>()
  readonly #enqueue: (key: string) => void

  /** `enqueue` asks for a call of `run` with a key. */
  constructor(enqueue: (key: string) => void) {
    this.#enqueue = enqueue
  }

  add(key: string, write: Write): void {
    const pending = this.#pending.get(key)
    if (pending) pending.push(write)
    else this.#pending.set(key, [write])
    this.#enqueue(key)
  }

  /** Runs the writes of a key up to the first that has to be repeated; resolves to the milliseconds until then. */
  async run(key: string): Promise<number | undefined> {
    const pending = this.#pending.get(key)
    for (let write = pending?.shift(); write; write = pending!.shift()) {
      const againMs = await write()
      if (againMs === undefined) continue
      pending!.unshift(write)
      return againMs
    }
    if (pending?.length === 0) this.#pending.delete(key)
    return undefined
  }
}
