/**
 * Faults that tests ask for: what goes wrong in production and never on a laptop. A fault says which requests it is for, how often
 * it strikes and what happens then. Which requests are struck follows from the seed and the order of requests.
 */
import type { WatchEvent, WatchSink, WatchStream } from '../cache/watch-stream.ts'
import type { Exchange, Handler } from '../http/exchange.ts'
import type { Response } from '../http/message.ts'
import type { Fault, FaultEffect, FaultReport } from '../public.d.ts'
import type { Call, Registry, Result } from '../registry/api.ts'
import type { Attributes } from '../schema/access.ts'
import { expired, MODIFIED, StatusError } from '../schema/status-error.ts'

const EFFECTS = ['delayMs', 'status', 'disconnect', 'loseAnswer', 'bytesPerSecond', 'staleBy', 'events'] as const
const SELECTORS = ['verb', 'resource', 'subresource', 'namespace', 'name', 'user'] as const
const HOW_OFTEN = ['probability', 'times', 'skip'] as const

type Entry = { readonly fault: Fault; seen: number; hits: number }
/** What a fault is asked about. */
type Asked = { readonly attributes: Attributes; readonly user: string }

export class Faults {
  #entries: Entry[] = []
  #random = randomFrom(1)

  /** Adds a fault; calling the result takes it away. Throws when it makes no sense. */
  add(fault: Fault): () => void {
    check(fault)
    const entry = { fault, seen: 0, hits: 0 }
    this.#entries.push(entry)
    return () => {
      this.#entries = this.#entries.filter(each => each !== entry)
    }
  }

  /** Takes all faults away. */
  clear(): void {
    this.#entries = []
  }

  /** From here on the same requests in the same order are struck by the same faults. */
  seed(seed: number): void {
    this.#random = randomFrom(seed)
  }

  report(): FaultReport[] {
    return this.#entries.map(({ fault, seen, hits }) => ({ fault, seen, hits }))
  }

  /** Around the handling of requests: delays, errors, lost answers. */
  readonly disturb = (next: Handler): Handler => {
    return exchange => {
      if (this.#entries.length === 0) return next(exchange)
      const effect = this.#strike(askedBy(exchange), ({ delayMs, status, disconnect, loseAnswer, bytesPerSecond }) =>
        [delayMs, status, disconnect, loseAnswer, bytesPerSecond].some(value => value !== undefined),
      )
      return effect ? suffer(effect, exchange, next) : next(exchange)
    }
  }

