/** Deletes pods that no node will ever end: terminating ones without a node, and those whose node is gone. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { timestampOf } from '../../lib/time.ts'
import { defineController, watch } from '../controller.ts'
import { failedStatus, isOutOfService, verdictOn } from './reconcile.ts'

export const podGarbageCollector = defineController({
  name: 'pod-garbage-collector-controller',
  identity: 'pod-garbage-collector',
  workers: 20,
  create({ client }) {
    const [pods, nodes] = [client.of(Pod), client.of(Node)]
    /** The missing node of a pod, and since when it is missing, by pod. */
    const missing = new Map<string, { readonly node: string; readonly since: number }>()
    const onPod = ({ current, type }: Pick<Change, 'current' | 'type'>): string | undefined => {
      const key = queueKey(current)
      if (type === 'deleted') missing.delete(key)
      else if (current.terminating || isLost(current.fields['spec.nodeName'] ?? '')) return key
      return undefined
    }
    const isLost = (node: string) => node !== '' && !nodes.exists({ name: node })
    const onNode = ({ current, type }: Change): string[] => {
      for (const [key, { node }] of missing) if (node === current.name) missing.delete(key)
      if (type !== 'deleted' && !isOutOfService(current.object)) return []
      const bound = [...pods.informer.byIndex(NODE_INDEX, current.name)]
      return bound.flatMap(pod => onPod({ current: pod, type: 'updated' }) ?? [])
    }
    return {
      watches: [watch(Node, change => onNode(change as Change)), watch(Pod, change => onPod(change as Change))],
      async reconcile(key) {
        const named = namedBy(key)
        const pod = pods.get(named)
        if (!pod) return undefined
        const node = nodes.revision({ name: pod.spec.nodeName ?? '' })
        // A node that cannot be read is there.
        if (node && !node.object) return undefined
        const now = client.now.getTime()
        const since = missing.get(key)?.since ?? now
        const verdict = verdictOn(pod, node?.object, now - since)
        if (!verdict) return undefined
        if (verdict.step === 'wait') {
          missing.set(key, { node: pod.spec.nodeName ?? '', since })
          return verdict.ms
        }
        const patch = failedStatus(pod, verdict.isLost, timestampOf(now))
        if (patch) await pods.patch(named, patch, { type: 'strategic', subresource: 'status' })
        await pods.delete(pod, { gracePeriodSeconds: 0 })
        return undefined
      },
    }
  },
})
