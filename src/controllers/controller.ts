/**
 * The frame of all controllers: watches turn changes into keys, and a function reconciles one key. The rest
 * — identity, informers, work queue, events, start and stop — is the same for all and is here. docs/adding-a-controller.md
 * shows one from scratch.
 */

import { type Change, queueKey } from '../client/change.ts'
import type { Client, ClientFor } from '../client/client.ts'
import { type EventRecorder, eventRecorder, type RecorderOptions } from '../client/event-recorder.ts'
import { controllerIdentity, type Identity } from '../client/identity.ts'
import type { AllHandler } from '../client/informer.ts'
import type { QueueMetrics } from '../client/queue-metrics.ts'
import { storedEvents } from '../client/stored-events.ts'
import { type Again, type BackOff, WorkQueue } from '../client/work-queue.ts'
import type { Clock } from '../lib/clock.ts'
import type { Rank } from '../lib/slots.ts'
import type { Kind, ObjectOf } from '../schema/kind.ts'
import type { Resource } from '../schema/resource.ts'
import { isNamespaceTerminating } from '../schema/status-error.ts'

/** The means that a controller gets. */
export type ControllerContext = {
  /** The API in the name of the controller, with its rights. */
  readonly client: Client
  readonly recorder: EventRecorder
  /** Records events in the name of another component, such as that of a node. */
  readonly recorderFor: (client: Client, source: Pick<RecorderOptions, 'component' | 'host'>) => EventRecorder
  readonly groupDomain: string
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean
  readonly signal: AbortSignal
  /** Adds keys to the queue, at once or after a delay, beside those of the watches. */
  readonly enqueue: (key: string, afterMs?: number) => void
  /** Reports errors outside of reconciling a key. */
  readonly onError: (error: unknown) => void
}

/** Turns the changes of a resource into keys of the work queue. */
export type Watch = { start(client: Client, add: (key: string) => void, signal: AbortSignal): Promise<void> | void }

export type Running = {
  readonly watches: readonly Watch[]
  /** Reconciles one key. The result may ask for another call after some time. */
  readonly reconcile: (key: string) => Promise<Again | undefined | void>
  /** Resolves when all writes outside of reconciling are done, for controllers that make such writes. */
  readonly flushed?: () => Promise<void>
  /** Resolves when work outside of the queue has added its keys; undefined when there is none. */
  readonly progress?: () => Promise<void> | undefined
}

export type Controller = {
  /** As `--controllers` and the metrics name it. */
  readonly name: string
  /** Its service account in kube-system, or another identity. */
  readonly identity: string | Identity
  /** The source of its events; by default its name. */
  readonly component?: string
  /** Whether its delayed calls only renew or check something, so that idle waits need not count them. */
  readonly isRoutine?: boolean
  /**
   * Which of its writes and those of others come first: urgent are heartbeats, and decisions that rely on these; kubelets complete
   * what the scheduler has placed, which goes on with what others have created.
   */
  readonly rank?: Rank
  /** How many keys are reconciled at the same time; by default one. */
  readonly workers?: number
  readonly backOff?: BackOff
  readonly create: (context: ControllerContext) => Running
}

/** Declares a controller; `startController` runs it. */
export const defineController = (controller: Controller): Controller => controller

type Enqueue<O> = (change: Change<O>) => string | Iterable<string> | undefined

/** Watches a resource; by default a change yields the key of the changed object. */
export function watch<K extends Kind<any>>(kind: K, enqueue?: Enqueue<ObjectOf<K>>): Watch
export function watch(resource: Resource, enqueue?: Enqueue<any>): Watch
export function watch(target: any, enqueue: Enqueue<any> = ({ current }) => queueKey(current)): Watch {
  return {
    start: (client, add, signal) =>
      client.of(target as Resource).watch(change => {
        const keys = enqueue(change)
        if (typeof keys === 'string') add(keys)
        else if (keys) for (const key of keys) add(key)
      }, signal),
  }
}

/** Watches all resources. `onStart` reads the stored objects; nothing is reconciled before it is done. */
export const watchAll = (handler: AllHandler, onStart: (client: Client) => Promise<void> = async () => {}): Watch => ({
  async start(client, _, signal) {
    client.watchAll(handler, signal)
    await onStart(client)
  },
})

export type ControllerParts = {
  readonly clientFor: ClientFor
  readonly groupDomain: string
  readonly gate: ControllerContext['gate']
  readonly onError: (error: unknown, key: string | undefined) => void
  /** Stops the controller: reconciles that are under way finish, and no further one starts. */
  readonly signal: AbortSignal
  readonly metrics?: QueueMetrics
  readonly clock?: Clock
}

export interface RunningController {
  /** Resolves when the watches have delivered all objects that were stored at the start. */
  readonly synced: Promise<void>
  /** Resolves when only delayed keys are left; after the signal, when the last reconcile has finished. */
  idle(): Promise<void>
}

/** Runs a controller until the signal ends it. */
export function startController(controller: Controller, parts: ControllerParts): RunningController {
  const { clientFor, groupDomain, gate, onError, signal, metrics, clock } = parts
  const { name, identity, component = name, rank = 'usual', workers, backOff } = controller
  const client = clientFor(typeof identity === 'string' ? controllerIdentity(identity) : identity, { rank })
  const recorders: EventRecorder[] = []
  const recorderFor: ControllerContext['recorderFor'] = (as, source) => {
    const made = eventRecorder({ events: storedEvents(as), ...source, onError: error => onError(error, undefined) })
    recorders.push(made)
    return made
  }
  const recorder = recorderFor(client, { component })
  // Keys wait until every watch has delivered the stored objects: decisions need all of them.
  let early: Set<string> | undefined = new Set()
  const add = (key: string) => {
    if (early) early.add(key)
    else queue.add(key)
  }
  const enqueue = (key: string, afterMs = 0) => (afterMs > 0 ? queue.addAfter(key, afterMs) : add(key))
  const context: ControllerContext = {
    client,
    recorder,
    recorderFor,
    groupDomain,
    gate,
    signal,
    enqueue,
    onError: error => onError(error, undefined),
  }
  const { watches, flushed, progress, ...running } = controller.create(context)
  const reconcile = async (key: string) => {
    try {
      return await running.reconcile(key)
    } catch (error) {
      // Nothing can be created in a terminating namespace, and its content is deleted with it.
      if (!isNamespaceTerminating(error)) throw error
    }
  }
  const queue: WorkQueue<string> = new WorkQueue({
    name,
    reconcile,
    onError,
    signal,
    ...(workers !== undefined && { workers }),
    ...(controller.isRoutine && { isRoutine: true }),
    ...(backOff && { backOff }),
    ...(metrics && { metrics }),
    ...(clock && { clock }),
  })
  const synced = Promise.all(watches.map(each => each.start(client, add, signal))).then(() => {
    const waiting = early!
    early = undefined
    queue.addAll(waiting)
  })
  return {
    synced,
    async idle() {
      await synced
      for (let more: Promise<void> | undefined, isFirst = true; isFirst || more; isFirst = false) {
        await more
        await queue.idle()
        await Promise.all(recorders.map(each => each.flushed()))
        await flushed?.()
        more = signal.aborted ? undefined : progress?.()
      }
    },
  }
}
