/**
 * Schedules pods as kube-scheduler does. Its parts:
 *
 *     watches → PodChanges, ClusterChanges → Cluster, Occupancy (the state of nodes), SchedulingQueue (the pods that wait)
 *     SchedulingQueue → PodScheduler: decides about one pod after another, without waiting for anything
 *     PodScheduler → PodWrites: Binder, Preemptor and FailureReporter write the decisions meanwhile
 */
import { type Named, queueKey } from '../client/change.ts'
import { SCHEDULER } from '../client/identity.ts'
import { seriesRecorder } from '../client/series-recorder.ts'
import { type Controller, type ControllerContext, defineController, type Running, watch } from '../controllers/controller.ts'
import { CLAIM_INDEX } from '../devices/pod-claims.ts'
import { Node } from '../kinds/core/node.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { hostName, monotonicMs } from '../lib/environment.ts'
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
import type { Lookups } from './lookups.ts'
import { Nominations } from './nominations.ts'
import { Occupancy } from './occupancy.ts'
import { PodChanges } from './pod-changes.ts'
import { PodScheduler } from './pod-scheduler.ts'
import { type PodWriter, podWriter } from './pod-writer.ts'
import { PodWrites } from './pod-writes.ts'
import { Preemptor } from './preemptor.ts'
import type { ProfileOf } from './profile.ts'
import { Requeuer } from './requeuer.ts'
import { type AttemptResult, SchedulerMetrics } from './scheduler-metrics.ts'
import { type QueuedPod, SchedulingQueue } from './scheduling-queue.ts'
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
/** How many writes may be under way at the same time: they share the commits of the store. */
const WORKERS = 50
/** How often pods that have waited very long are looked for. */
const OVERDUE_CHECK_MS = 30_000

export const scheduler = (parts: SchedulerParts): Controller =>
  defineController({ name: 'scheduler', identity: SCHEDULER, workers: WORKERS, create: context => createScheduler(parts, context) })

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
  const { profiles, backOff } = settings
  const extenders = openExtenders(settings.extenders, { dial, signal })
  const now = () => client.now.getTime()
  const wake = () => enqueue(NEXT)
  const bySchedulerName = new Map(profiles.map(profile => [profile.schedulerName, profile]))
  const profileOf: ProfileOf = name => bySchedulerName.get(name ?? '') ?? profiles[0]!
  const recorders = new Map(
    profiles.map(profile => {
      const { schedulerName: controller } = profile
      return [profile, seriesRecorder({ client, controller, instance: `${controller}-${hostName()}`, onError })]
    }),
  )
  const eventsOf = (pod: Pod | undefined) => recorders.get(profileOf(pod?.spec.schedulerName))!
  const writer = podWriter({ client, eventsOf })
  const { read } = writer
  const writes = new PodWrites(enqueue)

  const cluster = new Cluster()
  const nominations = new Nominations()
  const { devices, cluster: clusterDevices } = clientDevices({ client, eventsOf, gate, assertions })
  const volumes = clientVolumes(client)
  const lookups = clientLookups(client, { devices, volumes })
  const preemptor = new Preemptor({
    ...{ writer, writes, nominations },
    onFailed: uid => queue.retry(uid) && wake(),
    onExecuted: (...execution) => metrics.groups.executed(...execution),
  })
  const gateOfQueued = (queued: QueuedPod) => gateOf(queued, { profileOf, read, lookups, preemptor, groups })
  const queue: SchedulingQueue = new SchedulingQueue({ now, backOff, gateOf: gateOfQueued })
  metrics.begun(() => ({
    pods: queue.pending,
    entities: {
      pod: queue.count(({ pods }) => (pods ? 0 : 1)),
      // Composite groups are not counted, as in kube-scheduler.
      podgroup: queue.count(({ pods, uid }) => (pods && uid.startsWith('podgroup/') ? 1 : 0)),
    },
    incomplete: groups?.incomplete ?? 0,
  }))
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
    writer,
    tellsNodes: gate('NominatedNodeNameForExpectation'),
    extenders,
    occupancy,
    queue,
    failures,
    observe,
    onBound: ({ attempts, arrived }) => metrics.placed(attempts, (now() - arrived) / 1000),
    onReleased: () => clusterChanges.devicesChanged(),
    onError,
    retry: enqueue,
    signal,
  })
  const budgets = client.of(PodDisruptionBudget)
  const shared = {
    ...{ profileOf, queue, cluster, lookups, nominations, occupancy, preemptor, binder, failures, writer, writes },
    ...{ observe, onError, random, now, extenders, signal, metrics },
    budgets: () => budgets.list(),
  }
  const groups: GroupScheduling | undefined = forGroups?.({ ...shared, client, gate, gateOf: gateOfQueued, wake })
  const podScheduler = new PodScheduler({ ...shared, groups })
  const pods = client.of(Pod)
  const podsOfClaim = (claim: Named) => Array.from(pods.informer.byIndex(CLAIM_INDEX, queueKey(claim)), ({ uid }) => uid)
  const clusterChanges = new ClusterChanges({ cluster, devices: clusterDevices, volumes, requeuer, podsOfClaim, binder })
  const podChanges = new PodChanges({ queue, nominations, occupancy, requeuer, binder, schedulerNames: bySchedulerName, wake, groups })

  return {
    watches: [
      watch(Node, change => void clusterChanges.node(change)),
      watch(Pod, change => void podChanges.apply(change)),
      ...clusterChanges.watches(),
      ...(groups?.watches ?? []),
    ],
    async flushed() {
      for (const events of recorders.values()) await events.flushed()
    },
    async reconcile(key) {
      if (key !== NEXT && key !== OVERDUE) return writes.run(key)
      if (key === NEXT) {
        await podScheduler.run()
        if (queue.isAnyUnschedulable) enqueue(OVERDUE, OVERDUE_CHECK_MS)
        return queue.nextAfterMs
      }
      const nextMs = queue.retryOverdue()
      if (queue.nextAfterMs !== undefined) wake()
      return nextMs
    },
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

type GateParts = {
  readonly profileOf: ProfileOf
  readonly read: PodWriter['read']
  readonly lookups: Lookups
  readonly preemptor: Preemptor
  readonly groups: Pick<GroupScheduling, 'gateOf'> | undefined
}

/** The plugin whose events a pod has to wait for before it may be tried, empty for no plugin; undefined when it may be tried. */
function gateOf(queued: QueuedPod, parts: GateParts): string | undefined {
  if (queued.pods) {
    const own = parts.groups?.gateOf(queued)
    if (own !== undefined) return own
    // A pod that must not be tried holds back its group.
    for (const member of queued.pods.values()) {
      const gate = gateOf(member, parts)
      if (gate !== undefined) return gate
    }
    return undefined
  }
  const { profileOf, read, lookups, preemptor } = parts
  const pod = read(queued)
  const plugin = pod && profileOf(queued.schedulerName).gates.find(({ gate }) => gate?.(pod, lookups))
  return plugin?.name ?? (preemptor.isEvicting(queued.uid) ? '' : undefined)
}
