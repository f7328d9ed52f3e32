/**
 * Faults that tests ask for: what goes wrong in production and never on a laptop. A fault says which requests it is for, how often
 * it strikes and what happens then. Which requests are struck follows from the seed and, for each fault, the order of the requests
 * that it is for.
 */
import type { Exchange, Handler } from '../http/exchange.ts'
import { LIMITS } from '../lib/limits.ts'
import { randomFrom } from '../lib/random.ts'
import type { Fault, FaultEffect, FaultReport } from '../public.d.ts'
import type { Call, Registry, Result } from '../registry/api.ts'
import type { Attributes } from '../schema/access.ts'
import { disturbedStream } from './disturbed-stream.ts'
import { CUT, failure, slowed } from './fault-response.ts'
import { Pauses } from './pauses.ts'
import { FaultError, readFault } from './read-fault.ts'

/** Where faults are added over HTTP. What is below it is never struck: whoever has made a mistake can undo it. */
export const FAULTS_PATH = '/keelson/faults'

type Entry = { readonly id: string; readonly ordinal: number; readonly fault: Fault; random: () => number; seen: number; hits: number }
/** What a fault is asked about. */
type Asked = { readonly attributes: Attributes; readonly kind: string; readonly user: string }

/** How a server is restarted: connections are cut at once, and it is back when the promise resolves. */
export type Restart = (downMs: number, written: Promise<unknown>) => Promise<void>

export class Faults {
  #entries: Entry[] = []
  #seed = 1
  #added = 0
  #ids = 0
  #restart: Restart = async () => {}
  /** Writes that are being handled. */
  readonly #writes = new Set<Promise<unknown>>()
  readonly #pauses = new Pauses()

  /** Adds a fault; calling the result takes it away. Throws FaultError when it makes no sense. */
  add(fault: Fault): () => void {
    const { id } = this.#put(readFault(fault))
    return () => void this.remove(id)
  }

