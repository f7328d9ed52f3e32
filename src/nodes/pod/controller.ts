/** The kubelets of all simulated nodes: looks at a pod when it changes, when an object that it waits for does, and when its time has come. */
import { isDeepStrictEqual } from 'node:util'
import { type Change, queueKey } from '../../client/change.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { type Controller, defineController, watch } from '../../controllers/controller.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { PodCertificateRequest } from '../../kinds/certificates/podcertificaterequest.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { LIMITS } from '../../lib/limits.ts'
import { SIMULATED_LABEL } from '../node/is-simulated.ts'
import type { LivePods } from '../process/live-pods.ts'
import type { CommandRuns } from '../script/command-runs.ts'
import { DeferredPods } from './deferred-pods.ts'
import { Kubelets } from './kubelets.ts'
import { isTerminalPhase } from './phase.ts'
import { isReadyForPods, PodSync } from './pod-sync.ts'
import type { Referred } from './references.ts'
import type { Gate } from './restart-policy.ts'
import { WaitingPods } from './waiting-pods.ts'

export type SimulatedKubeletsParts = {
  readonly gate: Gate
  readonly random: () => number
  readonly runs: CommandRuns
  readonly live: LivePods
}

export const simulatedKubelets = ({ gate, random, runs, live }: SimulatedKubeletsParts): Controller =>
  defineController({
    name: 'simulated-kubelet-controller',
    identity: 'node-controller',
    rank: 'completing',
    // Every node has a kubelet, and they do not wait for each other.
    workers: LIMITS.backgroundWrites.atOnce,
    create({ client, recorderFor, enqueue, onError, signal }) {
      const [pods, nodes] = [client.of(Pod), client.of(Node)]
      const kubelets = new Kubelets({ client, recorderFor, random, onError })
      const waiting = new WaitingPods()
      const deferred = new DeferredPods()
      const podSync = new PodSync({ client, kubelets, waiting, deferred, runs, live, gate, enqueue })
      // Another server may run them from then on.
      signal.addEventListener('abort', () => void live.endAll().catch(onError), { once: true })

      const onPod = ({ current, previous, type }: Change<Pod>): string[] => {
        const node = current.fields['spec.nodeName'] ?? ''
        if (node === '') return []
        const pod = queueKey(current)
        const isDeleted = type === 'deleted'
        if (isDeleted) podSync.forget({ node, pod, uid: current.uid })
        const hasEnded = isDeleted || isTerminalPhase(current.fields['status.phase'])
        if (hasEnded) kubelets.release(node, pod)
        if (nodes.revision({ name: node })?.labels[SIMULATED_LABEL] !== 'true') return []
        const others = deferred.on(node)
        const isRoomMade = others.size > 0 && (hasEnded || isResized(current.object, previous?.object))
        return [...(isDeleted ? [] : [pod]), ...(isRoomMade ? others : [])]
      }
      const onNode = ({ current, previous, type }: Change<Node>): string[] => {
        if (current.labels[SIMULATED_LABEL] !== 'true') return []
        if (type === 'deleted') kubelets.forget(current.name)
        const [is, was] = [type !== 'deleted' && isReadyForPods(current.object), isReadyForPods(previous?.object)]
        return is && !was ? [...pods.informer.byIndex(NODE_INDEX, current.name)].map(queueKey) : []
      }
      const onReferred =
        (plural: Referred) =>
        ({ current }: { readonly current: Change['current'] }) =>
          waiting.for(plural, current.namespace, current.name)
      const onMounted =
        (plural: 'configmaps' | 'secrets') =>
        ({ current: { namespace, name } }: { readonly current: Change['current'] }) => [
          ...waiting.for(plural, namespace, name),
          ...[...live.mounting(plural, namespace, name)].map(({ metadata }) => queueKey(metadata)),
        ]

      return {
        watches: [
          watch(Node, onNode),
          watch(Pod, onPod),
          watch(ConfigMap, onMounted('configmaps')),
          watch(Secret, onMounted('secrets')),
          watch(PersistentVolumeClaim, onReferred('persistentvolumeclaims')),
          watch(VolumeAttachment, onReferred('volumeattachments')),
          watch(ClusterTrustBundle, ({ current }) => [
            ...waiting.for('clustertrustbundles', '', current.name),
            ...waiting.for('signers', '', current.fields['spec.signerName'] ?? ''),
          ]),
          watch(PodCertificateRequest, ({ current: { namespace, fields } }) =>
            kubelets.has(fields['spec.nodeName'] ?? '') ? queueKey({ namespace, name: fields['spec.podName'] ?? '' }) : undefined,
          ),
          watch(ResourceClaim, onReferred('resourceclaims')),
        ],
        reconcile: key => podSync.sync(key),
        progress: () => runs.progress(),
      }
    },
  })

/** Whether containers of a pod have other resources than before. */
function isResized(pod: Pod | undefined, previous: Pod | undefined): boolean {
  const resourcesOf = ({ status }: Pod) =>
    [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].map(({ resources }) => resources)
  return pod !== undefined && previous !== undefined && !isDeepStrictEqual(resourcesOf(pod), resourcesOf(previous))
}
