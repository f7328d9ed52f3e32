/** Requests with a client certificate: Node's own fetch does not support them. */
import { request } from 'node:https'
import { Readable } from 'node:stream'
import type { FetchInit } from '../public.d.ts'
import type { Credentials } from '../server/running-server.ts'

export type Fetch = (path: string, init?: FetchInit) => Promise<Response>

/** Sends requests as the user of a certificate. Resolves with the Response of the global fetch, whatever its status. */
export const fetchAs =
  (url: string, credentials: () => Credentials): Fetch =>
  (path, { method = 'GET', headers = {}, body, signal } = {}) => {
    // Node sets Content-Length for some methods only.
    const typed =
      body === undefined ? headers : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers }
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, url), { method, headers: typed, ...credentials(), ...(signal && { signal }) }, answer => {
        const status = answer.statusCode ?? 500
        const hasBody = status !== 204 && status !== 304
        const fields = Object.entries(answer.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map(v => [name, v] as [string, string]),
        )
        resolve(new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, { status, headers: fields }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }
