/** Delays the deletion of failed pods: a replacement may fail at once, as when the node rejects it. */
const FIRST_MS = 1000
const MAX_DELAY_MS = 900_000

type Entry = { readonly ms: number; readonly at: number }

export class FailedPods {
  readonly #entries = new Map<string, Entry>()

  /** In how many milliseconds a failed pod may be deleted. */
  waitMs(key: string, now: number): number {
    const entry = this.#current(key, now)
    return entry ? Math.max(entry.at + entry.ms - now, 0) : 0
  }

  /** A failed pod is deleted: the next one waits twice as long. */
  deleted(key: string, now: number): void {
    const entry = this.#current(key, now)
    this.#entries.set(key, { ms: entry ? Math.min(entry.ms * 2, MAX_DELAY_MS) : FIRST_MS, at: now })
    for (const [other, { at }] of this.#entries) if (isOld(at, now)) this.#entries.delete(other)
  }

  #current(key: string, now: number): Entry | undefined {
    const entry = this.#entries.get(key)
    return entry && !isOld(entry.at, now) ? entry : undefined
  }
}

const isOld = (at: number, now: number): boolean => now - at > 2 * MAX_DELAY_MS
