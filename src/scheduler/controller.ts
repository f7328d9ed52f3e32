/**
 * Schedules pods as kube-scheduler does. Its parts:
 *
 *     watches → PodChanges, ClusterChanges → Cluster, Occupancy (the state of nodes), SchedulingQueue (the pods that wait)
 *     SchedulingQueue → PodScheduler: decides about one pod after another, without waiting for anything
 *     PodScheduler → PodWrites: Binder, Preemptor and FailureReporter write the decisions meanwhile
 */
import { hostname } from 'node:os'
import { type Named, queueKey } from '../client/change.ts'
import { SCHEDULER } from '../client/identity.ts'
import { seriesRecorder } from '../client/series-recorder.ts'
import { type Controller, type ControllerContext, defineController, type Running, watch } from '../controllers/controller.ts'
import { CLAIM_INDEX } from '../devices/pod-claims.ts'
import { Node } from '../kinds/core/node.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { Binder } from './binder.ts'
import { clientLookups } from './client-lookups.ts'
import { Cluster } from './cluster.ts'
import { ClusterChanges } from './cluster-changes.ts'
import { clientDevices } from './devices/client-devices.ts'
import { FailureReporter } from './failure-reporter.ts'
import type { Lookups } from './lookups.ts'
import { Nominations } from './nominations.ts'
import { Occupancy } from './occupancy.ts'
import { hasSchedulingGates } from './plugins/scheduling-gates.ts'
import { PodChanges } from './pod-changes.ts'
import { PodScheduler } from './pod-scheduler.ts'
import { type PodWriter, podWriter } from './pod-writer.ts'
import { PodWrites } from './pod-writes.ts'
import { Preemptor } from './preemptor.ts'
import { PLUGINS } from './profile.ts'
import { Requeuer } from './requeuer.ts'
import { type AttemptResult, SchedulerMetrics } from './scheduler-metrics.ts'
import { type QueuedPod, SchedulingQueue } from './scheduling-queue.ts'
import { clientVolumes } from './volumes/client-volumes.ts'

export type SchedulerParts = {
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
  /** Only pods that name this scheduler are scheduled. */
  readonly schedulerName?: string
  /** Whether a feature is on. */
  readonly gate: (name: string) => boolean
  readonly metrics?: SchedulerMetrics
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
  { random, schedulerName = 'default-scheduler', gate, metrics = new SchedulerMetrics() }: SchedulerParts,
  { client, signal, enqueue, onError }: ControllerContext,
): Running {
  const now = () => client.now.getTime()
  const wake = () => enqueue(NEXT)
  const events = seriesRecorder({ client, controller: schedulerName, instance: `${schedulerName}-${hostname()}`, onError })
  const writer = podWriter({ client, events, schedulerName })
  const { read } = writer
  const writes = new PodWrites(enqueue)

  const cluster = new Cluster()
  const nominations = new Nominations()
  const { devices, cluster: clusterDevices } = clientDevices({ client, events, gate })
  const volumes = clientVolumes(client)
  const lookups = clientLookups(client, { devices, volumes })
  const preemptor = new Preemptor({ writer, writes, nominations, onFailed: uid => queue.retry(uid) && wake() })
  const queue: SchedulingQueue = new SchedulingQueue({ now, gateOf: pod => gateOf(pod, { read, lookups, preemptor }) })
  metrics.begun(() => queue.pending)
  const requeuer = new Requeuer({ queue, read, cluster, lookups, wake })
  const occupancy = new Occupancy({ cluster, nominations, requeuer })

  const observe = (result: AttemptResult, begun: number) => metrics.attempted(result, schedulerName, (performance.now() - begun) / 1000)
  const failures = new FailureReporter({ writer, writes, occupancy, queue, wake: afterMs => enqueue(NEXT, afterMs) })
  const binder = new Binder({
    writer,
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
  const podScheduler = new PodScheduler({
    ...{ queue, cluster, lookups, nominations, occupancy, preemptor, binder, failures, writer, writes },
    ...{ metrics, observe, onError, random, now, signal },
    budgets: () => budgets.list(),
  })
  const pods = client.of(Pod)
  const podsOfClaim = (claim: Named) => Array.from(pods.informer.byIndex(CLAIM_INDEX, queueKey(claim)), ({ uid }) => uid)
  const clusterChanges = new ClusterChanges({ cluster, devices: clusterDevices, volumes, requeuer, podsOfClaim, binder })
  const podChanges = new PodChanges({ queue, nominations, occupancy, requeuer, binder, schedulerName, wake })

  return {
    watches: [
      watch(Node, change => void clusterChanges.node(change)),
      watch(Pod, change => void podChanges.apply(change)),
      ...clusterChanges.watches(),
    ],
    flushed: () => events.flushed(),
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

type GateParts = { readonly read: PodWriter['read']; readonly lookups: Lookups; readonly preemptor: Preemptor }

/** The plugin whose events a pod has to wait for before it may be tried, empty for no plugin; undefined when it may be tried. */
function gateOf(queued: QueuedPod, { read, lookups, preemptor }: GateParts): string | undefined {
  const pod = read(queued)
  if (pod && hasSchedulingGates(pod)) return ''
  const plugin = pod && PLUGINS.find(({ gate }) => gate?.(pod, lookups))
  return plugin?.name ?? (preemptor.isEvicting(queued.uid) ? '' : undefined)
}
