/**
 * Which servers over one store are alive, by the addresses at which others reach them: each keeps a record that expires soon unless it
 * is written again. The records are those of kube-apiserver, so that its servers and these see each other.
 */
import type { Store } from '../../storage/store.ts'

const PREFIX = '/masterleases/'
const TTL_SECONDS = 15
/** How often a server says that it is alive. */
export const RENEW_EVERY_MS = 5_000

export class ReplicaAddresses {
  readonly #store: Store
  #isLeaving = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Says that a server is alive at an address. */
  async renew(ip: string): Promise<void> {
    const key = PREFIX + ip
    let { entry } = await this.#store.get(key)
    while (!this.#isLeaving) {
      const value = Buffer.from(JSON.stringify(recordOf(ip, entry?.modified ?? 0)))
      const swap = await this.#store.swap(key, { expect: entry?.modified ?? 0, value, ttlSeconds: TTL_SECONDS })
      if (swap.ok) return
      entry = swap.current
    }
  }

  /** Says that a server is about to end; it is not renewed any more. */
  async remove(ip: string): Promise<void> {
    this.#isLeaving = true
    let { entry } = await this.#store.get(PREFIX + ip)
    while (entry) {
      const swap = await this.#store.swap(entry.key, { expect: entry.modified, value: null })
      if (swap.ok) return
      entry = swap.current
    }
  }

  /** The addresses of all that are alive, in order. */
  async list(): Promise<string[]> {
    const { entries } = await this.#store.list(PREFIX)
    return entries.map(({ key }) => key.slice(PREFIX.length)).sort()
  }
}

/** kube-apiserver counts its renewals in the generation, since it does not write what has not changed. */
const recordOf = (ip: string, generation: number) => ({
  kind: 'Endpoints',
  apiVersion: 'v1',
  metadata: { generation },
  subsets: [{ addresses: [{ ip }] }],
})
