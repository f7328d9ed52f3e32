/** One embedded store for several processes of one machine: one of them writes, all read the mapped file. */
import { newUuid, nextIteration, sleep, startInterval, stopTimer, wallMs } from '../../lib/environment.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { EmbeddedOptions } from '../embedded/embedded.ts'
import type { Engine } from '../embedded/engine.ts'
import { explain } from '../embedded/failure.ts'
import { loadHistory } from '../embedded/load.ts'
import type { LogFile } from '../embedded/log-file.ts'
import { LogReader } from '../embedded/log-reader.ts'
import type { Stored } from '../embedded/record.ts'
import { usedBytes, Writer } from '../embedded/writer.ts'
import { deadlineOf } from '../expiry.ts'
import { checkKey } from '../key-order.ts'
import {
  type Batch,
  bytesOf,
  type Change,
  type Entry,
  type Extent,
  FencedOff,
  OutcomeUnknown,
  type Page,
  type PageRequest,
  type Read,
  type Revision,
  type Store,
  type StoreSize,
  StoreUnavailable,
  type Swap,
} from '../store.ts'
import { decodeFailure } from './failures.ts'
import type { Family } from './family.ts'
import { decodeRevision, encodeFrame, encodeRevision, encodeSwap, type Frame } from './frames.ts'
import { decodeWelcome, encodeHello, type Welcome } from './handshake.ts'
import { Link } from './link.ts'
import { type Machine, SystemMachine } from './machine.ts'
import { Primary } from './primary.ts'
import { Requests, type StoreRequest, type SwapRequest } from './requests.ts'

/** The primary holds the lock of the folder and makes all commits; followers read the file, and send it their swaps. */
export type Role = 'primary' | 'follower'

/** `onCommit` is called in the primary only. Quota and clock count in the primary; give every process the same. */
export type ProcessStoreOptions = EmbeddedOptions & {
  readonly family: Family
  /** Called when this process has become the primary: at once, or when the primary before has ended. A primary stays one until it is closed. */
  readonly onPrimary?: () => void
  /** Called in the primary for a follower that has taken nothing for long: it may be stopped. Whoever started it should end it. */
  readonly onStuck?: (pid: number) => void
  /** Left out for the machine that this process runs on. */
  readonly machine?: Machine
}

/** Behaves as an embedded store that is shared: `fresh` answers at once, from the file, in nearly all cases. */
export interface ProcessStore extends Store, AsyncDisposable {
  readonly isShared: true
  /** Whether this process owns the database now. Compaction by age is the duty of the primary (`compact` works in all processes). */
  readonly role: Role
  size(): StoreSize & { readonly freePages: number }
  /** Saves a copy of the store to a new file, as an embedded store does; in any process. */
  save(file: string): Promise<void>
}

/** How soon a process tries again to become the primary, or to find it; and while that fails for other reasons than time. */
const RETRY_MS = 5
const RETRY_FAILED_MS = 250

/**
 * Opens the store in a directory together with the other processes of a family. The first becomes the primary, the rest join it. Throws
 * `StoreUnavailable`, as `openEmbeddedStore` does, if a process of no family or of another one has it open.
 */
export async function openProcessStore(options: ProcessStoreOptions): Promise<ProcessStore> {
  const { dir, family } = options
  const machine = options.machine ?? new SystemMachine(await import('lmdb'), options)
  const member = new Membership(machine, { dir, family })
  try {
    for (;;) {
      const found = member.found() ?? (await member.join())
      if (found) return await SharedStore.begin(member, found, options)
      await sleep(RETRY_MS)
    }
  } catch (error) {
    await member.close().catch(() => {})
    throw explain(error, `cannot open the store in ${dir}`)
  }
}

/** The outcome of a swap as the log tells it. */
type Outcome = Swap | 'not made' | 'unknown'

type Joined = Welcome & { readonly link: Link }

/** A process's place among those of a family: the open file, and the way to the role of a primary or a follower. */
class Membership {
  readonly dir: string
  readonly family: Family
  readonly machine: Machine
  readonly #id = newUuid()

  constructor(machine: Machine, { dir, family }: Pick<ProcessStoreOptions, 'dir' | 'family'>) {
    this.machine = machine
    this.dir = dir
    this.family = family
  }

  get file(): LogFile {
    return this.machine.file!
  }

  /** Becomes the primary unless there is one; throws if a process of another family has the folder open. */
  found(): Engine | undefined {
    return this.machine.found()
  }

