/** Creates VolumeAttachments for volumes that pods of a node use, and deletes those that are no longer used there. */

import { type Change, queueKey } from '../../client/change.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { defineController, watch } from '../controller.ts'
import { claimsOf, isOver } from '../protection/usage.ts'
import { AttachEvents } from './attach-events.ts'
import { NodeAttacher } from './node-attacher.ts'
import { VolumeUsage } from './volume-usage.ts'

export const attachDetachController = defineController({
  name: 'persistentvolume-attach-detach-controller',
  identity: 'attachdetach-controller',
  component: 'attachdetach-controller',
  workers: 5,
  create({ client, recorder }) {
    const usage = new VolumeUsage(client)
    const events = new AttachEvents({ client, recorder, usage })
    const attacher = new NodeAttacher({ client, usage, events })
    return {
      watches: [
        watch(Pod, change => nodeConcernedBy(change as Change<Pod>, usage)),
        watch(Node, ({ current, type, previous }) => {
          const isSame = deepEqual(current.object?.status.volumesInUse, previous?.object?.status.volumesInUse)
          return type === 'updated' && isSame ? undefined : current.name
        }),
        watch(PersistentVolumeClaim, ({ current, previous }) => {
          if (current.object?.status.phase !== 'Bound' || previous?.object?.status.phase === 'Bound') return undefined
          return usage.usersOfClaim(queueKey(current)).flatMap(({ spec }) => spec.nodeName || [])
        }),
        watch(VolumeAttachment, change => events.attachmentChanged(change)),
      ],
      reconcile: node => attacher.reconcile(node),
    }
  },
})

/** The node of a pod with claims that came to it or is about to leave it. */
function nodeConcernedBy({ type, current, previous }: Change<Pod>, usage: VolumeUsage): string | undefined {
  const node = current.fields['spec.nodeName']
  if (!node || !usage.hasClaims(current.namespace)) return undefined
  const isRelevant =
    type !== 'updated' || !previous?.fields['spec.nodeName'] || current.terminating || isOver(current.fields['status.phase'])
  return isRelevant && current.object && claimsOf(current.object).length > 0 ? node : undefined
}
