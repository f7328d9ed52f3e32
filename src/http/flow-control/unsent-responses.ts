/** Bounds the bytes of responses that one connection has in memory: no more responses are made for a client that does not read. */

/** Memory reserved for a response that is being made or sent. */
export interface Reservation {
  /** Sets the size of the response; until then the size of the previous one is assumed. */
  settle(bytes: number): void
  /** The response has been sent, or there is none. Must be called once. */
  release(): void
}

/** The number of waiting requests from which on those of disconnected clients are removed. */
const CROWDED = 256

type Waiter = { readonly isGone: () => boolean; readonly go: (reservation: Reservation) => void }

export class UnsentResponses {
  readonly #bytes: number
  #waiting: Waiter[] = []
  #crowded = CROWDED
  #held = 0
  /** The assumed size of the next response. */
  #usual: number

  /** `usual` is the assumed size of the first response. */
  constructor(bytes: number, usual: number) {
    this.#bytes = bytes
    this.#usual = usual
  }

  /**
   * A reservation for a response, immediately or when others have been released. Requests of disconnected clients get one too, and must
   * release it.
   */
  reserve(isGone: () => boolean): Reservation | Promise<Reservation> {
    if (this.#held < this.#bytes && this.#waiting.length === 0) return this.#newReservation()
    if (this.#waiting.length >= this.#crowded) this.#dropCancelled()
    return new Promise(go => this.#waiting.push({ isGone, go }))
  }

  /** A client may send and cancel requests without end while it reads nothing. */
  #dropCancelled(): void {
    const gone = this.#waiting.filter(({ isGone }) => isGone())
    this.#waiting = this.#waiting.filter(({ isGone }) => !isGone())
    this.#crowded = Math.max(CROWDED, this.#waiting.length * 2)
    for (const { go } of gone) go(this.#newReservation())
  }

  #newReservation(): Reservation {
    let size = this.#usual
    this.#held += size
    return {
      settle: bytes => {
        this.#held += bytes - size
        size = bytes
        // The size of a stream says nothing about other responses.
        if (bytes > 0) this.#usual = bytes
      },
      release: () => {
        this.#held -= size
        this.#admit()
      },
    }
  }

  #admit(): void {
    while (this.#waiting.length > 0 && (this.#held < this.#bytes || this.#waiting[0]!.isGone())) {
      const { go } = this.#waiting.shift()!
      go(this.#newReservation())
    }
  }
}
