/** The identity Lease of a server over a shared store; each server also removes the leases of servers that are long gone. */
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { ALL_SERVERS, SERVER_LABELS, SERVER_LEASES } from '../../client/server-leases.ts'
import { type Controller, defineController } from '../../controllers/controller.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { hostName, newUuid } from '../../lib/environment.ts'
import { microTimestampOf, millisecondsAt } from '../../lib/time.ts'
import { type Listening, serverNameAt } from '../network/server-name.ts'

/** Where other servers reach this one; for people, as they read it from a record of its own. */
const PEER_ADDRESS = 'kubernetes.io/peer-advertise-address'
const DURATION_SECONDS = 3600
const RENEW_EVERY_MS = 10_000
const COLLECT_EVERY_MS = 3600_000
const [RENEW, COLLECT] = ['renew', 'collect'] as const

export interface IdentityLease {
  readonly name: string
  readonly controller: Controller
  /** Removes the lease of this server, which is about to end. */
  remove(client: Client): Promise<void>
}

/** The lease of the server that listens at an address. */
export function identityLease(listening: Listening, { peerAddress }: { readonly peerAddress?: string | undefined } = {}): IdentityLease {
  const name = serverNameAt(listening)
  const holderIdentity = `${name}_${newUuid()}`
  const named = { namespace: SERVER_LEASES, name }
  const controller = defineController({
    name: 'apiserver-identity-lease-controller',
    identity: serverIdentity(),
    create({ client, enqueue, signal }) {
      enqueue(RENEW)
      enqueue(COLLECT)
      const leases = client.of(Lease)
      const renew = async () => {
        const time = microTimestampOf(client.now)
        const labels = { ...SERVER_LABELS, 'kubernetes.io/hostname': hostName() }
        const stored = leases.get(named)
        const annotations =
          peerAddress === undefined ? {} : { annotations: { ...stored?.metadata.annotations, [PEER_ADDRESS]: peerAddress } }
        const spec = { holderIdentity, leaseDurationSeconds: DURATION_SECONDS, renewTime: time }
        if (!stored) await leases.create({ metadata: { ...named, labels, ...annotations }, spec: { ...spec, acquireTime: time } })
        else {
          const acquireTime = stored.spec.holderIdentity === holderIdentity ? stored.spec.acquireTime : time
          await leases.update({
            ...stored,
            metadata: { ...stored.metadata, labels, ...annotations },
            spec: { ...stored.spec, ...spec, ...(acquireTime && { acquireTime }) },
          })
        }
      }
      return {
        watches: [],
        async reconcile(key) {
          if (signal.aborted) return undefined
          if (key === RENEW) {
            await renew()
            return RENEW_EVERY_MS
          }
          for (const lease of leases.list(ALL_SERVERS)) if (isExpired(lease, client.now)) await leases.delete(lease, { unchanged: true })
          return COLLECT_EVERY_MS
        },
      }
    },
  })
  return {
    name,
    controller,
    async remove(client) {
      const stored = client.of(Lease).get(named)
      if (stored?.spec.holderIdentity === holderIdentity) await client.of(Lease).delete(stored)
    },
  }
}

function isExpired({ spec: { renewTime, leaseDurationSeconds } }: Lease, now: Date): boolean {
  if (renewTime === undefined || leaseDurationSeconds === undefined) return true
  return millisecondsAt(renewTime) + leaseDurationSeconds * 1000 < now.getTime()
}
