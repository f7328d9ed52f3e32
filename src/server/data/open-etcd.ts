/** Opens the configured store on etcd. Loaded only if configured. */
import { kubernetesFormat } from '../../etcd-format/kubernetes-format.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { type EtcdStore, openEtcdStore } from '../../storage/etcd/etcd.ts'
import { startSharedCompaction } from '../../storage/etcd/shared-compaction.ts'
import { transformedFormat } from '../../storage/etcd/transformed-format.ts'
import type { RecordTransformer } from '../../storage/record-transformer.ts'
import type { Config } from '../config.ts'
import { type Egress, readEgress } from '../egress.ts'
import type { OwnFiles } from '../files/own-files.ts'
import { historyAge } from './history-window.ts'

export type EtcdParts = {
  readonly files: OwnFiles
  /** Read from the configuration unless it was before. */
  readonly egress?: Egress
  readonly catalog: Catalog
  readonly transformer: RecordTransformer
  readonly log: Log
  readonly clock: Clock
  readonly gate?: (name: string) => boolean
}

/** Connects; rejects with `StoreUnavailable`, whose message explains the problem. */
export async function openEtcd(
  config: Config,
  { files, egress = readEgress(config.egressSelectorConfigFile), catalog, transformer, log, clock, gate }: EtcdParts,
): Promise<EtcdStore> {
  const { groupDomain } = config
  const now = () => new Date(clock.now())
  const store = await openEtcdStore({
    endpoints: config.etcdServers,
    tls: files.etcd,
    dial: egress.etcd,
    prefix: config.etcdPrefix,
    format: transformedFormat(kubernetesFormat({ resources: catalog.storedResources(), groupDomain, now, ...(gate && { gate }) }), {
      transformer,
      prefix: config.etcdPrefix,
    }),
    onChange: message => log.warn({}, message),
  })
  log.info({ servers: config.etcdServers.join(','), version: store.version, prefix: config.etcdPrefix }, 'connected to etcd')
  return store
}

/** Compacts together with the other servers: history is kept for the configured time, and for at most twice as long. */
export const compactEtcd = (store: EtcdStore, config: Config, onError: (error: unknown) => void): AsyncDisposable =>
  startSharedCompaction(store, { everyMs: historyAge(config), onError })
