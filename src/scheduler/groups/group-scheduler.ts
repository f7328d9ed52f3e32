/**
 * Schedules the pods of one group at once: all pods for which nodes were found are bound, if they are enough; otherwise none is, less
 * important pods may have to leave, and the group is tried again after a while.
 */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodDisruptionBudget } from '../../kinds/policy/poddisruptionbudget.ts'
import { monotonicMs } from '../../lib/environment.ts'
import type { Binder } from '../binder.ts'
import type { Extenders } from '../extenders/extenders.ts'
import { KnownAnswers, MissingAnswers } from '../extenders/known-answers.ts'
import type { FailureReporter } from '../failure-reporter.ts'
import type { Occupancy } from '../occupancy.ts'
import type { GroupPostFilterResult } from '../plugin.ts'
import { type PodInfo, podInfoOf } from '../pod-info.ts'
import type { Failure } from '../pod-status.ts'
import type { PodWriter } from '../pod-writer.ts'
import type { PodWrites } from '../pod-writes.ts'
import type { Preemptor } from '../preemptor.ts'
import type { AttemptResult } from '../scheduler-metrics.ts'
import type { QueuedPod, SchedulingQueue } from '../scheduling-queue.ts'
import type { GroupAttemptResult, GroupMetrics, StatusCode } from './group-metrics.ts'
import { type GroupPreemption, preemptForGroup } from './group-preemption.ts'
import { byTurn, type GroupQueue } from './group-queue.ts'
import type { GroupCondition, GroupWriter } from './group-writer.ts'
import { type GroupKey, type GroupNode, groupKey, leavesOf, type PodGroupNode, type PodGroups, priorityOf } from './pod-groups.ts'
import { type GroupParts, type GroupResult, type GroupResults, scheduleGroup, type WaitingPod } from './schedule-group.ts'
import { errorOfStatus, errorStatus, isRejected, messageOfStatus, type Status, unschedulableGroup } from './status.ts'
import { type PodOutcome, Trial, type TrialParts } from './trial.ts'
import { Units } from './units.ts'

export type GroupSchedulerParts = TrialParts & {
  readonly groups: PodGroups
  readonly groupQueue: GroupQueue
  readonly queue: SchedulingQueue
  readonly occupancy: Occupancy
  readonly preemptor: Pick<Preemptor, 'evict'>
  readonly binder: Pick<Binder, 'bind'>
  readonly failures: Pick<FailureReporter, 'report'>
  readonly writer: Pick<PodWriter, 'read' | 'announceFailure'>
  readonly groupWriter: GroupWriter
  readonly writes: PodWrites
  /** Undefined when there are none. */
  readonly extenders?: Pick<Extenders, 'search'> | undefined
  readonly signal?: AbortSignal
  readonly metrics: { readonly groups: GroupMetrics }
  readonly budgets: () => Iterable<PodDisruptionBudget>
  readonly observe: (result: AttemptResult, pod: Pod, begun: number) => void
  /** Whether a feature is on. */
  readonly gate: (name: string) => boolean
  /** Milliseconds. */
  readonly now: () => number
}

/** One attempt to schedule a group. */
type Attempt = {
  readonly root: GroupNode
  readonly waiting: ReadonlyMap<GroupKey, readonly WaitingPod[]>
  readonly begun: number
  readonly profile: string
  /** Observations for metrics: they are made once the decision stands. */
  readonly observations: ((metrics: GroupMetrics) => void)[]
}

/** A group that was taken from the queue, and the extenders' answers so far. Those about nodes that others have left are not the same. */
type Trying = {
  readonly queued: QueuedPod
  readonly begun: number
  /** The pods whose attempt is counted. */
  readonly tried: Set<QueuedPod>
  readonly answers: { readonly trial: KnownAnswers; readonly preemption: KnownAnswers } | undefined
}

/** The context of the result for one pod group. `found` is its status before a preemption was tried. */
type Submission = { readonly attempt: Attempt; readonly preemption: GroupPreemption | undefined; readonly found: Status }

