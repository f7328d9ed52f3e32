/**
 * Requests of one HTTP/2 connection before anything has been done about them. A client may send a thousand at once; only a few
 * of them are looked at before those that wait for their turn have got it, so that the rest costs no more than its stream.
 */

/** A stream that has arrived. */
export interface Arrival {
  /** Nobody waits for the answer any more. */
  isGone(): boolean
  /** Looks at the request. `passed` must be called when it waits for its turn no longer, also when it never had to; once or more. */
  begin(passed: () => void): void
}

export class Arrivals {
  readonly #atOnce: number
  readonly #most: number
  /** Begun, and waiting for their turn. */
  #begun = 0
  #isBeginning = false
  #later: (Arrival | undefined)[] = []
  #head = 0

  /** Begins `atOnce`; keeps `most` before it looks for those who have gone among them. */
  constructor({ atOnce, most }: { readonly atOnce: number; readonly most: number }) {
    this.#atOnce = atOnce
    this.#most = most
  }

  /** How many have not been looked at. */
  get waiting(): number {
    return this.#later.length - this.#head
  }

  come(arrival: Arrival): void {
    if (this.#begun < this.#atOnce) return void this.#begin(arrival)
    if (this.waiting >= this.#most) this.#tidy()
    this.#later.push(arrival)
  }

  #begin(arrival: Arrival): void {
    let passed = false
    this.#begun++
    arrival.begin(() => {
      if (passed) return
      passed = true
      this.#begun--
      this.#next()
    })
  }

  /** What begins here may pass at once and come here again: that goes on in the loop that is under way, however many do. */
  #next(): void {
    if (this.#isBeginning) return
    this.#isBeginning = true
    while (this.#begun < this.#atOnce && this.waiting > 0) {
      const arrival = this.#later[this.#head]!
      this.#later[this.#head++] = undefined
      if (!arrival.isGone()) this.#begin(arrival)
    }
    this.#isBeginning = false
    if (this.#head > 256 && this.#head * 2 > this.#later.length) this.#tidy()
  }

  /** A client may ask and take back without end. */
  #tidy(): void {
    this.#later = this.#later.slice(this.#head).filter(arrival => !arrival!.isGone())
    this.#head = 0
  }
}
