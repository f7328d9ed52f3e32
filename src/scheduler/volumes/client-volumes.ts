/** Claims and volumes from the informers, with decisions that are not written yet applied. */

import { queueKey } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { CSIStorageCapacity } from '../../kinds/storage/csistoragecapacity.ts'
import type { Volumes } from '../lookups.ts'
import { Assumed } from './assumed.ts'

type Volume = PersistentVolume

const OF_CLASS: IndexDefinition<Volume> = { name: 'class', valuesOf: ({ object }) => (object ? [classOf(object) ?? ''] : []) }

export function clientVolumes(client: Client): Volumes {
  const [claims, volumes, capacities] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume), client.of(CSIStorageCapacity)]
  const assumedVolumes = new Assumed<Volume>()
  const assumedClaims = new Assumed<PersistentVolumeClaim>()
  return {
    claim: (namespace, name) => assumedClaims.current(queueKey({ namespace, name }), claims.get({ namespace, name })),
    volume: name => assumedVolumes.current(name, volumes.get({ name })),
    *ofClass(name) {
      for (const volume of volumes.byIndex(OF_CLASS, name)) yield assumedVolumes.current(volume.metadata.name ?? '', volume)!
    },
    capacities: () => capacities.list(),
    stored: {
      claim: (namespace, name) => claims.get({ namespace, name }),
      volume: name => volumes.get({ name }),
    },
    assumeVolume: volume => assumedVolumes.assume(volume.metadata.name ?? '', volume),
    assumeClaim: claim => assumedClaims.assume(queueKey(claim.metadata), claim),
    forgetVolume: ({ metadata }) => assumedVolumes.forget(metadata.name ?? ''),
    forgetClaim: ({ metadata }) => assumedClaims.forget(queueKey(metadata)),
    async writeVolume(volume) {
      if (!(await volumes.update(volume))) throw new Error(`persistentvolumes "${volume.metadata.name}" not found`)
    },
    async writeClaim(claim) {
      if (!(await claims.update(claim))) throw new Error(`persistentvolumeclaims "${claim.metadata.name}" not found`)
    },
    waiting: new Map(),
    now: () => client.now.getTime(),
  }
}
