/** A registry of services with allocators, for tests. */

import type { Random } from '../../src/allocation/address-block.ts'
import { Allocation } from '../../src/allocation/allocation.ts'
import type { PortRange } from '../../src/allocation/node-ports.ts'
import { Service } from '../../src/kinds/core/service/service.ts'
import { IPAddress } from '../../src/kinds/networking/ipaddress.ts'
import { ServiceCIDR } from '../../src/kinds/networking/servicecidr.ts'
import type { Store } from '../../src/storage/store.ts'
import { type ClientBench, clientsOver } from './controllers.ts'
import { type Answer, type Bench, NOW, openBench } from './registry.ts'

export type ServiceBench = Bench &
  Pick<ClientBench, 'client' | 'run' | 'stop'> & {
    readonly allocation: Allocation
    /** Creates a service with one port. */
    readonly serve: (name: string, spec?: object, query?: string) => Promise<Answer>
    /** The recorded addresses and their holders. */
    readonly addresses: () => Promise<Record<string, string>>
  }
export type ServiceBenchOptions = { ranges?: readonly string[]; nodePorts?: PortRange; store?: Store; random?: Random; now?: () => Date }

const KINDS = [Service, IPAddress, ServiceCIDR]

/** Opens it like a server that is alone with its store: allocations left by a crash are repaired first. */
export async function openServiceBench(options: ServiceBenchOptions = {}): Promise<ServiceBench> {
  const { ranges = ['10.0.0.0/24'], nodePorts = { from: 30000, to: 32767 }, store, random, now = () => NOW } = options
  let allocation: Allocation | undefined
  let clients: ClientBench | undefined
  const bench = await openBench(KINDS, {
    ...(store && { store }),
    async allocations({ store, caches, resources, registry }) {
      const over = {
        caches,
        get registry() {
          return registry()
        },
      }
      clients = clientsOver(over, KINDS, { now })
      const { client } = clients
      allocation = await Allocation.open({
        store,
        resources,
        client,
        ranges,
        nodePorts,
        groupDomain: 'k8s.io',
        now,
        ...(random && { random }),
      })
      return allocation.allocations
    },
  })
  await allocation!.repair(new Date(now().getTime() + 1000))
  if (ranges.length > 0) await bench.send('POST servicecidrs', { metadata: { name: 'kubernetes' }, spec: { cidrs: ranges } })
  return {
    ...bench,
    allocation: allocation!,
    client: clients!.client,
    run: clients!.run,
    stop: clients!.stop,
    serve: (name, spec = {}, query = '') =>
      bench.send(`POST services${query}`, { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } }),
    async addresses() {
      const { body } = await bench.send('GET ipaddresses')
      return Object.fromEntries(body.items.map((item: any) => [item.metadata.name, item.spec.parentRef.name]))
    },
  }
}
