/** Registers simulated nodes and keeps them alive: renews status and lease, and gives a new node its pod CIDRs and addresses. */

import { isDeepStrictEqual } from 'node:util'
import type { Client, Draft } from '../../client/client.ts'
import { type Controller, defineController, watch } from '../../controllers/controller.ts'
import { heartbeatOf } from '../../controllers/nodelifecycle/reconcile.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { Node } from '../../kinds/core/node.ts'
import { LIMITS } from '../../lib/limits.ts'
import { integerValue, parseQuantity } from '../../lib/quantity.ts'
import { microTimestampOf, millisecondsOf, parseMicroTime } from '../../lib/time.ts'
import { NodeNetworks } from './addresses.ts'
import { nodeIdentity } from './identity.ts'
import { SIMULATED_LABEL } from './is-simulated.ts'
import { DEFAULT_CAPACITY, HEARTBEAT_MS, heartbeatDueAt, internalIPs, isAlive, labelsOf, nodeName, nodeStatus } from './simulated-node.ts'

export type SimulatedNodesParts = {
  /** Number of nodes at the start of the server. */
  readonly count: number
  /** Time after which a silent node counts as lost: its lease is renewed more often. */
  readonly graceMs: number
  readonly capacity: Readonly<Record<string, string>>
  readonly kubeletVersion: string
  readonly runtimeVersion: string
  /** Whether a feature is on. */
  readonly gate: (name: string) => boolean
  /** Whether nodes choose their blocks of pod addresses themselves; otherwise they wait for the node IPAM controller. */
  readonly givesPodCIDRs: boolean
  /** Families of pod addresses, in the order of the service families. */
  readonly families: readonly (4 | 6)[]
}

const LEASES = 'kube-node-lease'
const LEASE_SECONDS = 40
/** Time between renewals of a lease: with many nodes as long as one renewal may fail before the node counts as lost, as each is a write. */
const renewalMs = (nodes: number, graceMs: number) => (nodes <= 100 ? Math.min(10_000, graceMs / 4) : Math.min(20_000, graceMs * 0.4))

/** Leases that are due at about the same time are renewed together, so that they share the commits of the store. */
const MAX_ROUND_MS = 500
const roundMs = (everyMs: number) => Math.min(MAX_ROUND_MS, everyMs / 4)
/** As many leases as may be written at once. */
const WORKERS = LIMITS.backgroundWrites.atOnce

