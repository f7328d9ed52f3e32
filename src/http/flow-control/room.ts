/** How much of its answers one connection may have lying in memory: for a client that does not read, no more are made. */

/** An answer that is being made or sent. */
export interface Place {
  /** Says how large the answer has become; until then it counts as large as the last one. */
  settle(bytes: number): void
  /** The client has the answer, or there is none. Must be called once. */
  leave(): void
}

/** So many may wait before those who have gone are looked for among them. */
const CROWDED = 256

type Waiter = { readonly isGone: () => boolean; readonly go: (place: Place) => void }

export class Room {
  readonly #bytes: number
  #waiting: Waiter[] = []
  #crowded = CROWDED
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
    if (this.#waiting.length >= this.#crowded) this.#sendAway()
    return new Promise(go => this.#waiting.push({ isGone, go }))
  }

  /** A client may ask, go and ask again without end while it reads nothing. */
  #sendAway(): void {
    const gone = this.#waiting.filter(({ isGone }) => isGone())
    this.#waiting = this.#waiting.filter(({ isGone }) => !isGone())
    this.#crowded = Math.max(CROWDED, this.#waiting.length * 2)
    for (const { go } of gone) go(this.#place())
  }

  #place(): Place {
    let size = this.#usual
    this.#held += size
    return {
      settle: bytes => {
        this.#held += bytes - size
        size = bytes
        // A stream says nothing about answers.
        if (bytes > 0) this.#usual = bytes
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
