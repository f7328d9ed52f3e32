/** Devices and claims as plugins see them, answered from the informers of the server. */
import { randomUUID } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import { OWNER_INDEX } from '../../client/informer.ts'
import type { SeriesRecorder } from '../../client/series-recorder.ts'
import { allocatorFeatures } from '../../devices/features.ts'
import { EXTENDED_RESOURCE_ANNOTATION, isMadeFor } from '../../devices/pod-claims.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { getOwn } from '../../lib/json-value.ts'
import type { Devices } from '../lookups.ts'
import { claimWriter } from './claim-writer.ts'
import { ClusterDevices } from './cluster-devices.ts'

export type ClientDevicesParts = {
  readonly client: Client
  readonly events: SeriesRecorder
  readonly gate: (name: string) => boolean
}

export function clientDevices({ client, events, gate }: ClientDevicesParts): {
  readonly devices: Devices
  readonly cluster: ClusterDevices
} {
  const claims = client.of(ResourceClaim)
  const features = allocatorFeatures(gate)
  const cluster = new ClusterDevices(features)
  const { pools, usage, expressions, classes } = cluster
  const devices: Devices = {
    features,
    pools,
    usage,
    expressions,
    classes,
    writer: claimWriter({ client, events, recordsTime: features.bindingConditions }),
    claim: (namespace, name) => claims.get({ namespace, name }),
    extendedClaimOf(pod) {
      for (const claim of claims.byIndex(OWNER_INDEX, pod))
        if (getOwn(claim.metadata.annotations ?? {}, EXTENDED_RESOURCE_ANNOTATION) === 'true' && isMadeFor(pod, claim)) return claim
      return undefined
    },
    now: () => client.now.getTime(),
    uuid: randomUUID,
  }
  return { devices, cluster }
}
