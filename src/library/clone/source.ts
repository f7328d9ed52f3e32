/** Reads the objects of a cluster over its API, page by page. */
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request, type Agent as TlsAgent } from 'node:https'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import type { WebhookEndpoint } from '../../transport/review-call.ts'
import { trustingAgent } from '../../transport/trusting-agent.ts'

/** A cluster that cannot be read; the message says why. */
export class SourceError extends Error {}

/** The objects of a resource, or the reason why they cannot be read. */
export type Listed = { readonly items: readonly JsonObject[] } | { readonly problem: string }

const PAGE = 500
const TIMEOUT_MS = 60_000
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

export class SourceCluster {
  readonly url: string
  readonly #endpoint: WebhookEndpoint
  readonly #agent: TlsAgent | undefined
  /** `apps/v1/deployments` of resources that can be listed. */
  #served = new Set<string>()

  constructor(endpoint: WebhookEndpoint) {
    const { host, port, path, ca = '', servername = '', client, skipsVerification = false, isPlain } = endpoint
    this.#endpoint = endpoint
    const name = host.includes(':') ? `[${host}]` : host
    this.url = `${isPlain ? 'http' : 'https'}://${name}:${port}${path.replace(/\/$/, '')}`
    this.#agent = isPlain ? undefined : trustingAgent({ host, ca, servername, client, skipsVerification }, { keepAlive: true })
  }

  /** Learns which resources there are. Throws SourceError. */
  async discover(): Promise<void> {
    const served = new Set<string>()
    for (const root of ['/api', '/apis']) {
      const { status, body } = await this.#get(root, DISCOVERY)
      if (status !== 200) throw new SourceError(`${this.url}${root}: ${status}: ${messageIn(body)}`)
      const groups = isObject(body) ? body['items'] : undefined
      if (!Array.isArray(groups)) throw new SourceError(`${this.url}${root} has no aggregated discovery, which Kubernetes has since 1.26`)
      for (const key of groups.flatMap(listable)) served.add(key)
    }
    this.#served = served
  }

  serves(group: string, version: string, plural: string): boolean {
    return this.#served.has(`${group}/${version}/${plural}`)
  }

  /** All objects of a collection. */
  async list(path: string): Promise<Listed> {
    const items: JsonObject[] = []
    for (let token = ''; ; ) {
      const next = token === '' ? '' : `&continue=${encodeURIComponent(token)}`
      const { status, body } = await this.#get(`${path}?limit=${PAGE}${next}`, 'application/json')
      if (status !== 200 || !isObject(body)) return { problem: `${status}: ${messageIn(body)}` }
      for (const item of Array.isArray(body['items']) ? body['items'] : []) if (isObject(item)) items.push(item)
      const { metadata } = body
      const following = isObject(metadata) ? metadata['continue'] : undefined
      if (typeof following !== 'string' || following === '') return { items }
      token = following
    }
  }

  close(): void {
    this.#agent?.destroy()
  }

  #get(path: string, accept: string): Promise<{ readonly status: number; readonly body: Json }> {
    const headers = { accept, 'user-agent': 'keelson-clone', ...this.#endpoint.headers }
    const options = { headers, timeout: TIMEOUT_MS, ...(this.#agent && { agent: this.#agent }) }
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(new SourceError(`${this.url} cannot be read: ${error.message}`))
      const take = (answer: IncomingMessage) => {
        const parts: Buffer[] = []
        answer.on('data', part => parts.push(part))
        answer.on('error', fail)
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: jsonIn(Buffer.concat(parts).toString()) }))
      }
      const sent = this.#agent ? request(`${this.url}${path}`, options, take) : plainRequest(`${this.url}${path}`, options, take)
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)))
      sent.on('error', fail)
      sent.end()
    })
  }
}

function jsonIn(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const messageIn = (body: Json): string => (isObject(body) ? String(body['message'] ?? '') : String(body)).slice(0, 300)

/** The resources of a group that can be listed. */
function listable(group: Json): string[] {
  if (!isObject(group) || !isObject(group['metadata']) || !Array.isArray(group['versions'])) return []
  const name = String(group['metadata']['name'] ?? '')
  return group['versions'].flatMap(version => {
    if (!isObject(version) || !Array.isArray(version['resources'])) return []
    return version['resources'].flatMap(resource => {
      const verbs = isObject(resource) ? resource['verbs'] : undefined
      return isObject(resource) && Array.isArray(verbs) && verbs.includes('list')
        ? [`${name}/${version['version']}/${resource['resource']}`]
        : []
    })
  })
}
