/** A follower's connection to the primary: frames in both directions, those of one iteration of the event loop in one write. */
import { nextIteration } from '../../lib/environment.ts'
import { type Frame, FrameReader } from './frames.ts'
import type { Wire } from './machine.ts'

export type LinkEvents = {
  /** Called with the frames that have arrived together. */
  frames(frames: readonly Frame[]): void
  closed(): void
}

export class Link {
  readonly #socket: Wire
  readonly #reader = new FrameReader()
  #out: Buffer[] = []
  /** Frames of the handshake, until there is a receiver for all. */
  readonly #early: Frame[] = []
  #wake: () => void = () => {}
  #events: LinkEvents | undefined
  #isClosed = false

  constructor(socket: Wire) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('data', chunk => this.#read(chunk))
    socket.on('close', () => {
      this.#isClosed = true
      this.#wake()
      this.#events?.closed()
    })
  }

  /** The next frame of the handshake; undefined if the connection has ended. */
  async next(): Promise<Frame | undefined> {
    while (this.#early.length === 0 && !this.#isClosed) await new Promise<void>(resolve => (this.#wake = resolve))
    return this.#early.shift()
  }

  /** Ends the handshake. The connection alone does not keep the process alive from now on. */
  follow(events: LinkEvents): void {
    this.#events = events
    this.#socket.unref()
    if (this.#early.length > 0) events.frames(this.#early.splice(0))
    if (this.#isClosed) events.closed()
  }

  send(frame: Buffer): void {
    if (this.#out.push(frame) === 1) nextIteration(() => this.#flush())
  }

  /** Keeps the process alive, or not: while there is no answer yet. */
  hold(isWaiting: boolean): void {
    if (isWaiting) this.#socket.ref()
    else this.#socket.unref()
  }

  close(): void {
    this.#events = undefined
    this.#socket.destroy()
  }

  #flush(): void {
    const out = this.#out
    this.#out = []
    if (!this.#isClosed) this.#socket.write(out.length === 1 ? out[0]! : Buffer.concat(out))
  }

  #read(chunk: Buffer): void {
    try {
      const frames = this.#reader.take(chunk)
      if (this.#events) this.#events.frames(frames)
      else this.#early.push(...frames)
    } catch {
      this.#socket.destroy()
    }
    this.#wake()
  }
}
