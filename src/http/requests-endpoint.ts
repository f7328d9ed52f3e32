/**
 * `/keelson/v1/requests`: the last requests of all clients, and with `watch=1` each one as it is answered, as lines of JSON.
 * `/keelson/v1/requests/bodies`: from the first look on, bodies are recorded; `?number=N&auditID=ID` has those of a request, for users who
 * may read its object.
 * `/keelson/v1/watches`: the watches and connections that are open. All show what everybody does, so each requires a permission of its
 * own, to `get` this nonResourceURL.
 */
import type { Authorizer } from '../authz/authorizer.ts'
import { startTimer, stopTimer, type Timer } from '../lib/environment.ts'
import { LIMITS } from '../lib/limits.ts'
import { forbidden } from '../schema/forbidden.ts'
import { badRequest, methodNotAllowed, StatusError } from '../schema/status-error.ts'
import type { EndpointRule } from './endpoints.ts'
import { bytesResponse, type Outlet, type Request } from './message.ts'
import type { OpenStreamReport, OpenStreams } from './observability/open-streams.ts'
import type { RecordedBodies } from './observability/request-bodies.ts'
import type { LoggedRequest, RequestLog } from './observability/request-log.ts'
import type { OtherProcesses } from './other-processes.ts'

export const REQUESTS_PATH = '/keelson/v1/requests'
export const BODIES_PATH = `${REQUESTS_PATH}/bodies`
export const WATCHES_PATH = '/keelson/v1/watches'

export type RequestsParts = {
  readonly requests: RequestLog
  readonly streams: OpenStreams
  /** Names this process among the others. */
  readonly process: number
  /** Undefined where this process is the whole server. */
  readonly others: OtherProcesses | undefined
  readonly authorizer: Authorizer
  /** Ends those that follow requests. */
  readonly signal: AbortSignal
}

const [REQUESTS, BODIES, STREAMS] = ['recorded-requests', 'recorded-bodies', 'open-streams'] as const
/** Those who follow see a request at most this much later. */
const FOLLOW_MS = 250

/** The requests of a process after a number, and its newest number. */
type Part = { readonly process: number; readonly newest: number; readonly since: number; readonly requests: readonly LoggedRequest[] }
/** The newest number that was seen, by process. */
type Seen = Readonly<Record<string, number>>

export function requestsEndpoints(parts: RequestsParts): EndpointRule[] {
  const { requests, streams, process, others, signal } = parts
  const own = (seen: Seen): Part => {
    requests.look()
    const { newest, since } = requests
    return { process, newest, since, requests: requests.after(seen[process] ?? 0) }
  }
  others?.answer(REQUESTS, seen => JSON.stringify(own(JSON.parse(seen) as Seen)))
  others?.answer(STREAMS, () => JSON.stringify(streams.report()))
  const all = async (seen: Seen): Promise<readonly Part[]> => {
    const answers = (await others?.ask(REQUESTS, JSON.stringify(seen))) ?? []
    return [own(seen), ...answers.map(text => JSON.parse(text) as Part)]
  }
  return [
    {
      path: REQUESTS_PATH,
      hidden: true,
      describe,
      async answer(request, { query }) {
        checkMethod(request)
        const fits = readFilter(query)
        const known = await all({})
        if (query.get('watch') === '1' || query.get('watch') === 'true') return followed(all, { known, fits, signal })
        const since = new Date(Math.min(...known.map(part => part.since))).toISOString()
        const found = inOrder(known).filter(fits)
        return json({ since, requests: found })
      },
    },
    bodiesEndpoint(parts),
    {
      path: WATCHES_PATH,
      hidden: true,
      describe,
      async answer(request) {
        checkMethod(request)
        const answers = (await others?.ask(STREAMS, '')) ?? []
        const watches = [streams.report(), ...answers.map(text => JSON.parse(text) as OpenStreamReport[])].flat()
        return json({ watches: watches.sort((a, b) => (a.since < b.since ? -1 : 1)) })
      },
    },
  ]
}

const describe = async () => (await import('./documents/requests-api.ts')).REQUESTS_API

type BodyQuery = { readonly number: number; readonly auditID: string }

