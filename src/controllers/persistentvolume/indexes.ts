/** Keys of the work queue, and the indexes by which claims and volumes find each other. */

import { type Named, queueKey } from '../../client/change.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import type { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { BIND_COMPLETED, hasAnnotation } from '../../kinds/rules/persistent-volume/binding.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'

export const CLAIM_PREFIX = 'claim/'
export const VOLUME_PREFIX = 'volume/'
export const claimKey = (named: Named): string => `${CLAIM_PREFIX}${queueKey(named)}`
export const volumeKey = (name: string): string => `${VOLUME_PREFIX}${name}`
export const classKey = (name: string | undefined): string => `class/${name ?? ''}`
/** Claims that name no class at all, and could get the default one. */
export const UNCLASSED = 'unclassed'

/** Volumes by the claim that they name, or else by their class. */
export const VOLUMES_BY_CLAIM_OR_CLASS: IndexDefinition<PersistentVolume> = {
  name: 'claim-or-class',
  valuesOf({ object }) {
    if (!object) return []
    const { claimRef } = object.spec
    return [claimRef ? claimKey(claimRef) : classKey(classOf(object))]
  },
}

/** Claims by the volume that they name, or else, while they are unbound, by their class. */
export const CLAIMS_BY_VOLUME_OR_CLASS: IndexDefinition<PersistentVolumeClaim> = {
  name: 'volume-or-class',
  valuesOf({ object }) {
    if (!object) return []
    if (object.spec.volumeName) return [volumeKey(object.spec.volumeName)]
    if (hasAnnotation(object, BIND_COMPLETED)) return []
    const className = classOf(object)
    return className === undefined ? [classKey(''), UNCLASSED] : [classKey(className)]
  },
}
