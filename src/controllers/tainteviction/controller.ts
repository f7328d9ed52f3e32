/** Deletes pods from nodes whose taints they do not tolerate, at once or when their time is up. */

import { namedBy, queueKey } from '../../client/change.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import { defineController, watch } from '../controller.ts'
import { drivingTaints, evictionPatch, timeToLeave } from './reconcile.ts'

export const taintEvictionController = defineController({
  name: 'taint-eviction-controller',
  identity: 'node-controller',
  workers: 8,
  create({ client, recorder, gate }) {
    const inEffect = tolerationsInEffect(gate)
    const [pods, nodes] = [client.of(Pod), client.of(Node)]
    /** When a pod is evicted that tolerates its node for a limited time. After a restart the time starts again. */
    const deadlines = new Map<string, number>()
    const say = (key: string, what: string) =>
      recorder.event({ apiVersion: 'v1', kind: 'Pod', metadata: namedBy(key) }, 'Normal', 'TaintManagerEviction', `${what} Pod ${key}`)
    const cancel = (key: string) => {
      if (deadlines.delete(key)) say(key, 'Cancelling deletion of')
    }
    return {
      watches: [
        watch(Pod, ({ type, current, previous }) => {
          const [after, before] = [current.object?.spec, previous?.object?.spec]
          const isSame = type === 'updated' && after?.nodeName === before?.nodeName && deepEqual(after?.tolerations, before?.tolerations)
          return after?.nodeName && !isSame ? queueKey(current) : undefined
        }),
        watch(Node, ({ type, current, previous }) => {
          const [after, before] = [current, previous].map(each => drivingTaints(each?.object?.spec.taints))
          if (type === 'deleted' || deepEqual(after, before ?? [])) return undefined
          return Array.from(pods.informer.byIndex(NODE_INDEX, current.name), queueKey)
        }),
      ],
      async reconcile(key) {
        const pod = pods.get(namedBy(key))
        const node = pod?.spec.nodeName ? nodes.get({ name: pod.spec.nodeName }) : undefined
        if (!pod || !node) return cancel(key)
        const wait = timeToLeave(pod, drivingTaints(node.spec.taints), inEffect)
        if (wait === undefined) return cancel(key)
        const now = client.now.getTime()
        if (wait > 0) {
          const deadline = deadlines.get(key) ?? now + wait
          deadlines.set(key, deadline)
          if (deadline > now) return deadline - now
        } else cancel(key)
        deadlines.delete(key)
        if (pod.metadata.deletionTimestamp) return
        say(key, 'Marking for deletion')
        await pods.patch(pod.metadata, evictionPatch(pod, timestampOf(now)), { type: 'strategic', subresource: 'status' })
        await pods.delete(pod)
      },
    }
  },
})
