/** Watches the requests of the program under test, and carries out one perturbation of them. */
import { bookmarkOf } from '../../cache/bookmark.ts'
import { WatchEvent, type WatchSink, type WatchStream } from '../../cache/watch-stream.ts'
import { itemBytes } from '../../codec/list-item.ts'
import { CUT, failure } from '../../faults/fault-response.ts'
import type { Exchange, Handler } from '../../http/exchange.ts'
import { header, type Response } from '../../http/message.ts'
import { isObject } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import { randomSuffix } from '../../lib/safe-text.ts'
import type { Call, CallContext, Registry, Result } from '../../registry/api.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Perturbing } from '../test-kit.ts'
import { type ChangeLog, isNoisy } from './change-log.ts'
import { HeldStream } from './held-stream.ts'
import { type Perturbation, type WritePoint, writeKey } from './perturbation.ts'

/** A line of a trace: a write of anybody, or an act of the explorer. */
export type TraceEntry = {
  readonly by: 'program' | 'other' | 'explorer'
  readonly text: string
  /** The object that it is about: `secrets default/a`; empty for none. */
  readonly object: string
}

export type Write = WritePoint & { readonly status: number }

export type PerturberParts = {
  readonly isProgram: (user: string, userAgent: string) => boolean
  readonly log: ChangeLog
  readonly perturbation: Perturbation | undefined
}

const LIFE = 'keelson:explored:'
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

export class Perturber implements Perturbing {
  readonly writes: Write[] = []
  readonly trace: TraceEntry[] = []
  /** Resources that the program watches. */
  readonly watched = new Set<string>()
  /** Resources that the program reads in a way that may show an older state. */
  readonly readStale = new Set<string>()
  /** Counts everything that shows that the run goes on. */
  activity = 0
  /** Whether the perturbation has come to pass. */
  isReached = false
  /** Whether the program has sent a request since it was started. */
  hasBegun = false
  /** Kills the program and starts it again. */
  onKill: () => Promise<void> = async () => {}
  readonly #parts: PerturberParts
  readonly #counts = new Map<string, number>()
  readonly #held = new Set<HeldStream>()
  /** The groups of programs that live. */
  readonly #living = new Set<string>()
  /** The revision that reads show which may be stale. */
  #staleAt: number | undefined

  constructor(parts: PerturberParts) {
    this.#parts = parts
  }

  /** A group for the user of a program, by which each of its lives is known. */
  newLife(): string {
    const group = `${LIFE}${randomSuffix()}`
    this.#living.add(group)
    return group
  }

  /** From here on, users of a group have no effect: the process that they were is gone. */
  bury(group: string): void {
    this.#living.delete(group)
  }

  /** Shows the state of a revision to reads that may be stale, until `catchUp`. */
  fallBehind(revision: number): void {
    this.#staleAt = revision
  }

  catchUp(): void {
    this.#staleAt = undefined
    this.release()
  }

  /** Delivers events that are held back. Returns whether there were any. */
  release(): boolean {
    const held = [...this.#held].filter(stream => stream.isHolding)
    for (const stream of held) stream.release()
    return held.length > 0
  }

  note(text: string): void {
    this.activity++
    this.trace.push({ by: 'explorer', text, object: '' })
  }

  readonly disturb = (next: Handler): Handler => {
    return exchange => {
      const { route, user } = exchange
      if (user?.groups.some(group => group.startsWith(LIFE) && !this.#living.has(group))) return CUT
      this.hasBegun ||= this.#isProgram(exchange)
      if (route.type !== 'call' || !WRITES.has(route.attributes.verb)) return next(exchange)
      return this.#written(exchange, next)
    }
  }

  async #written(exchange: Exchange, next: Handler): Promise<Response> {
    const isProgram = this.#isProgram(exchange)
    const point = await this.#pointOf(exchange, isProgram)
    const effect = isProgram && !isNoisy(point.resource) ? this.#effectAt(point) : undefined
    const noted = (status: number) => this.#noteWrite(point, status, isProgram)
    if (effect?.kind === 'conflict' || (effect?.kind === 'timeout' && !effect.isMade)) {
      const status = effect.kind === 'conflict' ? 409 : 504
      this.note(effect.kind === 'conflict' ? 'the next write is refused with 409' : 'the next write is not made, and answered with 504')
      noted(status)
      throw failure({ status }, exchange)
    }
    let response: Response
    try {
      response = await next(exchange)
      noted(response.status)
    } catch (error) {
      noted(error instanceof StatusError ? error.code : 500)
      throw error
    }
    if (effect?.kind === 'timeout') {
      this.note('the write is made, and answered with 504')
      throw failure({ status: 504 }, exchange)
    }
    if (effect?.kind === 'intermediate') {
      this.note('the program is killed and started again')
      await this.onKill()
      return CUT
    }
    return response
  }

  #effectAt(point: WritePoint): Extract<Perturbation, { readonly at: WritePoint }> | undefined {
    const { perturbation } = this.#parts
    if (!perturbation || !('at' in perturbation) || this.isReached || writeKey(perturbation.at) !== writeKey(point)) return undefined
    this.isReached = true
    return perturbation
  }

  #noteWrite(point: WritePoint, status: number, isProgram: boolean): void {
    const { verb, resource, namespace, name } = point
    if (isNoisy(resource)) return
    // A request that is retried without success changes nothing.
    if (status < 300) this.activity++
    if (isProgram) this.writes.push({ ...point, status })
    const object = `${resource.split(':')[0]} ${namespace === '' ? name : `${namespace}/${name}`}`
    const place = `${resource} ${namespace === '' ? name : `${namespace}/${name}`}`
    this.trace.push({ by: isProgram ? 'program' : 'other', text: `${verb} ${place}: ${status}`, object })
  }

