/** A client that reads answers and watches as JSON, for benches that look at what servers answer. */
import { Agent, request } from 'node:https'
import type { Target } from './raw-client.ts'

/** A watch whose events are only counted. */
export type Counting = { readonly count: () => number; readonly close: () => void }

export class Client {
  readonly #target: Target
  readonly #agent = new Agent({ keepAlive: true })

  constructor(target: Target) {
    this.#target = target
  }

  close(): void {
    this.#agent.destroy()
  }

  send(method: string, path: string, body?: object, type = 'application/json'): Promise<any> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': type }
      const sent = request({ ...this.#target, agent: this.#agent, method, path, headers }, answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', part => (text += part))
        answer.on('end', () =>
          (answer.statusCode ?? 500) < 300
            ? resolve(JSON.parse(text))
            : reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`)),
        )
      })
      sent.on('error', reject)
      sent.end(body && JSON.stringify(body))
    })
  }

  /** Reads a watch until an event fits. */
  watch(path: string, fits: (event: any) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request({ ...this.#target, agent: this.#agent, path }, answer => {
        let rest = ''
        answer.setEncoding('utf8').on('data', part => {
          const lines = (rest + part).split('\n')
          rest = lines.pop()!
          if (!lines.some(line => fits(JSON.parse(line)))) return
          sent.destroy()
          resolve()
        })
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  /** Counts the objects that a watch announces as added, without reading them: the server is measured, not this client. */
  countAdded(path: string, onCount: (count: number) => void = () => {}): Promise<Counting> {
    return new Promise((resolve, reject) => {
      const sent = request({ ...this.#target, agent: this.#agent, path }, answer => {
        if (answer.statusCode !== 200) return reject(new Error(`GET ${path}: ${answer.statusCode}`))
        let count = 0
        let rest: Buffer = Buffer.alloc(0)
        answer.on('data', (part: Buffer) => {
          const bytes = rest.length === 0 ? part : Buffer.concat([rest, part])
          let at = bytes.indexOf(ADDED)
          for (; at >= 0; at = bytes.indexOf(ADDED, at + ADDED.length)) count++
          rest = bytes.subarray(Math.max(0, bytes.length - ADDED.length + 1))
          onCount(count)
        })
        answer.on('error', () => {})
        resolve({ count: () => count, close: () => void sent.destroy() })
      })
      sent.on('error', reject)
      sent.end()
    })
  }
}

const ADDED = Buffer.from('{"type":"ADDED"')
