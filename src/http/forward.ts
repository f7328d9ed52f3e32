/**
 * Forwards requests to a kubelet, a pod or another API server, and their responses: bodies are streamed both ways, and upgraded connections
 * (WebSocket, SPDY) are tunnelled.
 */
import { type Agent, type ClientRequest, request as httpRequest, type IncomingHttpHeaders, Agent as PlainAgent } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { posix } from 'node:path'
import { type Duplex, pipeline, type Readable, Transform } from 'node:stream'
import { createDeflate, createDeflateRaw, createGunzip, createGzip, createInflate, createInflateRaw } from 'node:zlib'
import { LIMITS } from '../lib/limits.ts'
import { escapePath } from '../lib/url.ts'
import type { Call, Upstream, UpstreamTls } from '../registry/api.ts'
import { badRequest, internalError, StatusError, unavailable } from '../schema/status-error.ts'
import { AddressNotAllowed, type Destination } from '../transport/destination.ts'
import type { Dial, DialTarget } from '../transport/egress.ts'
import { endsBy, Http2Only } from '../transport/http2-only.ts'
import { type Trust, trustingAgent } from '../transport/trusting-agent.ts'
import { goMessage } from '../transport/webhook-transport.ts'
import { HtmlLinks, type Proxied, proxiedLink } from './html-links.ts'
import { header, type Outlet, type Request, type RequestHeaders, type Response, type ResponseHeaders } from './message.ts'
import { collect } from './streams.ts'

export async function forward(request: Request, call: Call, upstream: Upstream): Promise<Response> {
  const isUpgrade = request.upgrade !== undefined
  const isProxy = upstream.path === undefined
  if (upstream.isUpgrade && !isUpgrade) throw badRequest('Upgrade request required')
  const { host, port, lookup, dial, tls } = upstream
  const rest = call.query.get('path') ?? ''
  const query = queryOf(request.target)
  // Links of a page are relative to its folder.
  if (isProxy && rest === '' && !isUpgrade && (request.method === 'GET' || request.method === 'HEAD'))
    return { status: 301, headers: { location: `${pathOf(call)}/${query}` }, body: NOTHING }
  const behind = escapePath(cleanPath(rest))
  const path = upstream.path ?? behind + query
  const url = `${originOf(upstream)}${path}`
  const failed = (error: Error) => failureToConnect(error, { upstream, url, isUpgrade })
  const proxied = proxiedOf(upstream, request, pathOf(call))
  const headersToo = {
    // A log is asked for by this server; all else is the client's request, for the host that the client named.
    ...(!upstream.isChecked && proxied.requestHost !== undefined && { host: proxied.requestHost }),
    ...(isProxy && !isUpgrade && { 'x-forwarded-uri': `${proxied.prefix}${behind}` }),
  }
  const secure = tls && { tls: singleConnection(host, tls) }
  const answer = await exchangeWith(request, { host, port, lookup, dial, path, ...secure, headers: headersToo }, failed)
  if (answer.type === 'upgraded') return tunnel(answer)
  const { status } = answer
  // A redirect is for the client to follow: never for this server, which has access that the client has not.
  if (isUpgrade && status < 400) {
    answer.body.destroy()
    throw new StatusError(500, '', `invalid upgrade response: status code ${status}`)
  }
  if (upstream.isChecked && (status < 200 || status > 206)) throw await failureOf(answer, url)
  const headers = ownHeaders(responseHeaders(answer.headers))
  if (!isProxy) return streamed(answer, headers)
  const { location } = answer.headers
  if (!location) return proxiedPage(answer, { headers, rewrite: link => proxiedLink(link, proxied), isHead: request.method === 'HEAD' })
  return streamed(answer, { ...headers, location: proxiedLink(location, proxied) })
}

/** How links of the other server become links through this one. */
function proxiedOf(upstream: Upstream, request: Request, prefix: string): Proxied {
  const { host, port, tls } = upstream
  const name = host.includes(':') ? `[${host}]` : host
  const isDefaultPort = port === (tls ? 443 : 80)
  return {
    prefix,
    hosts: isDefaultPort ? [`${name}:${port}`, name] : [`${name}:${port}`],
    requestHost: header(request.headers, 'host') ?? header(request.headers, ':authority'),
  }
}

