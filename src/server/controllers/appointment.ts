/**
 * The process that runs controllers, the scheduler and simulated nodes where all processes over a store have one supervisor. It learns at
 * once that a process has ended, so it appoints another and nobody has to wait for a lease. A write that the last one sent right before its
 * end may still arrive: each term begins with a write to its own key, and the store makes the writes of a term only while that key is
 * unchanged.
 */
import { setMaxListeners } from 'node:events'
import { failureText } from '../../http/observability/failure-text.ts'
import { sleep } from '../../lib/environment.ts'
import type { Fence } from '../../lib/fence.ts'
import type { Siblings } from '../processes/siblings.ts'
import { type ControllerRunner, controllerRunner } from './controller-runner.ts'
import { type Leadership, type LeadershipParts, TERM } from './leadership.ts'

/** How soon a term is begun again that could not be. */
const AGAIN_MS = 100

export type AppointmentParts = Omit<LeadershipParts, 'catalog' | 'client'> & { readonly siblings: Siblings }

/** Runs the duties once this process is appointed, until it ends. */
export function runWhenAppointed(parts: AppointmentParts): Leadership {
  const { siblings, clientFor, groupDomain, gate, log, clock, signal, start } = parts
  let queues: ControllerRunner['queues'] = []
  let begin = () => {}
  const begun = new Promise<void>(resolve => (begin = resolve))
  const ended = untilAborted(signal)
  const lead = async () => {
    await Promise.race([siblings.appointed, ended])
    if (signal.aborted) return
    const fence = await beginTerm(parts)
    if (!fence) return
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

/** Fences off the process that was appointed before; undefined if this one ends before it can. */
async function beginTerm({ store, siblings, log, signal }: AppointmentParts): Promise<Fence | undefined> {
  const value = Buffer.from(`${siblings.id}/${siblings.number}`)
  while (!signal.aborted) {
    try {
      const { entry } = await store.get(TERM)
      const swap = await store.swap(TERM, { expect: entry?.modified ?? 0, value })
      if (swap.ok) return { key: TERM, modified: swap.revision }
    } catch (error) {
      // The process that keeps the store may be stopped. Should it have made the write, the next one replaces it.
      log.warn({ error: failureText(error) }, 'the controllers cannot begin yet; that is tried again')
      await sleep(AGAIN_MS, { signal }).catch(() => {})
    }
  }
  return undefined
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
