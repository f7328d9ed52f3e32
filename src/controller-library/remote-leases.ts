/** Leases for the leader election of a controller that reaches the server by HTTP. */
import type { LeaseAccess } from '../client/leader-election.ts'
import type { Lease } from '../kinds/coordination/lease.ts'
import type { Api, ApiObject } from './public.d.ts'

/** The stored form and that of the wire differ in types alone. */
type WireLease = ApiObject & { readonly spec: Lease['spec'] }

export function remoteLeases(api: Api): LeaseAccess {
  const leases = api.of<WireLease>({ apiVersion: `coordination.${api.groupDomain}/v1`, kind: 'Lease', plural: 'leases' })
  return {
    now: () => new Date(),
    get: named => leases.get(named) as Promise<Lease | undefined>,
    create: lease => leases.create(lease as WireLease) as Promise<Lease | undefined>,
    update: lease => leases.update(lease as WireLease) as Promise<Lease | undefined>,
  }
}
