/** Requests to an API server: with the credentials of a KubeConfig, or through a function of the caller. */
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { timeoutSignal } from '../lib/environment.ts'
import { ApiError } from '../library/api-error.ts'
import { responseOf } from '../library/fetch.ts'
import type { ConnectOptions, FetchLike, KubeConfigLike, RequestSettings, ResponseLike } from './public.d.ts'

type Query = Readonly<Record<string, string | number | boolean | undefined>>
export type Sent = { readonly query?: Query; readonly body?: object; readonly contentType?: string }

const TIMEOUT_MS = 30_000
/** The machine notices after a few minutes that the other side of a silent connection is gone. */
const PROBE_AFTER_MS = 30_000

export class Connection {
  readonly fieldManager: string
  readonly groupDomain: string
  readonly #fetch: FetchLike
  readonly #userAgent: string
  readonly #timeoutMs: number

  constructor(access: KubeConfigLike | FetchLike, options: ConnectOptions = {}) {
    const { userAgent = 'keelson-controller', fieldManager = userAgent, timeoutMs = TIMEOUT_MS, groupDomain = 'k8s.io' } = options
    this.#fetch = typeof access === 'function' ? access : fetchWith(access)
    this.#userAgent = userAgent
    this.#timeoutMs = timeoutMs
    this.fieldManager = fieldManager
    this.groupDomain = groupDomain
  }

  /** The JSON of a response. Rejects with ApiError, and with a TimeoutError when the whole response takes too long. */
  async json<T>(method: string, path: string, sent: Sent = {}): Promise<T> {
    const signal = timeoutSignal(this.#timeoutMs)
    const response = await this.#send(method, path, sent, signal)
    return JSON.parse(await response.text())
  }

  /** The lines of a response, which ends when the server or the signal ends it. */
  async *lines(path: string, query: Query, signal: AbortSignal): AsyncGenerator<string, void, void> {
    const { body } = await this.#send('GET', path, { query }, signal)
    const decoder = new TextDecoder()
    let rest = ''
    for await (const bytes of body as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop()!
      yield* lines.filter(line => line !== '')
    }
  }

  async #send(method: string, path: string, { query = {}, body, contentType }: Sent, signal: AbortSignal): Promise<ResponseLike> {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
    const search = parameters.toString()
    const settings: RequestSettings = {
      method,
      signal,
      headers: {
        accept: 'application/json',
        'user-agent': this.#userAgent,
        ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    const response = await this.#fetch(search === '' ? path : `${path}?${search}`, settings)
    if (response.status >= 400) throw new ApiError(`${method} ${path}`, response.status, await response.text())
    return response
  }
}

/** A kept agent, and the credentials that it was made for. */
type Kept = { readonly credentials: string; readonly agent: RequestOptions['agent'] }

/** Sends requests as the user of a KubeConfig, over connections that are kept. */
export function fetchWith(config: KubeConfigLike): FetchLike {
  let kept: Kept | undefined
  return async (path, { method = 'GET', headers = {}, body, signal } = {}) => {
    const cluster = config.getCurrentCluster()
    if (!cluster) throw new Error('the KubeConfig has no current cluster')
    const options: RequestOptions = { headers: {} }
    await config.applyToHTTPSOptions(options)
    const url = new URL(cluster.server.replace(/\/$/, '') + path)
    const isPlain = url.protocol === 'http:'
    const credentials = JSON.stringify([options.ca, options.cert, options.key, options.servername, options.rejectUnauthorized].map(String))
    if (kept?.credentials !== credentials) kept = { credentials, agent: agentFor(options, isPlain) }
    const fields = { ...options.headers, ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) }
    const settings = { ...options, agent: kept.agent, method, headers: fields, ...(signal && { signal: signal as AbortSignal }) }
    return await new Promise((resolve, reject) => {
      const sent = (isPlain ? httpRequest : httpsRequest)(url, settings, answer => resolve(responseOf(answer)))
      sent.on('error', reject)
      sent.setSocketKeepAlive(true, PROBE_AFTER_MS)
      sent.end(body)
    })
  }
}

/** The KubeConfig's own agent opens a connection for each request; that of a proxy has to be used nevertheless. */
function agentFor(options: RequestOptions, isPlain: boolean): RequestOptions['agent'] {
  const { agent, ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = options
  if (typeof agent === 'object' && ![Agent, HttpAgent].some(known => agent.constructor === known)) return agent
  if (isPlain) return new HttpAgent({ keepAlive: true })
  const given = { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }
  return new Agent({ keepAlive: true, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) })
}
