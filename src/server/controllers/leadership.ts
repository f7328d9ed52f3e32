/**
 * What only one server over a store does at a time: controllers, the scheduler and simulated nodes. A store that belongs to one server
 * needs no election. The lease is that of kube-controller-manager, so that one of these that still runs keeps ours from starting.
 */
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { hostname } from 'node:os'
import type { Client, ClientFor } from '../../client/client.ts'
import { type Timing, takePart } from '../../client/leader-election.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Clock } from '../../lib/clock.ts'
import { type ControllerRunner, controllerRunner } from './controller-runner.ts'

const LEASE = { namespace: 'kube-system', name: 'kube-controller-manager' }
/** Shorter than those of kube-controller-manager: the servers are close to the store, and users wait for the next leader. */
const TIMING: Timing = { leaseMs: 6_000, renewMs: 4_000, retryMs: 1_000 }

export type LeadershipParts = {
  /** Writes the lease. */
  readonly client: Client
  /** Clients whose writes fail when they are not allowed any more. */
  readonly clientFor: (mayWrite: () => boolean) => ClientFor
  readonly groupDomain: string
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Starts what the leader does; it ends with the signal. */
  readonly start: (runner: ControllerRunner, signal: AbortSignal) => Promise<void>
}

export interface Leadership {
  /** What the queues of the controllers count that run here now. */
  queues(): ControllerRunner['queues']
  /** Resolves when this server takes no part any more. */
  readonly ended: Promise<void>
}

export function runWhileLeading({ client, clientFor, groupDomain, log, clock, signal, start }: LeadershipParts): Leadership {
  let queues: ControllerRunner['queues'] = []
  const ended = takePart({
    ...LEASE,
    client,
    holder: `${hostname()}_${randomUUID()}`,
    timing: TIMING,
    onError: error => log.warn({ error: String(error) }, 'what the leader does could not be started'),
    signal,
    async lead(term, mayWrite) {
      log.info({}, 'this server runs the controllers from now on')
      const ending = AbortSignal.any([term, signal])
      // Every controller listens for the end.
      setMaxListeners(0, ending)
      const runner = controllerRunner({ clientFor: clientFor(mayWrite), groupDomain, log, clock, signal: ending })
      queues = runner.queues
      await start(runner, ending)
      if (!ending.aborted) await new Promise(resolve => ending.addEventListener('abort', resolve, { once: true }))
      await runner.idle()
      queues = []
      log.info({}, 'this server runs the controllers no more')
    },
  })
  return { queues: () => queues, ended }
}
