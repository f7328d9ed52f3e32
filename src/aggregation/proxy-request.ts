/** Proxies a request to another API server, with its user in headers. */
import type { Sender } from '../http/aggregated.ts'
import { exchangeWith, responseHeaders, streamed, tunnel } from '../http/forward.ts'
import { header, type Request, type Response, textResponse } from '../http/message.ts'
import { type Destination, UnreachableService } from '../transport/destination.ts'
import { goMessage } from '../transport/webhook-transport.ts'
import type { Backend } from './backend.ts'

/** The server was not reached. */
class Unreached extends Error {}

type Proxied = {
  readonly backend: Backend
  /** Whether a client may be sent elsewhere by that server. */
  readonly redirects: 'refused' | 'passed back'
}

/** Authorization has been decided by the path; the other server authorizes again, for the user in the headers. */
export async function proxyRequest(request: Request, sender: Sender, to: Proxied): Promise<Response> {
  const call = sender.trace?.call(`HTTP ${request.method}`, { 'http.request.method': request.method, 'http.target': request.target })
  try {
    const response = await passOn(request, sender, { ...to, headers: call?.headers })
    call?.end(response.status >= 500 ? '' : undefined)
    return response
  } catch (error) {
    call?.end((error as Error).message)
    throw error
  }
}

async function passOn(
  request: Request,
  { user, auditId }: Sender,
  { backend, redirects, headers: more }: Proxied & { readonly headers: Readonly<Record<string, string>> | undefined },
): Promise<Response> {
  const via = header(request.headers, 'via')
  if (backend.isReturned(via)) return textResponse(508, 'the request was passed on by this server before\n')
  let headers: Record<string, string | string[]>
  let destination: Destination
  try {
    headers = backend.headersFor(user, via)
  } catch (error) {
    return unreached((error as Error).message)
  }
  try {
    destination = backend.destination()
  } catch (error) {
    if (error instanceof UnreachableService) return unreached(error.message)
    throw error
  }
  const { host, port } = destination
  // Only a request without a body can be sent again when a reused connection turns out to be closed.
  const isRepeatable = request.stream === undefined && request.upgrade === undefined
  const tls = backend.connections(isRepeatable ? 'kept' : 'single')
  const { path, query } = targetOf(request.target)
  const forwarded = {
    'x-forwarded-host': header(request.headers, 'host') ?? header(request.headers, ':authority') ?? '',
    'x-forwarded-proto': 'https',
    'x-forwarded-uri': path,
    'audit-id': auditId,
  }
  const to = { ...destination, path: path + query, tls, headers: { ...forwarded, ...more, ...headers } }
  try {
    const failed = (error: Error) => new Unreached(goMessage(error, { host, port }))
    const answer = await exchangeWith(request, to, failed)
    if (answer.type === 'upgraded') return tunnel(answer)
    const { status, body } = answer
    if (request.upgrade !== undefined && status < 400) {
      body.destroy()
      return textResponse(503, `invalid upgrade response: status code ${status}\n`)
    }
    if (redirects === 'refused' && status >= 300 && status < 400 && answer.headers.location) {
      body.destroy()
      return textResponse(502, 'the backend attempted to redirect this request, which is not permitted')
    }
    return streamed(answer, passedBack(responseHeaders(answer.headers)))
  } catch (error) {
    if (error instanceof Unreached) return unreached(error.message)
    throw error
  }
}

const unreached = (why: string) => textResponse(503, `error trying to reach service: ${why}\n`)

/** The path as it was authorized: an encoded slash separates there as any other. */
function targetOf(target: string): { readonly path: string; readonly query: string } {
  const at = target.indexOf('?')
  const path = decodeURIComponent(at < 0 ? target : target.slice(0, at))
  return { path: encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23'), query: at < 0 ? '' : target.slice(at) }
}

/** This server sets the headers of CORS, flow control and the audit ID itself; in kube-apiserver some come twice. */
const OWN = /^(access-control-|audit-id$|x-kubernetes-pf-)/

function passedBack(headers: Record<string, string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.test(name)))
}
