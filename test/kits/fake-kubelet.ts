/** Makes pods run and be ready, for tests of controllers without nodes and a scheduler. */

import { namedBy } from '../../src/client/change.ts'
import { serverIdentity } from '../../src/client/identity.ts'
import { type Controller, defineController, watch } from '../../src/controllers/controller.ts'
import { Pod } from '../../src/kinds/core/pod/pod.ts'
import { timestampOf } from '../../src/lib/time.ts'

/** The status of a pod that has run since a time. */
function runningStatus(now: Date, isReady = true): object {
  const lastTransitionTime = timestampOf(now)
  const status = isReady ? 'True' : 'False'
  return { phase: 'Running', conditions: ['Ready', 'ContainersReady'].map(type => ({ type, status, lastTransitionTime })) }
}

/** Every pod runs as soon as it exists, and is ready if `becomesReady` returns true. */
export const fakeKubelet = (becomesReady: (pod: Pod) => boolean = () => true): Controller =>
  kubelet((pod, now) => runningStatus(now, becomesReady(pod)))

/** Every pod terminates as soon as it exists. */
export const endingKubelet = (phaseOf: (pod: Pod) => string = () => 'Succeeded'): Controller => kubelet(pod => ({ phase: phaseOf(pod) }))

const kubelet = (statusOf: (pod: Pod, now: Date) => object): Controller =>
  defineController({
    name: 'fake-kubelet',
    identity: serverIdentity('kubelet'),
    create({ client }) {
      const pods = client.of(Pod)
      return {
        watches: [watch(Pod)],
        async reconcile(key) {
          const pod = pods.get(namedBy(key))
          if (pod?.status.phase !== 'Pending' || pod.metadata.deletionTimestamp) return
          await pods.patch(pod.metadata, { status: statusOf(pod, client.now) }, { subresource: 'status' })
        },
      }
    },
  })
