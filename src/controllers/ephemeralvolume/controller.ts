/** Creates the claims of volumes that live and die with their pod. They are deleted with it, as all that an owner has. */

import { namedBy, queueKey } from '../../client/change.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { messageOf } from '../../lib/error-message.ts'
import { defineController, watch } from '../controller.ts'
import { CLAIM_INDEX } from '../protection/usage.ts'
import { hasOwnClaims, missingClaims } from './reconcile.ts'

export const ephemeralVolumeController = defineController({
  name: 'ephemeral-volume-controller',
  identity: 'ephemeral-volume-controller',
  component: 'ephemeral_volume',
  workers: 5,
  create({ client, recorder }) {
    const [pods, claims] = [client.of(Pod), client.of(PersistentVolumeClaim)]
    function refuse(pod: Pod, volume: string, why: string): never {
      const message = `ephemeral volume ${volume}: ${why}`
      recorder.event(pod, 'Warning', 'FailedBinding', message)
      throw new Error(`pod ${queueKey(pod.metadata)}, ${message}`)
    }
    return {
      watches: [
        watch(Pod, ({ type, current }) =>
          type === 'added' && current.object && hasOwnClaims(current.object) ? queueKey(current) : undefined,
        ),
        // Somebody has deleted it while its pod is there.
        watch(PersistentVolumeClaim, ({ type, current }) =>
          type === 'deleted'
            ? [...pods.byIndex(CLAIM_INDEX, queueKey(current))].filter(hasOwnClaims).map(({ metadata }) => queueKey(metadata))
            : undefined,
        ),
      ],
      async reconcile(key) {
        const named = namedBy(key)
        const pod = pods.get(named)
        if (!pod) return
        for (const { volume, ...claim } of missingClaims(pod, name => claims.get({ namespace: named.namespace, name }))) {
          if ('refused' in claim) refuse(pod, volume, claim.refused)
          try {
            await claims.create(claim.create)
          } catch (error) {
            refuse(pod, volume, `create PVC ${claim.create.metadata?.name}: ${messageOf(error)}`)
          }
        }
      },
    }
  },
})
