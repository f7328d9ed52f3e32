/** Takes pods from the queue one by one, decides about each at once, and leaves the writes that follow to others. */
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { messageOf } from '../lib/error-message.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { Binder, PluginReservation } from './binder.ts'
import type { Cluster } from './cluster.ts'
import { describe } from './diagnosis.ts'
import type { FailureReporter } from './failure-reporter.ts'
import { KeptResults } from './local-results.ts'
import type { Lookups } from './lookups.ts'
import type { Nominations } from './nominations.ts'
import type { Occupancy } from './occupancy.ts'
import { type Cycle, PluginError } from './plugin.ts'
import { podInfoOf } from './pod-info.ts'
import type { PodWriter } from './pod-writer.ts'
import type { PodWrites } from './pod-writes.ts'
import { preempt } from './preemption.ts'
import type { Preemptor } from './preemptor.ts'
import { PLUGINS } from './profile.ts'
import { NO_NODES } from './requeuer.ts'
import { type Placement, schedulePod } from './schedule-pod.ts'
import type { AttemptResult, SchedulerMetrics } from './scheduler-metrics.ts'
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts'

export type PodSchedulerParts = {
  readonly queue: SchedulingQueue
  readonly cluster: Cluster
  readonly lookups: Lookups
  readonly nominations: Nominations
  readonly occupancy: Occupancy
  readonly preemptor: Pick<Preemptor, 'evict'>
  readonly binder: Pick<Binder, 'bind'>
  readonly failures: Pick<FailureReporter, 'report' | 'fail'>
  readonly writer: Pick<PodWriter, 'read' | 'announceFailure'>
  readonly writes: PodWrites
  readonly budgets: () => Iterable<PodDisruptionBudget>
  readonly metrics: Pick<SchedulerMetrics, 'searched' | 'preempted'>
  readonly observe: (result: AttemptResult, begun: number) => void
  readonly onError: (error: unknown) => void
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
  /** Milliseconds. */
  readonly now: () => number
  readonly signal: AbortSignal
}

export class PodScheduler {
  readonly #parts: PodSchedulerParts
  readonly #rotation = { next: 0 }
  readonly #kept = new KeptResults()

  constructor(parts: PodSchedulerParts) {
    this.#parts = parts
  }

  /** Tries all pods that are due. */
  async run(): Promise<void> {
    const { queue, writer, signal } = this.#parts
    for (let queued = queue.pop(); queued && !signal.aborted; queued = queue.pop()) {
      const pod = writer.read(queued)
      if (!pod || pod.spec.nodeName) queue.remove(queued.uid)
      else if (pod.metadata.deletionTimestamp) {
        queue.remove(queued.uid)
        writer.announceFailure(pod, `skip schedule deleting pod: ${queued.namespace}/${queued.name}`)
      } else this.#try(queued, pod)
      await yieldToOthers()
    }
  }

  #try(queued: QueuedPod, pod: Pod): void {
    const { failures, observe, onError } = this.#parts
    const begun = performance.now()
    try {
      this.#schedule(queued, pod, begun)
    } catch (error) {
      if (!(error instanceof PluginError)) onError(error)
      observe('error', begun)
      failures.fail(queued, pod, messageOf(error))
    }
  }

  #schedule(queued: QueuedPod, pod: Pod, begun: number): void {
    const { cluster, lookups, nominations, random, queue, failures, metrics, observe } = this.#parts
    const stored = podInfoOf(pod)
    const info = { ...stored, nominatedNodeName: nominations.nodeOf(stored.uid) ?? stored.nominatedNodeName }
    const cycle: Cycle = { pod, info, cluster, lookups, state: new Map() }
    const placement = schedulePod(cycle, { plugins: PLUGINS, nominations, random, rotation: this.#rotation, kept: this.#kept })
    metrics.searched((performance.now() - begun) / 1000)
    if (placement.type === 'placed') {
      this.#assume(queued, cycle, { node: placement.node, begun })
      return
    }
    if (placement.type === 'rejected') this.#reject(queued, cycle, placement)
    else {
      queue.reject(queued, new Set([NO_NODES]))
      failures.report(pod, { reason: 'Unschedulable', message: 'no nodes available to schedule pods', nominatedNode: '' })
    }
    observe('unschedulable', begun)
  }

  /** Counts the pod as being on its node from now on, makes the reservations of all plugins, and leaves the rest to the binder. */
  #assume(queued: QueuedPod, cycle: Cycle, { node, begun }: { readonly node: string; readonly begun: number }): void {
    const { occupancy, writes, binder } = this.#parts
    const { pod } = cycle
    const info = { ...cycle.info, nodeName: node }
    const reservations = PLUGINS.flatMap(({ name, reserve }): PluginReservation[] => {
      const reservation = reserve?.(cycle, node)
      return reservation ? [{ plugin: name, reservation }] : []
    })
    occupancy.assume(info)
    writes.add(info.uid, () => binder.bind({ queued, pod, info, reservations, begun }))
  }

  /** No node fits: the pod waits, and may preempt less important ones. */
  #reject(queued: QueuedPod, cycle: Cycle, placement: Extract<Placement, { type: 'rejected' }>): void {
    const { nominations, random, now, budgets, metrics, queue, failures, writes } = this.#parts
    const { info, pod } = cycle
    const { diagnosis } = placement
    const preemption = preempt(cycle, placement, { nominations, random, now: now(), budgets: budgets() })
    metrics.preempted(preemption.type === 'victims' ? preemption.victims.length : 0)
    const postFiltered = PLUGINS.flatMap(plugin => plugin.postFilter?.(cycle) ?? [])
    const message = describe(diagnosis, [...postFiltered.map(each => each.message), preemption.message].filter(Boolean).join(', '))
    const nominatedNode = this.#nominate(cycle, preemption)
    queue.reject(queued, diagnosis.rejectors)
    failures.report(pod, { reason: 'Unschedulable', message, nominatedNode })
    // These writes are made after the pod is back in the queue, because they are a reason to try it again.
    for (const { write } of postFiltered) writes.add(info.uid, write)
  }

  /** Carries out a preemption; returns the new nominated node, empty for none, undefined when it stays the same. */
  #nominate({ info }: Cycle, preemption: ReturnType<typeof preempt>): string | undefined {
    const { nominations, occupancy, preemptor } = this.#parts
    if (preemption.type === 'victims') {
      preemptor.evict(info, preemption.node, preemption.victims)
      nominations.set(info, preemption.node)
      return preemption.node
    }
    if (preemption.keeps) return undefined
    occupancy.endNomination(info.uid)
    return ''
  }
}