  /** Connects to the primary; undefined if it does not listen yet, or any more. */
  async join(): Promise<Joined | undefined> {
    const { machine } = this
    const wire = await machine.connect().catch(() => undefined)
    if (!wire) return undefined
    const link = new Link(wire)
    const { secret } = this.family
    link.send(encodeHello({ secret, pid: machine.pid, member: this.#id, hasOpened: machine.file !== undefined }))
    try {
      let answer = await link.next()
      if (answer?.type === 'open') {
        machine.open()
        link.send(encodeFrame('opened', 0))
        answer = await link.next()
      }
      if (answer?.type === 'welcome') return { link, ...decodeWelcome(answer) }
    } catch (error) {
      link.close()
      throw error
    }
    link.close()
    return undefined
  }

  close(): Promise<void> {
    return this.machine.close()
  }
}

type Leading = { readonly engine: Engine; readonly writer: Writer; readonly primary: Primary }

/** One process's open store; `openProcessStore` makes it. */
class SharedStore implements ProcessStore {
  readonly isShared = true
  readonly #member: Membership
  readonly #options: ProcessStoreOptions
  readonly #reader: LogReader
  readonly #requests: Requests
  #leading: Leading | undefined
  #link: Link | undefined
  /** Ends when there is a primary again. */
  #searching: Promise<void> | undefined
  /** Whether the primary has said that the store is full. */
  #isFull = false
  #isAbandoned = false
  #closing: Promise<void> | undefined

  static async begin(member: Membership, found: Engine | Joined, options: ProcessStoreOptions): Promise<SharedStore> {
    const isPrimary = 'commit' in found
    const loaded = loadHistory(member.file, isPrimary ? undefined : found.damaged)
    const requests = new Requests()
    const reader = new LogReader(member.file, loaded, {
      isFollowing: !isPrimary,
      transformer: options.transformer,
      sent: () => requests.sentValues(),
    })
    const store = new SharedStore(member, options, { reader, requests })
    if (isPrimary) await store.#lead(found, loaded.garbage)
    else store.#follow(found)
    store.#reader.release()
    return store
  }

  private constructor(
    member: Membership,
    options: ProcessStoreOptions,
    { reader, requests }: { readonly reader: LogReader; readonly requests: Requests },
  ) {
    this.#member = member
    this.#options = options
    this.#reader = reader
    this.#requests = requests
    reader.settled = () => this.#settled()
  }

  get role(): Role {
    return this.#leading ? 'primary' : 'follower'
  }

  async get(key: string, at?: Revision): Promise<Read> {
    await this.#settled()
    this.#assertOpen()
    return this.#reader.get(key, at)
  }

  readBack(key: string, modified: Revision): Entry | undefined {
    this.#assertOpen()
    return this.#reader.readBack(key, modified)
  }

  isStale(key: string): MaybePromise<boolean> {
    this.#assertOpen()
    return this.#reader.isStale(key)
  }

  async list(prefix: string, page?: PageRequest): Promise<Page> {
    await this.#settled()
    this.#assertOpen()
    return this.#reader.list(prefix, page)
  }

  swap(key: string, change: Change): Promise<Swap> {
    try {
      this.#assertOpen()
      if (this.#leading) return this.#leading.writer.swap(key, change)
      checkKey(key)
      deadlineOf(change.ttlSeconds, { now: wallMs, after: () => () => {} })
      const value = change.value && bytesOf(change.value)
      return new Promise((resolve, reject) =>
        this.#ask({ kind: 'swap', id: 0, key, change: { ...change, value }, sentAt: undefined, resolve, reject }),
      )
    } catch (error) {
      return Promise.reject(error)
    }
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<Batch> {
    return this.#reader.feed.watch(prefix, after, signal)
  }

  fresh(): MaybePromise<Revision> {
    this.#assertOpen()
    const settled = this.#settled()
    return settled ? settled.then(() => this.fresh()) : this.#reader.fresh()
  }

  async extent(): Promise<Extent> {
    const newest = await this.fresh()
    return { oldest: this.#reader.history.oldest, newest }
  }

  async compact(before: Revision): Promise<void> {
    this.#assertOpen()
    if (this.#leading) return this.#leading.writer.compact(before)
    await new Promise<void>((resolve, reject) => this.#ask({ kind: 'compact', id: 0, before, resolve, reject }))
  }

  async probe(): Promise<void> {
    this.#assertOpen()
    if (this.#leading) return this.#leading.writer.probe()
    await new Promise<void>((resolve, reject) => this.#ask({ kind: 'probe', id: 0, resolve, reject }))
  }

  size(): StoreSize & { readonly freePages: number } {
    this.#assertOpen()
    if (this.#leading) return this.#leading.writer.size()
    this.#reader.follow()
    const size = this.#member.file.size()
    this.#reader.release()
    const { quotaBytes = Number.POSITIVE_INFINITY } = this.#options
    return { bytes: size.bytes, usedBytes: usedBytes(size), freePages: size.freePages, quotaBytes, isFull: this.#isFull }
  }

  async save(file: string): Promise<void> {
    this.#assertOpen()
    try {
      await this.#reader.reading(this.#member.file.copyTo(file))
    } catch (error) {
      throw explain(error, `cannot save the store to ${file}`)
    }
  }

  abandon(): void {
    this.#isAbandoned = true
    this.#requests.failAll(new StoreUnavailable('the store is being closed'))
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await this.#requests.drained()
    if (this.#searching) await this.#searching
    this.#link?.close()
    const leading = this.#leading
    leading?.primary.stopReading()
    await leading?.writer.close()
    await this.#reader.close()
    await leading?.primary.close()
    if (leading) await leading.engine.close()
    await this.#member.close().catch(() => {})
  }

  /** In the primary, a commit that others can read already may not be known here yet. */
  #settled(): Promise<void> | undefined {
    return this.#leading?.writer.settled()
  }

  async #lead(engine: Engine, garbage?: readonly Uint8Array[]): Promise<void> {
    const { family, onPrimary = () => {}, onStuck = () => {}, clock, transformer, onCommit, quotaBytes, mostKeys } = this.#options
    const writer = new Writer(engine, this.#reader, {
      ...(clock && { clock }),
      ...(transformer && { transformer }),
      ...(onCommit && { onCommit }),
      ...(quotaBytes !== undefined && { quotaBytes }),
      ...(mostKeys !== undefined && { mostKeys }),
      ...(garbage && { garbage }),
    })
    // Nothing is committed before the caller has the store.
    const resume = await writer.pause()
    const primary = await Primary.listen({ family, machine: this.#member.machine, reader: this.#reader, writer, onStuck })
    this.#leading = { engine, writer, primary }
    onPrimary()
    nextIteration(resume)
  }

  #follow({ link, isFull }: Joined): void {
    this.#link = link
    this.#isFull = isFull
    link.follow({ frames: frames => this.#answered(frames), closed: () => void this.#primaryLost() })
  }

  #ask(request: StoreRequest): void {
    this.#requests.add(request)
    if (this.#isAbandoned) this.abandon()
    else this.#send(request)
  }

  #send(request: StoreRequest): void {
    if (this.#leading) this.#doHere(request, this.#leading.writer)
    // While there is no primary, it waits until one is found.
    if (!this.#link) return
    if (request.kind === 'swap') request.sentAt ??= this.#reader.history.newest
    this.#link.hold(true)
    this.#link.send(frameOf(request))
  }

  /** A request from before this process became the primary. */
  #doHere(request: StoreRequest, writer: Writer): void {
    const done = (result?: Swap) => this.#requests.settle(request, () => request.resolve(result as Swap))
    const failed = (error: unknown) => this.#requests.settle(request, () => request.reject(error))
    if (request.kind === 'swap') writer.swap(request.key, request.change).then(done, failed)
    else (request.kind === 'compact' ? writer.compact(request.before) : writer.probe()).then(() => done(), failed)
  }

  /** The file is read before anybody hears of an answer: watches of this process have seen a write before it is acknowledged. */
  #answered(frames: readonly Frame[]): void {
    this.#reader.follow()
    for (const frame of frames) {
      if (frame.type === 'alarm') this.#isFull = frame.id === 1
      const request = this.#requests.find(frame.id)
      if (request) this.#requests.settle(request, () => this.#answer(request, frame))
    }
    this.#reader.release()
    if (this.#requests.isEmpty) this.#link?.hold(false)
  }

  #answer(request: StoreRequest, frame: Frame): void {
    if (frame.type === 'failed') request.reject(decodeFailure(frame, request.kind === 'compact' ? request.before : 0))
    else if (request.kind === 'swap') this.#answerSwap(request, frame)
    else request.resolve()
  }

  #answerSwap(request: SwapRequest, frame: Frame): void {
    if (frame.type === 'made') request.resolve({ ok: true, revision: decodeRevision(frame) })
    else if (frame.type === 'lost') this.#lost(request)
    else if (frame.type === 'fenced') request.reject(new FencedOff(request.change.fences![frame.body[0]!]!))
  }

  #lost({ key, resolve, reject }: SwapRequest): void {
    const current = this.#reader.latest(key)
    if (current instanceof Promise) current.then(current => resolve({ ok: false, current }), reject)
    else resolve({ ok: false, current })
  }

  async #primaryLost(): Promise<void> {
    this.#link = undefined
    const inDoubt = new Set(this.#requests.all().map(({ id }) => id))
    this.#searching = this.#search()
    await this.#searching
    this.#searching = undefined
    this.#reader.follow()
    for (const request of this.#requests.all()) {
      if (inDoubt.has(request.id)) this.#resume(request).catch(error => this.#requests.settle(request, () => request.reject(error)))
      else this.#send(request)
    }
  }

  /** Becomes the primary, or finds the process that did. */
  async #search(): Promise<void> {
    // While requests wait, this process has something to do.
    const alive = startInterval(() => {}, 1_000)
    try {
      while (!this.#isAbandoned && !(this.#closing && this.#requests.isEmpty)) {
        try {
          const engine = this.#member.found()
          if (engine) return await this.#takeOver(engine)
          const joined = await this.#member.join()
          if (joined) return this.#follow(joined)
          await sleep(RETRY_MS)
        } catch (error) {
          this.#requests.failAll(explain(error, `cannot write to the store in ${this.#member.dir}`))
          await sleep(RETRY_FAILED_MS)
        }
      }
    } finally {
      stopTimer(alive)
    }
  }

  async #takeOver(engine: Engine): Promise<void> {
    this.#reader.lead()
    this.#member.file.forgetDeadReaders()
    await this.#lead(engine)
  }

  /** A request whose answer was lost with the primary, which cannot act on it any more. */
  async #resume(request: StoreRequest): Promise<void> {
    const outcome = request.kind === 'swap' ? await this.#outcomeOf(request) : 'not made'
    if (outcome === 'not made' && this.#requests.find(request.id)) this.#send(request)
    if (outcome === 'not made') return
    if (outcome === 'unknown') this.#requests.settle(request, () => request.reject(outcomeUnknown()))
    else this.#requests.settle(request, () => (request as SwapRequest).resolve(outcome))
  }

  /**
   * Read from the log, which has all that the former primary has committed: the first write of the key after the expected one is this
   * swap, or another that won against it. Where both have the same value, nothing tells which it is, unless nobody else writes it.
   */
  async #outcomeOf(request: SwapRequest): Promise<Outcome> {
    const { key, change, sentAt = 0 } = request
    const { history } = this.#reader
    if (sentAt < history.oldest) return 'unknown'
    if (change.expect === 0) return await this.#outcomeOfCreate(request, sentAt)
    const first = history.firstAfter(key, change.expect)
    if (!first) return 'not made'
    const lost = async () => ({ ok: false, current: await this.#reader.latest(key) }) as const
    if (first.modified <= sentAt || first.deleted !== (change.value === null)) return lost()
    if (change.value === null) return 'unknown'
    return (await this.#hasValueOf(request, first)) ? madeAt(first, change) : lost()
  }

  /** A create may be made whenever the key is absent: also after a deletion that was made while it was on its way. */
  async #outcomeOfCreate(request: SwapRequest, sentAt: Revision): Promise<Outcome> {
    const { key, change } = request
    const { history } = this.#reader
    for (let next = history.firstAfter(key, sentAt); next; next = history.firstAfter(key, next.modified)) {
      const isCreation = !next.deleted && next.created === next.modified
      if (isCreation && (await this.#hasValueOf(request, next))) return madeAt(next, change)
    }
    return 'not made'
  }

  async #hasValueOf({ key, change }: SwapRequest, state: Stored): Promise<boolean> {
    const { value } = await this.#reader.entry(key, state)
    return change.value !== null && Buffer.compare(value, change.value) === 0
  }

  #assertOpen(): void {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
  }
}

/** The outcome of a swap whose value was written. */
const madeAt = ({ modified }: Stored, { unique }: Change): Outcome => (unique ? { ok: true, revision: modified } : 'unknown')

function frameOf(request: StoreRequest): Buffer {
  switch (request.kind) {
    case 'swap':
      return encodeSwap(request.id, request.key, request.change)
    case 'compact':
      return encodeRevision('compact', request.id, request.before)
    case 'probe':
      return encodeFrame('probe', request.id)
  }
}

const outcomeUnknown = () =>
  new OutcomeUnknown(
    'the process that keeps the store has ended before it answered a write; it may have been made all the same: read the object before trying again',
  )
