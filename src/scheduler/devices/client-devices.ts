/** Devices and claims as plugins see them, answered from the informers of the server. */
import type { Client } from '../../client/client.ts'
import { OWNER_INDEX } from '../../client/informer.ts'
import type { SeriesRecorder } from '../../client/series-recorder.ts'
import { allocatorFeatures } from '../../devices/features.ts'
import { EXTENDED_RESOURCE_ANNOTATION, isMadeFor } from '../../devices/pod-claims.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { newUuid, startTimer, stopTimer, type Timer } from '../../lib/environment.ts'
import { getOwn } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { Assertions } from '../../schema/assertions.ts'
import type { Devices } from '../lookups.ts'
import { AllocationUndecided, claimWriter } from './claim-writer.ts'
import { ClusterDevices } from './cluster-devices.ts'

export type ClientDevicesParts = {
  readonly client: Client
  readonly eventsOf: (pod: Pod) => SeriesRecorder
  readonly gate: (name: string) => boolean
  /** Counts and reports devices that are given twice. */
  readonly assertions: Assertions
  /** Called when devices are free that no change of an object has freed. */
  readonly onFreed: () => void
  readonly signal: AbortSignal
}

export function clientDevices({ client, eventsOf, gate, assertions, onFreed, signal }: ClientDevicesParts): {
  readonly devices: Devices
  readonly cluster: ClusterDevices
} {
  const claims = client.of(ResourceClaim)
  const groups = gate('GenericWorkload') ? client.find(PodGroup) : undefined
  const features = allocatorFeatures(gate)
  const cluster = new ClusterDevices(features, assertions)
  const { pools, usage, expressions, classes } = cluster
  const writer = claimWriter({ client, eventsOf, recordsTime: features.bindingConditions })
  const timers = new Set<Timer>()
  signal.addEventListener('abort', () => timers.forEach(stopTimer), { once: true })

  /** Keeps the devices of an allocation that may be stored nevertheless, until it cannot be any more. */
  async function keepIfUndecided(uid: string, writing: Promise<ResourceClaim>): Promise<ResourceClaim> {
    try {
      return await writing
    } catch (error) {
      if (error instanceof AllocationUndecided) {
        usage.leaveUndecided(uid, error.replaces)
        const timer = startTimer(() => {
          timers.delete(timer)
          if (usage.giveUp(uid, error.replaces)) onFreed()
        }, LIMITS.undecidedWriteMs).unref()
        timers.add(timer)
      }
      throw error
    }
  }

  const devices: Devices = {
    features,
    pools,
    usage,
    expressions,
    classes,
    writer: {
      ...writer,
      async bind(claim, consumer, allocation) {
        const device = usage.givenTwice(allocation?.devices.results ?? [])
        const { namespace, name } = claim.metadata
        if (device) throw assertions.failed('allocated_once', `the device ${device} would be given to the claim ${namespace}/${name}, too`)
        return keepIfUndecided(claim.metadata.uid ?? '', writer.bind(claim, consumer, allocation))
      },
      share: (claim, consumer, allocation) => keepIfUndecided(claim.metadata.uid ?? '', writer.share(claim, consumer, allocation)),
    },
    claim: (namespace, name) => claims.get({ namespace, name }),
    hasGroupClaims: groups !== undefined && gate('DRAWorkloadResourceClaims'),
    group: (namespace, name) => groups?.get({ namespace, name }),
    extendedClaimOf(pod) {
      for (const claim of claims.byIndex(OWNER_INDEX, pod))
        if (getOwn(claim.metadata.annotations ?? {}, EXTENDED_RESOURCE_ANNOTATION) === 'true' && isMadeFor(pod, claim)) return claim
      return undefined
    },
    now: () => client.now.getTime(),
    uuid: newUuid,
  }
  return { devices, cluster }
}
