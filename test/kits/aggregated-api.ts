/** An API server behind an APIService, for tests: it lists, watches, stores objects, accepts upgrades, and can be slow or broken. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { issueAuthority, issueServer } from '../../src/lib/x509/issue.ts'
import { ask, eventually, type Scope, type Target } from '../kit.ts'
import { OWN_ADDRESS } from '../programs.ts'

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
const authority = issueAuthority('aggregated test authority', validity)
export const strangers = issueAuthority('strangers', validity)

export const GROUP = 'wardle.example.com'
export const VERSION = 'v1alpha1'
export const FLUNDERS = `/apis/${GROUP}/${VERSION}/namespaces/default/flunders`

export type Seen = { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers']; readonly client: string }

export type AggregatedApi = {
  readonly port: number
  readonly seen: Seen[]
  /** Its behaviour from now on. */
  mode: 'well' | 'failing' | 'classic' | 'without OpenAPI 3'
  /** Objects by namespace and name. */
  readonly flunders: Map<string, any>
  /** Requests that wait until the test or the client ends them. */
  readonly slow: Set<ServerResponse>
  /** Sends a change to all watches. */
  change(type: string, object: object): void
  close(): void
}

const RESOURCES = [
  {
    name: 'flunders',
    singularName: 'flunder',
    namespaced: true,
    kind: 'Flunder',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'watch'],
    shortNames: ['fl'],
  },
  { name: 'flunders/status', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['get', 'update'] },
]

export type ApiOptions = {
  readonly signer?: typeof authority
  readonly names?: readonly string[]
  /** The certificate that it presents, instead of one of the signer for its names. */
  readonly pair?: typeof authority
  readonly more?: Answer
  /** Whether it speaks nothing but HTTP/2. */
  readonly isHttp2Only?: boolean
}
type Answer = (message: IncomingMessage, response: ServerResponse) => boolean

