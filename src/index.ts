/** The library: real servers for tests in any runner, several in one process, each with its own store. `public.d.ts` is its contract. */
import { request } from 'node:https'
import { Readable } from 'node:stream'
import type { FetchInit, RunningServer, StartOptions } from './public.d.ts'
import { ConfigError } from './server/config.ts'
import { FeatureGateError } from './server/feature-gates.ts'
import { type Server, startServer } from './server/start.ts'
import { configOf, inOptionNames } from './start-options.ts'

export type { FetchInit, RunningServer, StartOptions } from './public.d.ts'
export { ConfigError } from './server/config.ts'
export { StoreUnavailable } from './storage/store.ts'
export { VERSION } from './version.ts'

export async function start(options: StartOptions = {}): Promise<RunningServer> {
  const server = await startServer(configOf(options)).catch(error => {
    if (error instanceof FeatureGateError) throw new ConfigError(`featureGates: ${error.message}`)
    if (error instanceof ConfigError) throw new ConfigError(inOptionNames(error.message))
    throw error
  })
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
