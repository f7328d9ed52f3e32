/** What services need of their server: stocks of addresses and ports, the range they are from, and a service of its own. */
import { Allocation } from '../allocation/allocation.ts'
import { startServiceCIDRController } from '../controllers/servicecidr/controller.ts'
import type { Ledger } from '../registry/allocations.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { bootstrap, ensureRange, reportRange } from './bootstrap.ts'
import { type Config, runsController } from './config.ts'
import { clientFor, type Inner, SERVER } from './inner.ts'
import { ensureOwnService } from './own-service.ts'

export interface ServiceNetwork {
  readonly ledger: Ledger
  /** Puts right what a crash left and creates what every server has. Before anything is served. */
  prepare(): Promise<void>
  /** Makes the server known under where it listens, and starts what keeps ranges and that up to date. */
  start(listening: { readonly address: string; readonly port: number }): Promise<void>
}

const ENSURE_EVERY_MS = 10_000

export async function openServiceNetwork(config: Config, parts: Inner): Promise<ServiceNetwork> {
  const { store, catalog, now, log, signal } = parts
  const { groupDomain, serviceClusterIpRange: ranges, serviceNodePortRange: nodePorts } = config
  const clientOf = (manager: string) => clientFor(parts, { user: SERVER, manager, groupDomain })
  let own: LocalClient | undefined
  const client = () => (own ??= clientOf('keelson'))
  const allocation = await Allocation.open({ store, resources: catalog, client, ranges, nodePorts, groupDomain, now })
  const complain = (what: string) => (error: unknown) => {
    if (!signal.aborted) log.warn({ error: String(error) }, `${what}; it will be tried again`)
  }
  return {
    ledger: allocation.ledger,
    async prepare() {
      // The embedded store and that in memory belong to one server alone.
      await allocation.start({ isAlone: true, onError: complain('addresses and ports could not be checked'), signal })
      await bootstrap({ client: client(), catalog, groupDomain, ranges })
    },
    async start(listening) {
      const setup = { client: client(), catalog, groupDomain, ranges }
      const ensure = async () => {
        await ensureRange(setup)
        await Promise.all([reportRange(setup), ensureOwnService({ ...setup, ...listening, advertiseAddress: config.advertiseAddress })])
      }
      const failed = complain("the server's own service could not be written")
      await ensure().catch(failed)
      const timer = setInterval(() => ensure().catch(failed), ENSURE_EVERY_MS)
      timer.unref()
      signal.addEventListener('abort', () => clearInterval(timer), { once: true })
      if (runsController(config, 'service-cidr-controller')) {
        const [cidrs, addresses] = ['servicecidrs', 'ipaddresses'].map(plural => catalog.find(`networking.${groupDomain}`, 'v1', plural)!)
        const onError = complain('a ServiceCIDR could not be brought up to date')
        const api = clientOf('service-cidr-controller')
        void startServiceCIDRController({ api, ranges: cidrs!, addresses: addresses!, groupDomain, onError, signal })
      }
    },
  }
}
