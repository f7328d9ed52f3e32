/** Leases for keys with a time to live. As with kube-apiserver, keys that are written soon after one another share one. */
import { monotonicMs, randomBytes } from '../../lib/environment.ts'
import type { RequestTrace } from '../../lib/request-trace.ts'
import { RpcError } from '../../transport/grpc/status.ts'
import type { Cluster } from './cluster.ts'
import { grantLease } from './messages.ts'

/** A lease lasts longer than its first key by this share, and at most by this time, so that later keys can share it. */
const LONGER_BY = 0.05
const MAX_SECONDS = 60
const KEYS_PER_LEASE = 1_000

type Lease = { readonly id: Promise<number> /** Keys may be added until then. */; readonly until: number; keys: number }

export class Leases {
  readonly #cluster: Cluster
  readonly #byTtl = new Map<number, Lease>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** A lease that ends when a time to live has passed, or a little later. */
  async for(ttlSeconds: number, trace?: RequestTrace): Promise<number> {
    const ttl = Math.ceil(ttlSeconds)
    const current = this.#byTtl.get(ttl)
    if (current && current.keys < KEYS_PER_LEASE && monotonicMs() < current.until) {
      current.keys++
      return current.id
    }
    const longer = Math.min(Math.floor(ttl * LONGER_BY), MAX_SECONDS)
    const lease = { id: this.#grant(ttl + longer, trace), until: monotonicMs() + longer * 1000, keys: 1 }
    this.#byTtl.set(ttl, lease)
    lease.id.catch(() => this.#byTtl.get(ttl) === lease && this.#byTtl.delete(ttl))
    return lease.id
  }

  /** Shares no lease of before: etcd does not know one of them. */
  forget(): void {
    this.#byTtl.clear()
  }

  async #grant(ttlSeconds: number, trace: RequestTrace | undefined): Promise<number> {
    // Chosen here, as a number that is exact; a lease that was granted although the answer was lost just ends.
    const id = randomBytes(6).readUIntBE(0, 6) + 1
    await this.#cluster.read(grantLease, { id, ttlSeconds }, { trace }).catch(error => {
      // The answer of an attempt before was lost.
      if (!(error instanceof RpcError && error.message.includes('lease already exists'))) throw error
    })
    return id
  }
}
