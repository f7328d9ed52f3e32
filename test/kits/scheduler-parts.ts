/** The parts of the scheduler around its queue, over pods in memory and a writer that records, for tests of one part at a time. */
import type { Node } from '../../src/kinds/core/node.ts'
import type { Pod } from '../../src/kinds/core/pod/pod.ts'
import { FailureReporter } from '../../src/scheduler/failure-reporter.ts'
import { Nominations } from '../../src/scheduler/nominations.ts'
import { Occupancy } from '../../src/scheduler/occupancy.ts'
import type { PodWriter } from '../../src/scheduler/pod-writer.ts'
import { PodWrites } from '../../src/scheduler/pod-writes.ts'
import { Preemptor } from '../../src/scheduler/preemptor.ts'
import { DEFAULT_PROFILE } from '../../src/scheduler/profile.ts'
import { Requeuer } from '../../src/scheduler/requeuer.ts'
import { type QueuedPod, SchedulingQueue } from '../../src/scheduler/scheduling-queue.ts'
import { clusterOf, lookupsIn, type PodDraft, podOf, type World } from './scheduler.ts'

export function openSchedulerParts(nodes: readonly Node[] = [], world: World = {}) {
  let nowMs = 0
  const pods = new Map<string, Pod>()
  /** Calls of the writer, as `verb pod: details`. */
  const log: string[] = []
  /** Keys whose writes are due, in the order in which they were asked for. */
  const due: string[] = []
  const wakes: (number | undefined)[] = []
  const wake = (afterMs?: number) => void wakes.push(afterMs)
  const writer: PodWriter = {
    read: ({ uid }) => pods.get(uid),
    async bind(_, { name, nodeName }) {
      log.push(`bind ${name}: ${nodeName}`)
      return true
    },
    announceBinding: ({ metadata }, node) => void log.push(`bound ${metadata.name} elsewhere: ${node}`),
    announceFailure: ({ metadata }, note) => void log.push(`announce ${metadata.name}: ${note}`),
    async writeFailure({ name }, { reason, nominatedNode }) {
      log.push(`status ${name}: ${reason}${nominatedNode === undefined ? '' : ` on '${nominatedNode}'`}`)
    },
    async clearNomination({ name }) {
      log.push(`clear ${name}`)
    },
    async nominate({ name }, node) {
      log.push(`nominate ${name}: ${node}`)
    },
    async evict({ name }, by, node) {
      log.push(`evict ${name}: for ${by.name} on ${node}`)
    },
  }
  const { read } = writer
  const cluster = clusterOf(nodes)
  const lookups = lookupsIn(world)
  const nominations = new Nominations()
  const writes = new PodWrites(key => void due.push(key))
  const preemptor: Preemptor = new Preemptor({ writer, writes, nominations, onFailed: uid => queue.retry(uid) && wake() })
  const queue: SchedulingQueue = new SchedulingQueue({
    now: () => nowMs,
    gateOf: ({ uid }) => (preemptor.isEvicting(uid) ? '' : undefined),
  })
  const profileOf = () => DEFAULT_PROFILE
  const requeuer = new Requeuer({ profileOf, queue, read, cluster, lookups, wake })
  const occupancy = new Occupancy({ cluster, nominations, requeuer })
  const failures = new FailureReporter({ writer, writes, occupancy, queue, wake })
  /** Stores a pod, as a client would. */
  function store(draft: PodDraft): Pod {
    const pod = podOf(draft)
    pods.set(pod.metadata.uid!, pod)
    return pod
  }
  return {
    ...{ profileOf, pods, log, due, wakes, writer, cluster, lookups, nominations, writes, preemptor, queue, requeuer, occupancy, failures },
    pass: (ms: number) => (nowMs += ms),
    store,
    /** Stores a pod that the plugins have rejected: it waits for an event. */
    reject(draft: PodDraft, ...plugins: readonly string[]): QueuedPod {
      const { uid = '', namespace = '', name = '' } = store(draft).metadata
      queue.add({ uid, namespace, name, priority: draft.priority ?? 0 })
      const queued = queue.pop()!
      queue.reject(queued, new Set(plugins))
      return queued
    },
    /** Runs the writes that are due; resolves to the delays of those that have to be repeated. */
    async write(): Promise<number[]> {
      const delays: number[] = []
      for (let key = due.shift(); key !== undefined; key = due.shift()) delays.push((await writes.run(key)) ?? 0)
      return delays.filter(ms => ms > 0)
    },
  }
}
