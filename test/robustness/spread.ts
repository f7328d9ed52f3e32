/** A client of several servers: it stays with one for a while, and changes to another at random and when a response does not come. */
import { startTimer, stopTimer, type Timer } from '../../src/lib/environment.ts'
import type { Answer, Connection, Request, StreamAnswer } from './connection.ts'
import type { Random } from './random.ts'

/** Longer than servers and members of the store are paused, so that most requests in flight are answered. */
const PATIENCE_MS = 8_000
const STAY = 4

export class SpreadConnection implements Connection {
  readonly #open: readonly (() => Connection)[]
  readonly #connections: (Connection | undefined)[]
  readonly #random: Random
  #at: number

  constructor(open: readonly (() => Connection)[], random: Random) {
    this.#open = open
    this.#connections = open.map(() => undefined)
    this.#random = random
    this.#at = random.below(open.length)
  }

  call(sent: Request): Promise<Answer> {
    return this.#answered(connection => connection.call(sent))
  }

  stream(path: string, onLine: (line: string) => void): Promise<StreamAnswer> {
    return this.#answered(connection => connection.stream(path, onLine))
  }

  close(): void {
    for (const connection of this.#connections) connection?.close()
  }

  async #answered<R>(ask: (connection: Connection) => Promise<R>): Promise<R> {
    if (this.#random.oneIn(STAY)) this.#at = this.#random.below(this.#open.length)
    const at = this.#at
    const connection = (this.#connections[at] ??= this.#open[at]!())
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = startTimer(() => reject(new Error('no answer came')), PATIENCE_MS)
    })
    try {
      return await Promise.race([ask(connection), late])
    } catch (error) {
      connection.close()
      if (this.#connections[at] === connection) this.#connections[at] = undefined
      this.#at = (at + 1) % this.#open.length
      throw error
    } finally {
      stopTimer(timer)
    }
  }
}
