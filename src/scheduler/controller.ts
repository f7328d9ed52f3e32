/**
 * Schedules pods as kube-scheduler does. Its parts:
 *
 *     watches → PodChanges, ClusterChanges → Cluster, Occupancy (the state of nodes), SchedulingQueue (the pods that wait)
 *     SchedulingQueue → PodScheduler: decides about one pod after another, without waiting for anything
 *     PodScheduler → PodWrites: Binder, Preemptor and FailureReporter write the decisions meanwhile
 */
import { type Named, queueKey } from '../client/change.ts'
import { SCHEDULER } from '../client/identity.ts'
import { type Controller, type ControllerContext, defineController, type Running, watch } from '../controllers/controller.ts'
import { CLAIM_INDEX } from '../devices/pod-claims.ts'
import { Node } from '../kinds/core/node.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { monotonicMs } from '../lib/environment.ts'
import { Assertions } from '../schema/assertions.ts'
import type { Dial } from '../transport/egress.ts'
import { WebhookTransport } from '../transport/webhook-transport.ts'
import { Binder } from './binder.ts'
import { clientLookups } from './client-lookups.ts'
import { Cluster } from './cluster.ts'
import { ClusterChanges } from './cluster-changes.ts'
import { clientDevices } from './devices/client-devices.ts'
import type { ExtenderSettings } from './extenders/extender.ts'
import { Extenders } from './extenders/extenders.ts'
import { FailureReporter } from './failure-reporter.ts'
import type { GroupScheduling, groupScheduling } from './groups/group-scheduling.ts'
import { Nominations } from './nominations.ts'
import { Occupancy } from './occupancy.ts'
import { PodChanges } from './pod-changes.ts'
import { isResizeDeferred } from './pod-info.ts'
import { PodScheduler } from './pod-scheduler.ts'
import { podWriter } from './pod-writer.ts'
import { PodWrites } from './pod-writes.ts'
import { Preemptor } from './preemptor.ts'
import { Profiles } from './profiles.ts'
import { QueueGate } from './queue-gate.ts'
import { Requeuer } from './requeuer.ts'
import { type AttemptResult, type Pending, SchedulerMetrics } from './scheduler-metrics.ts'
import { SchedulingQueue } from './scheduling-queue.ts'
import { defaultSettings, type SchedulerSettings } from './settings.ts'
import { clientVolumes } from './volumes/client-volumes.ts'

export type SchedulerParts = {
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
  /** Only pods that name the scheduler of one of its profiles are scheduled. */
  readonly settings?: SchedulerSettings
  /** Whether a feature is on. */
  readonly gate: (name: string) => boolean
  readonly metrics?: SchedulerMetrics
  /** Opens connections to extenders, where they are not direct. */
  readonly dial?: Dial | undefined
  readonly assertions?: Assertions
  /** Makes the part that schedules pods with their groups; undefined to ignore groups. */
  readonly groupScheduling?: typeof groupScheduling | undefined
}

/** Keys of the work queue: pods are due, or may have waited too long. Any other key belongs to deferred writes. */
const NEXT = 'next'
const OVERDUE = 'overdue'
type Turn = typeof NEXT | typeof OVERDUE
const isTurn = (key: string): key is Turn => key === NEXT || key === OVERDUE
/** How many writes may be under way at the same time: they share the commits of the store. */
const WORKERS = 50
/** How often pods that have waited very long are looked for. */
const OVERDUE_CHECK_MS = 30_000

export const scheduler = (parts: SchedulerParts): Controller =>
  defineController({
    name: 'scheduler',
    identity: SCHEDULER,
    rank: 'going on',
    workers: WORKERS,
    create: context => createScheduler(parts, context),
  })

