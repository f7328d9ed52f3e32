/** A running server with the interface for tests. */
import { request } from 'node:https'
import { Readable } from 'node:stream'
import { eventJson } from '../audit/event.ts'
import type { FetchInit, RunningServer, Snapshot } from '../public.d.ts'
import { kubeconfigText } from '../server/credentials/kubeconfig.ts'
import type { Server } from '../server/running-server.ts'
import type { SavedState } from './state.ts'
import { millisecondsOf, type TestKit } from './test-kit.ts'
import { waitFor } from './wait-for.ts'

type Credentials = Server['credentials']

/** Prints as its size alone: its records are private. */
class Kept implements Snapshot {
  readonly #state: SavedState
  readonly objects: number

  constructor(state: SavedState) {
    this.#state = state
    this.objects = state.records.size
  }

  get state(): SavedState {
    return this.#state
  }
}

/** The server as the library exposes it. */
export function testServer(server: Server, kit: TestKit): RunningServer {
  const { clock, faults, recorder } = kit
  const { url, client } = server
  kit.attach(server)
  const credentialsFor = (user: string, groups: readonly string[] = []): Credentials => ({
    ca: server.credentials.ca,
    ...server.certify(user, [...groups]),
  })
  const close = () => {
    kit.end()
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
      await kit.ready()
      return (await import('./apply.ts')).applyTo(client, sources) as never
    },
    reset: () => kit.reset(),
    snapshot: async () => new Kept(await kit.save()),
    async restore(snapshot) {
      if (!(snapshot instanceof Kept)) throw new TypeError('restore takes what snapshot has returned')
      await kit.restore(snapshot.state)
    },
    as(user, groups) {
      const credentials = credentialsFor(user, groups)
      return { fetch: (path, init) => fetchAs(url, credentials, path, init), kubeconfig: kubeconfigText({ server: url, ...credentials }) }
    },
    kubeconfigFor: (user, groups) => kubeconfigText({ server: url, ...credentialsFor(user, groups) }),
    waitFor: (object, condition, options) => waitFor(client, object, condition, options),
    settled: () => server.settled(),
    requests: () => [...recorder.requests],
    changes: () => [...recorder.changes],
    audit: () => recorder.auditEvents.map(event => JSON.parse(eventJson(event))),
    clock: {
      now: () => new Date(clock.now()),
      advance: async duration => kit.advance(millisecondsOf(duration)),
      freeze: () => clock.freeze(),
      resume: () => clock.resume(),
    },
    faults: {
      add: fault => faults.add(fault),
      clear: () => faults.clear(),
      seed: seed => faults.seed(seed),
      report: () => faults.report(),
    },
  }
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