/** The error of a failed connection, in kube-apiserver's words. */
function failureToConnect(
  error: Error,
  { upstream, url, isUpgrade }: { readonly upstream: Upstream; readonly url: string; readonly isUpgrade: boolean },
): StatusError {
  if (error instanceof AddressNotAllowed) return badRequest(error.message)
  const why = goMessage(error, upstream)
  if (isUpgrade) return new StatusError(500, '', `error dialing backend: ${why}`)
  if (upstream.isChecked) return new StatusError(500, '', `Get ${JSON.stringify(url)}: ${why}`)
  return unavailable(`error trying to reach service: ${why}`)
}

/** The target of a request, and the headers added to those of the client. */
export type Target = Destination & {
  /** Includes the query. */
  readonly path: string
  /** Connections over TLS. Without, a plain connection is made for the request. */
  readonly tls?: SecureConnections | undefined
  readonly headers?: Readonly<Record<string, string | string[]>>
}
export type SecureConnections = {
  readonly trust: Trust
  /** Makes, and may keep, connections over HTTP/1.1. */
  readonly agent: Agent
  /** The same for a server that speaks HTTP/2 alone. */
  readonly http2: Http2Only
}

/** Sends a request and waits for the head of the response. Throws the result of `failed` for an error. */
export async function exchangeWith(request: Request, to: Target, failed: (error: Error) => Error): Promise<Answer> {
  try {
    // If the peer has closed a kept connection in the meantime, that says nothing about the peer; each attempt uses one up.
    for (;;) {
      const http1 = () => answerTo(send(request, to), request)
      const { tls } = to
      const isEither = tls && request.upgrade === undefined
      const answer = await (isEither ? tls.http2.either(keyOf(to), http1, () => sendHttp2(request, to, tls)) : http1())
      if (answer.type !== 'closed') return answer
    }
  } catch (error) {
    throw request.signal.aborted ? unavailable('the client has gone') : failed(error as Error)
  }
}

/** The response, streamed. */
export const streamed = ({ status, body }: Answered, headers: ResponseHeaders): Response => ({
  status,
  headers,
  body: { type: 'stream', start: outlet => pipe(body, outlet) },
})

/**
 * The response to a request for a proxy: the links of an HTML page lead through the proxy as well. It is streamed, where kube-apiserver
 * waits for its end.
 */
function proxiedPage(
  answer: Answered,
  {
    headers: { 'content-length': length, ...headers },
    rewrite,
    isHead,
  }: { readonly headers: ResponseHeaders; readonly rewrite: (link: string) => string; readonly isHead: boolean },
): Response {
  const { status, body } = answer
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';', 1)
  const encoding = answer.headers['content-encoding'] ?? ''
  const isRewritten = type.trim() === 'text/html' && ENCODINGS.has(encoding)
  if (!isRewritten) return streamed(answer, length === undefined ? headers : { ...headers, 'content-length': length })
  // Without content the encoding has no meaning, and an empty text is not valid gzip.
  if (isHead || length === '0' || status === 304 || status === 204) return streamed(answer, headers)
  const start = (outlet: Outlet) => {
    outlet.once('close', () => body.destroy())
    body.once('error', () => outlet.destroy())
    const empty = () => outlet.end()
    body.once('end', empty)
    body.once('data', (first: Buffer) => {
      body.off('end', empty)
      body.pause()
      body.unshift(first)
      pipe(pipeline([body, ...rewriting(rewrite, encoding, first[0]!)], () => {}) as Transform, outlet)
    })
  }
  return { status, headers, body: { type: 'stream', start } }
}

/** Other encodings are not understood, and such pages stay as they are. */
const ENCODINGS: ReadonlySet<string> = new Set(['', 'gzip', 'deflate'])

/** Each part decompressed, rewritten and compressed. Memory is bounded, and between parts other requests are served. */
function rewriting(rewrite: (link: string) => string, encoding: string, firstByte: number): Transform[] {
  const links = new HtmlLinks(rewrite)
  const page = new Transform({
    transform: (bytes: Buffer, _, done) => done(null, links.write(bytes)),
    flush: done => done(null, links.end()),
  })
  if (encoding === 'gzip') return [createGunzip(), page, createGzip()]
  if (encoding === '') return [page]
  // Servers mean two formats by `deflate`. kube-apiserver reads the one without a header, which never begins so, and fails on the other.
  const hasHeader = (firstByte & 0x0f) === 8
  return hasHeader ? [createInflate(), page, createDeflate()] : [createInflateRaw(), page, createDeflateRaw()]
}

