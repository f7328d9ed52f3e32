/** The primary's side of the socket: other processes join, send swaps, and are told of commits. */
import { startTimer, stopTimer, type Timer } from '../../lib/environment.ts'
import type { LogReader } from '../embedded/log-reader.ts'
import type { Writer } from '../embedded/writer.ts'
import type { Swap } from '../store.ts'
import { encodeFailure } from './failures.ts'
import type { Family } from './family.ts'
import { decodeRevision, decodeSwap, encodeFrame, encodeRevision, type Frame, FrameReader } from './frames.ts'
import { decodeHello, encodeWelcome, type Hello } from './handshake.ts'
import type { Machine, Wire } from './machine.ts'

export type PrimaryParts = {
  readonly family: Family
  readonly machine: Machine
  readonly reader: LogReader
  readonly writer: Writer
  readonly onStuck: (pid: number) => void
}

/** Opening takes milliseconds. One that takes longer is stopped, and nobody can write until it is gone. */
const OPENING_MS = 5_000
/** A follower that has read nothing for so long does not run any more. */
const STUCK_MS = 30_000
/** The socket holds what has been answered until it is read. */
const CLOSING_MS = 1_000

export class Primary {
  #listener: Awaited<ReturnType<Machine['listen']>> | undefined
  readonly #members = new Set<Member>()
  /** Those whose connection has ended while swaps were being decided. */
  readonly #left = new Set<Member>()
  #isClosing = false

  /** Has the processes of the family connect to this one. */
  static async listen(parts: PrimaryParts): Promise<Primary> {
    const primary = new Primary(parts)
    primary.#listener = await parts.machine.listen(wire => primary.#accept(wire, parts))
    return primary
  }

