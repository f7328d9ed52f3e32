/** Writers that lost a race for one object take turns, so that a crowd gets through in as many writes as it has members. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /** Waits for everyone who asked before; the result ends the turn. */
  async take(key: string): Promise<() => void> {
    const before = this.#last.get(key)
    let end: () => void = () => {}
    const mine = new Promise<void>(resolve => (end = resolve))
    this.#last.set(key, mine)
    await before
    return () => {
      if (this.#last.get(key) === mine) this.#last.delete(key)
      end()
    }
  }
}
