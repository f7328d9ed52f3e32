/** The requests of a follower to the primary, until they are answered. */
import { monotonicMs, startInterval, stopTimer, type Timer } from '../../lib/environment.ts'
import { type Change, OutcomeUnknown, type Revision, StoreUnavailable, type Swap } from '../store.ts'

type Request = {
  /** Set when it is added; 0 before. */
  id: number
  reject(error: unknown): void
}
export type SwapRequest = Request & {
  readonly kind: 'swap'
  readonly key: string
  readonly change: Change & { readonly value: Uint8Array | null }
  /** The newest revision that was known when it was first sent; undefined before that. */
  sentAt: Revision | undefined
  resolve(swap: Swap): void
}
export type CompactRequest = Request & { readonly kind: 'compact'; readonly before: Revision; resolve(): void }
export type ProbeRequest = Request & { readonly kind: 'probe'; resolve(): void }
export type StoreRequest = SwapRequest | CompactRequest | ProbeRequest

/** A primary that does not answer for so long is stopped, or there is none. Compactions may take longer. */
const ANSWER_MS = 10_000
const LOOK_EVERY_MS = 1_000
const MAX_IDS = 2 ** 32 - 1

type Slot = { request: StoreRequest | undefined; readonly askedAt: number }

export class Requests {
  /** Slots are emptied when a request is settled, as a Map keeps former entries in memory. */
  readonly #slots = new Map<number, Slot>()
  #lastId = 0
  #timer: Timer | undefined
  #drained: (() => void)[] = []

  get isEmpty(): boolean {
    return this.#slots.size === 0
  }

  add(request: StoreRequest): void {
    do this.#lastId = (this.#lastId % MAX_IDS) + 1
    while (this.#slots.has(this.#lastId))
    request.id = this.#lastId
    this.#slots.set(request.id, { request, askedAt: monotonicMs() })
    this.#timer ??= startInterval(() => this.#giveUpLate(), LOOK_EVERY_MS).unref()
  }

  /** The request that waits for an answer under a number. */
  find(id: number): StoreRequest | undefined {
    return this.#slots.get(id)?.request
  }

  /** All that wait, in the order in which they were made. */
  all(): StoreRequest[] {
    return [...this.#slots.values()].flatMap(({ request }) => request ?? [])
  }

  /** The values of swaps that wait, by key. */
  sentValues(): ReadonlyMap<string, Uint8Array> {
    const values = new Map<string, Uint8Array>()
    for (const { request } of this.#slots.values())
      if (request?.kind === 'swap' && request.change.value) values.set(request.key, request.change.value)
    return values
  }

  /** Tells the outcome, once. */
  settle({ id }: StoreRequest, tell: () => void): void {
    const slot = this.#slots.get(id)
    if (!slot) return
    slot.request = undefined
    this.#slots.delete(id)
    tell()
    if (this.#slots.size > 0) return
    stopTimer(this.#timer)
    this.#timer = undefined
    for (const drained of this.#drained.splice(0)) drained()
  }

  /** Nobody answers any more: a swap that was sent has an unknown outcome. */
  failAll(error: StoreUnavailable): void {
    for (const request of this.all()) this.#fail(request, error)
  }

  /** Waits until all are settled. */
  async drained(): Promise<void> {
    if (this.#slots.size > 0) await new Promise<void>(resolve => this.#drained.push(resolve))
  }

  #giveUpLate(): void {
    const late = monotonicMs() - ANSWER_MS
    const error = new StoreUnavailable(`the process that keeps the store has not answered within ${ANSWER_MS / 1000} seconds`, {
      problem: 'the process that keeps the store does not answer',
    })
    for (const { request, askedAt } of [...this.#slots.values()])
      if (request && askedAt < late && request.kind !== 'compact') this.#fail(request, error)
  }

  #fail(request: StoreRequest, error: StoreUnavailable): void {
    const isInDoubt = request.kind === 'swap' && request.sentAt !== undefined
    const unknown = () =>
      new OutcomeUnknown(`${error.problem}; the write may have been made all the same: read the object before trying again`)
    this.settle(request, () => request.reject(isInDoubt ? unknown() : error))
  }
}
