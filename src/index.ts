/**
 * Keelson as a library: real servers for tests in any runner, several in one process, each with its own store.
 *
 *     import { start } from 'keelson'
 *     await using server = await start()
 *     await server.fetch('/api/v1/namespaces')
 */
import { request } from 'node:https'
import { Readable } from 'node:stream'
import { type Config, DEFAULTS } from './server/config.ts'
import { type Server, startServer } from './server/start.ts'

export { defineKind } from './schema/kind.ts'
export { type Config, ConfigError } from './server/config.ts'
export { StoreUnavailable } from './storage/store.ts'
export { VERSION } from './version.ts'

export type StartOptions = Partial<Config>

export interface RunningServer extends AsyncDisposable {
  /** `https://HOST:PORT`. */
  readonly url: string
  /** The admin's kubeconfig, as text: write it to a file, or hand it to a client library. */
  readonly kubeconfig: string
  /** Sends a request as the admin. Paths are those of the API: `/api/v1/namespaces`. */
  readonly fetch: (path: string, init?: FetchInit) => Promise<Response>
  /** Ends watches, lets requests finish, closes the store. */
  close(): Promise<void>
}

export type FetchInit = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
}

/** Starts a server. Unless told otherwise it keeps everything in memory and picks a free port. */
export async function start(options: StartOptions = {}): Promise<RunningServer> {
  const store = options.store ?? (options.dataDir === undefined ? 'memory' : 'embedded')
  const server = await startServer({ ...DEFAULTS, port: 0, ...options, store })
  return {
    url: server.url,
    kubeconfig: server.kubeconfig,
    fetch: (path, init) => fetchAs(server, path, init),
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** Node's own fetch takes no client certificate; this one does, and answers with the same Response. */
function fetchAs(
  { url, credentials }: Server,
  path: string,
  { method = 'GET', headers = {}, body, signal }: FetchInit = {},
): Promise<Response> {
  const typed = body === undefined ? headers : { 'content-type': 'application/json', ...headers }
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
