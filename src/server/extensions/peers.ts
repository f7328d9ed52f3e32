/** Servers over the same store: how they find this one, and requests that this one passes on to them. */
import type { BackendSpec } from '../../aggregation/backend.ts'
import { serverIdentity } from '../../client/identity.ts'
import { type Controller, defineController } from '../../controllers/controller.ts'
import { chance } from '../../lib/environment.ts'
import type { KnownPeers, PeerAddress } from '../../peers/peers.ts'
import { authorityOf } from '../../transport/egress.ts'
import type { ServerContext } from '../context.ts'
import { PEER_ADDRESSES } from '../data/cluster-records.ts'
import { peerAddressOf } from '../network/advertised-address.ts'
import { type Listening, serverNameAt } from '../network/server-name.ts'
import { ServerRecords } from '../network/server-records.ts'

export const PEER_GATE = 'UnknownVersionInteroperabilityProxy'

/** Well before the record expires. */
const RENEW_EVERY_MS = 10_000

export type PeerServers = {
  /** Those that requests are passed on to; undefined without `--peer-ca-file`, which says whom to trust. */
  readonly peers: KnownPeers | undefined
  /** `HOST:PORT` at which others reach the server that listens at an address. */
  address(listening: Listening): string
  /** Announces the address of this server, before it becomes known by its identity lease. */
  announce(listening: Listening): Promise<void>
  /** Follows which peers there are. */
  follow(): Promise<void>
  /** Withdraws the address of this server, before it ends. */
  retire(): Promise<void>
}

export type PeerServersParts = Pick<BackendSpec, 'certificate'> & {
  readonly ca: string | undefined
  /** The address on which the server listens, once it does. */
  readonly listening: () => Listening
}

/** Undefined where there are no others, or the feature gate is off. The processes of one server serve the same, and are no peers of each other. */
export async function openPeers(
  context: ServerContext,
  { ca, certificate, listening }: PeerServersParts,
): Promise<PeerServers | undefined> {
  const { config, store, hasReplicas, siblings, catalog, egress, gate, run, signal } = context
  if (!hasReplicas || !gate(PEER_GATE)) return undefined
  const records = new ServerRecords(store, PEER_ADDRESSES)
  const own = () => serverNameAt(listening())
  let peers: KnownPeers | undefined
  if (ca !== undefined) {
    const { KnownPeers } = await import('../../peers/peers.ts')
    peers = new KnownPeers({
      own,
      serves: (group, version, plural) => catalog.find(group, version, plural) !== undefined,
      addressOf: identity => records.find(identity),
      ca,
      certificate,
      dial: egress.controlplane,
      random: chance,
    })
    signal.addEventListener('abort', () => peers?.[Symbol.dispose](), { once: true })
  }
  let name: string | undefined
  return {
    peers,
    address(at) {
      const { ip, port } = peerAddressOf(config, at)
      return authorityOf(ip, port)
    },
    async announce(at) {
      // One process announces the address of all.
      if (siblings && !siblings.isFirst) return
      name = own()
      await run(announcing(records, name, peerAddressOf(config, at))).idle()
    },
    async follow() {
      if (peers) await run((await import('../../peers/peer-discovery.ts')).peerDiscovery(peers)).synced
    },
    async retire() {
      if (name !== undefined) await records.remove(name)
    },
  }
}

const announcing = (records: ServerRecords, identity: string, address: PeerAddress): Controller =>
  defineController({
    name: 'peer-endpoint-reconciler-controller',
    identity: serverIdentity(),
    isRoutine: true,
    create({ enqueue, signal }) {
      enqueue(identity)
      return {
        watches: [],
        async reconcile() {
          if (signal.aborted) return undefined
          await records.renew(identity, { ...address, identity })
          return RENEW_EVERY_MS
        },
      }
    },
  })