export class GroupScheduler {
  readonly #parts: GroupSchedulerParts
  readonly #trial: Trial
  readonly #units: Units

  constructor(parts: GroupSchedulerParts) {
    this.#parts = parts
    this.#trial = new Trial(parts)
    this.#units = new Units(parts)
  }

  /** Pods that leave together, for the preemption of single pods. */
  get units(): Units {
    return this.#units
  }

  /** Tries a group that was taken from the queue. Only with extenders anything is waited for. */
  async schedule(queued: QueuedPod): Promise<void> {
    const { queue, signal } = this.#parts
    const trying: Trying = { queued, begun: monotonicMs(), tried: new Set(), answers: this.#noAnswers() }
    this.#trial.begin()
    while (!signal?.aborted && queue.has(queued.uid)) {
      const missing = this.#decide(trying)
      if (!missing) return
      // Nothing of a trial may be there while something is waited for.
      this.#trial.again()
      await missing.asked
    }
  }

  #noAnswers(): Trying['answers'] {
    const { extenders } = this.#parts
    return extenders && { trial: new KnownAnswers(extenders), preemption: new KnownAnswers(extenders) }
  }

  /** Decides about a group and carries that out, unless extenders must be asked before. */
  #decide({ queued, begun, tried, answers }: Trying): { readonly asked: Promise<void> } | undefined {
    const { groups, queue, metrics } = this.#parts
    const waiting = this.#takePods(queued, tried)
    const root = groups.tree(queued.uid as GroupKey)
    // With its last pod the group has left the queue.
    if (!root || waiting.size === 0) return undefined
    const attempt: Attempt = { root, waiting, begun, profile: this.#profileOf(waiting), observations: [] }
    const invalid = this.#whyInvalid(attempt)
    const found =
      invalid === undefined
        ? answered(answers?.trial, () => scheduleGroup(root, this.#groupParts(attempt, answers?.trial)))
        : { value: new Map() }
    if (!('value' in found)) return found
    const searchedSeconds = (monotonicMs() - begun) / 1000
    const results: GroupResults = found.value
    const status = invalid === undefined ? results.get(root.key)!.status : errorStatus(invalid)
    const preempted =
      status.code === 'unschedulable'
        ? answered(answers?.preemption, () => this.#preempt(attempt, answers?.preemption))
        : { value: undefined }
    if (!('value' in preempted)) return preempted
    const preemption = preempted.value
    complete(root, results, { status, outcomes: [], isAnyPlaced: false })
    const before = new Map([...results].map(([key, result]) => [key, result.status]))
    const postFiltered = status.code === 'unschedulable' ? this.#postFilter(attempt, results) : []
    if (preemption)
      applyPreemption(
        results,
        preemption,
        postFiltered.map(({ message }) => message),
      )
    for (const leaf of leavesOf(root)) this.#submit(leaf, results.get(leaf.key)!, { attempt, preemption, found: before.get(leaf.key)! })
    this.#trial.keep()
    for (const { writes } of postFiltered) for (const write of writes) this.#parts.writes.add(`claims/${root.key}`, write)
    for (const observation of attempt.observations) observation(metrics.groups)
    // An invalid group is not counted, as in kube-scheduler.
    if (invalid === undefined) {
      metrics.groups.searched(searchedSeconds)
      metrics.groups.attempted(resultOf(results.get(root.key)!.status, preemption), attempt.profile, (monotonicMs() - begun) / 1000)
    }
    if (status.code !== 'success') queue.delay(queued, isRejected(status) ? 'rejected' : 'error')
    else queue.continue(queued, { keepsTurn: [...(queued.pods?.keys() ?? [])].some(uid => this.#isOf(attempt, uid)) })
    return undefined
  }

  #profileOf(waiting: Attempt['waiting']): string {
    const [first] = [...waiting.values()].flat()
    return this.#parts.profileOf(first?.pod.spec.schedulerName).schedulerName
  }

  #isOf({ waiting }: Attempt, uid: string): boolean {
    for (const pods of waiting.values()) if (pods.some(({ queued }) => queued.uid === uid)) return true
    return false
  }

  /** The pods of the group that can be tried, by pod group, in their order. The others leave the queue. */
  #takePods({ pods }: QueuedPod, tried: Set<QueuedPod>): Map<GroupKey, WaitingPod[]> {
    const { writer, groupQueue } = this.#parts
    const waiting = new Map<GroupKey, WaitingPod[]>()
    for (const queued of [...(pods?.values() ?? [])].sort(byTurn)) {
      const pod = writer.read(queued)
      if (!pod || pod.spec.nodeName || pod.metadata.deletionTimestamp) {
        groupQueue.remove(queued.uid)
        if (pod && !pod.spec.nodeName) writer.announceFailure(pod, `skip schedule deleting pod: ${queued.namespace}/${queued.name}`)
        continue
      }
      if (!tried.has(queued)) queued.attempts++
      tried.add(queued)
      const key = groupKey('podgroup', queued.namespace, pod.spec.schedulingGroup?.podGroupName ?? '')
      const others = waiting.get(key)
      if (others) others.push({ queued, pod })
      else waiting.set(key, [{ queued, pod }])
    }
    return waiting
  }

  #groupParts({ waiting, profile, observations }: Attempt, answers: KnownAnswers | undefined): GroupParts {
    const { cluster, gate } = this.#parts
    return {
      trial: this.#trial,
      waiting: leaf => waiting.get(leaf.key) ?? [],
      scheduled: leaf => this.#scheduled(leaf),
      nodes: cluster.nodes,
      nodeOf: name => cluster.node(name),
      hasTopology: gate('TopologyAwareWorkloadScheduling'),
      answers,
      onDomains: count => void observations.push(metrics => metrics.generated(profile, count)),
      onTried: (result, seconds) => void observations.push(metrics => metrics.tried(result, profile, seconds)),
    }
  }

  /** Why the pods of a group cannot be scheduled together, if they cannot. */
  #whyInvalid({ root, waiting }: Attempt): string | undefined {
    const { cluster, groups, writer, gate } = this.#parts
    const [first] = [...waiting.values()].flat()
    const schedulerName = first!.pod.spec.schedulerName ?? ''
    const priority = priorityOf(root)
    const isDeclared = gate('PodGroupPreemptionPolicy')
    const policy = isDeclared ? (root.object.spec.preemptionPolicy ?? 'PreemptLowerPriority') : policyOf(first!.pod)
    const placed = [...leavesOf(root)].flatMap(({ key }) => [...groups.membersOf(key)].flatMap(uid => cluster.pod(uid) ?? []))
    const pods = [...[...waiting.values()].flatMap(all => all.map(({ pod }) => pod)), ...placed.flatMap(info => writer.read(info) ?? [])]
    for (const pod of pods) {
      const { schedulerName: name = '', priority: own = 0 } = pod.spec
      if (name !== schedulerName)
        return `all pods in a single pod group should have the same .spec.schedulerName set, got: "${name}" and "${schedulerName}"`
      if (own !== priority)
        return `all pods in a single pod group should have the same priority as the pod group's priority, got ${own} and ${priority}`
      if (policyOf(pod) !== policy)
        return isDeclared
          ? `all pods in a single pod group should have the same preemption policy as the pod group's preemption policy, got ${policyOf(pod)} and ${policy}`
          : `all pods in a single pod group should have the same preemption policy, got ${policyOf(pod)} and ${policy}`
    }
    return undefined
  }

  /** The results of plugins that can help a group that does not fit. Composite groups, and those with constraints, are left alone. */
  #postFilter({ root, waiting }: Attempt, results: GroupResults): GroupPostFilterResult[] {
    const { profileOf, gate } = this.#parts
    if (root.type === 'compositepodgroup') return []
    if (gate('TopologyAwareWorkloadScheduling') && root.object.spec.schedulingConstraints !== undefined) return []
    const { outcomes = [] } = results.get(root.key) ?? {}
    const cycles = outcomes.flatMap(outcome =>
      outcome.type === 'placed' || (outcome.type === 'rejected' && !outcome.isFinal) ? [outcome.cycle] : [],
    )
    const [first] = waiting.get(root.key) ?? []
    const isAnyPlaced = this.#scheduled(root).length > 0
    return profileOf(first?.pod.spec.schedulerName).groupPostFilters.flatMap(
      plugin => plugin.groupPostFilter?.(cycles, { isAnyPlaced }) ?? [],
    )
  }