function bodiesEndpoint({ requests, others, authorizer }: RequestsParts): EndpointRule {
  const { bodies } = requests
  // A look at one process starts recording in all.
  const own = (wanted: BodyQuery): RecordedBodies | undefined => {
    requests.look()
    bodies.look()
    return bodies.find(wanted.number, wanted.auditID)
  }
  others?.answer(BODIES, wanted => JSON.stringify(own(JSON.parse(wanted) as BodyQuery) ?? null))
  return {
    path: BODIES_PATH,
    hidden: true,
    describe,
    async answer(request, { query, user }) {
      checkMethod(request)
      const wanted = { number: Number(query.get('number') ?? 0), auditID: query.get('auditID') ?? '' }
      const answers = (await others?.ask(BODIES, JSON.stringify(wanted))) ?? []
      const found = own(wanted) ?? answers.map(text => JSON.parse(text) as RecordedBodies | null).find(each => each !== null)
      if (wanted.auditID === '') return json({ since: new Date(bodies.since).toISOString() })
      if (!found || !user) throw noSuchBodies()
      const { resource, verb, ...texts } = found
      const attributes = { verb: resource.name === '' ? 'list' : 'get', path: '', resource }
      const { verdict } = await authorizer.authorize(user, attributes, request)
      if (verdict !== 'allow') throw forbidden(user, attributes)
      return json(texts)
    },
  }
}

const noSuchBodies = () =>
  new StatusError(404, 'NotFound', 'the bodies of that request are not kept: they were recorded too long ago, or may not be', {})

function checkMethod({ method }: Request): void {
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
}

const json = (value: object) => bytesResponse(200, 'application/json', Buffer.from(`${JSON.stringify(value)}\n`))

const inOrder = (parts: readonly Part[]): LoggedRequest[] =>
  parts.flatMap(part => part.requests).sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : a.number - b.number))

type Fits = (request: LoggedRequest) => boolean

const FILTERS: Readonly<Record<string, (request: LoggedRequest, wanted: string) => boolean>> = {
  user: ({ user }, wanted) => user === wanted,
  userAgent: ({ userAgent }, wanted) => userAgent.includes(wanted),
  verb: ({ verb }, wanted) => verb === wanted,
  resource: ({ resource }, wanted) =>
    resource !== undefined && (wanted === resource.resource || wanted === `${resource.resource}.${resource.group}`),
  namespace: ({ resource }, wanted) => resource?.namespace === wanted,
  name: ({ resource }, wanted) => resource?.name === wanted,
  status: ({ status }, wanted) => (/^[1-5]xx$/.test(wanted) ? wanted[0] === String(status)[0] : wanted === String(status)),
}

function readFilter(query: URLSearchParams): Fits {
  const wanted = [...query].filter(([name]) => name !== 'watch')
  for (const [name] of wanted)
    if (!Object.hasOwn(FILTERS, name))
      throw badRequest(`requests are filtered by ${Object.keys(FILTERS).join(', ')}, not by ${JSON.stringify(name.slice(0, 100))}`)
  return request => wanted.every(([name, value]) => FILTERS[name]!(request, value))
}

type Following = { readonly known: readonly Part[]; readonly fits: Fits; readonly signal: AbortSignal }

/** The requests from now on. A client that does not keep up misses some, and is told how many. */
function followed(all: (seen: Seen) => Promise<readonly Part[]>, { known, fits, signal }: Following) {
  const seen: Record<string, number> = {}
  const saw = (parts: readonly Part[]) => {
    // A process that was started in place of another counts from the beginning.
    for (const { process, newest } of parts) seen[process] = newest
  }
  saw(known)
  const start = (outlet: Outlet) => {
    let missed = 0
    let timer: Timer | undefined
    const look = async () => {
      const parts = await all(seen)
      saw(parts)
      const found = inOrder(parts).filter(fits)
      if (outlet.writableLength > LIMITS.recordedRequests.unsentBytes) missed += found.length
      else {
        if (missed > 0) outlet.write(line({ missed }))
        missed = 0
        if (found.length > 0) outlet.write(Buffer.concat(found.map(line)))
      }
      if (timer !== undefined) timer = lookLater()
    }
    const lookLater = () => startTimer(() => look().catch(() => outlet.destroy()), FOLLOW_MS)
    const stop = () => {
      stopTimer(timer)
      timer = undefined
    }
    const end = () => {
      stop()
      outlet.end()
    }
    outlet.once('close', () => {
      stop()
      signal.removeEventListener('abort', end)
    })
    signal.addEventListener('abort', end, { once: true })
    timer = lookLater()
  }
  return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: { type: 'stream', start } } as const
}

const line = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)