/** Host, port and path are never joined to a URL: a path from a client cannot lead to another host. */
function send(request: Request, { host, port, lookup, dial, path, tls, headers: more }: Target): ClientRequest {
  const { method } = request
  const headers = { ...requestHeaders(request), ...more }
  const options = { host, port, ...(lookup && { lookup }), path, method, headers, timeout: LIMITS.connectMs, ...(dial && { dial }) }
  const outgoing = tls
    ? httpsRequest({ ...options, agent: tls.agent })
    : httpRequest({ ...options, agent: dial ? dialingAgent(dial, { host, port, lookup }) : false })
  const body = request.upgrade === undefined ? request.stream : undefined
  // The body is left unread until there is a connection: if there is none, the request may be sent in another way.
  const connected = () => {
    outgoing.setTimeout(0)
    body?.pipe(outgoing)
  }
  outgoing.once('socket', socket => (socket.connecting ? socket.once(tls ? 'secureConnect' : 'connect', connected) : connected()))
  outgoing.once('timeout', () => outgoing.destroy(new Error('connecting took too long')))
  if (request.signal.aborted) outgoing.destroy()
  else request.signal.addEventListener('abort', () => outgoing.destroy(), { once: true })
  if (!body) outgoing.end()
  return outgoing
}

async function sendHttp2(
  request: Request,
  { host, port, lookup, dial, path, headers: more }: Target,
  { trust, http2 }: SecureConnections,
): Promise<Answered> {
  const { host: authority = `${host}:${port}`, ...headers } = { ...requestHeaders(request), ...more }
  const sent = { ':method': request.method, ':path': path, ':authority': String(authority), ...headers }
  const address = { key: keyOf({ host, port }), host, port, lookup, dial, trust }
  return { type: 'answered', ...(await http2.open(address, { headers: sent, body: request.stream ?? '', ends: endsBy(request.signal) })) }
}

/** Connections of a target have one trust. */
const keyOf = ({ host, port }: Pick<Target, 'host' | 'port'>): string => `${host}:${port}`

/** An agent for one connection that is not direct. */
function dialingAgent(dial: Dial, target: DialTarget): PlainAgent {
  const agent = new PlainAgent({ keepAlive: false })
  agent.createConnection = () => dial(target)
  return agent
}

/** One connection, to a server that is trusted according to `tls`. */
function singleConnection(host: string, { ca = '', cert, key, rejectUnauthorized }: UpstreamTls): SecureConnections {
  const trust = { host, ca, servername: '', client: cert && key ? { cert, key } : undefined, skipsVerification: !rejectUnauthorized }
  return { trust, agent: trustingAgent(trust, { keepAlive: false }), http2: new Http2Only({ keeps: false }) }
}

/** The authorized path, up to the subresource. It is built from the router's result: the target is not parsed a second time. */
function pathOf({ resource: { group, version, plural }, namespace, name, subresource }: Call): string {
  const root = group === '' ? '/api' : `/apis/${group}`
  return escapePath(`${root}/${version}${namespace && `/namespaces/${namespace}`}/${plural}/${name}/${subresource}`)
}

/** Without dots and empty segments, as kube-apiserver joins paths: `..` cannot leave the path of a proxy. */
function cleanPath(path: string): string {
  const clean = posix.join('/', path)
  return path.endsWith('/') && !clean.endsWith('/') ? `${clean}/` : clean
}

/** The query with its question mark. */
function queryOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? '' : target.slice(at)
}