  /** Around the registry that clients reach: old reads, and watches that are told too late, too little or that they are too old. */
  readonly around = (inner: Registry, revision: () => number): Registry => ({
    handle: (call, ctx) => {
      if (this.#entries.length === 0) return inner.handle(call, ctx)
      const asked = { attributes: attributesOf(call), user: ctx.user.name }
      if (call.verb === 'get' || call.verb === 'list') {
        const stale = this.#strike(asked, ({ staleBy }) => staleBy !== undefined)
        return inner.handle(stale ? asOf(call, Math.max(1, revision() - stale.staleBy!)) : call, ctx)
      }
      if (call.verb !== 'watch') return inner.handle(call, ctx)
      return Promise.resolve(inner.handle(call, ctx)).then(result => (result.type === 'watch' ? this.#watched(result, asked) : result))
    },
  })

  #watched(result: Extract<Result, { type: 'watch' }>, asked: Asked): Result {
    const strike = () => this.#strike(asked, ({ events }) => events !== undefined)?.events
    return { ...result, stream: disturbedStream(result.stream, strike) }
  }

  /** The effect that strikes, if one does. */
  #strike(asked: Asked, isMeant: (effect: FaultEffect) => boolean): FaultEffect | undefined {
    for (const entry of this.#entries) {
      const { fault } = entry
      if (!isMeant(fault) || !isFor(fault, asked)) continue
      entry.seen++
      const { probability = 1, times = Number.POSITIVE_INFINITY, skip = 0 } = fault
      if (entry.seen <= skip || entry.hits >= times || this.#random() >= probability) continue
      entry.hits++
      return fault
    }
    return undefined
  }
}

function check(fault: Fault): void {
  const known: readonly string[] = [...EFFECTS, ...SELECTORS, ...HOW_OFTEN, 'message', 'retryAfterSeconds']
  const unknown = Object.keys(fault).find(name => !known.includes(name))
  if (unknown !== undefined) throw new TypeError(`a fault has no ${unknown}; it has ${known.join(', ')}`)
  if (!EFFECTS.some(effect => fault[effect] !== undefined)) throw new TypeError(`a fault needs an effect: one of ${EFFECTS.join(', ')}`)
  const { status, probability = 1, events } = fault
  if (status !== undefined && !(status >= 400 && status <= 599)) throw new TypeError(`status must be between 400 and 599, not ${status}`)
  if (!(probability >= 0 && probability <= 1)) throw new TypeError(`probability must be between 0 and 1, not ${probability}`)
  if (events !== undefined && typeof events !== 'object' && !['drop', 'gone', 'end'].includes(events))
    throw new TypeError(`events must be drop, gone, end or { delayMs }, not ${events}`)
}

const askedBy = ({ route, user }: Exchange): Asked => ({ attributes: route.attributes, user: user?.name ?? '' })

const attributesOf = ({ verb, resource: { group, version, plural }, namespace, name, subresource }: Call): Attributes => ({
  verb,
  path: '',
  resource: { group, version, plural, subresource, namespace, name },
})

function isFor({ verb, resource, subresource, namespace, name, user }: Fault, { attributes, user: by }: Asked): boolean {
  const at = attributes.resource
  if (verb !== undefined && ![verb].flat().includes(attributes.verb)) return false
  if (user !== undefined && user !== by) return false
  if ([resource, subresource, namespace, name].every(value => value === undefined)) return true
  if (!at) return false
  const qualified = at.group === '' ? at.plural : `${at.plural}.${at.group}`
  const fits = (wanted: string | undefined, ...values: string[]) => wanted === undefined || values.includes(wanted)
  return fits(resource, at.plural, qualified) && fits(subresource, at.subresource) && fits(namespace, at.namespace) && fits(name, at.name)
}

async function suffer(effect: FaultEffect, exchange: Exchange, next: Handler): Promise<Response> {
  const { delayMs, status, disconnect, loseAnswer, bytesPerSecond } = effect
  if (delayMs !== undefined) await pause(delayMs)
  if (status !== undefined) throw failure(effect, exchange)
  if (disconnect) return CUT
  const response = await next(exchange)
  if (loseAnswer) return CUT
  return bytesPerSecond === undefined ? response : slowed(response, bytesPerSecond)
}

const CUT: Response = { status: 500, headers: {}, body: new Uint8Array(), cut: true }
const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

const REASONS: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  409: ['Conflict', MODIFIED],
  410: ['Expired', 'The resourceVersion for the provided watch is too old.'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  500: ['InternalError', 'Internal error occurred: a fault that was asked for'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
}

function failure({ status = 500, message, retryAfterSeconds }: FaultEffect, { route: { attributes } }: Exchange): StatusError {
  const [reason, text] = REASONS[status] ?? ['', 'a fault that was asked for']
  const { plural = '', group = '', name = '' } = attributes.resource ?? {}
  const qualified = group === '' ? plural : `${plural}.${group}`
  const said = message ?? (status === 409 ? `Operation cannot be fulfilled on ${qualified} "${name}": ${text}` : text)
  return new StatusError(status, reason, said, {
    ...(name && { name }),
    ...(group && { group }),
    ...(plural && { kind: plural }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** How often a slow body gets its next bytes. */
const SLICES_PER_SECOND = 20

function slowed(response: Response, bytesPerSecond: number): Response {
  const { body } = response
  if (!(body instanceof Uint8Array)) return response
  const size = Math.max(1, Math.round(bytesPerSecond / SLICES_PER_SECOND))
  const pieces = async function* (bytes: Uint8Array) {
    for (let i = 0; i < bytes.byteLength; i += size) {
      if (i > 0) await pause(1000 / SLICES_PER_SECOND)
      yield bytes.subarray(i, i + size)
    }
  }
  return { ...response, body: { type: 'pieces', length: body.byteLength, pieces: pieces(body) } }
}

/** The same read as of an earlier revision. */
function asOf(call: Call, revision: number): Call {
  const query = new URLSearchParams(call.query)
  query.set('resourceVersion', String(revision))
  query.set('resourceVersionMatch', 'Exact')
  return { ...call, query }
}

/** A watch of whose events some are lost or late, or that ends. What is late holds up what comes after it: order is kept. */
function disturbedStream(stream: WatchStream, strike: () => FaultEffect['events'] | undefined): WatchStream {
  return {
    close: () => stream.close(),
    open(sink) {
      let held: Promise<void> | undefined
      let isOver = false
      const over = (error?: StatusError) => {
        isOver = true
        stream.close()
        sink.end(error)
      }
      const deliver = (event: WatchEvent) => {
        const events = event.type === 'BOOKMARK' ? undefined : strike()
        if (events === undefined) return sink.event(event)
        if (events === 'drop') return
        if (events === 'gone') return over(expired('The resourceVersion for the provided watch is too old.'))
        if (events === 'end') return over()
        held = pause(events.delayMs).then(() => sink.event(event))
      }
      /** Now, or when what is held up has been delivered. */
      const inTurn = (run: () => void) => {
        if (isOver) return
        if (!held) return run()
        const mine = held.then(() => {
          if (held === mine) held = undefined
          if (!isOver) run()
        })
        held = mine
      }
      const disturbed: WatchSink = {
        event: event => inTurn(() => deliver(event)),
        end: error => inTurn(() => sink.end(error)),
        get backlog() {
          return sink.backlog
        },
        onDrain: resume => sink.onDrain(resume),
      }
      stream.open(disturbed)
    },
  }
}

/** Numbers from 0 to 1 that follow from a seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
