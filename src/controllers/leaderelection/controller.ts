/** Coordinated leader election: the server chooses the holders of leases among LeaseCandidates, as kube-apiserver does. */
import { namedBy, queueKey } from '../../client/change.ts'
import { serverIdentity } from '../../client/identity.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { LeaseCandidate } from '../../kinds/coordination/leasecandidate.ts'
import { microTimestampOf } from '../../lib/time.ts'
import { defineController, watch } from '../controller.ts'
import { isExpired, isGone, nextStep } from './reconcile.ts'

const AGAIN_MS = 5_000
const LEASE_SECONDS = 5

export const leaderElectionController = defineController({
  name: 'leader-election-controller',
  identity: serverIdentity(),
  isRoutine: true,
  create({ client, onError }) {
    const [leases, candidates] = [client.of(Lease), client.of(LeaseCandidate)]
    const elect = async (key: string, strategy: string, holder: string | undefined): Promise<void> => {
      const { namespace, name } = namedBy(key)
      const renewed = { leaseDurationSeconds: LEASE_SECONDS, renewTime: microTimestampOf(client.now) }
      const stored = leases.get({ namespace, name })
      if (!stored) {
        const spec = { strategy, ...renewed, ...(holder !== undefined && { holderIdentity: holder }) }
        await leases.create({ metadata: { namespace, name }, spec })
        return
      }
      const { preferredHolder: _, acquireTime: __, ...kept } = stored.spec
      const isFree = !stored.spec.holderIdentity || isExpired(stored.spec, client.now.getTime())
      const isOther = holder !== undefined && holder !== stored.spec.holderIdentity
      if (isOther && isFree) await leases.update({ ...stored, spec: { ...kept, ...renewed, strategy, holderIdentity: holder } })
      // The holder sees who is preferred, and gives the lease up.
      else if (isOther ? stored.spec.preferredHolder !== holder : stored.spec.strategy !== strategy)
        await leases.update({ ...stored, spec: { ...stored.spec, strategy, ...(isOther && { preferredHolder: holder }) } })
    }
    return {
      watches: [
        watch(Lease),
        watch(LeaseCandidate, ({ current }) => {
          const spec = current.object?.spec
          const isAsked = spec?.pingTime !== undefined && (spec.renewTime ?? '') < spec.pingTime
          return spec && !isAsked ? queueKey({ namespace: current.namespace, name: spec.leaseName }) : undefined
        }),
      ],
      async reconcile(key) {
        const { namespace, name } = namedBy(key)
        const now = client.now.getTime()
        const running = [...candidates.list({ namespace })].filter(({ spec }) => spec.leaseName === name)
        const step = nextStep({ candidates: running.filter(each => !isGone(each, now)), lease: leases.get({ namespace, name })?.spec, now })
        switch (step.type) {
          case 'nothing':
            return undefined
          case 'look again':
            return AGAIN_MS
          case 'disagreement':
            onError(new Error(step.message))
            return AGAIN_MS
          case 'ping': {
            const pingTime = microTimestampOf(client.now)
            await Promise.all(step.candidates.map(each => candidates.update({ ...each, spec: { ...each.spec, pingTime } })))
            return AGAIN_MS
          }
          case 'elect':
            await elect(key, step.strategy, step.holder)
            return AGAIN_MS
        }
      },
    }
  },
})

const COLLECT_MS = 30 * 60_000
const ALL = 'all'

/** Deletes candidates that have not been heard of for long. */
export const leaseCandidateCollector = defineController({
  name: 'leasecandidate-gc-controller',
  identity: serverIdentity(),
  isRoutine: true,
  create({ client, enqueue }) {
    const candidates = client.of(LeaseCandidate)
    enqueue(ALL)
    return {
      watches: [watch(LeaseCandidate, () => undefined)],
      async reconcile() {
        const now = client.now.getTime()
        for (const candidate of candidates.list()) if (isGone(candidate, now)) await candidates.delete(candidate)
        return COLLECT_MS
      },
    }
  },
})