  /** The write that a request is; the name of an object to create is in its body. */
  async #pointOf({ route, request }: Exchange, isProgram: boolean): Promise<WritePoint> {
    const { verb } = route.attributes
    const { group = '', plural = '', subresource = '', namespace = '', name = '' } = route.attributes.resource ?? {}
    const qualified = group === '' ? plural : `${plural}.${group}`
    const resource = subresource === '' ? qualified : `${qualified}:${subresource}`
    const known = name === '' && verb === 'create' ? nameIn(await request.readBody(LIMITS.bodyBytes)) : name
    const point = { verb, resource, namespace, name: this.#parts.log.names.known(known) }
    if (!isProgram) return { ...point, ordinal: 0 }
    const counted = writeKey({ ...point, ordinal: 0 })
    const ordinal = (this.#counts.get(counted) ?? 0) + 1
    this.#counts.set(counted, ordinal)
    return { ...point, ordinal }
  }

  #isProgram({ user, request }: Exchange): boolean {
    return this.#parts.isProgram(user?.name ?? '', header(request.headers, 'user-agent') ?? '')
  }

  readonly around = (inner: Registry): Registry => ({
    handle: (call, ctx, body) => {
      const { verb, resource } = call
      const isRead = verb === 'get' || verb === 'list' || verb === 'watch'
      if (!isRead || call.subresource !== '' || isNoisy(resource.qualified)) return inner.handle(call, ctx, body)
      if (!this.#parts.isProgram(ctx.user.name, ctx.userAgent)) return inner.handle(call, ctx, body)
      if (asksForAnyState(call)) this.readStale.add(resource.qualified)
      if (verb === 'watch') return this.#watched(inner, call, ctx)
      const at = this.#staleAt
      if (at === undefined || !mayBeStale(call, at)) return inner.handle(call, ctx, body)
      this.isReached = true
      this.note(`the program reads ${resource.qualified} as of revision ${at}`)
      return inner.handle(asOf(call, at), ctx)
    },
  })

  async #watched(inner: Registry, call: Call, ctx: CallContext): Promise<Result> {
    this.watched.add(call.resource.qualified)
    const at = this.#staleAt
    if (at !== undefined && mayBeStale(call, at)) return this.#staleWatch(inner, call, { ctx, at })
    const result = await inner.handle(call, ctx)
    return result.type === 'watch' ? { ...result, stream: this.#follow(result.stream, call.resource.qualified) } : result
  }

  /** A watch at a server that is behind: first its objects, if they were asked for, and later ones when it has caught up. */
  async #staleWatch(inner: Registry, call: Call, { ctx, at }: { readonly ctx: CallContext; readonly at: number }): Promise<Result> {
    const { resource, query } = call
    const asked = query.get('resourceVersion') ?? ''
    const sendsInitial = query.get('sendInitialEvents') === 'true' || (asked === '0' && query.get('sendInitialEvents') !== 'false')
    const from = new URLSearchParams(query)
    for (const name of ['sendInitialEvents', 'resourceVersionMatch']) from.delete(name)
    from.set('resourceVersion', asked === '0' ? String(at) : asked)
    const watched = await inner.handle({ ...call, query: from }, ctx)
    if (watched.type !== 'watch') return watched
    const first = sendsInitial ? await initialEvents(inner, call, { ctx, at }) : []
    this.isReached = true
    this.note(`the program watches ${resource.qualified} as of revision ${at}`)
    const held = new HeldStream(watched.stream, { first, isHeldAtOnce: true, onEvent: () => this.activity++ })
    this.#held.add(held)
    return { ...watched, stream: held }
  }

