/**
 * Injected faults: failures that happen in production and never on a laptop. A fault selects requests, and defines how often
 * it strikes and with which effect. The struck requests follow from the seed and, for each fault, the order of the requests
 * that it selects.
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

/** The path of faults over HTTP. */
export const FAULTS_PATH = '/keelson/faults'
/** Requests to the server's own endpoints are never struck, so that a mistake can be undone. */
const OWN_PATHS = '/keelson/'

type Entry = { readonly id: string; readonly ordinal: number; readonly fault: Fault; random: () => number; seen: number; hits: number }
/** The properties of a request by which faults select it. */
type RequestFacts = { readonly attributes: Attributes; readonly kind: string; readonly user: string }

/** Restarts a server: connections are cut at once, and the promise resolves when it is back. */
export type Restart = (downMs: number, written: Promise<unknown>) => Promise<void>

export class Faults {
  #entries: Entry[] = []
  #seed = 1
  #added = 0
  #ids = 0
  #restart: Restart = async () => {}
  /** Writes under way. */
  readonly #writes = new Set<Promise<unknown>>()
  readonly #pauses = new Pauses()
  #observer = () => {}

  /** Calls a function after each change of the faults or their seed. */
  observe(observer: () => void): void {
    this.#observer = observer
  }

  /** Adds a fault; the returned function removes it. Throws FaultError when it is invalid. */
  add(fault: Fault): () => void {
    const { id } = this.#put(readFault(fault))
    return () => void this.remove(id)
  }

  /** Adds a fault in JSON; returns its report. Throws FaultError. */
  addWritten(value: unknown): FaultReport {
    return reported(this.#put(readFault(value)))
  }

  /** Replaces all faults, or none if one of them is invalid. Throws FaultError. */
  replaceAll(values: readonly unknown[], seed: number): void {
    const faults = values.map(readFault)
    if (faults.length > LIMITS.faults.rules) throw tooMany()
    this.clear()
    this.seed(seed)
    for (const fault of faults) this.#put(fault)
  }

  /** Removes a fault; returns whether it existed. */
  remove(id: string): boolean {
    const left = this.#entries.filter(entry => entry.id !== id)
    const isFound = left.length < this.#entries.length
    this.#entries = left
    if (isFound) this.#observer()
    return isFound
  }

  /** Removes all faults; delayed requests go on. */
  clear(): void {
    this.#entries = []
    this.#added = 0
    this.#pauses.wakeAll()
    this.#observer()
  }

  /** Restarts the random sequences: from here on the same requests in the same order are struck by the same faults. */
  seed(seed: number): void {
    this.#seed = seed
    for (const entry of this.#entries) entry.random = this.#randomOf(entry.ordinal)
    this.#observer()
  }

  get currentSeed(): number {
    return this.#seed
  }

  report(): FaultReport[] {
    return this.#entries.map(reported)
  }

  /** Sets the function that restarts the server, once there is one. */
  restartBy(restart: Restart): void {
    this.#restart = restart
  }

  /** Ends all delays: the server ends. */
  stop(): void {
    this.#pauses.stop()
  }

  #put(fault: Fault): Entry {
    if (this.#entries.length >= LIMITS.faults.rules) throw tooMany()
    const ordinal = this.#added++
    const entry = { id: String(++this.#ids), ordinal, fault, random: this.#randomOf(ordinal), seen: 0, hits: 0 }
    this.#entries.push(entry)
    this.#observer()
    return entry
  }

  /** Each fault has its own random sequence, so that requests which it does not select have no influence on it. */
  #randomOf(ordinal: number): () => number {
    return randomFrom(this.#seed * 1_000_003 + ordinal)
  }

  /** Wraps the handling of requests: delays, errors, lost responses, restarts. */
  readonly disturb = (next: Handler): Handler => {
    return exchange => {
      const { path } = exchange.route.attributes
      if (path.startsWith(OWN_PATHS)) return next(exchange)
      if (this.#entries.length === 0) return this.#noted(exchange, next)
      const effect = this.#strike(factsOf(exchange), isAboutRequests)
      return effect ? this.#applyEffect(effect, exchange, next) : this.#noted(exchange, next)
    }
  }

  /** Wraps the registry that clients reach: stale reads, and watches with late or lost events or an early end. */
  readonly around = (inner: Registry, revision: () => number): Registry => ({
    handle: (call, ctx, body) => {
      // A fault that is added later strikes watches that are open by then.
      if (this.#entries.length === 0 && call.verb !== 'watch') return inner.handle(call, ctx, body)
      const facts = { attributes: attributesOf(call), kind: call.resource.kind, user: ctx.user.name }
      if (call.verb === 'get' || call.verb === 'list') {
        const stale = this.#strike(facts, ({ staleBy }) => staleBy !== undefined)
        return inner.handle(stale ? asOf(call, Math.max(1, revision() - stale.staleBy!)) : call, ctx)
      }
      if (call.verb !== 'watch') return inner.handle(call, ctx, body)
      return Promise.resolve(inner.handle(call, ctx, body)).then(result =>
        result.type === 'watch' ? this.#watched(result, facts) : result,
      )
    },
  })

  #watched(result: Extract<Result, { type: 'watch' }>, facts: RequestFacts): Result {
    const strike = () => this.#strike(facts, ({ events }) => events !== undefined)?.events
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

  /** Concurrent writes are stored before the server is back, or never. */
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
  #strike(facts: RequestFacts, isMeant: (effect: FaultEffect) => boolean): FaultEffect | undefined {
    for (const entry of this.#entries) {
      const { fault } = entry
      if (!isMeant(fault) || !isFor(fault, facts)) continue
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

const factsOf = ({ route, user }: Exchange): RequestFacts => ({
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
  { attributes, kind: requestKind, user: by }: RequestFacts,
): boolean {
  const at = attributes.resource
  if (verb !== undefined && ![verb].flat().includes(attributes.verb)) return false
  if (user !== undefined && user !== by) return false
  if (kind !== undefined && kind !== requestKind) return false
  if ([resource, subresource, namespace, name].every(value => value === undefined)) return true
  if (!at) return false
  const qualified = at.group === '' ? at.plural : `${at.plural}.${at.group}`
  const fits = (expected: string | undefined, ...values: string[]) => expected === undefined || values.includes(expected)
  return fits(resource, at.plural, qualified) && fits(subresource, at.subresource) && fits(namespace, at.namespace) && fits(name, at.name)
}

/** The same read as of an earlier revision. */
function asOf(call: Call, revision: number): Call {
  const query = new URLSearchParams(call.query)
  query.set('resourceVersion', String(revision))
  query.set('resourceVersionMatch', 'Exact')
  return { ...call, query }
}