  #scheduled({ key }: PodGroupNode): PodInfo[] {
    const { cluster, groups } = this.#parts
    return [...groups.membersOf(key)].flatMap(uid => cluster.pod(uid) ?? [])
  }

  /** Preempts pods of lower priority. As in kube-scheduler, extenders take no part in the choice of victims. */
  #preempt(attempt: Attempt, answers: KnownAnswers | undefined): GroupPreemption | undefined {
    const { budgets, gate, now, preemptor, profileOf } = this.#parts
    const { root, observations } = attempt
    const waiting = [...attempt.waiting.values()].flat()
    const { pod } = waiting[0]!
    if (!profileOf(pod.spec.schedulerName).preemption) return undefined
    const preemption = preemptForGroup(root, waiting, {
      ...this.#groupParts(attempt, answers),
      units: this.#units,
      budgets: budgets(),
      now: now(),
      hasPolicy: gate('PodGroupPreemptionPolicy'),
      onEvaluated: (code, seconds) => void observations.push(metrics => metrics.evaluated('podgroup', STATUS_CODES[code], seconds)),
    })
    observations.push(metrics => metrics.preempted(STATUS_CODES[preemption.type === 'none' ? preemption.status.code : 'success']))
    if (preemption.type !== 'victims') return preemption
    const { namespace = '', name = '', uid = '' } = root.object.metadata
    const by = { namespace, name, uid, priority: priorityOf(root), asGroup: { type: root.type, object: root.object, pod } }
    preemptor.evict(by, WHOLE_CLUSTER, preemption.victims)
    const { victims, units, violations } = preemption
    observations.push(metrics => {
      metrics.chosen(root.type, { victims: victims.length, units })
      metrics.violated(root.type, violations)
    })
    return preemption
  }

  /** Carries out the result for a pod group: binds its pods, or says of each why it has no node. */
  #submit(leaf: PodGroupNode, { status, outcomes }: GroupResult, { attempt, preemption, found }: Submission): void {
    const { groupWriter, writes } = this.#parts
    for (const [i, waiting] of (attempt.waiting.get(leaf.key) ?? []).entries()) {
      const outcome = outcomes[i]
      if (status.code === 'success' && outcome?.type === 'placed') this.#bind(waiting, outcome, attempt)
      else this.#fail(waiting, failureOf(outcome, { uid: waiting.queued.uid, status, preemption, found }), attempt)
    }
    const condition = conditionOf(status)
    writes.add(leaf.key, () => groupWriter.report(leaf.object, condition))
  }

  #bind({ queued, pod }: WaitingPod, { info, reservations }: Extract<PodOutcome, { type: 'placed' }>, { begun }: Attempt): void {
    const { groupQueue, occupancy, writes, binder } = this.#parts
    groupQueue.remove(info.uid)
    occupancy.assume(info)
    writes.add(info.uid, () => binder.bind({ queued, pod, info, reservations, begun }))
  }

  #fail({ queued, pod }: WaitingPod, failure: Failure, { begun }: Attempt): void {
    const { failures, nominations, occupancy, observe, now } = this.#parts
    queued.since = now()
    if (failure.nominatedNode === '') occupancy.endNomination(queued.uid)
    else if (failure.nominatedNode !== undefined) nominations.set(podInfoOf(pod), failure.nominatedNode)
    failures.report(pod, failure)
    observe(failure.reason === 'SchedulerError' ? 'error' : 'unschedulable', pod, begun)
  }
}

