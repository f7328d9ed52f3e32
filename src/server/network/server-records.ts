/**
 * Records by which the servers over one store say that they are alive, and where: each expires soon unless it is renewed. They are those
 * of kube-apiserver, so that its servers and these see each other.
 */
import { isIP } from 'node:net'
import type { Store } from '../../storage/store.ts'

const TTL_SECONDS = 15

/** Where a server is, and who. */
export type ServerRecord = { readonly ip: string; readonly port?: number; readonly identity?: string }

export class ServerRecords {
  readonly #store: Store
  readonly #prefix: string
  #isLeaving = false

  constructor(store: Store, prefix: string) {
    this.#store = store
    this.#prefix = prefix
  }

  /** Announces for some seconds that a server is alive. */
  async renew(name: string, record: ServerRecord): Promise<void> {
    const key = this.#prefix + name
    let { entry } = await this.#store.get(key)
    while (!this.#isLeaving) {
      const value = Buffer.from(JSON.stringify(endpointsOf(record, entry?.modified ?? 0)))
      const swap = await this.#store.swap(key, { expect: entry?.modified ?? 0, value, ttlSeconds: TTL_SECONDS })
      if (swap.ok) return
      entry = swap.current
    }
  }

  /** Withdraws the record of a server that is about to end. */
  async remove(name: string): Promise<void> {
    this.#isLeaving = true
    let { entry } = await this.#store.get(this.#prefix + name)
    while (entry) {
      const swap = await this.#store.swap(entry.key, { expect: entry.modified, value: null })
      if (swap.ok) return
      entry = swap.current
    }
  }

  /** The names of all records, in order. */
  async names(): Promise<string[]> {
    const { entries } = await this.#store.list(this.#prefix)
    return entries.map(({ key }) => key.slice(this.#prefix.length)).sort()
  }

  /** Address and port of a server; undefined when it has no record, or none that can be read. */
  async find(name: string): Promise<{ readonly ip: string; readonly port: number } | undefined> {
    const { entry } = await this.#store.get(this.#prefix + name)
    return entry && addressIn(entry.value)
  }
}

/** kube-apiserver counts its renewals in the generation, since it skips writes that change nothing. */
const endpointsOf = ({ ip, port, identity }: ServerRecord, generation: number) => ({
  kind: 'Endpoints',
  apiVersion: 'v1',
  metadata: { generation, ...(identity !== undefined && { labels: { apiserverIdentity: identity } }) },
  subsets: [{ addresses: [{ ip }], ...(port !== undefined && { ports: [{ name: 'https', port, protocol: 'TCP' }] }) }],
})

type Endpoints = {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly ip?: string }[]
    readonly ports?: readonly { readonly port?: number }[]
  }[]
}

function addressIn(value: Uint8Array): { readonly ip: string; readonly port: number } | undefined {
  let endpoints: Endpoints
  try {
    endpoints = JSON.parse(Buffer.from(value).toString()) as Endpoints
  } catch {
    return undefined
  }
  const [subset] = endpoints.subsets ?? []
  const ip = subset?.addresses?.[0]?.ip
  const port = subset?.ports?.[0]?.port
  return ip !== undefined && isIP(ip) && port ? { ip, port } : undefined
}
