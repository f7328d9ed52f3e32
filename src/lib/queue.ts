/** A FIFO queue that does not move its items: `shift` of a long array takes time for each of those that stay. */
export class Queue<T> {
  #items: (T | undefined)[]
  #head = 0

  constructor(...items: readonly T[]) {
    this.#items = [...items]
  }
  get length(): number {
    return this.#items.length - this.#head
  }
  /** The first item of a queue that is not empty. */
  get first(): T {
    return this.#items[this.#head]!
  }
  push(item: T): void {
    this.#items.push(item)
  }
  /** Removes the first item of a queue that is not empty. */
  shift(): T {
    const item = this.#items[this.#head]!
    // Removed items are released at once: each may keep much in memory.
    this.#items[this.#head++] = undefined
    if (this.#head > 256 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