  /** Adds what is written down; returns how it is reported. Throws FaultError. */
  addWritten(value: unknown): FaultReport {
    return reported(this.#put(readFault(value)))
  }

  /** Replaces all faults; none is if one of them makes no sense. Throws FaultError. */
  replaceAll(values: readonly unknown[], seed: number): void {
    const faults = values.map(readFault)
    if (faults.length > LIMITS.faults.rules) throw tooMany()
    this.clear()
    this.seed(seed)
    for (const fault of faults) this.#put(fault)
  }

  /** Takes a fault away; whether it was there. */
  remove(id: string): boolean {
    const left = this.#entries.filter(entry => entry.id !== id)
    const isFound = left.length < this.#entries.length
    this.#entries = left
    return isFound
  }

  /** Takes all faults away; what they hold up goes on. */
  clear(): void {
    this.#entries = []
    this.#added = 0
    this.#pauses.wakeAll()
  }

  /** From here on the same requests in the same order are struck by the same faults. */
  seed(seed: number): void {
    this.#seed = seed
    for (const entry of this.#entries) entry.random = this.#randomOf(entry.ordinal)
  }

  get currentSeed(): number {
    return this.#seed
  }

  report(): FaultReport[] {
    return this.#entries.map(reported)
  }

  /** Says how the server is restarted, once there is one. */
  restartBy(restart: Restart): void {
    this.#restart = restart
  }

  /** Nothing waits any longer: the server ends. */
  stop(): void {
    this.#pauses.stop()
  }

  #put(fault: Fault): Entry {
    if (this.#entries.length >= LIMITS.faults.rules) throw tooMany()
    const ordinal = this.#added++
    const entry = { id: String(++this.#ids), ordinal, fault, random: this.#randomOf(ordinal), seen: 0, hits: 0 }
    this.#entries.push(entry)
    return entry
  }

  /** Each fault has numbers of its own, so that requests which are for others do not change what strikes here. */
  #randomOf(ordinal: number): () => number {
    return randomFrom(this.#seed * 1_000_003 + ordinal)
  }

  /** Around the handling of requests: delays, errors, lost answers, restarts. */
  readonly disturb = (next: Handler): Handler => {
    return exchange => {
      const { path } = exchange.route.attributes
      if (path === FAULTS_PATH || path.startsWith(`${FAULTS_PATH}/`)) return next(exchange)
      if (this.#entries.length === 0) return this.#noted(exchange, next)
      const effect = this.#strike(askedBy(exchange), isAboutRequests)
      return effect ? this.#applyEffect(effect, exchange, next) : this.#noted(exchange, next)
    }
  }

  /** Around the registry that clients reach: old reads, and watches that are told too late, too little or that they are too old. */
  readonly around = (inner: Registry, revision: () => number): Registry => ({
    handle: (call, ctx, body) => {
      // A fault that is added later strikes watches that are open by then.
      if (this.#entries.length === 0 && call.verb !== 'watch') return inner.handle(call, ctx, body)
      const asked = { attributes: attributesOf(call), kind: call.resource.kind, user: ctx.user.name }
      if (call.verb === 'get' || call.verb === 'list') {
        const stale = this.#strike(asked, ({ staleBy }) => staleBy !== undefined)
        return inner.handle(stale ? asOf(call, Math.max(1, revision() - stale.staleBy!)) : call, ctx)
      }
      if (call.verb !== 'watch') return inner.handle(call, ctx, body)
      return Promise.resolve(inner.handle(call, ctx, body)).then(result =>
        result.type === 'watch' ? this.#watched(result, asked) : result,
      )
    },
  })

  #watched(result: Extract<Result, { type: 'watch' }>, asked: Asked): Result {
    const strike = () => this.#strike(asked, ({ events }) => events !== undefined)?.events
    return { ...result, stream: disturbedStream(result.stream, strike, this.#pauses) }
  }

  async #applyEffect(effect: FaultEffect, exchange: Exchange, next: Handler) {
    const { delayMs, status, disconnect, loseAnswer, restart, bytesPerSecond } = effect
    if (delayMs !== undefined) await this.#pauses.wait(delayMs, exchange.request.signal)
    if (restart === 'before') return this.#interrupt(effect)
    if (status !== undefined) throw failure(effect, exchange)
    if (disconnect) return CUT
    const response = await this.#noted(exchange, next)
    if (restart === 'after') return this.#interrupt(effect)
    if (loseAnswer) return CUT
    return bytesPerSecond === undefined ? response : slowed(response, bytesPerSecond, this.#pauses)
  }

  /** What others are writing is stored before the server is back, or never. */
  async #interrupt({ downMs = 0 }: FaultEffect) {
    await this.#restart(downMs, Promise.allSettled([...this.#writes]))
    return CUT
  }

  #noted(exchange: Exchange, next: Handler): ReturnType<Handler> {
    const response = next(exchange)
    if (!(response instanceof Promise) || READS.has(exchange.route.attributes.verb)) return response
    this.#writes.add(response)
    const done = () => void this.#writes.delete(response)
    response.then(done, done)
    return response
  }

  /** The effect that strikes, if one does. */
  #strike(asked: Asked, isMeant: (effect: FaultEffect) => boolean): FaultEffect | undefined {
    for (const entry of this.#entries) {
      const { fault } = entry
      if (!isMeant(fault) || !isFor(fault, asked)) continue
      entry.seen++
      const { probability = 1, times = Number.POSITIVE_INFINITY, skip = 0 } = fault
      if (entry.seen <= skip || entry.hits >= times || entry.random() >= probability) continue
      entry.hits++
      return fault
    }
    return undefined
  }
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options'])

const reported = ({ id, fault, seen, hits }: Entry): FaultReport => ({ id, fault, seen, hits })

const tooMany = () => new FaultError(`there are ${LIMITS.faults.rules} faults at most`)

const isAboutRequests = ({ delayMs, status, disconnect, loseAnswer, restart, bytesPerSecond }: FaultEffect): boolean =>
  [delayMs, status, disconnect || undefined, loseAnswer || undefined, restart, bytesPerSecond].some(value => value !== undefined)

const askedBy = ({ route, user }: Exchange): Asked => ({
  attributes: route.attributes,
  kind: route.type === 'call' ? route.call.resource.kind : '',
  user: user?.name ?? '',
})

const attributesOf = ({ verb, resource: { group, version, plural }, namespace, name, subresource }: Call): Attributes => ({
  verb,
  path: '',
  resource: { group, version, plural, subresource, namespace, name },
})

function isFor(
  { verb, resource, kind, subresource, namespace, name, user }: Fault,
  { attributes, kind: kindAsked, user: by }: Asked,
): boolean {
  const at = attributes.resource
  if (verb !== undefined && ![verb].flat().includes(attributes.verb)) return false
  if (user !== undefined && user !== by) return false
  if (kind !== undefined && kind !== kindAsked) return false
  if ([resource, subresource, namespace, name].every(value => value === undefined)) return true
  if (!at) return false
  const qualified = at.group === '' ? at.plural : `${at.plural}.${at.group}`
  const fits = (wanted: string | undefined, ...values: string[]) => wanted === undefined || values.includes(wanted)
  return fits(resource, at.plural, qualified) && fits(subresource, at.subresource) && fits(namespace, at.namespace) && fits(name, at.name)
}

/** The same read as of an earlier revision. */
function asOf(call: Call, revision: number): Call {
  const query = new URLSearchParams(call.query)
  query.set('resourceVersion', String(revision))
  query.set('resourceVersionMatch', 'Exact')
  return { ...call, query }
}