/** Listens on every address of this machine, closed with the test. `more` may serve other paths. */
export async function startAggregatedApi(
  t: Scope,
  { signer = authority, names = ['wardle.default.svc'], pair, more, isHttp2Only = false }: ApiOptions = {},
) {
  const shown = pair ?? issueServer(signer, 'wardle', { names: [...names], ...validity })
  const watches = new Set<ServerResponse>()
  /** All sockets, including those in the middle of a handshake, which the server itself does not close. */
  const sockets = new Set<Duplex>()
  const api: AggregatedApi = {
    port: 0,
    seen: [],
    mode: 'well',
    flunders: new Map(),
    slow: new Set(),
    change(type, object) {
      for (const watch of watches) watch.write(`${JSON.stringify({ type, object })}\n`)
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  const note = ({ method = '', url = '', headers, socket }: IncomingMessage) =>
    api.seen.push({ method, url, headers, client: String((socket as TLSSocket).getPeerCertificate().subject?.CN ?? '') })
  const tls = { ...shown, requestCert: true, rejectUnauthorized: false }
  const serve = (message: IncomingMessage, response: ServerResponse) => {
    note(message)
    let body = ''
    message.on('data', part => (body += part))
    message.on('end', () => {
      if (!more?.(message, response)) answer(api, watches, { message, response, body })
    })
  }
  const server = isHttp2Only
    ? createSecureServer(
        { ...tls, allowHTTP1: false },
        serve as unknown as (message: Http2ServerRequest, response: Http2ServerResponse) => void,
      )
    : createServer(tls, serve)
  server.on('connection', (socket: Duplex) => sockets.add(socket.once('close', () => sockets.delete(socket))))
  server.on('upgrade', (message: IncomingMessage, socket: Duplex) => {
    note(message)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello ')
    socket.pipe(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
  t.after(() => api.close())
  return Object.assign(api, { port: (server.address() as AddressInfo).port })
}

type Received = { readonly message: IncomingMessage; readonly response: ServerResponse; readonly body: string }

function answer(api: AggregatedApi, watches: Set<ServerResponse>, { message, response, body }: Received): void {
  const { pathname: path, searchParams } = new URL(message.url ?? '', 'https://x')
  const json = (value: object, status = 200, type = 'application/json') =>
    response.writeHead(status, { 'content-type': type, 'audit-id': 'theirs' }).end(JSON.stringify(value))
  if (api.mode === 'failing') return void response.writeHead(500).end('broken')
  if (path === '/apis') {
    if (api.mode === 'classic' || !message.headers.accept?.includes('APIGroupDiscoveryList'))
      return void json({ kind: 'APIGroupList', apiVersion: 'v1', groups: [] })
    const responseKind = { group: GROUP, version: VERSION, kind: 'Flunder' }
    const [flunders, status] = RESOURCES
    const resource = {
      resource: 'flunders',
      responseKind,
      scope: 'Namespaced',
      singularResource: 'flunder',
      verbs: flunders!.verbs,
      shortNames: ['fl'],
      subresources: [{ subresource: 'status', verbs: status!.verbs }],
    }
    const versions = [{ version: VERSION, resources: [resource], freshness: 'Current' }]
    const list = {
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: [{ metadata: { name: GROUP }, versions }],
    }
    return void json(list, 200, 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
  }
  if (path === `/apis/${GROUP}/${VERSION}`)
    return void json({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${GROUP}/${VERSION}`, resources: RESOURCES })
  if (path === '/openapi/v2') return void json(OPENAPI_V2)
  if (path === '/openapi/v3' && api.mode !== 'without OpenAPI 3')
    return void json({
      paths: {
        [`apis/${GROUP}/${VERSION}`]: { serverRelativeURL: `/openapi/v3/apis/${GROUP}/${VERSION}?hash=ABC` },
        evil: { serverRelativeURL: 'https://evil' },
      },
    })
  if (path === `/openapi/v3/apis/${GROUP}/${VERSION}` && api.mode !== 'without OpenAPI 3')
    return void json({ openapi: '3.0.0', info: { title: 'wardle' }, paths: {}, asked: message.headers['x-remote-user'] })
  const [, , , , , namespace = '', , name = ''] = path.split('/')
  if (name === 'slow') {
    api.slow.add(response)
    response.once('close', () => api.slow.delete(response))
    return
  }
  if (name === 'moved') return void response.writeHead(302, { location: 'https://elsewhere.example.com/' }).end()
  if (name === 'crossorigin')
    return void response.writeHead(200, { 'access-control-allow-origin': '*', connection: 'x-hop', 'x-hop': '1' }).end('{}')
  if (!path.startsWith(`/apis/${GROUP}/${VERSION}/`)) return void json({ kind: 'Status', code: 404, message: 'nothing here' }, 404)
  if (message.method === 'POST') {
    const object = JSON.parse(body)
    api.flunders.set(`${namespace}/${object.metadata.name}`, object)
    return void json(object, 201)
  }
  if (message.method === 'DELETE') {
    for (const key of [...api.flunders.keys()]) if (key.startsWith(`${namespace}/${name}`)) api.flunders.delete(key)
    return void json({ kind: 'Status', status: 'Success' })
  }
  if (name) {
    const found = api.flunders.get(`${namespace}/${name}`)
    return void (found
      ? json(found)
      : json({ kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message: `flunders "${name}" not found` }, 404))
  }
  if (searchParams.get('watch')) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    watches.add(response)
    response.once('close', () => watches.delete(response))
    return
  }
  const items = [...api.flunders].filter(([key]) => namespace === '' || key.startsWith(`${namespace}/`)).map(([, object]) => object)
  json({ kind: 'FlunderList', apiVersion: `${GROUP}/${VERSION}`, metadata: { resourceVersion: '1' }, items })
}

const gvk = [{ group: GROUP, version: VERSION, kind: 'Flunder' }]
const OPENAPI_V2 = {
  swagger: '2.0',
  info: { title: 'wardle', version: '1' },
  paths: {
    [`/apis/${GROUP}/${VERSION}/flunders`]: {
      get: {
        operationId: 'listFlunders',
        summary: 'not kept',
        produces: ['application/json'],
        parameters: [{ $ref: '#/parameters/limit-1' }],
        responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/example.Flunder' } } },
        'x-kubernetes-action': 'list',
      },
      post: {
        operationId: 'createFlunder',
        consumes: ['application/json'],
        parameters: [{ name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/example.Flunder' } }],
        responses: { 201: { description: 'Created', headers: {} } },
      },
    },
    '/apis/apps/v1/deployments': { get: { operationId: 'hijacked', responses: {} } },
  },
  parameters: { 'limit-1': { name: 'limit', in: 'query', type: 'integer', uniqueItems: true, description: 'at most' } },
  definitions: {
    'example.Flunder': {
      type: 'object',
      properties: {
        metadata: { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
        spec: { type: 'object', nullable: true, properties: { fish: { type: 'string', description: 'which fish it is' } } },
      },
      'x-kubernetes-group-version-kind': gvk,
    },
    'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': { type: 'object', description: 'another ObjectMeta' },
    unused: { type: 'object' },
  },
}

export type Registered = { readonly service?: object; readonly spec?: object; readonly port?: number }

/** Registers an API server: its Service with endpoints, and the APIService. */
export async function register(server: Target, port: number, { spec = {} }: Registered = {}): Promise<void> {
  await create(server, '/api/v1/namespaces/default/services', {
    metadata: { name: 'wardle' },
    spec: { ports: [{ name: 'https', port: 443 }] },
  })
  await create(server, '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', slice(port))
  await create(server, APISERVICES, apiService(spec))
}

export const APISERVICES = '/apis/apiregistration.k8s.io/v1/apiservices'
export const NAME = `${VERSION}.${GROUP}`

export const slice = (port: number) => ({
  metadata: { name: 'wardle-1', labels: { 'kubernetes.io/service-name': 'wardle' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: [OWN_ADDRESS] }],
  ports: [{ name: 'https', port }],
})

export const apiService = (spec: object = {}) => ({
  metadata: { name: NAME },
  spec: {
    group: GROUP,
    version: VERSION,
    groupPriorityMinimum: 2000,
    versionPriority: 15,
    service: { namespace: 'default', name: 'wardle' },
    caBundle: Buffer.from(authority.cert).toString('base64'),
    ...spec,
  },
})

export async function create(server: Target, path: string, body: object): Promise<any> {
  const { status, text, json } = await ask(server, path, { method: 'POST', body })
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
  return json
}

/** Waits until the condition Available has a reason, and returns it. */
export const availability = (server: Target, reason: string, name = NAME): Promise<any> =>
  eventually(`${name} being ${reason}`, async () => {
    const { json } = await ask(server, `${APISERVICES}/${name}`)
    return json?.status?.conditions?.find((each: any) => each.type === 'Available' && each.reason === reason)
  })
