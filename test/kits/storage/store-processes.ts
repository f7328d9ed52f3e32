/** Starts processes that share a store, for tests. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { sharedScript } from '../script.ts'
import type { Answer, Doubt, Order, Written } from './store-host.ts'

const HOST = fileURLToPath(new URL('./store-host.ts', import.meta.url))

/** A process of a family; `written` lists the writes that were acknowledged in it so far. */
export class StoreProcess {
  readonly child: ChildProcess
  readonly written: Written[] = []
  readonly doubts: Doubt[] = []
  readonly #waiting = new Map<number, { resolve(result: any): void; reject(error: Error): void }>()
  #lastId = 0
  #wake = () => {}

  constructor() {
    this.child = fork(sharedScript(HOST), [], { execArgv: [] })
    this.child.on('message', message => this.#take(message as Answer | Written | Doubt))
    this.child.on('exit', () => this.#wake())
  }

  /** Has it do something; rejects with the text of its error. */
  tell<R = unknown>(order: Order): Promise<R> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.child.send({ id, order })
    })
  }

  /** Waits until so much was acknowledged, or until it has ended. */
  async heard(count: number): Promise<void> {
    while (this.written.length < count && this.child.exitCode === null && this.child.signalCode === null)
      await new Promise<void>(resolve => (this.#wake = resolve))
  }

  /** Ends it at once; resolves when all that it had sent has arrived. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = new Promise(resolve => this.child.once('close', resolve))
    this.child.kill('SIGKILL')
    await gone
  }

  #take(message: Answer | Written | Doubt): void {
    if ('id' in message) {
      const waiting = this.#waiting.get(message.id)!
      this.#waiting.delete(message.id)
      if (message.error !== undefined) waiting.reject(new Error(message.error))
      else waiting.resolve(message.result)
      return
    }
    if ('doubt' in message) this.doubts.push(message)
    else this.written.push(message)
    this.#wake()
  }
}
