/** A whole server over a registry of the test, for tests of the layers between the socket and the registry. */

import type { IncomingHttpHeaders } from 'node:http'
import { type ClientHttp2Session, connect, type IncomingHttpStatusHeader } from 'node:http2'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { Authenticators } from '../../../src/authn/authenticator.ts'
import { CertificateAuthenticator } from '../../../src/authn/client-certificate.ts'
import { BearerAuthenticator, TokenChain } from '../../../src/authn/token.ts'
import { parseTokenFile, TokenFile } from '../../../src/authn/token-file.ts'
import type { Authorizer } from '../../../src/authz/authorizer.ts'
import { documentEndpoints } from '../../../src/http/documents/documents.ts'
import { versionEndpoint } from '../../../src/http/documents/version.ts'
import { Endpoints } from '../../../src/http/endpoints.ts'
import { listen } from '../../../src/http/listener/listen.ts'
import type { Request } from '../../../src/http/message.ts'
import { type Checks, Health } from '../../../src/http/observability/health.ts'
import { createLog, type Log } from '../../../src/http/observability/log.ts'
import { Metrics, metricsEndpoint } from '../../../src/http/observability/metrics.ts'
import { type Api, createServe } from '../../../src/http/serve.ts'
import { DaemonSet } from '../../../src/kinds/apps/daemonset.ts'
import { Namespace } from '../../../src/kinds/core/namespace.ts'
import { Secret } from '../../../src/kinds/core/secret.ts'
import { ServiceCIDR } from '../../../src/kinds/networking/servicecidr.ts'
import { issueAuthority, issueClient, issueServer } from '../../../src/lib/x509/issue.ts'
import type { Body, Call, CallContext, Registry, Result } from '../../../src/registry/api.ts'
import { Catalog } from '../../../src/registry/catalog.ts'
import { type Resource, resourceOf } from '../../../src/schema/resource.ts'

export type Handle = (call: Call, ctx: CallContext, body?: Body) => Result | Promise<Result>
export type Options = { readonly handle?: Handle; readonly health?: Checks; readonly log?: Log }

const NOW = new Date('2026-01-02T03:04:05Z')

/** Some real kinds, unchanged. */
export function testCatalog(): Catalog {
  return new Catalog([Secret, Namespace, DaemonSet, ServiceCIDR].map(kind => resourceOf(kind, 'k8s.io')))
}

const TOKENS = 'secret-token,jane,u1,"devs,ops"\n'

/** Authenticated users may do everything, others may read health and version. */
const knownUsers: Authorizer = {
  authorize({ groups }, { verb, path, resource }) {
    const isPublic = resource === undefined && verb === 'get' && /^\/(healthz|livez|readyz|version)(\/|$)/.test(path)
    return { verdict: groups.includes('system:authenticated') || isPublic ? 'allow' : 'no-opinion' }
  },
}

/** The server without a socket. */
export function testApi({ handle = () => nothing(), health = { live: [], ready: [] }, log = createLog('silent') }: Options = {}) {
  const catalog = testCatalog()
  const registry: Registry = { handle: async (call, ctx, body) => handle(call, ctx, body) }
  const metrics: Metrics = new Metrics({ paths: ['/healthz', '/version', '/metrics'], objects: () => [] })
  const endpoints = new Endpoints(catalog, [
    ...new Health(health, log).endpoints(),
    versionEndpoint('0.0.0'),
    metricsEndpoint('/metrics', () => metrics.families()),
    ...documentEndpoints({ catalog, serverAddress: () => 'localhost:6443', now: () => NOW, gate: () => true }),
  ])
  const tokens = new TokenChain([new TokenFile(parseTokenFile(TOKENS, 'tokens.csv'), ['api'])])
  const authenticators = [new CertificateAuthenticator({ now: Date.now, find: () => undefined }), new BearerAuthenticator(tokens, ['api'])]
  const api: Api = {
    catalog,
    registry,
    authenticator: new Authenticators(authenticators, { anonymous: true }),
    authorizer: knownUsers,
    endpoints,
    metrics,
    log,
    groupDomain: 'k8s.io',
    gate: name => name === 'APIResponseCompression' || name === 'WatchListCompression',
    now: () => NOW,
  }
  return { api, serve: createServe(api), metrics }
}

