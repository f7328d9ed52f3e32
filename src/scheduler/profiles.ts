/** The profiles of a running scheduler: each decides about the pods that name its scheduler, and records events in that name. */
import type { Client } from '../client/client.ts'
import { type SeriesRecorder, seriesRecorder } from '../client/series-recorder.ts'
import type { Pod } from '../kinds/core/pod/pod.ts'
import { hostName } from '../lib/environment.ts'
import type { Profile, ProfileOf } from './profile.ts'

type InUse = { readonly profile: Profile; readonly events: SeriesRecorder }

export class Profiles {
  readonly #bySchedulerName: ReadonlyMap<string, InUse>
  readonly #first: InUse

  constructor(profiles: readonly Profile[], { client, onError }: { readonly client: Client; readonly onError: (error: unknown) => void }) {
    const inUse = profiles.map(profile => {
      const { schedulerName: controller } = profile
      return { profile, events: seriesRecorder({ client, controller, instance: `${controller}-${hostName()}`, onError }) }
    })
    this.#bySchedulerName = new Map(inUse.map(each => [each.profile.schedulerName, each]))
    this.#first = inUse[0]!
  }

  /** Whether a profile has this scheduler name: other pods are left to other schedulers. */
  has(schedulerName: string): boolean {
    return this.#bySchedulerName.has(schedulerName)
  }

  readonly of: ProfileOf = schedulerName => this.#find(schedulerName).profile

  /** Records the events of the scheduler that decides about a pod. */
  readonly eventsOf = (pod: Pod | undefined): SeriesRecorder => this.#find(pod?.spec.schedulerName).events

  /** Resolves when all events are written. */
  async flushed(): Promise<void> {
    for (const { events } of this.#bySchedulerName.values()) await events.flushed()
  }

  /** A pod whose scheduler name has no profile is a queued one of a group, or has been replaced: the first profile stands in. */
  #find(schedulerName: string | undefined): InUse {
    return this.#bySchedulerName.get(schedulerName ?? '') ?? this.#first
  }
}
