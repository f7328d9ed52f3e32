/**
 * The port of a server with several processes. The supervisor accepts connections and hands each to the process that has the fewest:
 * clients of an API server have few connections that last long, and a kernel that spreads them by chance would leave processes idle. It
 * also works alike on every system and version of Node, and a connection that no process has got yet survives the end of any. The process
 * that commits the writes of all gets two where another gets three.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { LIMITS } from '../../lib/limits.ts'
import type { ServerProcess } from './server-process.ts'

/** A process that owes more answers may be stopped: others get the connections. */
const FEW_UNANSWERED = 2

/** The connections of a process, as many as they are worth: to the process that commits for all, two are as much as three. */
const burdenOf = ({ connections, isPrimary }: ServerProcess): number => (isPrimary ? connections + (connections >> 1) : connections)

export class Port {
  #server: Server | undefined
  #opening: Promise<AddressInfo> | undefined
  /** The processes that serve, the one that got a connection last at the end. */
  #serving: ServerProcess[] = []
  /** Connections that wait for a process. */
  #waiting: Socket[] = []

  /** Opens it, once. Rejects if it cannot be opened; the next call tries again. */
  open(address: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    this.#opening ??= this.#open(address).catch(error => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** A process serves from now on. */
  add(process: ServerProcess): void {
    this.#serving.unshift(process)
    for (const socket of this.#waiting.splice(0)) this.#hand(socket)
  }

  remove(process: ServerProcess): void {
    this.#serving = this.#serving.filter(each => each !== process)
  }

  /** A process has ended: others get the connections that did not reach it. */
  replace(process: ServerProcess): void {
    this.remove(process)
    for (const socket of process.takeBack()) this.#hand(socket)
  }

  /** Accepts no more connections. */
  close(): void {
    this.#server?.close()
    this.#server = undefined
    for (const socket of this.#waiting.splice(0)) socket.destroy()
  }

  #open({ host, port }: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    // Nothing is read here: the first bytes belong to the process that gets the connection.
    const server = createServer({ pauseOnConnect: true, noDelay: true }, socket => this.#hand(socket))
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, () => {
        server.off('error', reject)
        // Out of file descriptors, for a while: connections wait in the kernel.
        server.on('error', () => {})
        resolve(server.address() as AddressInfo)
      })
    })
  }

  #hand(socket: Socket): void {
    socket.on('error', () => {})
    if (!this.#server) return void socket.destroy()
    const open = this.#serving.reduce((sum, { connections }) => sum + connections, this.#waiting.length)
    if (open >= LIMITS.connections) return void socket.destroy()
    const awake = this.#serving.filter(({ unanswered }) => unanswered <= FEW_UNANSWERED)
    let fewest: ServerProcess | undefined
    for (const each of awake.length > 0 ? awake : this.#serving) if (!fewest || burdenOf(each) < burdenOf(fewest)) fewest = each
    if (!fewest?.hand(socket)) return void this.#waiting.push(socket)
    this.#serving = [...this.#serving.filter(each => each !== fewest), fewest]
  }
}
