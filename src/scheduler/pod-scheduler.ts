/** Takes pods from the queue one by one, decides about each at once, and leaves the writes that follow to others. */
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { monotonicMs } from '../lib/environment.ts'
import { messageOf } from '../lib/error-message.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { Binder, PluginReservation } from './binder.ts'
import type { Cluster } from './cluster.ts'
import { describe } from './diagnosis.ts'
import type { Extenders } from './extenders/extenders.ts'
import type { FailureReporter } from './failure-reporter.ts'
import type { GroupMetrics } from './groups/group-metrics.ts'
import type { GroupScheduling } from './groups/group-scheduling.ts'
import { KeptResults } from './local-results.ts'
import type { Lookups } from './lookups.ts'
import type { Nominations } from './nominations.ts'
import type { Occupancy } from './occupancy.ts'
import { type Cycle, PluginError, placedOn } from './plugin.ts'
import { DEFERRED_POD_SCHEDULING } from './plugins/deferred-pod-scheduling.ts'
import { podInfoOf } from './pod-info.ts'
import type { PodWriter } from './pod-writer.ts'
import type { PodWrites } from './pod-writes.ts'
import { candidatesFor, type Preemption, type PreemptionParts, preempt, type Rejected } from './preemption.ts'
import type { Preemptor } from './preemptor.ts'
import type { Profile, ProfileOf } from './profile.ts'
import { NO_NODES } from './requeuer.ts'
import { type Placement, schedulePod } from './schedule-pod.ts'
import type { AttemptResult, SchedulerMetrics } from './scheduler-metrics.ts'
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts'

export type PodSchedulerParts = {
  readonly profileOf: ProfileOf
  /** Undefined when there are none. */
  readonly extenders?: Pick<Extenders, 'schedulePod' | 'preempt'> | undefined
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
  readonly metrics: Pick<SchedulerMetrics, 'searched' | 'preempted'> & { readonly groups?: Pick<GroupMetrics, 'evaluated' | 'violated'> }
  readonly observe: (result: AttemptResult, pod: Pod, begun: number) => void
  readonly onError: (error: unknown) => void
  /** Whether a pod that has a node is tried because of a resize. */
  readonly isResize: (pod: Pod) => boolean
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
  /** Milliseconds. */
  readonly now: () => number
  readonly signal: AbortSignal
  /** Schedules pods that wait with their group; undefined when groups are ignored. */
  readonly groups?: Pick<GroupScheduling, 'schedule' | 'unitsOn'> | undefined
}

/** The profile makes no room. A nomination by another client stays. */
const NO_PREEMPTION: Preemption = { type: 'none', keeps: true, message: '' }

export class PodScheduler {
  readonly #parts: PodSchedulerParts
  readonly #rotation = { next: 0 }
  readonly #kept = new Map<Profile, KeptResults>()

  constructor(parts: PodSchedulerParts) {
    this.#parts = parts
  }

  /** Tries all pods that are due. */
  async run(): Promise<void> {
    const { queue, writer, signal, groups, isResize } = this.#parts
    for (let queued = queue.pop(); queued && !signal.aborted; queued = queue.pop()) {
      if (queued.pods) {
        await groups?.schedule(queued)
        await yieldToOthers()
        continue
      }
      const pod = writer.read(queued)
      if (!pod || (pod.spec.nodeName && !isResize(pod))) queue.remove(queued.uid)
      else if (pod.metadata.deletionTimestamp) {
        queue.remove(queued.uid)
        writer.announceFailure(pod, `skip schedule deleting pod: ${queued.namespace}/${queued.name}`)
      } else await this.#try(queued, pod)
      await yieldToOthers()
    }
  }

