/** Reports in an event and in the status of a pod why it has no node. */
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { Occupancy } from './occupancy.ts'
import type { Failure } from './pod-status.ts'
import type { PodWriter } from './pod-writer.ts'
import type { PodWrites } from './pod-writes.ts'
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts'

export type FailureReporterParts = {
  readonly writer: Pick<PodWriter, 'announceFailure' | 'writeFailure'>
  readonly writes: PodWrites
  readonly occupancy: Occupancy
  readonly queue: SchedulingQueue
  /** Takes back a pod that waits with its group; false for one that waits on its own. */
  readonly putBack?: (queued: QueuedPod) => boolean
  /** Asks for the next scheduling attempt after some milliseconds. */
  readonly wake: (afterMs: number | undefined) => void
}

export class FailureReporter {
  readonly #parts: FailureReporterParts

  constructor(parts: FailureReporterParts) {
    this.#parts = parts
  }

  report(pod: Pod, failure: Failure): void {
    const { writer, writes, occupancy } = this.#parts
    writer.announceFailure(pod, failure.message)
    const { namespace = '', name = '', uid = '' } = pod.metadata
    writes.add(uid, async () => {
      // A later attempt may have found a node by now.
      if (!occupancy.isAssumed(uid)) await writer.writeFailure({ namespace, name, uid }, failure)
    })
  }

  /** Reports an error during an attempt or a binding, and puts the pod back for another attempt after a delay. */
  fail(queued: QueuedPod, pod: Pod, message: string, { wasNominated = false } = {}): void {
    const { occupancy, queue, putBack, wake } = this.#parts
    occupancy.endNomination(queued.uid)
    if (!putBack?.(queued)) queue.fail(queued)
    this.report(pod, { reason: 'SchedulerError', message, nominatedNode: '', wasNominated })
    wake(queue.nextAfterMs)
  }
}
