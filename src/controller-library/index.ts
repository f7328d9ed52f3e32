/** The library for controllers: the client, informers and queues of Keelson's own controllers, for any API server. `public.d.ts` is its contract. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { eventRecorder as recorderWith } from '../client/event-recorder.ts'
import { takePart } from '../client/leader-election.ts'
import { WorkQueue as Queue } from '../client/work-queue.ts'
import { ApiError } from '../library/api-error.ts'
import { Connection } from './connection.ts'
import type {
  Api,
  ConnectOptions,
  EventRecorder,
  EventRecorderOptions,
  FetchLike,
  KubeConfigLike,
  LeaderElectionOptions,
  WorkQueue,
  WorkQueueOptions,
} from './public.d.ts'
import { remoteEvents } from './remote-events.ts'
import { remoteLeases } from './remote-leases.ts'
import { RemoteResource } from './resource-client.ts'

export { namedBy, queueKey } from '../client/change.ts'
export { ApiError } from '../library/api-error.ts'
export { informer, OWNER_INDEX } from './informer.ts'
export type * from './public.d.ts'

export function connect(access: KubeConfigLike | FetchLike, options: ConnectOptions = {}): Api {
  const connection = new Connection(access, options)
  return { of: resource => new RemoteResource(connection, resource), groupDomain: connection.groupDomain }
}

export function workQueue<K>(options: WorkQueueOptions<K>): WorkQueue<K> {
  return new Queue<K>({ ...options, signal: options.signal as AbortSignal, isConflict })
}

/** client-go's defaults. */
const ELECTION = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 }

export async function leaderElection(options: LeaderElectionOptions): Promise<void> {
  const { api, signal, holder = `${hostname()}_${randomUUID()}`, leaseMs, renewMs, retryMs, ...rest } = options
  const timing = { leaseMs: leaseMs ?? ELECTION.leaseMs, renewMs: renewMs ?? ELECTION.renewMs, retryMs: retryMs ?? ELECTION.retryMs }
  if (!(timing.retryMs > 0 && timing.retryMs < timing.renewMs && timing.renewMs < timing.leaseMs))
    throw new RangeError('leaseMs must be longer than renewMs, and renewMs longer than retryMs')
  await takePart({ ...rest, holder, timing, signal: signal as AbortSignal, leases: remoteLeases(api) })
}

export function eventRecorder({ api, ...options }: EventRecorderOptions): EventRecorder {
  return recorderWith({ ...options, events: remoteEvents(api) })
}

/** Whether another write came first, also in a request of @kubernetes/client-node. */
function isConflict(error: unknown): boolean {
  if (error instanceof ApiError) return error.reason === 'Conflict'
  const { code, body } = (error ?? {}) as { readonly code?: unknown; readonly body?: unknown }
  return code === 409 && !JSON.stringify(body ?? '').includes('AlreadyExists')
}
