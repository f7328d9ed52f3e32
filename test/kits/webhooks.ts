/** Webhooks on real ports, for tests of their callers. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { issueAuthority, issueServer } from '../../src/lib/x509/issue.ts'
import type { Scope } from '../kit.ts'

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
const authority = issueAuthority('test authority', validity)
export const strangers = issueAuthority('strangers', validity)
export const pem = (cert: string) => Buffer.from(cert).toString('base64')

/** The response of a webhook to a request: parts of an AdmissionResponse. */
export type Respond = (request: any, review: any) => object | Promise<object>

export type Webhook = {
  readonly server: Server
  readonly port: number
  /** The received requests, in order. */
  readonly seen: any[]
  /** The received calls with their headers. */
  readonly calls: { readonly url: string; readonly headers: IncomingMessage['headers']; readonly review: any; readonly socket: object }[]
  readonly clientConfig: { readonly url: string; readonly caBundle: string }
  readonly cert: string
}

/** Answers reviews in the version of the request. */
export function reviewing(respond: Respond): Answer {
  return async (review, response) => {
    const { apiVersion, kind, request } = review
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, ...(await respond(request, review)) } }))
  }
}
export type Answer = (review: any, response: ServerResponse, request: IncomingMessage) => void | Promise<void>

export const allow = reviewing(() => ({ allowed: true }))
export const deny = (message: string) => reviewing(() => ({ allowed: false, status: { message } }))
export const patch = (...operations: object[]) =>
  reviewing(() => ({ allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') }))

/** A certificate that a server presents, and its authority, in PEM. */
export type Issued = { readonly ca: string; readonly cert: string; readonly key: string }

/** A webhook on a free port, closed with the test. */
export async function webhook(
  t: Scope,
  answer: Answer,
  { names = ['127.0.0.1'], host = '127.0.0.1', issued }: { names?: readonly string[]; host?: string; issued?: Issued } = {},
): Promise<Webhook> {
  const { ca, ...pair } = issued ?? { ca: authority.cert, ...issueServer(authority, 'webhook', { names: [...names], ...validity }) }
  const seen: any[] = []
  const calls: Webhook['calls'] = []
  const server = createServer(pair, (request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', chunk => (text += chunk))
    request.on('end', () => {
      const review = text === '' ? {} : JSON.parse(text)
      seen.push(review.request)
      calls.push({ url: request.url ?? '', headers: request.headers, review, socket: request.socket })
      void answer(review, response, request)
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const clientConfig = { url: `https://127.0.0.1:${port}/review`, caBundle: pem(ca) }
  return { server, port, seen, calls, clientConfig, cert: pair.cert }
}
