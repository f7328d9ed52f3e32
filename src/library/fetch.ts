/** Requests with a client certificate: Node's own fetch does not support them. */
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { Readable } from 'node:stream'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { FetchInit } from '../public.d.ts'
import type { Credentials } from '../server/running-server.ts'

export type Fetch = (path: string, init?: FetchInit) => Promise<Response>

/** Sends requests as the user of a certificate. Resolves with the Response of the global fetch, whatever its status. */
export function fetchAs(url: string, credentials: () => Credentials): Fetch {
  const parsed = parsing()
  return (path, init) => send(new URL(path, url), () => parsed(credentials()), init)
}

/** The same with a token, to a server that may have a path itself. */
export function fetchWithToken(url: string, { ca, token }: { readonly ca: string; readonly token: string }): Fetch {
  const parsed = parsing()
  return (path, init = {}) =>
    send(new URL(url + path), () => parsed({ ca }), { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
}

type Parsed = Partial<Credentials> & { readonly secureContext: SecureContext }

/** Parses certificates and keys once, as long as they are the same: Node would for each connection, which takes longer than the rest of it. */
function parsing(): (credentials: Partial<Credentials>) => Parsed {
  let last: Parsed | undefined
  return ({ ca, cert, key }) => {
    if (last && last.ca === ca && last.cert === cert && last.key === key) return last
    const given = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
    last = { ...given, secureContext: createSecureContext(given) }
    return last
  }
}

function send(url: URL, credentials: () => Parsed, { method = 'GET', headers = {}, body, signal }: FetchInit = {}): Promise<Response> {
  // Node sets Content-Length for some methods only.
  const typed =
    body === undefined ? headers : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers }
  return new Promise((resolve, reject) => {
    const options = { method, headers: typed, ...credentials(), ...(signal && { signal }) }
    const sent = request(url, options, answer => resolve(responseOf(answer)))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** An answer of Node as the Response of the global fetch. */
export function responseOf(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 500
  const hasBody = status !== 204 && status !== 304
  const fields = Object.entries(answer.headers).flatMap(([name, value]) => [value ?? []].flat().map(v => [name, v] as [string, string]))
  return new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, { status, headers: fields })
}
