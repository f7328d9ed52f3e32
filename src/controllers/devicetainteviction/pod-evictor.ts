/** Deletes pods when a taint on one of their devices is no longer tolerated. */

import { namedBy } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { timestampOf } from '../../lib/time.ts'
import { evictionOf, evictionPatch, type World } from './reconcile.ts'

export type PodEvictorParts = {
  readonly client: Client
  readonly recorder: EventRecorder
  readonly world: World
  /** Called with the uids of the rules because of which a pod was deleted. */
  readonly onEvicted: (rules: ReadonlySet<string>) => void
}

export class PodEvictor {
  readonly #pods: ResourceClient<Pod>
  readonly #parts: PodEvictorParts
  /** Pods whose eviction lies in the future. */
  readonly #scheduled = new Set<string>()

  constructor(parts: PodEvictorParts) {
    this.#parts = parts
    this.#pods = parts.client.of(Pod)
  }

  /** Evicts a pod if it is time; resolves to the milliseconds until then. */
  async reconcile(key: string): Promise<number | undefined> {
    const { client, world, onEvicted } = this.#parts
    const pod = this.#pods.get(namedBy(key))
    const eviction = pod && evictionOf(pod, world)
    if (!pod || !eviction) {
      if (this.#scheduled.delete(key) && pod) this.#record(pod, 'Cancelling deletion')
      return undefined
    }
    const now = client.now.getTime()
    this.#scheduled.add(key)
    if (eviction.at > now) return eviction.at - now
    this.#scheduled.delete(key)
    if (pod.metadata.deletionTimestamp) return undefined
    this.#record(pod, 'Marking for deletion')
    await this.#pods.patch(pod.metadata, evictionPatch(pod, timestampOf(now)), { type: 'strategic', subresource: 'status' })
    if (await this.#pods.delete(pod)) onEvicted(eviction.rules)
    return undefined
  }

  #record(pod: Pod, message: string): void {
    this.#parts.recorder.event(pod, 'Normal', 'DeviceTaintManagerEviction', message)
  }
}