/** Headers that are about one connection, or that must not be forwarded to the backend. */
const NOT_PASSED_ON = new Set([
  'authorization',
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const PRIVATE = /^(impersonate-|x-remote-|sec-websocket-protocol$|:)/

function requestHeaders({ headers, peer, upgrade }: Request): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {}
  const hop = new Set(
    header(headers, 'connection')
      ?.toLowerCase()
      .split(/\s*,\s*/),
  )
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !NOT_PASSED_ON.has(name) && !PRIVATE.test(name) && !hop.has(name))
      passed[name] = typeof value === 'string' ? value : [...value]
  const through = header(headers, 'x-forwarded-for')
  passed['x-forwarded-for'] = through === undefined ? peer.address : `${through}, ${peer.address}`
  if (upgrade === undefined) return passed
  const protocols = webSocketProtocols(headers)
  if (protocols.length > 0) passed['sec-websocket-protocol'] = protocols.join(', ')
  return { ...passed, connection: 'Upgrade', upgrade: header(headers, 'upgrade') ?? '' }
}

/** The protocols without tokens, which browsers send among them. */
const webSocketProtocols = (headers: RequestHeaders): string[] =>
  [headers['sec-websocket-protocol'] ?? []]
    .flat()
    .flatMap(line => line.split(',').map(name => name.trim()))
    .filter(name => name !== '' && !name.startsWith('base64url.bearer.authorization.'))

export function responseHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) if (value !== undefined && !NOT_PASSED_ON.has(name)) passed[name] = value
  return passed
}

/** Only this server decides which origins may read a response. */
const ownHeaders = (headers: Record<string, string | string[]>): Record<string, string | string[]> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('access-control-allow-')))

const originOf = ({ host, port, tls }: Upstream): string => `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`

type Head = { readonly status: number; readonly headers: IncomingHttpHeaders }
export type Answered = Head & { readonly type: 'answered'; readonly body: Readable }
export type Answer = Answered | (Head & { readonly type: 'upgraded'; readonly socket: Duplex; readonly head: Buffer })

const answerTo = (outgoing: ClientRequest, { stream }: Request): Promise<Answer | { readonly type: 'closed' }> =>
  new Promise((resolve, reject) => {
    outgoing.once('response', body => {
      resolve({ type: 'answered', status: body.statusCode ?? 502, headers: body.headers, body })
    })
    outgoing.once('upgrade', ({ headers }, socket, head) => resolve({ type: 'upgraded', status: 101, headers, socket, head }))
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      if (outgoing.reusedSocket && !stream && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) resolve({ type: 'closed' })
      else reject(error)
    })
    outgoing.on('error', () => {})
  })

const NOTHING = new Uint8Array()

/** Connects both sides until the end: each receives the bytes of the other, and when one ends so does the other. */
export function tunnel({ headers: received, socket, head }: Extract<Answer, { type: 'upgraded' }>): Response {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(received)) if (value !== undefined) headers[name] = value
  const start = (client: Duplex, clientHead: Buffer) => {
    const end = () => {
      client.destroy()
      socket.destroy()
    }
    for (const side of [client, socket]) side.once('error', end).once('close', end)
    if (head.length > 0) client.write(head)
    if (clientHead.length > 0) socket.write(clientHead)
    client.pipe(socket).pipe(client)
  }
  return { status: 101, headers, body: NOTHING, tunnel: { start, abandon: () => socket.destroy() } }
}

function pipe(message: Readable, outlet: Outlet): void {
  if (message.destroyed && !message.readableEnded) return void outlet.destroy()
  outlet.once('close', () => message.destroy())
  message.once('error', () => outlet.destroy())
  message.once('aborted', () => outlet.destroy())
  message.once('end', () => outlet.end())
  message.on('data', (bytes: Buffer) => {
    if (outlet.write(bytes)) return
    message.pause()
    outlet.once('drain', () => message.resume())
  })
}

/** The redirects that Go's clients follow. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** An error of the other server, as an error of this server. */
async function failureOf({ status, body }: Answered, url: string): Promise<StatusError> {
  if (REDIRECTS.has(status)) {
    body.destroy()
    return new StatusError(500, '', `Get ${JSON.stringify(url)}: redirects forbidden`)
  }
  const bytes = await collect(body, LIMITS.smallBytes).catch(() => undefined)
  body.destroy()
  const text = Buffer.from(bytes ?? [])
    .toString()
    .trim()
  if (status === 400) return badRequest(text)
  if (status === 500) return internalError(text)
  return new StatusError(status, status === 404 ? 'NotFound' : '', text || `the node answered with ${status}`)
}
