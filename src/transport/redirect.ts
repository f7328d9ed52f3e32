/** Redirects of webhooks, followed as Go's client follows them, but to other hosts only where an object may name the address. */
import { isIP } from 'node:net'
import { goQuote } from '../lib/go-text.ts'
import { AddressNotAllowed } from './destination.ts'
import type { WebhookCall } from './webhook-transport.ts'

type Method = 'POST' | 'GET'

/** The request that a redirect leads to, and the location as it was sent. */
export type Redirect = { readonly call: WebhookCall; readonly method: Method; readonly location: string }

/** A redirect that cannot be followed. `url` is the address to blame, where it is not that of the response. */
export class RedirectError extends Error {
  readonly url: string | undefined

  constructor(message: string, url?: string) {
    super(message)
    this.url = url
  }
}

/** Redirects after which the body is sent again; the others are followed by a GET. */
const KEEPING = new Set([307, 308])
const FOLLOWED = new Set([301, 302, 303, ...KEEPING])

/** Whether responses with a status may be redirects, which most are not. */
export const mayRedirect = (status: number): boolean => FOLLOWED.has(status)

/** Undefined for a response that is no redirect, or one that is not to be followed. Throws RedirectError. */
export function redirectOf(
  { status, location }: { readonly status: number; readonly location: string | undefined },
  { call, method, url: sentTo }: { readonly call: WebhookCall; readonly method: Method; readonly url: string },
): Redirect | undefined {
  if (!mayRedirect(status) || !location) return undefined
  const from = new URL(sentTo)
  const url = urlOf(location, from)
  const next = KEEPING.has(status) ? method : 'GET'
  const path = url.pathname + url.search
  if (url.protocol === from.protocol && url.host === from.host) return { call: { ...call, path }, method: next, location }
  if (!call.elsewhere) return undefined
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new RedirectError(`unsupported protocol scheme ${goQuote(url.protocol.slice(0, -1))}`, location)
  return { call: callElsewhere(call, url, path), method: next, location }
}

function urlOf(location: string, from: URL): URL {
  try {
    return new URL(location, from)
  } catch {
    throw new RedirectError(`failed to parse Location header ${goQuote(location)}`)
  }
}

/** Credentials stay with the host that they are for. */
function callElsewhere(call: WebhookCall, url: URL, path: string): WebhookCall {
  const { shownHost: _, lookup: __, headers, client: ___, ...rest } = call
  const isPlain = url.protocol === 'http:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (isPlain ? 80 : 443) : Number(url.port)
  try {
    const destination = call.elsewhere!(host, port)
    const shared = Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !SECRET.has(name.toLowerCase())))
    const servername = isIP(host) === 0 ? host : ''
    return { ...rest, ...destination, path, isPlain, servername: call.servername ?? servername, headers: shared }
  } catch (error) {
    if (error instanceof AddressNotAllowed) throw new RedirectError(error.message, url.href)
    throw error
  }
}

const SECRET = new Set(['authorization', 'cookie', 'www-authenticate'])
