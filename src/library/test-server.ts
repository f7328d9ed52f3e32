/** A running server with the interface for tests. */
import { request } from 'node:https'
import { Readable } from 'node:stream'
import { eventJson } from '../audit/event.ts'
import { Faults } from '../faults/faults.ts'
import type { Handler } from '../http/exchange.ts'
import { parseDuration } from '../lib/duration.ts'
import type { FetchInit, RunningServer, Snapshot } from '../public.d.ts'
import { kubeconfigText } from '../server/credentials/kubeconfig.ts'
import type { Server } from '../server/running-server.ts'
import type { StartParts } from '../server/start.ts'
import { MovableClock } from './movable-clock.ts'
import { Recorder } from './recorder.ts'
import { restoreSettled, restoreState, type SavedState, saveState } from './state.ts'
import { waitFor } from './wait-for.ts'

type Credentials = Server['credentials']

/** The parts that are created before the server and passed to it. */
export class TestParts {
  readonly clock = new MovableClock()
  readonly faults = new Faults()
  readonly recorder = new Recorder(() => this.clock.now())

  /** While it is pending, clients may read and their writes wait. */
  #held: Promise<unknown> | undefined

  get start(): StartParts {
    const { faults, recorder, clock } = this
    return { clock, faults, surroundings: { record: recorder.record, hold: this.#holdUp }, auditWatcher: recorder.auditSink }
  }

  holdWrites(until: Promise<unknown>): void {
    this.#held = until
    const release = () => {
      this.#held = undefined
    }
    until.then(release, release)
  }

  readonly #holdUp = (next: Handler): Handler => {
    return exchange => {
      const { verb } = exchange.route.attributes
      return this.#held && !READS.includes(verb) ? this.#held.then(() => next(exchange)) : next(exchange)
    }
  }
}

const READS = ['get', 'list', 'watch', 'head', 'options']

/** Prints as its size alone: its records are private. */
class Kept implements Snapshot {
  readonly #state: SavedState
  readonly objects: number

  constructor(state: SavedState) {
    this.#state = state
    this.objects = state.size
  }

  get state(): SavedState {
    return this.#state
  }
}

/** The server as the library exposes it. `reset` restores the state after its components have first settled. */
export function testServer(server: Server, parts: TestParts): RunningServer {
  const { clock, faults, recorder } = parts
  const { url, client, store } = server
  const settled = () => server.settled()
  const restoring = { store, resources: () => client.resources(), settled }
  const ending = new AbortController()
  // Distinguishes writes of clients from those of components on a fresh server.
  const base = settled().then(() => saveState(store))
  base.then(
    () => recorder.follow(client, ending.signal),
    () => {},
  )
  parts.holdWrites(base)
  const credentialsFor = (user: string, groups: readonly string[] = []): Credentials => ({
    ca: server.credentials.ca,
    ...server.certify(user, [...groups]),
  })
  const close = () => {
    ending.abort()
    return server.close()
  }
  return {
    url,
    // Its certificate is renewed before it expires.
    get kubeconfig() {
      return server.kubeconfig
    },
    fetch: (path, init) => fetchAs(url, server.credentials, path, init),
    close,
    [Symbol.asyncDispose]: close,
    // The YAML parser is loaded with the first manifest.
    async apply(...sources) {
      await base
      return (await import('./apply.ts')).applyTo(client, sources) as never
    },
    async reset() {
      faults.clear()
      const before = await base
      await recorder.unrecorded(() => restoreSettled(before, restoring))
      recorder.clear()
    },
    snapshot: async () => new Kept(await saveState(store)),
    async restore(snapshot) {
      if (!(snapshot instanceof Kept)) throw new TypeError('restore takes what snapshot has returned')
      await restoreState(snapshot.state, restoring)
    },
    as(user, groups) {
      const credentials = credentialsFor(user, groups)
      return { fetch: (path, init) => fetchAs(url, credentials, path, init), kubeconfig: kubeconfigText({ server: url, ...credentials }) }
    },
    kubeconfigFor: (user, groups) => kubeconfigText({ server: url, ...credentialsFor(user, groups) }),
    waitFor: (object, condition, options) => waitFor(client, object, condition, options),
    settled,
    requests: () => [...recorder.requests],
    changes: () => [...recorder.changes],
    audit: () => recorder.auditEvents.map(event => JSON.parse(eventJson(event))),
    clock: {
      now: () => new Date(clock.now()),
      async advance(duration) {
        await base
        await clock.advance(millisecondsOf(duration), settled)
      },
    },
    faults: {
      add: fault => faults.add(fault),
      clear: () => faults.clear(),
      seed: seed => faults.seed(seed),
      report: () => faults.report(),
    },
  }
}

/** Milliseconds, or a duration such as `24h`. Time cannot go back. */
function millisecondsOf(duration: number | string): number {
  const ms = typeof duration === 'number' ? duration : Number(parseDuration(duration)) / 1e6
  if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY))
    throw new TypeError(`the clock can be put forward only: by milliseconds, 0 or more, or a duration such as '24h', not by ${duration}`)
  return ms
}

/** Node's own fetch does not support client certificates; this one does, and returns the same Response. */
function fetchAs(
  url: string,
  credentials: Credentials,
  path: string,
  { method = 'GET', headers = {}, body, signal }: FetchInit = {},
): Promise<Response> {
  // Node sets Content-Length for some methods only.
  const typed =
    body === undefined ? headers : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers }
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers: typed, ...credentials, ...(signal && { signal }) }, answer => {
      const status = answer.statusCode ?? 500
      const hasBody = status !== 204 && status !== 304
      const fields = Object.entries(answer.headers).flatMap(([name, value]) => [value ?? []].flat().map(v => [name, v] as [string, string]))
      resolve(new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, { status, headers: fields }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