const nothing = (): never => {
  throw new Error('the test expects no call')
}

/** A request without a socket. */
export function testRequest(
  target: string,
  more: Partial<Pick<Request, 'method' | 'headers' | 'protocol'>> & { body?: string } = {},
): Request {
  const { method = 'GET', headers = {}, protocol = 'HTTP/1.1', body = '' } = more
  const controller = new AbortController()
  return {
    method,
    target,
    headers: { authorization: 'Bearer secret-token', ...headers },
    protocol,
    peer: { address: '127.0.0.1', certificate: undefined },
    signal: controller.signal,
    get isGone() {
      return controller.signal.aborted
    },
    cancel: reason => controller.abort(reason),
    readBody: async limit => (Buffer.byteLength(body) > limit ? undefined : Buffer.from(body)),
  }
}

const validity = () => ({ notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) })
export const authority = issueAuthority('test', validity())
const serverPair = issueServer(authority, 'server', { names: ['localhost', '127.0.0.1'], ...validity() })
export const clientPair = issueClient(authority, { commonName: 'admin', organizations: ['system:masters'] }, validity())
export const tls = { key: serverPair.key, cert: serverPair.cert, clientCa: authority.cert }

/** The server on a port of its own. */
export async function testServer(options: Options = {}) {
  const { api, serve, metrics } = testApi(options)
  const listener = await listen({ host: '127.0.0.1', port: 0, tls, serve, log: api.log })
  return { listener, metrics, port: listener.address.port, [Symbol.asyncDispose]: () => listener.drain(500) }
}

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }
export type Sent = Omit<RequestOptions, 'port'> & { body?: string | Buffer; token?: string | null }

/** One HTTP/1.1 request; with a valid token by default. */
export function ask(port: number, path: string, { body, token = 'secret-token', headers = {}, ...rest }: Sent = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = httpsRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        ca: authority.cert,
        agent: false,
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...(headers as Record<string, string>) },
        ...rest,
      },
      res => {
        const chunks: Buffer[] = []
        res.on('data', chunk => chunks.push(chunk))
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) }))
        res.on('error', reject)
      },
    )
    req.on('error', reject)
    req.end(body)
  })
}

/** An HTTP/2 connection; without a client certificate unless one is given. */
export function openHttp2(port: number, more: { cert?: string; key?: string } = {}): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${port}`, { ca: authority.cert, ...more })
  session.on('error', () => {})
  return session
}

/** One request on an HTTP/2 connection. */
export function askHttp2(session: ClientHttp2Session, headers: Record<string, string>, body?: string | Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ authorization: 'Bearer secret-token', ...headers }, { endStream: body === undefined })
    const chunks: Buffer[] = []
    let head: IncomingHttpHeaders & IncomingHttpStatusHeader = {}
    stream.on('response', received => {
      head = received
    })
    stream.on('data', chunk => chunks.push(chunk))
    stream.on('end', () => resolve({ status: head[':status'] ?? 0, headers: head, body: Buffer.concat(chunks) }))
    stream.on('error', reject)
    if (body !== undefined) stream.end(body)
  })
}

export const find = (catalog: Catalog, plural: string): Resource => {
  for (const resource of catalog) if (resource.plural === plural) return resource
  throw new Error(`no ${plural} in the catalog`)
}

/** A stored Secret as the registry returns it. */
export const secretJson = (name: string, data: Record<string, string> = {}) =>
  Buffer.from(
    JSON.stringify({
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: { name, namespace: 'default', resourceVersion: '7', creationTimestamp: '2026-01-02T03:04:00Z' },
      data,
      type: 'Opaque',
    }),
  )