  private constructor(parts: PrimaryParts) {
    parts.writer.onCommitted = () => {
      for (const member of this.#members) member.notice()
    }
  }

  #accept(wire: Wire, parts: PrimaryParts): void {
    const member: Member = new Member(wire, parts, {
      joins: hello => this.#replace(member, hello),
      ended: () => {
        this.#members.delete(member)
        this.#left.add(member)
        void member.decided().then(() => this.#left.delete(member))
        // The place of a dead process among the readers would keep pages from being reused.
        if (!this.#isClosing) parts.reader.file.forgetDeadReaders()
      },
    })
    this.#members.add(member)
  }

  /** Takes no more requests. Those that were taken are answered, which the writer must have decided to do by now. */
  stopReading(): void {
    for (const member of this.#members) member.stopReading()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    const closed = this.#listener?.close()
    for (const member of this.#members) member.end()
    await closed
  }

  /** Requests over a connection that a process has given up are decided before it is let in again. */
  async #replace(member: Member, hello: Hello): Promise<void> {
    for (const other of [...this.#members, ...this.#left]) if (other !== member && other.id === hello.member) await other.replaced()
  }
}

type MemberEvents = { joins(hello: Hello): Promise<void>; ended(): void }

/** One process that has joined, or is about to. */
class Member {
  readonly #socket: Wire
  readonly #parts: PrimaryParts
  readonly #events: MemberEvents
  readonly #frames = new FrameReader()
  #hello: Hello | undefined
  #isWelcome = false
  #isReading = true
  #isOpening = false
  #opened: () => void = () => {}
  #out: Buffer[] = []
  #isFlushing = false
  #isNoticeDue = false
  #toldFull = false
  #stuck: Timer | undefined
  /** Swaps that are being decided. One that is refused is decided sooner than those before it. */
  #undecided = 0
  #decided: (() => void)[] = []

  constructor(socket: Wire, parts: PrimaryParts, events: MemberEvents) {
    this.#socket = socket
    this.#parts = parts
    this.#events = events
    socket.unref()
    socket.on('data', chunk => this.#read(chunk))
    socket.on('error', () => {})
    socket.on('drain', () => this.#drained())
    socket.on('close', () => {
      this.#isReading = false
      stopTimer(this.#stuck)
      this.#opened()
      events.ended()
    })
  }

  get id(): string | undefined {
    return this.#hello?.member
  }

  /** There is something new in the file. */
  notice(): void {
    if (!this.#isWelcome) return
    this.#isNoticeDue = true
    this.#flushSoon()
  }

  stopReading(): void {
    this.#isReading = false
  }

  async replaced(): Promise<void> {
    this.#isReading = false
    this.#socket.destroy()
    await this.decided()
  }

  /** Resolves when all swaps that have arrived are decided. */
  async decided(): Promise<void> {
    if (this.#undecided > 0) await new Promise<void>(resolve => this.#decided.push(resolve))
  }

  end(): void {
    this.#isReading = false
    this.#flush()
    this.#socket.end()
    // A process that is stopped does not close its side.
    const timer = startTimer(() => this.#socket.destroy(), CLOSING_MS)
    this.#socket.once('close', () => stopTimer(timer))
    this.#socket.once('finish', () => this.#socket.destroySoon())
  }

  #read(chunk: Buffer): void {
    // A process that opens the file says nothing but that it has; nobody commits before that.
    if (!this.#isReading && !this.#isOpening) return
    try {
      for (const frame of this.#frames.take(chunk)) this.#take(frame)
    } catch {
      this.#socket.destroy()
    }
  }

  #take(frame: Frame): void {
    const { writer } = this.#parts
    if (!this.#hello) {
      this.#hello = decodeHello(frame, this.#parts.family.secret)
      if (this.#hello) this.#join(this.#hello).catch(() => this.#socket.destroy())
      else this.#socket.destroy()
      return
    }
    if (frame.type === 'swap') this.#swap(frame)
    else if (frame.type === 'compact') this.#do(frame, writer.compact(decodeRevision(frame)))
    else if (frame.type === 'probe') this.#do(frame, writer.probe())
    else if (frame.type === 'opened') this.#opened()
    else throw new RangeError(`a follower does not send ${frame.type}`)
  }

  async #join(hello: Hello): Promise<void> {
    await this.#events.joins(hello)
    if (!hello.hasOpened) await this.#whileOpening(hello.pid)
    const { reader, writer } = this.#parts
    this.#toldFull = writer.isFull
    this.#socket.write(encodeWelcome({ damaged: reader.damaged, isFull: this.#toldFull }))
    this.#isWelcome = true
    this.notice()
  }

  /** Makes no commit until the process has opened the file, or is gone; see `Turn`. */
  async #whileOpening(pid: number): Promise<void> {
    const resume = await this.#parts.writer.pause()
    const timer = startTimer(() => this.#parts.machine.kill(pid), OPENING_MS)
    this.#isOpening = true
    try {
      await new Promise<void>(resolve => {
        this.#opened = resolve
        if (this.#socket.destroyed) return resolve()
        this.#socket.write(encodeFrame('open', 0))
      })
    } finally {
      stopTimer(timer)
      this.#isOpening = false
      resume()
    }
  }

  #swap(frame: Frame): void {
    const { id } = frame
    const { key, change } = decodeSwap(frame)
    const answer = (frame: Buffer) => {
      this.#answer(frame)
      if (--this.#undecided === 0) for (const resolve of this.#decided.splice(0)) resolve()
    }
    this.#undecided++
    this.#parts.writer.swap(key, change).then(
      (swap: Swap) => answer(swap.ok ? encodeRevision('made', id, swap.revision) : encodeFrame('lost', id)),
      error => answer(encodeFailure(id, error, change.fences)),
    )
  }

  #do({ id }: Frame, work: Promise<void>): void {
    work.then(
      () => this.#answer(encodeFrame('done', id)),
      error => this.#answer(encodeFailure(id, error)),
    )
  }

  #answer(frame: Buffer): void {
    this.#out.push(frame)
    this.#flushSoon()
  }

  /** After the promises of one commit have called back, so that all that concerns it is one write. */
  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    process.nextTick(() => this.#flush())
  }

  #flush(): void {
    this.#isFlushing = false
    const socket = this.#socket
    if (socket.destroyed || socket.writableEnded || !this.#isWelcome) return
    // A process that does not read is told once when it does.
    if (this.#out.length === 0 && (!this.#isNoticeDue || socket.writableNeedDrain)) return
    if (this.#out.length === 0) this.#out.push(encodeFrame('notice', 0))
    this.#isNoticeDue = false
    const { isFull } = this.#parts.writer
    if (isFull !== this.#toldFull) this.#out.unshift(encodeFrame('alarm', (this.#toldFull = isFull) ? 1 : 0))
    const out = this.#out.length === 1 ? this.#out[0]! : Buffer.concat(this.#out)
    this.#out = []
    if (socket.write(out)) return
    this.#stuck ??= startTimer(() => this.#parts.onStuck(this.#hello!.pid), STUCK_MS).unref()
  }

  #drained(): void {
    stopTimer(this.#stuck)
    this.#stuck = undefined
    if (this.#isNoticeDue) this.#flush()
  }
}
