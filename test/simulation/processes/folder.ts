/**
 * The folder of an embedded store that several simulated processes have open: its file, whose commits become visible at one moment and are
 * heard of later, its lock, and the connections of processes to the one that listens.
 */
import { EventEmitter } from 'node:events'
import { constants } from 'node:os'
import type { Engine, Work } from '../../../src/storage/embedded/engine.ts'
import type { DatabaseSize, LogFile, Snapshot } from '../../../src/storage/embedded/log-file.ts'
import { decodeEntry, decodeHeader, revisionIn } from '../../../src/storage/embedded/record.ts'
import { decodeSwap, type Frame, FrameReader } from '../../../src/storage/processes/frames.ts'
import type { Machine, Wire } from '../../../src/storage/processes/machine.ts'
import { bytesOf, type Change, type Revision, StoreUnavailable } from '../../../src/storage/store.ts'
import type { Random } from '../../robustness/random.ts'
import type { Process, World } from '../world.ts'

/** A write as the file got it, with the process that asked for it and the revision that it replaced; 0 where there was nothing. */
export type Written = {
  readonly by: Process
  readonly key: string
  readonly revision: Revision
  readonly value: Uint8Array | null
  readonly expect: Revision
}

/** The content of the file after a commit. A commit appends to it in place: nobody looks for records that it has not seen. */
export type Content = {
  readonly commit: number
  readonly headers: Uint8Array[]
  /** How many of the headers it has. */
  readonly count: number
  readonly bodies: Map<string, Uint8Array>
  readonly compacted: Revision | undefined
}

/** A swap that a process has sent to another one. */
type WriteRequest = { readonly by: Process; readonly value: Uint8Array | null }
/** Swaps of one key that have lost are forgotten some time. */
const MAX_ASKED = 32

const MAX_TRIP_MS = 0.2
const MAX_COMMIT_MS = 3
const TRIED_ONE_IN = 8
/** Between the moment at which others can read a commit and the one at which its process hears of it. */
const MAX_HEARD_MS = 1
const HIGH_WATER_BYTES = 16_384
const PAGE_BYTES = 4_096

const idOf = (header: Uint8Array): string => Buffer.from(header).toString('latin1')

export class Folder {
  readonly world: World
  readonly random: Random
  /** Called for every write that is committed, in the order of revisions. */
  onWritten: (write: Written) => void = () => {}
  /** Called for a process that another one ends. */
  onKill: (process: Process) => void = process => this.world.kill(process)
  content: Content = { commit: 1, headers: [], count: 0, bodies: new Map(), compacted: undefined }
  /** The newest revision of each key, but for deleted ones. */
  readonly present = new Map<string, Revision>()
  #newest: Revision = 1
  readonly #asked = new Map<string, WriteRequest[]>()
  fence = 0
  owner: Process | undefined
  listener: { readonly of: Process; readonly accept: (wire: Wire) => void } | undefined
  /** Further milliseconds that a commit may take. */
  slowMs = 0
  /** Further milliseconds that bytes may take from one process to another. */
  linkMs = 0
  /** The share of commits that fail without effect. */
  failsBefore = 0
  #deletionsUntilSpace = 0
  /** For how many milliseconds a swap holds up the connection that it is sent over. */
  holdMs: (key: string, change: Pick<Change, 'expect' | 'value'>) => number = () => 0
  /** The commit that is being made now. */
  committing: { readonly of: Process; readonly make: () => void } | undefined
  /** Both ends of all connections. */
  readonly wires = new Set<SimulatedWire>()
  readonly processes = new Map<number, Process>()

  constructor(world: World) {
    this.world = world
    this.random = world.random.fork()
  }

  tripMs(): number {
    return this.random.next() * (MAX_TRIP_MS + this.linkMs)
  }

  get newest(): Revision {
    return this.#newest
  }

  /** The disk takes nothing more until so many keys have been deleted, or it is filled with none. */
  fill(deletions: number): void {
    this.world.note(deletions > 0 ? `the disk is full until ${deletions} keys are deleted` : 'the disk has space')
    this.#deletionsUntilSpace = deletions
  }

  get isFull(): boolean {
    return this.#deletionsUntilSpace > 0
  }

