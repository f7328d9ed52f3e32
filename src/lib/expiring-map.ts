/** A bounded map whose entries expire; when it is full, the oldest entry goes. */
export class ExpiringMap<K, V> {
  readonly #entries = new Map<K, { readonly value: V; readonly until: number }>()
  readonly #limit: number
  readonly #now: () => number

  constructor(limit: number, now: () => number) {
    this.#limit = limit
    this.#now = now
  }

  get(key: K): V | undefined {
    const found = this.#entries.get(key)
    if (!found) return undefined
    if (this.#now() < found.until) return found.value
    this.#entries.delete(key)
    return undefined
  }

  /** Keeps a value for `ttlMs`; 0 keeps nothing. */
  set(key: K, value: V, ttlMs: number): void {
    this.#entries.delete(key)
    if (!(ttlMs > 0)) return
    this.#entries.set(key, { value, until: this.#now() + ttlMs })
    if (this.#entries.size > this.#limit) this.#entries.delete(this.#entries.keys().next().value!)
  }
}