const STATUS_CODES: Readonly<Record<Status['code'], StatusCode>> = {
  success: 'Success',
  wait: 'Unschedulable',
  unschedulable: 'Unschedulable',
  unresolvable: 'UnschedulableAndUnresolvable',
  error: 'Error',
}

/** The result of an attempt for metrics. */
function resultOf(status: Status, preemption: GroupPreemption | undefined): GroupAttemptResult {
  if (status.code === 'success') return 'scheduled'
  if (!isRejected(status)) return 'error'
  return preemption && preemption.type !== 'none' ? 'waiting_on_preemption' : 'unschedulable'
}

/** The result of a decision, or the end of the questions that it needs an answer to. */
function answered<T>(answers: KnownAnswers | undefined, decide: () => T): { readonly value: T } | { readonly asked: Promise<void> } {
  try {
    return { value: decide() }
  } catch (error) {
    if (!answers || !(error instanceof MissingAnswers)) throw error
    return { asked: answers.ask(error) }
  }
}

/** The name of the place where a group preempts others, in events. */
const WHOLE_CLUSTER = 'cluster'

const policyOf = ({ spec }: Pod): string => spec.preemptionPolicy ?? 'PreemptLowerPriority'

/** Gives every group a result: a group that was not tried, or has succeeded in vain, has the result of its parent group. */
function complete(node: GroupNode, results: GroupResults, above: GroupResult): void {
  const own = results.get(node.key)
  const isInVain = above.status.code !== 'success' && own?.status.code === 'success'
  const result = own && !isInVain ? own : { status: above.status, outcomes: [], isAnyPlaced: false }
  results.set(node.key, result)
  for (const child of node.children) complete(child, results, result)
}

