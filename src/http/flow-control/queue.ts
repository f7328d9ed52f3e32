/** A FIFO queue that does not move its items. */
export class Queue<T> {
  #items: (T | undefined)[]
  #head = 0

  constructor(first: T) {
    this.#items = [first]
  }
  get length(): number {
    return this.#items.length - this.#head
  }
  get first(): T {
    return this.#items[this.#head]!
  }
  push(item: T): void {
    this.#items.push(item)
  }
  shift(): T {
    const item = this.#items[this.#head]!
    // Removed items are released at once: each would keep its whole request in memory.
    this.#items[this.#head++] = undefined
    if (this.#head > 256 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
