/**
 * Streams of one HTTP/2 connection whose requests have not been read yet. A client may open a thousand at once; only a few of
 * them are read and wait for a seat at a time, so that the others cost no more than their stream.
 */

/** A stream that has been opened. */
export interface PendingStream {
  /** The client has closed the stream. */
  isGone(): boolean
  /** Reads the request. `passed` must be called, once or more, when it no longer waits for a seat, also when it never had to. */
  begin(passed: () => void): void
}

export class PendingStreams {
  readonly #atOnce: number
  readonly #most: number
  /** Started, and waiting for a seat. */
  #begun = 0
  #isBeginning = false
  #later: (PendingStream | undefined)[] = []
  #head = 0

  /** Starts `atOnce`; removes closed streams once `most` are waiting. */
  constructor({ atOnce, most }: { readonly atOnce: number; readonly most: number }) {
    this.#atOnce = atOnce
    this.#most = most
  }

  /** The number of streams that have not started. */
  get waiting(): number {
    return this.#later.length - this.#head
  }

  add(stream: PendingStream): void {
    if (this.#begun < this.#atOnce) return void this.#begin(stream)
    if (this.waiting >= this.#most) this.#tidy()
    this.#later.push(stream)
  }

  #begin(stream: PendingStream): void {
    let passed = false
    this.#begun++
    stream.begin(() => {
      if (passed) return
      passed = true
      this.#begun--
      this.#next()
    })
  }

  /** A stream that starts may pass immediately and call this again: the running loop then continues, without recursion. */
  #next(): void {
    if (this.#isBeginning) return
    this.#isBeginning = true
    while (this.#begun < this.#atOnce && this.waiting > 0) {
      const stream = this.#later[this.#head]!
      this.#later[this.#head++] = undefined
      if (!stream.isGone()) this.#begin(stream)
    }
    this.#isBeginning = false
    if (this.#head > 256 && this.#head * 2 > this.#later.length) this.#tidy()
  }

  /** A client may open and close streams without end. */
  #tidy(): void {
    this.#later = this.#later.slice(this.#head).filter(stream => !stream!.isGone())
    this.#head = 0
  }
}