/** Adds to every result how the preemption went, after the messages of other plugins unless it decides alone. */
function applyPreemption(results: GroupResults, preemption: GroupPreemption, messages: readonly string[]): void {
  const prefixed = (text: string) => `pod group preemption: ${text}`
  let reason: string
  if (preemption.type !== 'none') reason = prefixed(preemption.reason)
  else {
    const { code, reasons } = preemption.status
    const text = prefixed(reasons.join(', '))
    if (code === 'error') {
      const failed = errorStatus(`error in "DefaultPreemption" PodGroupPostFilter plugins: ${text}`)
      for (const result of results.values()) result.status = failed
      return
    }
    reason = code === 'unschedulable' ? [...messages, text].join(', ') : text
  }
  for (const result of results.values()) result.status = { ...result.status, reasons: [...result.status.reasons, reason] }
}

/** Why a pod has no node, and for which it is nominated. */
function failureOf(
  outcome: PodOutcome | undefined,
  { uid, status, preemption, found }: Omit<Submission, 'attempt'> & { readonly uid: string; readonly status: Status },
): Failure {
  if (status.code === 'error') {
    const message = outcome?.type === 'error' ? outcome.message : errorOfStatus(status)
    return { reason: 'SchedulerError', message, nominatedNode: '' }
  }
  const isPreempting = preemption !== undefined && preemption.type !== 'none'
  const nominatedNode = isPreempting ? preemption.nominated.get(uid) : undefined
  const unschedulable = (message: string, node = nominatedNode): Failure => ({ reason: 'Unschedulable', message, nominatedNode: node })
  if (outcome?.type === 'rejected') return unschedulable(outcome.message, nominatedNode ?? (outcome.isFinal ? '' : undefined))
  if (outcome?.type !== 'placed') return unschedulable(messageOfStatus(found))
  if (isPreempting) return unschedulable(messageOfStatus(status))
  return unschedulable(messageOfStatus(unschedulableGroup(messageOfStatus(status))), '')
}

function conditionOf(status: Status): GroupCondition {
  if (status.code === 'success') return { status: 'True', reason: 'Scheduled', message: '' }
  if (isRejected(status)) return { status: 'False', reason: 'Unschedulable', message: messageOfStatus(status) }
  return { status: 'False', reason: 'SchedulerError', message: errorOfStatus(status) }
}
