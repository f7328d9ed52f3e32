/** The service network of a server: allocators of addresses and ports, their ranges, and the service of the server itself. */
import { Allocation } from '../../allocation/allocation.ts'
import { serverIdentity } from '../../client/identity.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Allocations } from '../../registry/allocations.ts'
import type { ServerContext } from '../context.ts'
import { SERVER_ADDRESSES } from '../data/cluster-records.ts'
import { defaultServiceCIDRController, ensureDefaultServiceCIDR } from './default-service-cidr.ts'
import { ownServiceController, retire } from './own-service.ts'
import { ServerRecords } from './server-records.ts'

export interface ServiceNetwork {
  readonly allocations: Allocations
  /** Repairs allocations after a crash and creates the default range. Runs before anything is served. */
  prepare(): Promise<void>
  /** Publishes the address of the server, and keeps that and the default range up to date. */
  start(listening: { readonly address: string; readonly port: number }): Promise<void>
  /** Withdraws the address of the server from the service, before it ends. */
  retire(): Promise<void>
}

/** Without `repairs` nobody else writes to the store, and nothing of a crash is left in it. */
export async function openServiceNetwork(context: ServerContext, { repairs }: { readonly repairs: boolean }): Promise<ServiceNetwork> {
  const { config, store, hasReplicas, siblings, caches, catalog, clientFor, run, now, log, signal } = context
  const { groupDomain, serviceClusterIpRange: ranges, serviceNodePortRange: nodePorts } = config
  const client = clientFor(serverIdentity())
  const allocation = await Allocation.open({
    store,
    resources: catalog.storedResources(),
    client,
    ranges,
    nodePorts,
    groupDomain,
    now,
    fresh: () => caches.fresh(),
    assertions: caches.assertions,
  })
  const onError = (error: unknown) => {
    if (!signal.aborted) log.warn({ error: failureText(error) }, 'addresses and ports could not be checked; it will be retried')
  }
  let leave: () => Promise<void> = async () => {}
  return {
    allocations: allocation.allocations,
    async prepare() {
      await allocation.start({ isAlone: !store.isShared, repairs, onError, signal })
      await ensureDefaultServiceCIDR(client, ranges)
    },
    async start(listening) {
      // One process publishes the address of all.
      if (siblings && !siblings.isFirst) return
      const replicas = hasReplicas ? { replicas: new ServerRecords(store, SERVER_ADDRESSES) } : {}
      const own = { ranges, ...listening, advertiseAddress: config.advertiseAddress, ...replicas }
      const running = [run(defaultServiceCIDRController(ranges)), run(ownServiceController(own))]
      leave = () => retire(client, own)
      await Promise.all(running.map(each => each.idle()))
    },
    retire: () => leave(),
  }
}
