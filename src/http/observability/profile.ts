/**
 * Profiles of the process, with `--profiling`: `/keelson/profile?seconds=N` records where processor time goes, `/keelson/profile/heap` is a
 * snapshot of the heap, both in the formats of V8's tools. They show keys and objects of all users, so only those who may `get` these
 * nonResourceURLs get them. One is made at a time.
 */
import { Session } from 'node:inspector'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapSnapshot } from 'node:v8'
import { abortSignalOf } from '../../lib/cancellation.ts'
import { badRequest, methodNotAllowed, tooManyRequests, unavailable } from '../../schema/status-error.ts'
import type { Endpoint, EndpointRule } from '../endpoints.ts'
import { bytesResponse, type Request, type Response, textResponse } from '../message.ts'

const DEFAULT_SECONDS = 30
/** A request has a minute. */
const MAX_SECONDS = 50

export function profileEndpoints(): EndpointRule[] {
  let isBusy = false
  /** Makes one profile at a time; `make` says when it is over. */
  const alone =
    (make: (request: Request, query: URLSearchParams, over: () => void) => Promise<Response> | Response): Endpoint =>
    async (request, { query }) => {
      if (request.method !== 'GET') throw methodNotAllowed()
      if (isBusy) throw tooManyRequests('another profile is being made', 1)
      isBusy = true
      const over = () => {
        isBusy = false
      }
      try {
        return await make(request, query, over)
      } catch (error) {
        over()
        throw error
      }
    }
  return [
    {
      path: '/keelson/profile',
      answer: alone(async (request, query, over) => {
        const profile = await cpuProfile(secondsIn(query), request)
        over()
        return attached('application/json', 'keelson.cpuprofile', Buffer.from(profile))
      }),
    },
    { path: '/keelson/profile/heap', answer: alone((_, __, over) => heapSnapshot(over)) },
    // Go's profiles do not exist here; whoever looks for them is shown the way.
    ...['/debug/pprof', '/debug/pprof/'].map(path => ({ path, answer: () => textResponse(200, INDEX) })),
  ]
}

const INDEX = `Profiles of V8, for the developer tools of browsers:
/keelson/profile?seconds=${DEFAULT_SECONDS}  processor time
/keelson/profile/heap        heap
`

function secondsIn(query: URLSearchParams): number {
  const text = query.get('seconds') ?? String(DEFAULT_SECONDS)
  const seconds = /^\d{1,3}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds > 0 && seconds <= MAX_SECONDS)) throw badRequest(`seconds must be a number up to ${MAX_SECONDS}`)
  return seconds
}

/** Samples the stack every millisecond; ends early when the client disconnects. */
async function cpuProfile(seconds: number, { signal }: Request): Promise<string> {
  const session = new Session()
  session.connect()
  const post = (method: string) =>
    new Promise<object>((resolve, reject) => session.post(method, (error, result) => (error ? reject(error) : resolve(result ?? {}))))
  try {
    await post('Profiler.enable')
    await post('Profiler.start')
    await sleep(seconds * 1000, undefined, { signal: abortSignalOf(signal) }).catch(() => {
      throw unavailable('the client has gone')
    })
    const { profile } = (await post('Profiler.stop')) as { profile: object }
    return JSON.stringify(profile)
  } finally {
    session.disconnect()
  }
}

/** V8 stops the process while it takes the snapshot; it is then sent as fast as the client reads. */
function heapSnapshot(over: () => void): Response {
  const snapshot: Readable = getHeapSnapshot()
  const taken = () => {
    snapshot.destroy()
    over()
  }
  const { status, headers } = attached('application/json', 'keelson.heapsnapshot', new Uint8Array(0))
  return { status, headers, body: { type: 'pieces', length: undefined, pieces: snapshot }, taken }
}

const attached = (mediaType: string, name: string, body: Uint8Array): Response => {
  const response = bytesResponse(200, mediaType, body)
  return { ...response, headers: { ...response.headers, 'content-disposition': `attachment; filename="${name}"` } }
}
