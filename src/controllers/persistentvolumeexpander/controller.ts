/** Reports which component has to expand the volume of a claim that requests more storage. */
import { namedBy, queueKey } from '../../client/change.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { annotationOf } from '../../kinds/rules/persistent-volume/binding.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { defineController, watch } from '../controller.ts'
import { expansionOf } from './reconcile.ts'

const RESIZER = 'volume.kubernetes.io/storage-resizer'

export const persistentVolumeExpander = defineController({
  name: 'persistentvolume-expander-controller',
  identity: 'expand-controller',
  component: 'volume_expand',
  workers: 10,
  create({ client, recorder }) {
    const [claims, volumes] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume)]
    return {
      watches: [
        watch(PersistentVolumeClaim, ({ type, current, previous }) => {
          if (type === 'deleted' || current.object?.status.phase !== 'Bound') return undefined
          const [now, before] = [current.object, previous?.object]
          const isSame =
            before?.status.phase === 'Bound' &&
            deepEqual(now.spec.resources.requests, before.spec.resources.requests) &&
            deepEqual(now.status.capacity, before.status.capacity)
          return isSame ? undefined : queueKey(current)
        }),
      ],
      async reconcile(key) {
        const claim = claims.get(namedBy(key))
        const volume = claim?.spec.volumeName ? volumes.get({ name: claim.spec.volumeName }) : undefined
        const expansion = claim && volume && expansionOf(claim, volume)
        if (!expansion) return
        const { notice, resizer } = expansion
        recorder.event(claim, notice.type, notice.reason, notice.message)
        if (resizer === undefined || annotationOf(claim, RESIZER) === resizer) return
        await claims.patch(claim.metadata, { metadata: { annotations: { [RESIZER]: resizer } } }, { subresource: 'status' })
      },
    }
  },
})
