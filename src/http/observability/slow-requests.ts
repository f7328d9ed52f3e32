/** Remembers the slowest requests of the last hour, for `keelson doctor`. */
import { LIMITS } from '../../lib/limits.ts'

export type NotedRequest = {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly verb: string
  readonly path: string
  readonly user: string
  readonly status: number
  readonly ms: number
}

const HOUR = 3600_000
/** Quicker ones are of no interest. */
const MIN_MS = 50

export class SlowRequests {
  #noted: NotedRequest[] = []
  #leastMs = MIN_MS

  /** Whether a request is slow enough to be noted: one comparison for each request. */
  isSlow(ms: number): boolean {
    return ms >= this.#leastMs
  }

  note(request: NotedRequest): void {
    this.#noted = this.#recent(request.at)
    this.#noted.push(request)
    this.#noted.sort((a, b) => b.ms - a.ms).splice(LIMITS.slowRequests)
    this.#leastMs = this.#noted.length < LIMITS.slowRequests ? MIN_MS : this.#noted.at(-1)!.ms
  }

  /** The slowest first. */
  slowest(now: number): readonly NotedRequest[] {
    this.#noted = this.#recent(now)
    if (this.#noted.length < LIMITS.slowRequests) this.#leastMs = MIN_MS
    return this.#noted
  }

  #recent(now: number): NotedRequest[] {
    return this.#noted.filter(({ at }) => now - at < HOUR)
  }
}
