/** A client for commands that talk to a running server: its kubeconfig, and JSON over HTTPS. */
import { request } from 'node:https'
import { parseYaml } from '../codec/yaml.ts'
import { ConfigError } from '../server/config.ts'

export type ApiClient = {
  /** What a GET is answered with; the caller knows what there is at the path. */
  get<Body>(path: string, accept?: string): Promise<Answer<Body>>
}

/** A body, or why there is none: what the Status says, or the code where there is no Status. */
export type Answer<Body> =
  | { readonly ok: true; readonly body: Body }
  | { readonly ok: false; readonly status: number; readonly message: string }

/** What a kubeconfig of a server has; it has one of each. */
type Kubeconfig = {
  readonly clusters: readonly [{ readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string } }]
  readonly users: readonly [{ readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string } }]
}

/** The client of a kubeconfig that a server has written. */
export function apiClient(kubeconfig: string): ApiClient {
  const { clusters, users } = parseYaml(kubeconfig).value as unknown as Kubeconfig
  const decoded = (text: string) => Buffer.from(text, 'base64')
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster
  const { 'client-certificate-data': cert, 'client-key-data': key } = users[0].user
  const credentials = { ca: decoded(ca), cert: decoded(cert), key: decoded(key) }
  return {
    get: <Body>(path: string, accept = 'application/json') =>
      new Promise<Answer<Body>>((resolve, reject) => {
        const sent = request(new URL(path, server), { ...credentials, headers: { accept } }, answer => {
          const parts: Buffer[] = []
          answer.on('data', part => parts.push(part))
          answer.on('error', reject)
          answer.on('end', () => {
            const { statusCode: status = 0 } = answer
            const body = JSON.parse(Buffer.concat(parts).toString() || 'null')
            const refusal = { ok: false, status, message: body?.message ?? `the server answered with ${status}` } as const
            resolve(status === 200 ? { ok: true, body } : refusal)
          })
        })
        sent.on('error', error => reject(new ConfigError(`no server answers at ${server}: ${error.message}`)))
        sent.end()
      }),
  }
}

export type FoundResource = { readonly path: (namespace: string, name: string) => string; readonly kind: string }

/** What this needs of an APIGroupDiscoveryList. */
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

/** The resource that a user means by `deploy`, `deployments`, `deployment.apps` or `Deployment`. */
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
          return { kind: responseKind.kind, path: (namespace, object) => `${inside(namespace)}/${resource}/${encodeURIComponent(object)}` }
        }
  }
  throw new ConfigError(`the server has no resource called ${wanted}`)
}
