/** The other processes of a server with `--processes`, as one of them sees them: through the supervisor that has started all. */
import type { AddressInfo, Socket } from 'node:net'
import type { ConnectionSource } from '../../http/listener/listen.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Family } from '../../storage/processes/family.ts'
import type { Answer, Share, ToProcess, ToSupervisor, Welcome } from './messages.ts'

/** The part of `process` that is used. */
export interface Channel {
  send?(message: ToSupervisor, sent: () => void): boolean
  on(event: 'message', take: (message: unknown, handle: unknown) => void): unknown
  on(event: 'disconnect', take: () => void): unknown
}

type Answering = (body: string) => MaybePromise<string>

export class Siblings {
  readonly #channel: Channel
  readonly #welcome: Welcome
  readonly #answering = new Map<string, Answering>()
  readonly #asking = new Map<number, (answers: readonly Answer[]) => void>()
  readonly #locking = new Map<string, (kept: string) => void>()
  readonly #sharing: ((share: Share) => void)[] = []
  #asked = 0
  #isGone = false
  #share: Share = { place: 0, of: 1 }
  #listening: { resolve(address: AddressInfo): void; reject(error: Error): void } | undefined
  #accept: ((socket: Socket) => void) | undefined
  #ended = 0
  #close: () => void = () => {}
  /** Resolves when this process is to close everything. */
  readonly #closing = new Promise<void>(resolve => (this.#close = resolve))
  #appoint: () => void = () => {}
  /** Resolves when this process is to run the duties of all: controllers, the scheduler, simulated nodes. */
  readonly appointed = new Promise<void>(resolve => (this.#appoint = resolve))
  #stop: (reason: string) => void = () => {}
  /** Resolves with the reason when this process is to stop. */
  readonly stopped = new Promise<string>(resolve => (this.#stop = resolve))
  /** Called when files that the configuration names are to be read again. */
  onReadFiles: (reason: string) => void = () => {}

  private constructor(channel: Channel, welcome: Welcome) {
    this.#channel = channel
    this.#welcome = welcome
    if (welcome.isAppointed) this.#appoint()
  }

  /** Waits for the supervisor's first message. */
  static join(channel: Channel): Promise<Siblings> {
    return new Promise(resolve => {
      let siblings: Siblings | undefined
      channel.on('message', (message, handle) => {
        const received = message as ToProcess
        if (received.type === 'welcome') resolve((siblings = new Siblings(channel, received)))
        else if (siblings) siblings.#take(received, handle)
      })
      channel.on('disconnect', () => {
        if (siblings) siblings.#orphaned()
      })
    })
  }

  /** The number of this process, from 1. */
  get number(): number {
    return this.#welcome.number
  }
  get count(): number {
    return this.#welcome.of
  }
  /** Names all processes together, and no others that ever were or will be. */
  get id(): string {
    return this.#welcome.id
  }
  get store(): Family {
    return this.#welcome.store
  }
  get isFirstStart(): boolean {
    return this.#welcome.isFirstStart
  }
  /** Whether this process runs the duties of all from its start. */
  get isAppointed(): boolean {
    return this.#welcome.isAppointed
  }
  /** Whether this process does the work that one process has to do, and that can wait while it is started again. */
  get isFirst(): boolean {
    return this.number === 1
  }

  /** Asks the other processes that serve. One that does not answer in time is among the answers, without a body. */
  ask(topic: string, body = ''): Promise<readonly Answer[]> {
    if (this.#isGone) return Promise.resolve([])
    const id = ++this.#asked
    return new Promise(resolve => {
      this.#asking.set(id, resolve)
      this.#send({ type: 'question', id, topic, body })
    })
  }

  /** Sets how questions of the others about a topic are answered. */
  answer(topic: string, answering: Answering): void {
    this.#answering.set(topic, answering)
  }

  /**
   * Does something that no other process does under the same name at the same time. Each gets the text that the last one left, at first
   * an empty one, and leaves one itself.
   */
  async alone<T>(name: string, work: (kept: string) => Promise<{ readonly result: T; readonly kept?: string }>): Promise<T> {
    const before = await new Promise<string>(resolve => {
      if (this.#isGone) return resolve('')
      this.#locking.set(name, resolve)
      this.#send({ type: 'lock', name })
    })
    let kept = before
    try {
      const done = await work(before)
      kept = done.kept ?? before
      return done.result
    } finally {
      this.#send({ type: 'unlock', name, kept })
    }
  }

  /** Does something that one process does for all: each resolves when it is done. */
  once(name: string, work: () => Promise<void>): Promise<void> {
    return this.alone(name, async kept => {
      if (kept !== DONE) await work()
      return { result: undefined, kept: DONE }
    })
  }

  /** Calls with the share of this process now, and whenever it changes. */
  onShare(take: (share: Share) => void): void {
    this.#sharing.push(take)
    take(this.#share)
  }

  /** The connections that the supervisor has accepted for this process. */
  readonly connections: ConnectionSource = {
    open: () => {
      const opened = new Promise<AddressInfo>((resolve, reject) => (this.#listening = { resolve, reject }))
      this.#send({ type: 'listen' })
      return opened
    },
    accept: take => {
      this.#accept = take
    },
    close: () => {
      this.#accept = undefined
      this.#send({ type: 'draining' })
    },
  }

  ready(reached: { readonly url: string; readonly ca: string }): void {
    this.#send({ type: 'ready', ...reached })
  }

  /** Reports why this process could not start; resolves when it may exit. */
  failed(failure: { readonly text: string; readonly code: number }): Promise<void> {
    return new Promise(resolve => {
      if (this.#isGone) resolve()
      else this.#channel.send?.({ type: 'failed', ...failure }, resolve)
    })
  }

  /** This process owns the embedded store from now on. */
  becamePrimary(): void {
    this.#send({ type: 'primary' })
  }

  /** Reports a process that does not read its messages. */
  reportStuck(pid: number): void {
    this.#send({ type: 'stuck', pid })
  }

  /** Reports that nothing of clients is under way here; resolves when everything may be closed: the store is, at last, by its owner. */
  drained(): Promise<void> {
    this.#send({ type: 'drained' })
    return this.#isGone ? Promise.resolve() : this.#closing
  }

  #send(message: ToSupervisor): void {
    if (!this.#isGone) this.#channel.send?.(message, ignore)
  }

  #take(message: ToProcess, handle: unknown): void {
    switch (message.type) {
      case 'listening':
        this.#listening?.resolve(message.address)
        return
      case 'not listening':
        this.#listening?.reject(Object.assign(new Error(message.message), message.code !== undefined && { code: message.code }))
        return
      case 'connection':
        this.#connect(handle as Socket | undefined)
        return
      case 'question':
        void this.#reply(message)
        return
      case 'answers':
        this.#asking.get(message.id)?.(message.answers)
        this.#asking.delete(message.id)
        return
      case 'locked':
        this.#locking.get(message.name)?.(message.kept)
        this.#locking.delete(message.name)
        return
      case 'share':
        this.#share = { place: message.place, of: message.of }
        for (const take of this.#sharing) take(this.#share)
        return
      case 'appointed':
        this.#appoint()
        return
      case 'ping':
        this.#send({ type: 'pong' })
        return
      case 'read files':
        this.onReadFiles(message.reason)
        return
      case 'stop':
        this.#stop(message.reason)
        return
      case 'close':
        this.#close()
        return
    }
  }

  /** A connection that its client has closed meanwhile comes as nothing, and counts as ended. */
  #connect(socket: Socket | undefined): void {
    this.#send({ type: 'took' })
    if (!socket) return void this.#countEnd()
    socket.once('close', () => this.#countEnd())
    if (this.#accept) this.#accept(socket)
    else socket.destroy()
  }

  /** Connections that end together are reported together. */
  #countEnd(): void {
    if (this.#ended++ > 0) return
    setImmediate(() => {
      this.#send({ type: 'ended', connections: this.#ended })
      this.#ended = 0
    })
  }

  async #reply({ id, topic, body }: Extract<ToProcess, { type: 'question' }>): Promise<void> {
    const answering = this.#answering.get(topic)
    if (answering) this.#send({ type: 'answer', id, body: await answering(body) })
  }

  /** Without its supervisor a process gets no connections, and must not stand in the way of the next one. */
  #orphaned(): void {
    this.#isGone = true
    this.#stop('the supervisor has ended')
    this.#close()
    for (const answered of this.#asking.values()) answered([])
    for (const go of this.#locking.values()) go('')
    this.#listening?.reject(new Error('the supervisor has ended'))
  }
}

const DONE = 'done'

/** A supervisor that has ended is noticed when the channel is closed. */
const ignore = () => {}