  async #try(queued: QueuedPod, pod: Pod): Promise<void> {
    const { failures, queue, isResize, observe, onError } = this.#parts
    const begun = monotonicMs()
    try {
      await this.#schedule(queued, pod, begun)
    } catch (error) {
      if (!(error instanceof PluginError)) onError(error)
      observe('error', pod, begun)
      if (isResize(pod)) queue.fail(queued)
      else failures.fail(queued, pod, messageOf(error))
    }
  }

  async #schedule(queued: QueuedPod, pod: Pod, begun: number): Promise<void> {
    const { profileOf, extenders, cluster, lookups, nominations, random, queue, failures, metrics, observe } = this.#parts
    const stored = podInfoOf(pod)
    const info = { ...stored, nominatedNodeName: nominations.nodeOf(stored.uid) ?? stored.nominatedNodeName }
    const cycle: Cycle = { pod, info, cluster, lookups, state: new Map() }
    const profile = profileOf(info.schedulerName)
    const parts = { profile, nominations, random, rotation: this.#rotation, kept: this.#keptFor(profile) }
    const placement = extenders ? await extenders.schedulePod(cycle, parts) : schedulePod(cycle, parts)
    if (extenders && !this.#isStillDue(queued, placement)) return
    metrics.searched((monotonicMs() - begun) / 1000)
    if (placement.type === 'placed') {
      if (!info.isResizeDeferred) {
        this.#assume(queued, cycle, { node: placement.node, begun })
        return
      }
      // There is room: its node will give it more by itself.
      queue.reject(queued, new Set([DEFERRED_POD_SCHEDULING]))
    } else if (placement.type === 'rejected') await this.#reject(queued, cycle, placement)
    else {
      queue.reject(queued, new Set([NO_NODES]))
      if (!info.isResizeDeferred)
        failures.report(pod, { reason: 'Unschedulable', message: 'no nodes available to schedule pods', nominatedNode: '' })
    }
    observe('unschedulable', pod, begun)
  }

  /** Whether the decision still stands after extenders were waited for: the pod may be gone or bound, or its node gone. */
  #isStillDue(queued: QueuedPod, placement: Placement): boolean {
    const { queue, writer, cluster, signal, isResize } = this.#parts
    const pod = writer.read(queued)
    if (signal.aborted || !queue.has(queued.uid)) return false
    if (!pod || (pod.spec.nodeName && !isResize(pod)) || pod.metadata.deletionTimestamp) queue.remove(queued.uid)
    else if (placement.type === 'placed' && !cluster.node(placement.node)) queue.fail(queued)
    else return true
    return false
  }

  /** Only with extenders anything is waited for. */
  #preempt(cycle: Cycle, rejected: Rejected, parts: PreemptionParts): Preemption | Promise<Preemption> {
    const { extenders, writer } = this.#parts
    if (!extenders) return preempt(cycle, rejected, parts)
    const candidates = candidatesFor(cycle, rejected, parts)
    return Array.isArray(candidates) ? extenders.preempt(cycle, candidates, { now: parts.now, read: writer.read }) : candidates
  }

  /** Results depend on the plugins and their weights. */
  #keptFor(profile: Profile): KeptResults {
    let kept = this.#kept.get(profile)
    if (!kept) this.#kept.set(profile, (kept = new KeptResults()))
    return kept
  }

  /** Counts the pod as being on its node from now on, makes the reservations of all plugins, and leaves the rest to the binder. */
  #assume(queued: QueuedPod, cycle: Cycle, { node, begun }: { readonly node: string; readonly begun: number }): void {
    const { profileOf, occupancy, writes, binder } = this.#parts
    const { pod } = cycle
    const reservations = profileOf(cycle.info.schedulerName).reservers.flatMap(({ name, reserve }): PluginReservation[] => {
      const reservation = reserve?.(cycle, node)
      return reservation ? [{ plugin: name, reservation }] : []
    })
    const info = placedOn(node, cycle.info, reservations)
    occupancy.assume(info)
    writes.add(info.uid, () => binder.bind({ queued, pod, info, reservations, begun }))
  }

  /** No node fits: the pod waits, and may preempt less important ones. */
  async #reject(queued: QueuedPod, cycle: Cycle, placement: Extract<Placement, { type: 'rejected' }>): Promise<void> {
    const { profileOf, nominations, preemptor, random, now, budgets, metrics, queue, failures, writes, groups } = this.#parts
    const { info, pod } = cycle
    const { diagnosis } = placement
    const { preemption: args, postFilters } = profileOf(info.schedulerName)
    const unitsOn = groups?.unitsOn
    const begun = monotonicMs()
    const preemption = args
      ? await this.#preempt(cycle, placement, { nominations, random, now: now(), budgets: budgets(), args, unitsOn })
      : NO_PREEMPTION
    if (args) {
      const { length = 0 } = preemption.type === 'victims' ? preemption.victims : []
      metrics.preempted(length)
      metrics.groups?.evaluated('pod', length > 0 ? 'Success' : 'Unschedulable', (monotonicMs() - begun) / 1000)
      if (preemption.type === 'victims') metrics.groups?.violated('pod', preemption.violations)
    }
    if (info.isResizeDeferred) {
      // The pod has its node and runs there: nothing is said about it.
      if (preemption.type === 'victims') preemptor.evict(info, preemption.node, preemption.victims)
      queue.reject(queued, diagnosis.rejectors)
      return
    }
    const postFiltered = postFilters.flatMap(plugin => plugin.postFilter?.(cycle) ?? [])
    const message = describe(diagnosis, [...postFiltered.map(each => each.message), preemption.message].filter(Boolean).join(', '))
    const nominatedNode = this.#nominate(cycle, preemption)
    queue.reject(queued, diagnosis.rejectors)
    failures.report(pod, { reason: 'Unschedulable', message, nominatedNode })
    // These writes are made after the pod is back in the queue, because they are a reason to try it again.
    for (const { write } of postFiltered) writes.add(info.uid, write)
  }

  /** Carries out a preemption; returns the new nominated node, empty for none, undefined when it stays the same. */
  #nominate({ info }: Cycle, preemption: Preemption): string | undefined {
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
