/** A part that is created after the parts that use it: they get this, and ask for the part when they need it. */
export class LateBound<T> {
  readonly #name: string
  #value: T | undefined

  /** The name is for the error of an early `get`. */
  constructor(name: string) {
    this.#name = name
  }

  set(value: T): void {
    this.#value = value
  }

  /** Throws when the part does not exist yet. */
  get(): T {
    if (this.#value === undefined) throw new Error(`${this.#name} is used before it exists`)
    return this.#value
  }

  /** Undefined when the part does not exist yet. */
  peek(): T | undefined {
    return this.#value
  }
}
