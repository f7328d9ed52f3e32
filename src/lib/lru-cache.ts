/** Remembers a number of values, and forgets the one that was not used for the longest time first. */
export class LruCache<K, V extends {}> {
  readonly #maxSize: number
  /** In the order of their last uses. */
  readonly #values = new Map<K, V>()

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  get size(): number {
    return this.#values.size
  }

  get(key: K): V | undefined {
    const value = this.#values.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  set(key: K, value: V): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#maxSize) return
    const [oldest] = this.#values.keys()
    this.#values.delete(oldest!)
  }
}
