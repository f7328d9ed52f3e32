/**
 * How many requests one HTTP/2 connection may send at a time. The protocol lets a server say so, and say it anew: a connection
 * whose requests wait for their turn is asked for fewer, so that the rest waits at the client and not in the server's memory.
 */
import { LIMITS } from './limits.ts'
import { Room } from './room.ts'

/** What a session offers for this; `heard` is called once the client has taken note. */
export type Announce = (maxConcurrentStreams: number, heard: () => void) => void

/** The requests of one connection. */
export class Crowd {
  /** What the connection may hold of answers that its client has not read. */
  readonly room = new Room(LIMITS.unreadBytes, LIMITS.smallBytes)
  readonly #announce: Announce
  #open = 0
  #waiting = 0
  #wanted: number = LIMITS.streamsPerConnection
  #announced: number = LIMITS.streamsPerConnection
  /** A client that has not taken note of one announcement is told nothing more: who is told too much is thrown out. */
  #unheard = false
  #easing: NodeJS.Timeout | undefined

  constructor(announce: Announce) {
    this.#announce = announce
  }

  get isEmpty(): boolean {
    return this.#open === 0
  }

  opened(): void {
    this.#open++
  }
  closed(): void {
    this.#open--
  }

  /** A request has to wait for its turn. */
  waits(): void {
    if (++this.#waiting > LIMITS.waitingPerConnection) this.#narrow()
  }
  /** It waits no longer. */
  goes(): void {
    this.#waiting--
  }

  end(): void {
    clearInterval(this.#easing)
  }

  /** Those that are being answered stay, watches above all; of those that wait, a few are enough to keep the server busy. */
  #narrow(): void {
    // Those who have gone may still be counted among those who wait.
    const answered = Math.max(0, this.#open - this.#waiting)
    const limit = Math.min(answered + LIMITS.waitingPerConnection, LIMITS.streamsPerConnection)
    if (this.#easing !== undefined && limit >= this.#wanted) return
    this.#say(limit)
    this.#easing ??= setInterval(this.#ease, LIMITS.easeMs).unref()
  }

  #ease = (): void => {
    if (this.#waiting > 0) return
    clearInterval(this.#easing)
    this.#easing = undefined
    this.#say(LIMITS.streamsPerConnection)
  }

  #say(limit: number): void {
    this.#wanted = limit
    if (limit === this.#announced || this.#unheard) return
    this.#announced = limit
    this.#unheard = true
    this.#announce(limit, () => {
      this.#unheard = false
      this.#say(this.#wanted)
    })
  }
}