  #follow(stream: WatchStream, resource: string): WatchStream {
    const { perturbation, log } = this.#parts
    if (perturbation?.kind !== 'unobserved' || perturbation.from.resource !== resource) return counted(stream, () => this.activity++)
    const { from, to } = perturbation
    const held = new HeldStream(stream, {
      onEvent: () => this.activity++,
      begins: revision => !this.isReached && log.find(from)?.revision === revision,
      ends: revision => log.find(to)?.revision === revision,
      onSkipped: () => {
        this.isReached = true
        this.note(`events of ${resource} are lost, and the watch ends with 410`)
      },
    })
    this.#held.add(held)
    return held
  }
}

/** The objects of a revision as the first events of a watch, and a bookmark where the client wants to know their end. */
async function initialEvents(
  inner: Registry,
  call: Call,
  { ctx, at }: { readonly ctx: CallContext; readonly at: number },
): Promise<WatchEvent[]> {
  const { resource, query } = call
  const selection = new URLSearchParams()
  for (const name of ['labelSelector', 'fieldSelector']) if (query.has(name)) selection.set(name, query.get(name)!)
  const listed = await inner.handle(asOf({ ...call, verb: 'list', query: selection }, at), ctx)
  const events = listed.type === 'list' ? listed.items.map(item => new WatchEvent('ADDED', resource, itemBytes(item))) : []
  const wantsEnd = query.get('sendInitialEvents') === 'true' && query.get('allowWatchBookmarks') === 'true'
  return wantsEnd ? [...events, bookmarkOf(resource, at, { [`${ctx.groupDomain}/initial-events-end`]: 'true' })] : events
}

/**
 * Whether Kubernetes lets a server that is behind answer a read from its cache: one with `resourceVersion=0`, or one that accepts
 * the state of any server. All others are answered with the newest state, whichever server gets them.
 */
function mayBeStale({ verb, query }: Call, at: number): boolean {
  const asked = query.get('resourceVersion') ?? ''
  const isContent = asked !== '' && Number(asked) <= at
  return isContent && (verb === 'watch' || query.get('resourceVersionMatch') !== 'Exact') && !query.has('continue')
}

/** Whether a read accepts the state of any server, as the first list of an informer does. */
const asksForAnyState = (call: Call): boolean => mayBeStale(call, 0)

/** The same read as of an earlier revision. */
function asOf(call: Call, revision: number): Call {
  const query = new URLSearchParams(call.query)
  query.set('resourceVersion', String(revision))
  query.set('resourceVersionMatch', 'Exact')
  return { ...call, query }
}

/** The name in a body of JSON, or the prefix that it asks to generate one from. */
function nameIn(bytes: Uint8Array | undefined): string {
  try {
    const object: unknown = JSON.parse(Buffer.from(bytes ?? []).toString())
    const metadata = isObject(object) ? object['metadata'] : undefined
    if (!isObject(metadata)) return ''
    if (typeof metadata['name'] === 'string' && metadata['name'] !== '') return metadata['name']
    return typeof metadata['generateName'] === 'string' ? `${metadata['generateName']}*` : ''
  } catch {
    // Other media types name the object where this need not be known.
    return ''
  }
}

/** The same stream, whose events are counted. */
const counted = (stream: WatchStream, onEvent: () => void): WatchStream => ({
  close: () => stream.close(),
  open(sink: WatchSink) {
    stream.open({
      event(event) {
        if (event.type !== 'BOOKMARK') onEvent()
        sink.event(event)
      },
      end: error => sink.end(error),
      get backlog() {
        return sink.backlog
      },
      onDrain: resume => sink.onDrain(resume),
    })
  },
})
