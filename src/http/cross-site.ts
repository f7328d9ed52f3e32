/**
 * Requests that a browser sends for a page of another site. The browser adds the certificate of its user and reaches ports of its own machine,
 * so that whoever can make someone open a page could act as them: write with a form or a request that needs no preflight, and read over
 * WebSocket, which browsers let any page open. Such a request is believed for what the page itself sends, a token, and for nothing else.
 */
import type { Credentials } from '../authn/authenticator.ts'
import { forbiddenPath } from '../schema/status-error.ts'
import { header, type Request } from './message.ts'

/** The credentials that count. Throws where a request of another site has none of its own. */
export function credentialsOf(request: Request): Credentials {
  const { headers, peer } = request
  const { certificate } = peer
  const authorization = header(headers, 'authorization')
  if (!isCrossSite(request)) return { authorization, certificate, request }
  // A proxy is no browser: its own certificate names nobody, and no page can make a browser send the headers in which it names users.
  if (certificate?.isProxy) return { authorization, certificate: { ...certificate, trusted: false }, request }
  if (authorization === undefined) throw forbiddenPath(REFUSED)
  return { authorization, certificate: undefined, request }
}

const REFUSED =
  "forbidden: a browser sent this request for a page of another site, which may not use its visitor's certificate or connection: send a token"

/**
 * Browsers say where a request comes from in Sec-Fetch-Site, or in Origin, where they leave that out (for a WebSocket, and older ones), and no
 * page can change either. Programs send neither, as a rule. There is no such check of Host: a page whose name was made to lead here
 * does not get past the names in the server's certificate.
 */
function isCrossSite({ method, headers, upgrade }: Request): boolean {
  const site = header(headers, 'sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin' && site !== 'none' && !(upgrade === undefined && isLinkFollowed(method, headers))
  const origin = header(headers, 'origin')
  if (origin === undefined || isOwnOrigin(origin, header(headers, ':authority') ?? header(headers, 'host') ?? '')) return false
  return !(upgrade === 'websocket' && isProgram(origin, headers))
}

/** A link that its reader followed: the page with the link sees nothing of the answer. */
const isLinkFollowed = (method: string, headers: Request['headers']): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  header(headers, 'sec-fetch-mode') === 'navigate' &&
  header(headers, 'sec-fetch-dest') === 'document'

/** Whether a page is of the host and port that the request names. */
function isOwnOrigin(origin: string, host: string): boolean {
  const own = `https://${host}`
  if (!URL.canParse(origin) || !URL.canParse(own)) return false
  const page = new URL(origin)
  const server = new URL(own)
  return page.hostname === server.hostname && (page.port || PORTS[page.protocol]) === (server.port || PORTS['https:'])
}
const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * Go's WebSocket clients have to name some origin and take their own machine, as those of Kubernetes' conformance tests do. Every browser
 * says that it is one, and in a handshake no page can change that.
 */
const isProgram = (origin: string, headers: Request['headers']): boolean =>
  URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname) && !/^mozilla\//i.test(header(headers, 'user-agent') ?? '')
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