  /** The reason for which a commit fails. */
  failure({ puts }: Work): Error | undefined {
    if (this.isFull && puts.some(({ isFreeing }) => !isFreeing))
      return Object.assign(new Error('ENOSPC'), { errno: constants.errno.ENOSPC })
    return this.failsBefore > 0 && this.random.next() < this.failsBefore ? new Error('this commit fails') : undefined
  }

  /** A process has ended: the kernel closes its connections, and the commit that it was making is there or not. */
  ended(process: Process): void {
    if (this.committing?.of === process) {
      if (!this.isFull && this.random.oneIn(2)) this.committing.make()
      this.committing = undefined
    }
    if (this.listener?.of === process) this.listener = undefined
    for (const wire of [...this.wires]) if (wire.of === process) wire.lost()
  }

  /** Breaks connections between processes: some of them, or all. Either end notices it first. */
  breakLinks(share: number): void {
    this.world.note('connections between processes break')
    for (const wire of [...this.wires]) if (!wire.destroyed && this.random.next() < share) wire.destroy()
  }

  /** The content that processes have left here or elsewhere. */
  restore(content: Content): void {
    this.content = { ...content, headers: content.headers.slice(0, content.count), bodies: new Map(content.bodies) }
    for (const header of this.content.headers) {
      const { key, state } = decodeHeader(header)
      this.#newest = state.modified
      if (state.deleted) this.present.delete(key)
      else this.present.set(key, state.modified)
    }
  }

  /** A process sends a swap to another one, which the file will get from there. */
  asks(by: Process, key: string, value: Uint8Array | null): void {
    const asked = this.#asked.get(key) ?? []
    this.#asked.set(key, asked)
    if (asked.push({ by, value }) > MAX_ASKED) asked.shift()
  }

  apply(by: Process, { puts, removes, compacted }: Work): void {
    const { content, world } = this
    const gone = new Set(removes.map(idOf))
    const isSmaller = gone.size > 0
    const headers = isSmaller ? content.headers.slice(0, content.count).filter(header => !gone.has(idOf(header))) : content.headers
    const bodies = isSmaller ? new Map([...content.bodies].filter(([id]) => !gone.has(id))) : content.bodies
    const written = puts.map(({ header, body }): Written => {
      const { key, state } = decodeHeader(header)
      headers.push(header)
      bodies.set(idOf(header), body)
      const value = state.deleted ? null : decodeEntry(key, state, { header, body }).value
      const expect = this.present.get(key) ?? 0
      if (state.deleted && this.isFull) this.#deletionsUntilSpace--
      if (state.deleted) this.present.delete(key)
      else this.present.set(key, state.modified)
      if (state.modified !== ++this.#newest) world.failures.push(`revision ${state.modified} was written, and not ${this.#newest}`)
      return { by: this.#asker(key, value) ?? by, key, revision: state.modified, value, expect }
    })
    this.content = { commit: content.commit + 1, headers, count: headers.length, bodies, compacted: compacted ?? content.compacted }
    for (const write of written) this.onWritten(write)
  }

  /** The process that has sent this value; undefined if none has: then it is a write of the primary itself. */
  #asker(key: string, value: Uint8Array | null): Process | undefined {
    const asked = this.#asked.get(key) ?? []
    const at = asked.findLastIndex(each => isSame(each.value, value))
    return at < 0 ? undefined : asked.splice(at, 1)[0]!.by
  }
}

const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : a.length === b.length && Buffer.compare(a, b) === 0

/** The machine as one process uses it. */
export class SimulatedMachine implements Machine {
  readonly pid: number
  readonly #folder: Folder
  readonly #process: Process
  #file: SimulatedFile | undefined

  constructor(folder: Folder, process: Process) {
    this.#folder = folder
    this.#process = process
    this.pid = folder.processes.size + 1
    folder.processes.set(this.pid, process)
  }

  get file(): LogFile | undefined {
    return this.#file as unknown as LogFile | undefined
  }

