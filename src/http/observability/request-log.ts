/**
 * The last requests with their users, outcomes and phases, for administrators who look at them. They are recorded while somebody looks and
 * some minutes longer: otherwise a request costs one comparison. A server for tests records always, until a reset.
 */
import type { Clock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/environment.ts'
import { LIMITS } from '../../lib/limits.ts'
import { truncate } from '../../lib/truncate.ts'
import { type Exchange, isConnect, isLongRunning } from '../exchange.ts'
import { header, type Response } from '../message.ts'
import { RequestBodies, type SentBody } from './request-bodies.ts'
import { WhileLookedAt } from './while-looked-at.ts'

export type LoggedRequest = {
  /** Counts the requests of a process. */
  readonly number: number
  readonly auditID: string
  /** The time at which it arrived. */
  readonly time: string
  readonly user: string
  readonly groups: readonly string[]
  /** The authenticated user, where the request impersonates another one. */
  readonly impersonator?: string
  readonly userAgent: string
  readonly source: string
  readonly method: string
  readonly verb: string
  readonly path: string
  /** Left out where it may contain secrets: beside resources, and in connections to pods. */
  readonly query?: string
  /** The resource that the path names. */
  readonly resource?: {
    readonly group: string
    readonly version: string
    readonly resource: string
    readonly subresource: string
    readonly namespace: string
    readonly name: string
  }
  readonly status: number
  /** Until the response began, for a watch or a connection. */
  readonly ms: number
  /** Milliseconds of each phase. */
  readonly phases: Readonly<Record<string, number>>
  readonly requestBytes?: number
  readonly responseBytes?: number
  readonly isLongRunning?: true
  /** Its bodies were recorded: `/keelson/v1/requests/bodies` has them for some time. */
  readonly hasBodies?: true
}

/** A guess: an object, its fields, and two bytes for each character of its texts. */
const BYTES_OF_RECORD = 600
/** Requests for these paths are not recorded: those who look would see themselves, and tests their own requests for the state of the server. */
const OWN_PATHS = { lookedAt: '/keelson/v1/requests', always: '/keelson/v1/' }

export class RequestLog {
  /** Bodies, where somebody asks for them. */
  readonly bodies: RequestBodies
  readonly #clock: Clock
  readonly #lookedAt: WhileLookedAt
  #mode: 'lookedAt' | 'always' = 'lookedAt'
  #records: { readonly request: LoggedRequest; readonly bytes: number }[] = []
  #bytes = 0
  #number = 0
  #clearedAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.bodies = new RequestBodies(clock)
    this.#lookedAt = new WhileLookedAt(clock, () => {
      this.#records = []
      this.#bytes = 0
    })
  }

  /** Read for each request. */
  get isRecording(): boolean {
    return this.#lookedAt.isOn
  }

  /** Records all requests from now on, as many as there is room for. */
  recordAlways(): void {
    this.#mode = 'always'
    this.#lookedAt.keepOn()
    this.bodies.recordAlways()
  }

  /** Forgets all recorded requests. */
  clear(): void {
    this.#clearedAt = monotonicMs()
    this.#lookedAt.restart()
    this.bodies.clear()
  }

  /** Somebody looks: from now on requests are recorded. */
  look(): void {
    this.#lookedAt.look()
  }

  /** The time from which on all are there, in milliseconds since the epoch; while somebody looks, that of the first look. */
  get since(): number {
    return this.#lookedAt.since
  }

  /** The number of the newest request. */
  get newest(): number {
    return this.#number
  }

  /** The recorded requests after a number, oldest first. */
  after(number: number): LoggedRequest[] {
    return this.#records.filter(({ request }) => request.number > number).map(({ request }) => request)
  }

  /** `sent` is there while bodies are recorded. */
  note(exchange: Exchange, response: Response, sent?: SentBody): void {
    if (exchange.route.attributes.path.startsWith(OWN_PATHS[this.#mode])) return
    const now = this.#clock.now()
    // It was sent before all was forgotten.
    if (monotonicMs() - exchange.stopwatch.total < this.#clearedAt) return
    const request = describe(exchange, response, { number: ++this.#number, now, hasBodies: sent !== undefined })
    const { path, query = '', userAgent, user, groups } = request
    const bytes = BYTES_OF_RECORD + 2 * (path.length + query.length + userAgent.length + user.length + groups.join().length)
    this.#records.push({ request, bytes })
    this.#bytes += bytes
    this.#makeRoom()
    if (sent) this.bodies.note(request.number, exchange, { sent, response })
  }

  /** Removes a tenth at once: an array is not made for removals from its front. */
  #makeRoom(): void {
    const { number, bytes } = LIMITS.recordedRequests[this.#mode]
    if (this.#records.length <= number && this.#bytes <= bytes) return
    const removed = this.#records.splice(0, Math.ceil(this.#records.length / 10))
    for (const each of removed) this.#bytes -= each.bytes
    if (this.#mode === 'always') this.#lookedAt.since = Date.parse(this.#records[0]!.request.time)
  }
}

type Noted = { readonly number: number; readonly now: number; readonly hasBodies: boolean }

function describe(exchange: Exchange, { status, body }: Response, { number, now, hasBodies }: Noted): LoggedRequest {
  const { request, route, id, user, impersonator, stopwatch } = exchange
  const { verb, path, resource } = route.attributes
  const ms = stopwatch.total
  const responseBytes = body instanceof Uint8Array ? body.byteLength : body.type === 'pieces' ? body.length : undefined
  const requestBytes = Number(header(request.headers, 'content-length') ?? Number.NaN)
  const isQueryShown = route.type === 'call' && !isConnect(route.call) && request.target.includes('?')
  return {
    number,
    auditID: id,
    time: new Date(now - ms).toISOString(),
    user: short(user?.name ?? ''),
    groups: (user?.groups ?? []).slice(0, MAX_GROUPS).map(short),
    ...(impersonator && { impersonator: short(impersonator.name) }),
    userAgent: short(header(request.headers, 'user-agent') ?? ''),
    source: request.peer.address,
    method: request.method,
    verb,
    path: short(path),
    ...(isQueryShown && { query: short(request.target.slice(request.target.indexOf('?') + 1)) }),
    ...(resource && {
      resource: {
        group: resource.group,
        version: resource.version,
        resource: resource.plural,
        subresource: resource.subresource,
        namespace: resource.namespace,
        name: resource.name,
      },
    }),
    status,
    ms: rounded(ms),
    phases: phasesOf(exchange, ms),
    ...(Number.isSafeInteger(requestBytes) && { requestBytes }),
    ...(responseBytes !== undefined && { responseBytes }),
    ...(isLongRunning(exchange) && { isLongRunning: true }),
    ...(hasBodies && { hasBodies: true }),
  }
}

const MAX_GROUPS = 20
const short = (text: string): string => truncate(text, LIMITS.recordedRequests.textLength)
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000

/** The time after the last phase is that of encoding. */
function phasesOf({ stopwatch }: Exchange, totalMs: number): Record<string, number> {
  const sums: Record<string, number> = {}
  let last = 0
  const add = (phase: string, at: number) => {
    sums[phase] = rounded((sums[phase] ?? 0) + at - last)
    last = at
  }
  for (const { phase, at } of stopwatch.laps()) add(phase, at)
  add('encode', totalMs)
  return sums
}
