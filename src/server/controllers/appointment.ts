/**
 * The process that runs controllers, the scheduler and simulated nodes where all processes over a store have one supervisor. It learns at
 * once that a process has ended, so it appoints another and nobody has to wait for a lease. A write that the last one sent right before its
 * end may still arrive: each term begins with a write to its own key, and the store makes the writes of a term only while that key is
 * unchanged.
 */
import { setMaxListeners } from 'node:events'
import type { Fence } from '../../lib/fence.ts'
import type { Store } from '../../storage/store.ts'
import type { Siblings } from '../processes/siblings.ts'
import { type ControllerRunner, controllerRunner } from './controller-runner.ts'
import { type Leadership, type LeadershipParts, TERM } from './leadership.ts'

export type AppointmentParts = Omit<LeadershipParts, 'catalog' | 'client'> & { readonly siblings: Siblings }

/** Runs the duties once this process is appointed, until it ends. */
export function runWhenAppointed(parts: AppointmentParts): Leadership {
  const { siblings, store, clientFor, groupDomain, gate, log, clock, signal, start } = parts
  let queues: ControllerRunner['queues'] = []
  let begin = () => {}
  const begun = new Promise<void>(resolve => (begin = resolve))
  const ended = untilAborted(signal)
  const lead = async () => {
    await Promise.race([siblings.appointed, ended])
    if (signal.aborted) return
    const fence = await beginTerm(store, siblings)
    log.info({}, 'this process runs the controllers from now on')
    // Every controller listens for the end.
    setMaxListeners(0, signal)
    const runner = controllerRunner({ clientFor: clientFor({ mayWrite: () => true, fence }), groupDomain, gate, log, clock, signal })
    queues = runner.queues
    const { startOthers } = await start(runner, signal)
    begin()
    await startOthers()
    await ended
    await runner.idle()
  }
  return { queues: () => queues, begun, ended: lead() }
}

/** Fences off the process that was appointed before. */
async function beginTerm(store: Store, { id, number }: Siblings): Promise<Fence> {
  const value = Buffer.from(`${id}/${number}`)
  for (let { entry } = await store.get(TERM); ; ) {
    const swap = await store.swap(TERM, { expect: entry?.modified ?? 0, value })
    if (swap.ok) return { key: TERM, modified: swap.revision }
    entry = swap.current
  }
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
