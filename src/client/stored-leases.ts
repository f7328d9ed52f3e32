/** Leases for the leader election of the server's own components, through the internal client. */
import { Lease } from '../kinds/coordination/lease.ts'
import type { Client } from './client.ts'
import type { LeaseAccess } from './leader-election.ts'

export function storedLeases(client: Client): LeaseAccess {
  const leases = client.of(Lease)
  return {
    now: () => client.now,
    get: named => leases.get(named),
    create: async lease => (await leases.create(lease))?.object,
    update: async lease => (await leases.update(lease))?.object,
  }
}
