/** The identity Lease of a server over a shared store; each server also removes the leases of servers that are long gone. */
import { createHash } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { type Controller, defineController } from '../../controllers/controller.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { hostName, newUuid } from '../../lib/environment.ts'
import { microTimestampOf, millisecondsAt } from '../../lib/time.ts'

const NAMESPACE = 'kube-system'
const LABEL = 'apiserver.kubernetes.io/identity'
const COMPONENT = 'kube-apiserver'
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

/** The lease of the server at an address, which distinguishes it from others on this machine. */
export function identityLease(address: string): IdentityLease {
  const name = nameOf(address)
  const holderIdentity = `${name}_${newUuid()}`
  const named = { namespace: NAMESPACE, name }
  const controller = defineController({
    name: 'apiserver-identity-lease-controller',
    identity: serverIdentity(),
    create({ client, enqueue, signal }) {
      enqueue(RENEW)
      enqueue(COLLECT)
      const leases = client.of(Lease)
      const renew = async () => {
        const time = microTimestampOf(client.now)
        const labels = { [LABEL]: COMPONENT, 'kubernetes.io/hostname': hostName() }
        const stored = leases.get(named)
        const spec = { holderIdentity, leaseDurationSeconds: DURATION_SECONDS, renewTime: time }
        if (!stored) await leases.create({ metadata: { ...named, labels }, spec: { ...spec, acquireTime: time } })
        else {
          const acquireTime = stored.spec.holderIdentity === holderIdentity ? stored.spec.acquireTime : time
          await leases.update({
            ...stored,
            metadata: { ...stored.metadata, labels },
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
          const own = [{ key: LABEL, operator: '=' as const, values: [COMPONENT] }]
          for (const lease of leases.list({ namespace: NAMESPACE, labels: own }))
            if (isExpired(lease, client.now)) await leases.delete(lease, { unchanged: true })
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

/** kube-apiserver names itself after its machine; here several servers may run on one. */
function nameOf(address: string): string {
  const hash = createHash('sha256').update(`${hostName()} ${address}`).digest().subarray(0, 16)
  return `apiserver-${base32(hash)}`
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

function base32(bytes: Uint8Array): string {
  let bits = 0n
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte)
  const length = Math.ceil((bytes.length * 8) / 5)
  bits <<= BigInt(length * 5 - bytes.length * 8)
  return Array.from({ length }, (_, i) => ALPHABET[Number((bits >> BigInt((length - 1 - i) * 5)) & 31n)]).join('')
}

function isExpired({ spec: { renewTime, leaseDurationSeconds } }: Lease, now: Date): boolean {
  if (renewTime === undefined || leaseDurationSeconds === undefined) return true
  return millisecondsAt(renewTime) + leaseDurationSeconds * 1000 < now.getTime()
}
