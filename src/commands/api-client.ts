/** A client for commands that talk to a running server: JSON over HTTPS. */
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { ConfigError } from '../server/config.ts'
import type { Access } from '../server/credentials/kubeconfig.ts'
import { trustingAgent } from '../transport/trusting-agent.ts'

export type ApiClient = {
  /** The response to a GET; the caller knows its type. */
  get<Body>(path: string, accept?: string): Promise<Answer<Body>>
  /** The lines of a watch that ends by itself. Throws ConfigError. */
  lines<Line>(path: string): Promise<Line[]>
  /** The body of a response in chunks, as fast as they are taken. Throws ConfigError unless the server responds with 200. */
  chunks(path: string): AsyncGenerator<Uint8Array>
  /** The response to any request with a body of JSON; the caller knows its type. */
  send<Body>(method: string, path: string, body?: unknown): Promise<Answer<Body>>
  /** Deletes an object; the message says why that failed. */
  delete(path: string): Promise<{ readonly ok: boolean; readonly message: string }>
}

/** A body, or an error: the message of the Status, or the code where there is no Status. */
export type Answer<Body> =
  | { readonly ok: true; readonly body: Body }
  | { readonly ok: false; readonly status: number; readonly message: string; readonly isStatus: boolean }

/** The client of a server, with the admin's credentials. */
export function apiClient({ server, ca, cert, key }: Access): ApiClient {
  const host = new URL(server).hostname.replace(/^\[|\]$/g, '')
  const agent = trustingAgent({ host, ca, servername: '', client: { cert, key }, skipsVerification: false }, { keepAlive: false })
  const send = (path: string, accept: string, method = 'GET', body?: string) =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const sent = request(
        new URL(path, server),
        { agent, method, headers: { accept, ...(body !== undefined && { 'content-type': 'application/json' }) } },
        answer => {
          const parts: Buffer[] = []
          answer.on('data', part => parts.push(part))
          answer.on('error', reject)
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString() }))
        },
      )
      sent.on('error', error => reject(new ConfigError(`no server responds at ${server}: ${error.message}`)))
      sent.end(body)
    })
  const refusal = (status: number, text: string) => {
    try {
      const { message } = JSON.parse(text) as { message?: string }
      if (message !== undefined) return { ok: false, status, message, isStatus: true } as const
    } catch {
      // Some errors are plain text.
    }
    return { ok: false, status, message: `the server responded with ${status}`, isStatus: false } as const
  }
  return {
    async get<Body>(path: string, accept = 'application/json'): Promise<Answer<Body>> {
      const { status, text } = await send(path, accept)
      return status === 200 ? { ok: true, body: JSON.parse(text) } : refusal(status, text)
    },
    async send<Body>(method: string, path: string, body?: unknown): Promise<Answer<Body>> {
      const { status, text } = await send(path, 'application/json', method, body === undefined ? undefined : JSON.stringify(body))
      return status >= 200 && status < 300 ? { ok: true, body: JSON.parse(text) } : refusal(status, text)
    },
    async lines<Line>(path: string): Promise<Line[]> {
      const { status, text } = await send(path, 'application/json')
      if (status !== 200) throw new ConfigError(refusal(status, text).message)
      return text
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as Line)
    },
    async delete(path: string) {
      const { status, text } = await send(path, 'application/json', 'DELETE')
      return status < 300 ? { ok: true, message: '' } : refusal(status, text)
    },
    async *chunks(path: string): AsyncGenerator<Uint8Array> {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request(new URL(path, server), { agent }, resolve)
        sent.on('error', error => reject(new ConfigError(`no server responds at ${server}: ${error.message}`)))
        sent.end()
      })
      if (answer.statusCode === 200) {
        try {
          yield* answer
        } catch (error) {
          throw new ConfigError(`the connection to ${server} was lost: ${(error as Error).message}`)
        }
        return
      }
      const parts: Buffer[] = []
      for await (const part of answer) parts.push(part as Buffer)
      throw new ConfigError(refusal(answer.statusCode ?? 0, Buffer.concat(parts).toString()).message)
    },
  }
}

export type FoundResource = {
  readonly path: (namespace: string, name: string) => string
  /** The path of the collection in a namespace. */
  readonly list: (namespace: string) => string
  readonly kind: string
}

/** The part of an APIGroupDiscoveryList that is used here. */
type Discovery = {
  readonly items?: readonly {
    readonly metadata: { readonly name: string }
    readonly versions: readonly { readonly version: string; readonly resources: readonly DiscoveredResource[] }[]
  }[]
}
type DiscoveredResource = {
  readonly resource: string
  readonly responseKind: { readonly kind: string }
  readonly scope: string
  readonly singularResource?: string
  readonly shortNames?: readonly string[]
}

const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** The resource that a user names `deploy`, `deployments`, `deployment.apps` or `Deployment`. */
export async function findResource(api: ApiClient, wanted: string): Promise<FoundResource> {
  const [name = '', ...rest] = wanted.toLowerCase().split('.')
  const group = rest.join('.')
  for (const root of ['/api', '/apis']) {
    const answer = await api.get<Discovery>(root, DISCOVERY)
    if (!answer.ok) throw new ConfigError(answer.message)
    for (const { metadata, versions } of answer.body.items ?? [])
      for (const { version, resources } of versions)
        for (const { resource, responseKind, scope, singularResource = '', shortNames = [] } of resources) {
          const names = [resource, singularResource, responseKind.kind.toLowerCase(), ...shortNames]
          if (!names.includes(name) || (group !== '' && group !== metadata.name)) continue
          const base = root === '/api' ? `/api/${version}` : `/apis/${metadata.name}/${version}`
          const inside = (namespace: string) => (scope === 'Namespaced' ? `${base}/namespaces/${encodeURIComponent(namespace)}` : base)
          const list = (namespace: string) => `${inside(namespace)}/${resource}`
          return { kind: responseKind.kind, list, path: (namespace, object) => `${list(namespace)}/${encodeURIComponent(object)}` }
        }
  }
  throw new ConfigError(`the server has no resource called ${wanted}`)
}
