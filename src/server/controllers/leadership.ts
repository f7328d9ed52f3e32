/**
 * The election of the server that runs controllers, the scheduler and simulated nodes. A store that belongs to one server
 * needs no election. The lease is that of kube-controller-manager, so that a running one keeps ours from starting.
 *
 * A leader that was held up may believe for too long that it leads: its process was stopped between reading its clock and sending a
 * write, or the write was in flight for seconds. So each term begins with a write to its own key, which the store makes only while
 * the lease is as the new leader wrote it; and the store makes every write of the leader only while that key is as its term began:
 *
 *     lease     A ── A ──────────── B ── B ──
 *     term      A ───────────────────── B ───        A could not write it any more once B has the lease
 *     writes    A  A  A          A ✗       A ✗  B
 *
 * Between the two, A has long stopped writing by its own clock, and B has not begun.
 */

import { setMaxListeners } from 'node:events'
import type { WriteGuard } from '../../client/backend.ts'
import type { Client, ClientFor } from '../../client/client.ts'
import { type ElectionOptions, type Term, type Timing, takePart } from '../../client/leader-election.ts'
import { storedLeases } from '../../client/stored-leases.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { abortedWith } from '../../lib/cancellation.ts'
import type { Clock } from '../../lib/clock.ts'
import { hostName, newUuid } from '../../lib/environment.ts'
import type { Fence } from '../../lib/fence.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { keyOf } from '../../schema/resource.ts'
import type { Store } from '../../storage/store.ts'
import { type ControllerRunner, controllerRunner } from './controller-runner.ts'
import type { Duties } from './duties.ts'

/** The key of the leader's term; kube-apiserver does not read it. */
export const TERM = '/keelson/leader'
const LEASE = { namespace: 'kube-system', name: 'kube-controller-manager' }
/** Shorter than in kube-controller-manager: the servers are close to the store, and users wait for the next leader. */
const TIMING: Timing = { leaseMs: 6_000, renewMs: 4_000, retryMs: 1_000 }

export type LeadershipParts = {
  /** Writes the lease. */
  readonly client: Client
  readonly store: Store
  readonly catalog: Catalog
  /** Clients whose writes fail once the term is over. */
  readonly clientFor: (guard: WriteGuard) => ClientFor
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Starts the duties of the leader, which end with the signal. */
  readonly start: Duties['start']
}

/** The processes of one server take part as one, by the process that is appointed: one that follows another leads at once. */
export type Participant = { readonly id: string; readonly appointed: Promise<void> }

export interface Leadership {
  /** The queue metrics of the controllers that run on this server now. */
  queues(): ControllerRunner['queues']
  /** Resolves when the first duties are done here, or another server is known to lead. */
  readonly begun: Promise<void>
  /** Resolves when this server no longer takes part. */
  readonly ended: Promise<void>
}

export function runWhileLeading(parts: LeadershipParts & { readonly participant?: Participant | undefined }): Leadership {
  const { client, clientFor, groupDomain, gate, log, clock, signal, start, participant } = parts
  const holder = participant?.id ?? `${hostName()}_${newUuid()}`
  let queues: ControllerRunner['queues'] = []
  let begin = () => {}
  const begun = new Promise<void>(resolve => (begin = resolve))
  const options: ElectionOptions = {
    ...LEASE,
    leases: storedLeases(client),
    holder,
    timing: TIMING,
    onOther: begin,
    onError: error => log.warn({ error: failureText(error) }, 'what the leader does could not be started'),
    signal,
    async lead(term) {
      const fence = await beginTerm(parts, holder, term)
      log.info({}, 'this server runs the controllers from now on')
      const ending = abortedWith(term.signal, signal).signal
      // Every controller listens for the end.
      setMaxListeners(0, ending)
      const runner = controllerRunner({
        clientFor: clientFor({ mayWrite: term.mayWrite, fence }),
        groupDomain,
        gate,
        log,
        clock,
        signal: ending,
      })
      queues = runner.queues
      const { startOthers } = await start(runner, ending)
      begin()
      await startOthers()
      await aborted(ending)
      await runner.idle()
      queues = []
      log.info({}, 'this server runs the controllers no more')
    },
  }
  const takesPart = async () => {
    if (participant) await Promise.race([participant.appointed, aborted(signal)])
    await takePart(options)
  }
  return { queues: () => queues, begun, ended: takesPart() }
}

/** Resolves when the signal is aborted, at once if it is already. */
const aborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
}

/** Begins a term while the lease is still held. The store then rejects writes of the previous leader. */
async function beginTerm({ store, catalog, groupDomain }: LeadershipParts, holder: string, { leaseRevision }: Term): Promise<Fence> {
  const { group, version, names } = Lease.def
  const leases = catalog.findKnown(group.replace('{group_domain}', groupDomain), version, names.plural)!
  const { entry } = await store.get(TERM)
  const lease = { key: keyOf(leases, LEASE.namespace, LEASE.name), modified: leaseRevision() }
  const swap = await store.swap(TERM, { expect: entry?.modified ?? 0, value: Buffer.from(holder), fences: [lease] })
  if (!swap.ok) throw new Error('another server has taken over')
  return { key: TERM, modified: swap.revision }
}