function createScheduler(
  {
    random,
    gate,
    settings = defaultSettings(gate),
    metrics = new SchedulerMetrics(),
    assertions = new Assertions(),
    dial,
    groupScheduling: forGroups,
  }: SchedulerParts,
  { client, signal, enqueue, onError }: ControllerContext,
): Running {
  const now = () => client.now.getTime()
  const wake = () => enqueue(NEXT)
  const profiles = new Profiles(settings.profiles, { client, onError })
  const { of: profileOf, eventsOf } = profiles
  const extenders = openExtenders(settings.extenders, { dial, signal })
  const writer = podWriter({ client, eventsOf })
  const { read } = writer
  const writes = new PodWrites(enqueue)

  const cluster = new Cluster()
  const nominations = new Nominations()
  const { devices, cluster: clusterDevices } = clientDevices({
    ...{ client, eventsOf, gate, assertions, signal },
    onFreed: () => clusterChanges.devicesChanged(),
  })
  const volumes = clientVolumes(client)
  const lookups = clientLookups(client, { devices, volumes })
  const preemptor = new Preemptor({
    ...{ writer, writes, nominations },
    onFailed: uid => queue.retry(uid) && wake(),
    onExecuted: (...execution) => metrics.groups.executed(...execution),
  })
  const { of: gateOf } = new QueueGate({ profileOf, read, lookups, preemptor, groups: () => groups })
  const queue: SchedulingQueue = new SchedulingQueue({ now, backOff: settings.backOff, gateOf })
  metrics.begun(() => pendingIn(queue, groups))
  const requeuer = new Requeuer({ profileOf, queue, read, cluster, lookups, wake })
  const occupancy = new Occupancy({ cluster, nominations, requeuer })

  const observe = (result: AttemptResult, pod: Pod, begun: number) =>
    metrics.attempted(result, profileOf(pod.spec.schedulerName).schedulerName, (monotonicMs() - begun) / 1000)
  const failures = new FailureReporter({
    ...{ writer, writes, occupancy, queue },
    putBack: queued => groups?.putBack(queued) === true,
    wake: afterMs => enqueue(NEXT, afterMs),
  })
  const binder = new Binder({
    ...{ writer, extenders, occupancy, queue, failures, observe, onError, signal },
    nominates: gate('NominatedNodeNameForExpectation'),
    onBound: ({ attempts, arrived }) => metrics.placed(attempts, (now() - arrived) / 1000),
    onReleased: () => clusterChanges.devicesChanged(),
    retry: enqueue,
  })
  const budgets = client.of(PodDisruptionBudget)
  const shared = {
    ...{ profileOf, queue, cluster, lookups, nominations, occupancy, preemptor, binder, failures, writer, writes },
    ...{ observe, onError, random, now, extenders, signal, metrics },
    budgets: () => budgets.list(),
  }
  const groups: GroupScheduling | undefined = forGroups?.({ ...shared, client, gate, gateOf, wake })
  const makesRoomForResizes = gate('InPlacePodVerticalScalingSchedulerPreemption')
  const isResize = (pod: Pod) => makesRoomForResizes && isResizeDeferred(pod)
  const podScheduler = new PodScheduler({ ...shared, groups, isResize })
  const withClaims = gate('DRANodeAllocatableResources')
  const { informer } = client.of(Pod)
  const podsOfClaim = (claim: Named) => Array.from(informer.byIndex(CLAIM_INDEX, queueKey(claim)), ({ uid }) => uid)
  const clusterChanges = new ClusterChanges({ cluster, devices: clusterDevices, volumes, requeuer, podsOfClaim, binder })
  const podChanges = new PodChanges({
    queue,
    nominations,
    occupancy,
    requeuer,
    binder,
    schedulerNames: profiles,
    isResize,
    withClaims,
    wake,
    groups,
  })

  return {
    watches: [
      watch(Node, change => void clusterChanges.node(change)),
      watch(Pod, change => void podChanges.apply(change)),
      ...clusterChanges.watches(),
      ...(groups?.watches ?? []),
    ],
    flushed: () => profiles.flushed(),
    reconcile: key => (isTurn(key) ? takeTurn(key, { queue, podScheduler, enqueue }) : writes.run(key)),
  }
}

type TurnParts = Pick<ControllerContext, 'enqueue'> & { readonly queue: SchedulingQueue; readonly podScheduler: PodScheduler }

/** Tries the pods that are due, or looks for those that have waited too long; resolves with the time until it has to be done again. */
async function takeTurn(turn: Turn, { queue, podScheduler, enqueue }: TurnParts): Promise<number | undefined> {
  if (turn === NEXT) {
    await podScheduler.run()
    if (queue.isAnyUnschedulable) enqueue(OVERDUE, OVERDUE_CHECK_MS)
    return queue.nextAfterMs
  }
  const nextMs = queue.retryOverdue()
  if (queue.nextAfterMs !== undefined) enqueue(NEXT)
  return nextMs
}

function pendingIn(queue: SchedulingQueue, groups: GroupScheduling | undefined): Pending {
  return {
    pods: queue.pending,
    entities: {
      pod: queue.count(({ pods }) => (pods ? 0 : 1)),
      // Composite groups are not counted, as in kube-scheduler.
      podgroup: queue.count(({ pods, uid }) => (pods && uid.startsWith('podgroup/') ? 1 : 0)),
    },
    incomplete: groups?.incomplete ?? 0,
  }
}

function openExtenders(
  settings: readonly ExtenderSettings[],
  { dial, signal }: { readonly dial: Dial | undefined; readonly signal: AbortSignal },
): Extenders | undefined {
  if (settings.length === 0) return undefined
  const transport = new WebhookTransport({ dial })
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  return new Extenders(settings, { transport, signal })
}
