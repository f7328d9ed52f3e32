/** Writers that lost a race for one object go one after the other, so that many get through in as many writes as there are writers. */
export class Contention {
  readonly #last = new Map<string, Promise<void>>()

  /** Waits for all writers that entered before for the same key; call the result to leave. */
  async enter(key: string): Promise<() => void> {
    const before = this.#last.get(key)
    let leave: () => void = () => {}
    const mine = new Promise<void>(resolve => (leave = resolve))
    this.#last.set(key, mine)
    await before
    return () => {
      if (this.#last.get(key) === mine) this.#last.delete(key)
      leave()
    }
  }
}
