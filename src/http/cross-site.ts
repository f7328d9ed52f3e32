/**
 * Restricts requests that a browser sends for a page of another site. The browser adds the client certificate of its user and can reach
 * ports of its own machine, so that a malicious page could act as its visitor: write with a form or a request that needs no preflight, and
 * read over WebSocket, which browsers let any page open. Such a request is authenticated only by a token, which the page itself has to
 * send.
 */
import type { Credentials } from '../authn/authenticator.ts'
import { forbiddenPath } from '../schema/status-error.ts'
import type { Cors } from './cors.ts'
import { header, type Request } from './message.ts'

/** The credentials that count. Throws where a cross-site request has none of its own. Pages of allowed origins may use all of them. */
export function credentialsOf(request: Request, cors?: Cors): Credentials {
  const { headers, peer } = request
  const { certificate } = peer
  const authorization = header(headers, 'authorization')
  if (!isCrossSite(request) || cors?.originOf(request) !== undefined) return { authorization, certificate, request }
  // A front proxy is no browser: its own certificate names no user, and no page can make a browser send the headers with which it names
  // users.
  if (certificate?.isProxy) return { authorization, certificate: { ...certificate, trusted: false }, request }
  if (authorization === undefined) throw forbiddenPath(REFUSED)
  return { authorization, certificate: undefined, request }
}

const REFUSED =
  "forbidden: a browser sent this request for a page of another site, which may not use its visitor's certificate or connection: send a token"

/**
 * Browsers send the origin of a request in Sec-Fetch-Site, or in Origin where they leave that out (for a WebSocket, and in older versions),
 * and no page can change either. Programs usually send neither. Host is not checked: a page whose name was made to resolve to this server
 * (DNS rebinding) fails at the names in the server's certificate.
 */
function isCrossSite({ method, headers, upgrade }: Request): boolean {
  const site = header(headers, 'sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin' && site !== 'none' && !(upgrade === undefined && isLinkFollowed(method, headers))
  const origin = header(headers, 'origin')
  if (origin === undefined || isOwnOrigin(origin, header(headers, ':authority') ?? header(headers, 'host') ?? '')) return false
  return !(upgrade === 'websocket' && isProgram(origin, headers))
}

/** A followed link: the page with the link cannot read the response. */
const isLinkFollowed = (method: string, headers: Request['headers']): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  header(headers, 'sec-fetch-mode') === 'navigate' &&
  header(headers, 'sec-fetch-dest') === 'document'

/** Whether a page has the host and port that the request names. */
function isOwnOrigin(origin: string, host: string): boolean {
  const own = `https://${host}`
  if (!URL.canParse(origin) || !URL.canParse(own)) return false
  const page = new URL(origin)
  const server = new URL(own)
  return page.hostname === server.hostname && (page.port || PORTS[page.protocol]) === (server.port || PORTS['https:'])
}
const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * Go's WebSocket clients have to send some origin and use their own machine, as those of Kubernetes' conformance tests do. Every browser
 * identifies itself, and no page can change that in a handshake.
 */
const isProgram = (origin: string, headers: Request['headers']): boolean =>
  URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname) && !/^mozilla\//i.test(header(headers, 'user-agent') ?? '')
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
