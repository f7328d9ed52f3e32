/** How much of its answers one connection may have lying in memory: for a client that does not read, no more are made. */

/** An answer that is being made or sent. */
export interface Place {
  /** Says how large the answer has become; until then it counts as large as the last one. */
  settle(bytes: number): void
  /** The client has the answer, or there is none. Must be called once. */
  leave(): void
}

type Waiter = { readonly isGone: () => boolean; readonly go: (place: Place) => void }

export class Room {
  readonly #bytes: number
  readonly #waiting: Waiter[] = []
  #held = 0
  /** What the next answer will probably need. */
  #usual: number

  /** Room for so many bytes; an answer is taken to have `usual` bytes before any was seen. */
  constructor(bytes: number, usual: number) {
    this.#bytes = bytes
    this.#usual = usual
  }

  /** A place for an answer, at once or when others have been taken. Whoever is gone by then gets it too, and has to leave. */
  enter(isGone: () => boolean): Place | Promise<Place> {
    if (this.#held < this.#bytes && this.#waiting.length === 0) return this.#place()
    return new Promise(go => this.#waiting.push({ isGone, go }))
  }

  #place(): Place {
    let size = this.#usual
    this.#held += size
    return {
      settle: bytes => {
        this.#held += bytes - size
        size = bytes
        this.#usual = bytes
      },
      leave: () => {
        this.#held -= size
        this.#admit()
      },
    }
  }

  #admit(): void {
    while (this.#waiting.length > 0 && (this.#held < this.#bytes || this.#waiting[0]!.isGone())) {
      const { go } = this.#waiting.shift()!
      go(this.#place())
    }
  }
}
