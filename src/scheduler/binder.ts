/** Binds a pod to its node once everything that plugins have reserved for it is ready. */
import type { Pod } from '../kinds/core/pod/pod.ts'
import { messageOf } from '../lib/error-message.ts'
import type { Extenders } from './extenders/extenders.ts'
import type { FailureReporter } from './failure-reporter.ts'
import type { Occupancy } from './occupancy.ts'
import type { Reservation } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { PodWriter } from './pod-writer.ts'
import type { AttemptResult } from './scheduler-metrics.ts'
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts'

export type PluginReservation = { readonly plugin: string; readonly reservation: Reservation }

export type Binding = {
  readonly queued: QueuedPod
  readonly pod: Pod
  readonly info: PodInfo
  readonly reservations: readonly PluginReservation[]
  /** When the attempt began, in milliseconds of `performance.now()`. */
  readonly begun: number
}

export type BinderParts = {
  readonly writer: Pick<PodWriter, 'read' | 'bind' | 'announceBinding' | 'nominate'>
  /** Whether a pod whose binding takes a while is nominated for its node beforehand. */
  readonly nominates?: boolean
  readonly extenders?: Pick<Extenders, 'bind'> | undefined
  readonly occupancy: Occupancy
  readonly queue: SchedulingQueue
  readonly failures: Pick<FailureReporter, 'fail'>
  readonly observe: (result: AttemptResult, pod: Pod, begun: number) => void
  readonly onBound: (queued: QueuedPod) => void
  /** Called when reservations were given back: other pods may use them. */
  readonly onReleased: () => void
  readonly onError: (error: unknown) => void
  /** Repeats a binding that waits. */
  readonly retry: (uid: string) => void
  readonly signal: AbortSignal
}

export class Binder {
  readonly #parts: BinderParts
  /** Pods whose binding waits for a reservation to become ready, by uid. */
  readonly #waiting = new Set<string>()
  /** Pods that were nominated for their node before their binding, by uid. */
  readonly #nominated = new Set<string>()

  constructor(parts: BinderParts) {
    this.#parts = parts
  }

  /** Looks again at a binding that waits: something that it depends on has changed. */
  wake(uid: string): void {
    if (this.#waiting.has(uid)) this.#parts.retry(uid)
  }

  /** Binds a pod, or resolves to the milliseconds until the binding has to be tried again. */
  async bind(binding: Binding): Promise<number | undefined> {
    const { queued, pod, info, reservations, begun } = binding
    const { writer, extenders, observe, onBound, signal } = this.#parts
    const { uid } = info
    let step = ''
    try {
      const current = writer.read(info)
      if (!current || current.metadata.deletionTimestamp) throw new Error(`pod ${queued.namespace}/${queued.name} is gone`)
      await this.#nominate(binding, current)
      for (const { plugin, reservation } of reservations) {
        step = `running PreBind plugin "${plugin}"`
        const againMs = await reservation.prepare()
        if (againMs === undefined) continue
        this.#waiting.add(uid)
        return againMs
      }
      this.#waiting.delete(uid)
      step = ''
      const isBoundByExtender = await extenders?.bind(pod, info.nodeName)
      if (isBoundByExtender) writer.announceBinding(pod, info.nodeName)
      step = 'running Bind plugin "DefaultBinder"'
      if (isBoundByExtender || (await writer.bind(pod, info))) {
        observe('scheduled', pod, begun)
        onBound(queued)
      } else await this.#release(binding)
      this.#nominated.delete(uid)
    } catch (error) {
      this.#waiting.delete(uid)
      const reason = messageOf(error)
      if (!signal.aborted) await this.#fail(binding, step === '' ? reason : `${step}: ${reason}`)
      this.#nominated.delete(uid)
    }
    return undefined
  }

  /** Nominates a pod for its node, once, if something has to happen before it is bound: others, and the next scheduler, can rely on it. */
  async #nominate({ info, reservations }: Binding, current: Pod): Promise<void> {
    const { writer, nominates, onError } = this.#parts
    const { uid, nodeName } = info
    if (!nominates || this.#nominated.has(uid) || reservations.every(({ reservation }) => reservation.isReady)) return
    this.#nominated.add(uid)
    if (current.status.nominatedNodeName !== nodeName) await writer.nominate(info, nodeName).catch(onError)
  }

  async #fail(binding: Binding, message: string): Promise<void> {
    const { writer, queue, failures, observe } = this.#parts
    observe('error', binding.pod, binding.begun)
    await this.#release(binding)
    const current = writer.read(binding.info)
    // Another client has bound or deleted it.
    if (!current || current.spec.nodeName || current.metadata.deletionTimestamp) queue.remove(binding.info.uid)
    else failures.fail(binding.queued, current, message, { wasNominated: this.#nominated.has(binding.info.uid) })
  }

  /** Gives back the node and all reservations. A release is tried once: controllers clean up behind pods that have no node. */
  async #release({ info, reservations }: Binding): Promise<void> {
    const { occupancy, onReleased, onError } = this.#parts
    occupancy.release(info.uid)
    for (const { reservation } of reservations) await reservation.release().catch(onError)
    if (reservations.length > 0) onReleased()
  }
}
