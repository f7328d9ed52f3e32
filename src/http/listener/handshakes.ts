// Connections whose TLS handshake is not finished yet, and the deadline of their clients.
import type { Socket } from 'node:net'
import { LIMITS } from '../../lib/limits.ts'

/**
 * Unfinished handshakes. A client that does not finish in time is cut off. Time is counted in ticks of a timer, not by the clock: a process
 * that cannot run (hundreds of clients connect at once, the machine is busy or was suspended) sees no ticks, and between two of them it
 * reads everything that has arrived. So a client is never cut off because the server is slow.
 */
export class Handshakes {
  /** The ticks that each connection has seen. */
  readonly #ticks = new Map<Socket, number>()
  readonly #limit: number
  readonly #tickMs: number
  #timer: NodeJS.Timeout | undefined

  constructor({ ticks, tickMs }: { readonly ticks: number; readonly tickMs: number } = LIMITS.handshake) {
    this.#limit = ticks
    this.#tickMs = tickMs
  }

  get size(): number {
    return this.#ticks.size
  }

  begin(socket: Socket): void {
    this.#ticks.set(socket, 0)
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref()
  }

  end(socket: Socket): void {
    this.#ticks.delete(socket)
    if (this.#ticks.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Cuts all of them off. */
  cutAll(): void {
    for (const socket of this.#ticks.keys()) socket.destroy()
  }

  #tick(): void {
    for (const [socket, ticks] of this.#ticks) {
      if (ticks < this.#limit) this.#ticks.set(socket, ticks + 1)
      else socket.destroy()
    }
  }
}