  found(): Engine | undefined {
    const folder = this.#folder
    if (folder.owner && !folder.owner.isDead) return undefined
    this.open()
    folder.owner = this.#process
    folder.fence++
    folder.world.note(`${this.#process.name} is the primary`)
    if (folder.content.compacted === undefined) folder.content = { ...folder.content, compacted: 1 }
    return new SimulatedEngine(folder, this.#process, this.#file!) as unknown as Engine
  }

  open(): void {
    const { world, committing, content } = this.#folder
    if (this.#file) return
    // As lmdb has it, a commit that is made meanwhile is forgotten.
    if (committing)
      world.failures.push(`${this.#process.name} opened the file while ${committing.of.name} made commit ${content.commit + 1}`)
    this.#file = new SimulatedFile(this.#folder)
  }

  connect(): Promise<Wire> {
    const { world } = this.#folder
    return new Promise((resolve, reject) => {
      const arrive = () => {
        const { listener } = this.#folder
        if (!listener) return reject(new Error('ECONNREFUSED'))
        const here = new SimulatedWire(this.#folder, this.#process)
        const there = new SimulatedWire(this.#folder, listener.of)
        here.peer = there
        there.peer = here
        world.after(0, 'accept', () => listener.accept(there as unknown as Wire), listener.of)
        resolve(here as unknown as Wire)
      }
      world.after(this.#folder.tripMs(), 'connect', arrive, this.#process)
    })
  }

  async listen(accept: (wire: Wire) => void): Promise<{ close(): Promise<void> }> {
    const folder = this.#folder
    const listener = { of: this.#process, accept }
    folder.listener = listener
    const close = async () => {
      if (folder.listener === listener) folder.listener = undefined
    }
    return { close }
  }

  kill(pid: number): void {
    const process = this.#folder.processes.get(pid)!
    this.#folder.onKill(process)
    this.#folder.ended(process)
  }

  async close(): Promise<void> {}
}

/** The file as one process reads it: in one state for the length of a completion, unless it is refreshed. */
class SimulatedFile {
  readonly dir = 'simulated'
  readonly #folder: Folder
  #content: Content
  #readIn = 0

  constructor(folder: Folder) {
    this.#folder = folder
    this.#content = folder.content
  }

  get #seen(): Content {
    const { completions } = this.#folder.world
    if (this.#readIn !== completions) this.refresh()
    this.#readIn = completions
    return this.#content
  }

  refresh(): void {
    this.#content = this.#folder.content
  }

  commitUnless(commit: number): number | undefined {
    return this.#seen.commit === commit ? undefined : this.#seen.commit
  }

  headers(after: Revision = 0): Iterable<Uint8Array> {
    const { headers, count } = this.#seen
    let from = count
    while (from > 0 && revisionIn(headers[from - 1]!) > after) from--
    return headers.slice(from, count)
  }

  newest(): Revision {
    const { headers, count } = this.#seen
    return count > 0 ? revisionIn(headers[count - 1]!) : 0
  }

  body(header: Uint8Array, snapshot?: Snapshot): Uint8Array | undefined {
    return ((snapshot?.transaction as unknown as Content | undefined) ?? this.#seen).bodies.get(idOf(header))
  }

  snapshot(): Snapshot {
    return { transaction: this.#seen as unknown as Snapshot['transaction'], [Symbol.dispose]() {} }
  }

  compacted(): Revision | undefined {
    return this.#seen.compacted
  }

  size(): DatabaseSize {
    return { bytes: PAGE_BYTES * (this.#seen.count + 2), pageBytes: PAGE_BYTES, freePages: 0 }
  }

  forgetDeadReaders(): void {}

  async close(): Promise<void> {}
}

/** The hold of the primary on the file. */
class SimulatedEngine {
  readonly file: SimulatedFile
  readonly #folder: Folder
  readonly #process: Process
  readonly #fence: number

  constructor(folder: Folder, process: Process, file: SimulatedFile) {
    this.#folder = folder
    this.#process = process
    this.#fence = folder.fence
    this.file = file
  }

  /** One write in so many is tried although the disk is full, as once in a while on a real one. */
  get admitsWrites(): boolean {
    return !this.#folder.isFull || this.#folder.random.oneIn(TRIED_ONE_IN)
  }

  commit(work: Work): Promise<void> {
    const { world, random, slowMs } = this.#folder
    return new Promise((resolve, reject) => {
      const make = () => this.#folder.apply(this.#process, work)
      this.#folder.committing = { of: this.#process, make }
      const done = () => {
        this.#folder.committing = undefined
        const isOurs = this.#folder.fence === this.#fence
        const failure = isOurs ? this.#folder.failure(work) : new StoreUnavailable('another process has taken over')
        if (!failure) make()
        const heard = () => {
          this.file.refresh()
          if (failure) reject(failure)
          else resolve()
        }
        world.after(random.next() * MAX_HEARD_MS, 'commit heard of', heard, this.#process)
      }
      world.after(random.next() * (MAX_COMMIT_MS + slowMs), 'commit', done, this.#process)
    })
  }

  isIntact(): boolean {
    return true
  }

  expectDisorder(): void {}

  async close(): Promise<void> {
    if (this.#folder.owner === this.#process) this.#folder.owner = undefined
  }
}

/** One end of a connection. Bytes arrive at the other end in order, in other pieces. */
class SimulatedWire extends EventEmitter {
  readonly of: Process
  peer!: SimulatedWire
  destroyed = false
  writableEnded = false
  readonly #folder: Folder
  readonly #frames = new FrameReader()
  #unread = 0
  #arrivesAt = 0
  /** It is not held up again before this time. */
  #freeUntil = 0

  constructor(folder: Folder, of: Process) {
    super()
    this.#folder = folder
    this.of = of
    folder.wires.add(this)
  }

  get writableNeedDrain(): boolean {
    return this.#unread >= HIGH_WATER_BYTES
  }

  write(bytes: Uint8Array): boolean {
    if (this.destroyed || this.writableEnded) return false
    const { random, world } = this.#folder
    for (const frame of this.#frames.take(Buffer.from(bytes))) this.#note(frame)
    const at = random.oneIn(4) ? random.below(bytes.length) : 0
    this.#unread += bytes.length
    for (const piece of [bytes.slice(0, at), bytes.slice(at)])
      if (piece.length > 0)
        this.#toPeer('wire', () => {
          if (this.peer.destroyed) return
          this.peer.emit('data', Buffer.from(piece))
          world.after(this.#folder.tripMs(), 'wire taken', () => this.#taken(piece.length), this.of)
        })
    return !this.writableNeedDrain
  }

  #note(frame: Frame): void {
    if (frame.type !== 'swap') return
    const { key, change } = decodeSwap(frame)
    this.#folder.asks(this.of, key, change.value && bytesOf(change.value))
    const { now } = this.#folder.world
    const holdMs = now < this.#freeUntil ? 0 : this.#folder.holdMs(key, change)
    if (holdMs <= 0) return
    this.#arrivesAt = Math.max(this.#arrivesAt, now + holdMs)
    this.#freeUntil = this.#arrivesAt + holdMs
  }

  /** The other end closes when it has read everything. */
  end(): this {
    if (this.writableEnded || this.destroyed) return this
    this.writableEnded = true
    this.#toPeer('wire ended', () => this.peer.destroy())
    this.#folder.world.after(0, 'wire finished', () => this.emit('finish'), this.of)
    return this
  }

  destroySoon(): void {
    this.end()
    this.#folder.world.after(this.#folder.tripMs(), 'wire closed', () => this.destroy(), this.of)
  }

  destroy(): this {
    if (this.destroyed) return this
    this.lost()
    this.#folder.world.after(0, 'wire closed', () => this.emit('close'), this.of)
    return this
  }

  /** It is gone with its process. */
  lost(): void {
    this.destroyed = true
    this.#folder.wires.delete(this)
    this.#toPeer('wire closed', () => this.peer.destroy())
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  #taken(bytes: number): void {
    const wasFull = this.writableNeedDrain
    this.#unread -= bytes
    if (wasFull && !this.writableNeedDrain) this.emit('drain')
  }

  #toPeer(what: string, run: () => void): void {
    const { world } = this.#folder
    this.#arrivesAt = Math.max(this.#arrivesAt, world.now + this.#folder.tripMs())
    world.after(this.#arrivesAt - world.now, what, run, this.peer.of)
  }
}
