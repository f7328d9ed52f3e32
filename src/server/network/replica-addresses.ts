/**
 * The addresses of the servers over one store that are alive: each keeps a record that expires soon unless it
 * is renewed. The records are those of kube-apiserver, so that its servers and these see each other.
 */
import type { Store } from '../../storage/store.ts'

const PREFIX = '/masterleases/'
const TTL_SECONDS = 15
/** Interval at which a server renews its record. */
export const RENEW_EVERY_MS = 5_000

export class ReplicaAddresses {
  readonly #store: Store
  #isLeaving = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Announces that a server is alive at an address. */
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

  /** Withdraws the record of a server that is about to end. */
  async remove(ip: string): Promise<void> {
    this.#isLeaving = true
    let { entry } = await this.#store.get(PREFIX + ip)
    while (entry) {
      const swap = await this.#store.swap(entry.key, { expect: entry.modified, value: null })
      if (swap.ok) return
      entry = swap.current
    }
  }

  /** The addresses of all servers that are alive, in order. */
  async list(): Promise<string[]> {
    const { entries } = await this.#store.list(PREFIX)
    return entries.map(({ key }) => key.slice(PREFIX.length)).sort()
  }
}

/** kube-apiserver counts its renewals in the generation, since it skips writes that change nothing. */
const recordOf = (ip: string, generation: number) => ({
  kind: 'Endpoints',
  apiVersion: 'v1',
  metadata: { generation },
  subsets: [{ addresses: [{ ip }] }],
})
