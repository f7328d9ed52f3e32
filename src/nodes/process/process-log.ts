/** The output of a process: its last lines, as many as fit into a limit, with the time and the stream of each. */
import { StringDecoder } from 'node:string_decoder'
import { LIMITS } from '../../lib/limits.ts'

export type StreamName = 'stdout' | 'stderr'
export type LogLine = { readonly at: number; readonly stream: StreamName; readonly text: string }

/** A line without an end is cut there, as container runtimes cut it. */
const MAX_LINE_LENGTH = 16 * 1024

export class ProcessLog {
  readonly #lines: LogLine[] = []
  readonly #decoders = { stdout: new StringDecoder(), stderr: new StringDecoder() }
  readonly #partial = { stdout: '', stderr: '' }
  readonly #listeners = new Set<() => void>()
  #size = 0
  /** How many lines have been dropped. */
  #dropped = 0
  #isEnded = false

  /** Whether nothing follows. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** The number of the line after the last. */
  get end(): number {
    return this.#dropped + this.#lines.length
  }

  add(stream: StreamName, bytes: Buffer, at: number): void {
    let text = this.#partial[stream] + this.#decoders[stream].write(bytes)
    for (let end = text.indexOf('\n'); end >= 0 || text.length > MAX_LINE_LENGTH; end = text.indexOf('\n')) {
      const length = end < 0 || end > MAX_LINE_LENGTH ? MAX_LINE_LENGTH : end
      this.#push({ at, stream, text: text.slice(0, length) })
      text = text.slice(length === end ? length + 1 : length)
    }
    this.#partial[stream] = text
    this.#notify()
  }

  /** Takes the last lines, which need not be terminated. */
  close(at: number): void {
    if (this.#isEnded) return
    for (const stream of ['stdout', 'stderr'] as const) {
      const text = this.#partial[stream] + this.#decoders[stream].end()
      if (text !== '') this.#push({ at, stream, text })
      this.#partial[stream] = ''
    }
    this.#isEnded = true
    this.#notify()
  }

  /** The lines from a number on that are still there, and the number of the next. */
  from(number: number): { readonly lines: readonly LogLine[]; readonly next: number } {
    return { lines: this.#lines.slice(Math.max(number - this.#dropped, 0)), next: this.end }
  }

  /** The end of the output, for messages. */
  tail(length: number): string {
    const texts: string[] = []
    let size = 0
    for (let i = this.#lines.length - 1; i >= 0 && size < length; i--) {
      texts.unshift(`${this.#lines[i]!.text}\n`)
      size += texts[0]!.length
    }
    return texts.join('').slice(-length)
  }

  /** Resolves with the next change, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isEnded) return Promise.resolve()
    return new Promise(resolve => {
      const done = () => {
        this.#listeners.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#listeners.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  #push(line: LogLine): void {
    this.#lines.push(line)
    this.#size += costOf(line)
    if (this.#size <= LIMITS.localProcess.logBytes) return
    // A tenth at once: dropping line by line would copy the list each time.
    let count = 0
    for (const target = LIMITS.localProcess.logBytes * 0.9; this.#size > target; count++) this.#size -= costOf(this.#lines[count]!)
    this.#lines.splice(0, count)
    this.#dropped += count
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

const LINE_COST = 64
const costOf = ({ text }: LogLine): number => text.length + LINE_COST