/** Acts as the component that assigns pod CIDRs; nodes report as themselves. The node lifecycle controller removes the first taint. */
export const simulatedNodes = (parts: SimulatedNodesParts): Controller =>
  defineController({
    name: 'simulated-node-controller',
    isRoutine: true,
    rank: 'urgent',
    identity: 'node-controller',
    workers: WORKERS,
    create({ client, enqueue }) {
      const nodes = client.of(Node)
      // The nodes that the server starts with. A node that is deleted later stays away, like a machine that is switched off.
      const own = new Set(Array.from({ length: parts.count }, (_, i) => nodeName(i + 1)))
      const missing = new Set(own)
      for (const name of own) enqueue(name)
      // CIDRs and addresses by node, stored or about to be.
      const given = new Map<string, Allotment>()
      const networks = new NodeNetworks()
      let areStoredNoted = false
      /** The nodes whose stored status is right, and until when that is so. */
      const reported = new Map<string, { readonly node: Node; readonly untilMs: number }>()

      /** Notes the blocks and addresses that a node has: stored, or about to be. */
      function note(name: string, node: Node | undefined): void {
        const { podCIDRs = [], addresses = [] } = given.get(name) ?? {}
        networks.hold(name, [...new Set([...podCIDRs, ...addresses, ...(node?.spec.podCIDRs ?? []), ...(node ? internalIPs(node) : [])])])
      }

      function allotmentOf(name: string, node: Node | undefined): Allotment {
        const known = given.get(name)
        if (known) return known
        // The watch may not have delivered all of them yet.
        if (!areStoredNoted) for (const stored of nodes.list()) note(stored.metadata.name ?? '', stored)
        areStoredNoted = true
        const capacity = { ...DEFAULT_CAPACITY, ...parts.capacity, ...node?.status.capacity }
        const pods = Number(integerValue(parseQuantity(capacity['pods']!)))
        const addresses = node ? internalIPs(node) : []
        const found = {
          podCIDRs:
            node?.spec.podCIDRs ?? (parts.givesPodCIDRs ? parts.families.flatMap(family => networks.freePodCIDR(family, pods) ?? []) : []),
          addresses: addresses.length > 0 ? addresses : parts.families.flatMap(family => networks.freeNodeAddress(family) ?? []),
        }
        given.set(name, found)
        note(name, node)
        return found
      }

      async function register(name: string): Promise<void> {
        const { podCIDRs, addresses } = allotmentOf(name, undefined)
        const bare = { metadata: { name }, spec: {}, status: { nodeInfo: {}, daemonEndpoints: {} } } as unknown as Node
        const draft: Draft<Node> = {
          metadata: { name, labels: labelsOf(name), annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' } },
          spec: podCIDRs.length > 0 ? { podCIDR: podCIDRs[0], podCIDRs } : {},
          status: nodeStatus(bare, addresses, { ...parts, isGiven: false, now: client.now.getTime() }),
        }
        await client.as(nodeIdentity(name)).of(Node).create(draft)
      }

      return {
        watches: [
          watch(Node, ({ current, type }) => {
            if (type === 'deleted') {
              given.delete(current.name)
              reported.delete(current.name)
              networks.release(current.name)
            } else if (current.object) note(current.name, current.object)
            return type !== 'deleted' && current.labels[SIMULATED_LABEL] === 'true' ? current.name : undefined
          }),
        ],
        async reconcile(name) {
          const node = nodes.get({ name })
          if (!node && missing.has(name)) await register(name)
          missing.delete(name)
          if (!node || !isAlive(node)) return 'never'
          const { podCIDRs, addresses } = allotmentOf(name, node)
          if (!node.spec.podCIDRs?.length && podCIDRs.length > 0) {
            await nodes.update({ ...node, spec: { ...node.spec, podCIDR: podCIDRs[0]!, podCIDRs } })
            return undefined
          }
          const now = client.now.getTime()
          const self = client.as(nodeIdentity(name))
          const known = reported.get(name)
          if (known?.node !== node || now >= known.untilMs) {
            const status = nodeStatus(node, addresses, { ...parts, isGiven: !own.has(name), now })
            if (!isDeepStrictEqual(status, node.status)) await self.of(Node).updateStatus({ ...node, status })
            else reported.set(name, { node, untilMs: heartbeatDueAt(node) })
          }
          return { ms: await renewLease(self, node, { now, everyMs: renewalMs(parts.count, parts.graceMs) }), renewal: heartbeatOf(name) }
        },
      }
    },
  })

type Allotment = { readonly podCIDRs: string[]; readonly addresses: string[] }

/** Renews the lease of a node when it is due; returns the milliseconds until it is due again. */
async function renewLease(client: Client, node: Node, { now, everyMs }: { now: number; everyMs: number }): Promise<number> {
  const leases = client.of(Lease)
  const { name = '', uid = '' } = node.metadata
  const lease = leases.get({ namespace: LEASES, name })
  const renewTime = microTimestampOf(now)
  const round = roundMs(everyMs)
  /** The time until the last round in which the lease is not overdue. */
  const untilRound = (dueMs: number) => Math.floor((now + dueMs) / round) * round - now
  const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime }
  if (!lease) {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }]
    await leases.create({ metadata: { namespace: LEASES, name, ownerReferences }, spec })
    return untilRound(everyMs)
  }
  const renewed = lease.spec.renewTime ? millisecondsOf(parseMicroTime(lease.spec.renewTime)) : 0
  const dueMs = renewed + everyMs - now
  // A lease renewed in the future comes from another clock.
  if (dueMs >= round && dueMs <= everyMs) return Math.min(untilRound(dueMs), HEARTBEAT_MS)
  await leases.update({ ...lease, spec: { ...lease.spec, ...spec } })
  return untilRound(everyMs)
}
