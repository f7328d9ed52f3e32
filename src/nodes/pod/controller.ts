/** The kubelets of all simulated nodes: every pod that is bound to one of them is brought to where it is by now. */
import { isDeepStrictEqual } from 'node:util'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { type Change, namedBy, queueKey } from '../../client/object-revision.ts'
import { type Controller, defineController, watch } from '../../controllers/controller.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { PodCertificateRequest } from '../../kinds/certificates/podcertificaterequest.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { matchesLabels } from '../../kinds/rules/meta.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { LIMITS } from '../../lib/limits.ts'
import { userProblem } from '../container/identity.ts'
import { PodAddresses } from '../node/addresses.ts'
import { nodeIdentity } from '../node/identity.ts'
import { SIMULATED_LABEL } from '../node/is-simulated.ts'
import { internalIPs, isAlive } from '../node/simulated-node.ts'
import type { CommandRuns } from '../script/command-runs.ts'
import type { Commands } from '../script/commands.ts'
import { rejectionOf, resizeProblem } from './admission.ts'
import { missingForDevices } from './device-claims.ts'
import { isTerminalPhase } from './phase.ts'
import { PodCertificates } from './pod-certificates.ts'
import type { PodEvent } from './pod-draft.ts'
import { reconcilePod } from './reconcile.ts'
import { type Lookup, type Missing, missingForContainer, missingForVolumes, type Referred, type VolumeSources } from './references.ts'
import type { Gate } from './restart-policy.ts'
import { type ClaimReader, claimProblem } from './volume-claims.ts'

export type KubeletsParts = { readonly gate: Gate; readonly random: () => number; readonly runs: CommandRuns }

export const simulatedKubelets = ({ gate, random, runs }: KubeletsParts): Controller =>
  defineController({
    name: 'simulated-kubelet-controller',
    identity: 'node-controller',
    workers: 10,
    create({ client, recorderFor, enqueue, onError }) {
      const [pods, nodes, bundles] = [client.of(Pod), client.of(Node), client.of(ClusterTrustBundle)]
      const kubelets = new Map<string, Kubelet>()
      /** Pods that wait for an object that is not there, by that object. */
      const waiting = new Waiting()
      /** Pods that wait until others of their node end, or need less, by node. */
      const deferred = new Map<string, Set<string>>()
      /** What was said about a pod already and still holds. */
      const said = new Map<string, Set<string>>()
      /** When pods of many containers were written last. */
      const writtenAt = new Map<string, number>()

      function kubeletOf(node: Node): Kubelet {
        const { name = '', uid = '' } = node.metadata
        const known = kubelets.get(name)
        if (known?.uid === uid) return known
        const self = client.as(nodeIdentity(name))
        const kubelet = new Kubelet(node, {
          client: self,
          recorder: recorderFor(self, { component: 'kubelet', host: name }),
          certificates: new PodCertificates({ client: self, random, onError }),
        })
        for (const pod of pods.byIndex(NODE_INDEX, name)) kubelet.remember(pod as Pod)
        kubelets.set(name, kubelet)
        return kubelet
      }

      const onPod = ({ current, previous, type }: Change): string[] => {
        const node = current.fields['spec.nodeName'] ?? ''
        if (node === '') return []
        const key = queueKey(current)
        if (type === 'deleted') {
          waiting.forget(key)
          said.delete(key)
          writtenAt.delete(key)
          deferred.get(node)?.delete(key)
          runs.forget(current.uid)
        }
        const hasEnded = type === 'deleted' || isTerminalPhase(current.fields['status.phase'])
        if (hasEnded) kubelets.get(node)?.release(key)
        if (nodes.revision({ name: node })?.labels[SIMULATED_LABEL] !== 'true') return []
        const others = deferred.get(node)
        const isRoomMade =
          others !== undefined && others.size > 0 && (hasEnded || isResized(current.object as Pod, previous?.object as Pod | undefined))
        return [...(type === 'deleted' ? [] : [key]), ...(isRoomMade ? others : [])]
      }
      const onNode = ({ current, previous, type }: Change<Node>): string[] => {
        if (current.labels[SIMULATED_LABEL] !== 'true') return []
        if (type === 'deleted') kubelets.delete(current.name)
        const [is, was] = [type !== 'deleted' && isReadyForPods(current.object), isReadyForPods(previous?.object)]
        return is && !was ? [...pods.informer.byIndex(NODE_INDEX, current.name)].map(queueKey) : []
      }
      const onReferred =
        (plural: Referred) =>
        ({ current }: { readonly current: Change['current'] }) =>
          waiting.for(plural, current.namespace, current.name)

      function lookupIn(namespace: string): Lookup {
        return (plural, name) => {
          if (plural === 'secrets') {
            const secret = client.of(Secret).get({ namespace, name })
            return secret && { has: key => Object.hasOwn(secret.data ?? {}, key) }
          }
          const map = client.of(ConfigMap).get({ namespace, name })
          return map && { has: key => Object.hasOwn(map.data ?? {}, key) || Object.hasOwn(map.binaryData ?? {}, key) }
        }
      }

      const claimsOn = (namespace: string, node: string): ClaimReader => ({
        namespace,
        node,
        claim: name => client.of(PersistentVolumeClaim).get({ namespace, name }),
        volume: name => client.of(PersistentVolume).get({ name }),
        isAttached: (driver, name) =>
          client.of(CSIDriver).get({ name: driver })?.spec?.attachRequired === false ||
          client.of(VolumeAttachment).get({ name })?.status.attached === true,
      })

      function hasBundle({ name, signerName = '', labelSelector }: TrustBundleProjection): boolean {
        if (name !== undefined) return bundles.exists({ name })
        const ofSigner = bundles.revisions({ field: { key: 'spec.signerName', value: signerName } })
        return [...ofSigner].some(({ labels }) => matchesLabels(labelSelector, labels))
      }

      /** What holds now and was not said before. */
      function newsOf(key: string, events: readonly PodEvent[]): readonly PodEvent[] {
        if (events.length === 0 && !said.has(key)) return events
        const before = said.get(key)
        const lasting = events.filter(({ repeats }) => repeats)
        if (lasting.length > 0) said.set(key, new Set(lasting.map(textOf)))
        else said.delete(key)
        return events.filter(event => !event.repeats || !before?.has(textOf(event)))
      }

      return {
        watches: [
          watch(Node, onNode),
          watch(Pod, change => onPod(change as Change)),
          watch(ConfigMap, onReferred('configmaps')),
          watch(Secret, onReferred('secrets')),
          watch(PersistentVolumeClaim, onReferred('persistentvolumeclaims')),
          watch(VolumeAttachment, onReferred('volumeattachments')),
          watch(ClusterTrustBundle, ({ current }) => [
            ...(waiting.for('clustertrustbundles', '', current.name) ?? []),
            ...(waiting.for('signers', '', current.fields['spec.signerName'] ?? '') ?? []),
          ]),
          watch(PodCertificateRequest, ({ current: { namespace, fields } }) =>
            kubelets.has(fields['spec.nodeName'] ?? '') ? queueKey({ namespace, name: fields['spec.podName'] ?? '' }) : undefined,
          ),
          watch(ResourceClaim, onReferred('resourceclaims')),
        ],
        async reconcile(key) {
          const { namespace, name } = namedBy(key)
          const pod = pods.get({ namespace, name }) as Pod | undefined
          const nodeName = pod?.spec.nodeName ?? ''
          const node = nodes.get({ name: nodeName })
          if (!pod || !node || !isReadyForPods(node)) return undefined
          const tooSoonMs = pauseOf(pod) - (client.now.getTime() - (writtenAt.get(key) ?? 0))
          if (tooSoonMs > 0) return tooSoonMs
          const kubelet = kubeletOf(node)
          const lookup = lookupIn(namespace)
          const claimNamed = (claim: string) => client.of(ResourceClaim).get({ namespace, name: claim })
          const certified = isTracked(pod, kubelet.admitted.has(key)) ? await kubelet.certificates.bring(pod, key, node) : NOT_CERTIFIED
          const missing: Missing[] = [
            ...missingForVolumes(pod.spec, name, {
              lookup,
              hasBundle,
              claimProblem: (volume, claim) => claimProblem(volume, claim, claimsOn(namespace, nodeName)),
              certificateProblem: (volume, index) => kubelet.certificates.problemOf(key, volume, index),
            }),
            ...missingForDevices(pod, claimNamed),
          ]
          const isOther = (other: Pod) => other.metadata.uid !== pod.metadata.uid && kubelet.admitted.has(queueKey(other.metadata))
          const others = () => ([...pods.byIndex(NODE_INDEX, nodeName)] as Pod[]).filter(isOther)
          const hostIPs = internalIPs(node)
          let addresses: readonly string[] = []
          let commands: Commands | undefined
          // Its addresses are known when the first command is asked for.
          const commandsOfPod = () => {
            const podIPs = (pod.status.podIPs ?? []).flatMap(({ ip }) => ip ?? [])
            const own = podIPs.length > 0 ? podIPs : pod.spec.hostNetwork ? hostIPs : addresses
            const allocatable = node.status.allocatable as Readonly<Record<string, string>> | undefined
            commands ??= runs.of({ pod, hostIPs, podIPs: own, allocatable }, () => enqueue(key))
            return commands
          }
          let isDeferred = false
          const now = client.now.getTime()
          const { status, events, nextAt, isGone, isPending } = reconcilePod(pod, {
            now,
            hostIPs,
            newPodIPs() {
              addresses = kubelet.addresses.take(key)
              isDeferred = addresses.length === 0
              return addresses
            },
            rejection() {
              if (kubelet.admitted.has(key)) return undefined
              const found = rejectionOf(pod.spec, others, {
                name: nodeName,
                labels: node.metadata.labels ?? {},
                taints: node.spec?.taints,
                allocatable: node.status.allocatable,
                count: kubelet.admitted.size,
              })
              if (!found) kubelet.admitted.add(key)
              return found
            },
            missingForVolumes: [...missing],
            missingForContainer(container) {
              const known = missingForContainer(container, namespace, lookup)
              const problem = known ? undefined : commandsOfPod().mountProblem(container)
              if (problem === 'pending') return problem
              const found = known ?? withoutObjects(problem ?? userProblem(pod, container))
              if (found) missing.push(found)
              return found
            },
            get commands() {
              return commandsOfPod()
            },
            resizeProblem() {
              const problem = resizeProblem(pod.spec, others, node.status.allocatable)
              isDeferred = problem?.reason === 'Deferred'
              return problem
            },
            gate,
          })
          waiting.set(key, namespace, missing)
          defer(deferred, nodeName, { key, isDeferred })
          const self = kubelet.client.of(Pod)
          if (status) await self.updateStatus({ ...pod, status })
          if (status && pauseOf(pod) > 0) writtenAt.set(key, now)
          for (const { type, reason, message, fieldPath } of [...(isPending ? [] : newsOf(key, events)), ...certified.events])
            kubelet.recorder.event(fieldPath ? { ...pod, fieldPath } : pod, type, reason, message)
          if (isGone && !isKeptByOthers(pod)) await self.delete(pod, { gracePeriodSeconds: 0 })
          const lookAt = Math.min(nextAt ?? Number.POSITIVE_INFINITY, certified.nextAt)
          return Number.isFinite(lookAt) ? Math.max(lookAt - now, 1) : undefined
        },
        progress: () => runs.progress(),
      }
    },
  })

/** One node, while it works. What it knows comes from stored pods. */
class Kubelet {
  /** Of the Node: a new one of the same name starts from the beginning. */
  readonly uid: string
  readonly client: Client
  readonly recorder: EventRecorder
  readonly certificates: PodCertificates
  readonly addresses: PodAddresses
  /** Pods that it has taken on and that have not ended. */
  readonly admitted = new Set<string>()

  constructor({ metadata, spec }: Node, { client, recorder, certificates }: Pick<Kubelet, 'client' | 'recorder' | 'certificates'>) {
    this.uid = metadata.uid ?? ''
    this.client = client
    this.recorder = recorder
    this.certificates = certificates
    this.addresses = new PodAddresses(spec.podCIDRs ?? [])
  }

  remember({ metadata, status }: Pod): void {
    if (isTerminalPhase(status.phase) || status.startTime === undefined) return
    this.admitted.add(queueKey(metadata))
    if (status.podIP) this.addresses.hold(queueKey(metadata), status.podIP)
  }

  release(pod: string): void {
    this.admitted.delete(pod)
    this.addresses.release(pod)
    this.certificates.forget(pod)
  }
}

type TrustBundleProjection = Parameters<VolumeSources['hasBundle']>[0]

const NOT_CERTIFIED = { events: [], nextAt: Number.POSITIVE_INFINITY } as const

/** Whether certificates of a pod are looked after: from when the node takes it on until it ends. */
const isTracked = ({ metadata, status }: Pod, isAdmitted: boolean): boolean =>
  isAdmitted && metadata.deletionTimestamp === undefined && !isTerminalPhase(status.phase)

/**
 * Whether a pod that has ended stays until somebody removes a finalizer: it may be gone at any time. Without finalizers it should be gone
 * by then; that it is not means that a server ended, or lost its store, after it had marked the pod and before it could remove it.
 */
const isKeptByOthers = ({ metadata: { deletionGracePeriodSeconds, finalizers = [] } }: Pod): boolean =>
  Number(deletionGracePeriodSeconds ?? 0) === 0 && finalizers.length > 0

const withoutObjects = (message: string | undefined): Missing | undefined => (message === undefined ? undefined : { message, objects: [] })

/** Whether other resources are in force than before. */
function isResized(now: Pod, before: Pod | undefined): boolean {
  const inForce = ({ status }: Pod) =>
    [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].map(({ resources }) => resources)
  return before !== undefined && !isDeepStrictEqual(inForce(now), inForce(before))
}

/**
 * How long a pod is left alone after it was written. Each look at one of many containers takes long, and if they all end at different
 * times there are many looks. Who deletes it does not wait.
 */
function pauseOf({ metadata, spec }: Pod): number {
  const { length } = containersOf(spec)
  return length <= LIMITS.manyContainers || metadata.deletionTimestamp !== undefined ? 0 : length * LIMITS.lookMsPerContainer
}

const textOf = ({ reason, message, fieldPath = '' }: PodEvent) => `${reason}\n${fieldPath}\n${message}`

/** Whether a node works and knows its addresses. */
const isReadyForPods = (node: Node | undefined): boolean =>
  node !== undefined && isAlive(node) && (node.spec.podCIDRs ?? []).length > 0 && internalIPs(node).length > 0

function defer(deferred: Map<string, Set<string>>, node: string, { key, isDeferred }: { key: string; isDeferred: boolean }): void {
  const keys = deferred.get(node)
  if (!isDeferred) keys?.delete(key)
  else if (keys) keys.add(key)
  else deferred.set(node, new Set([key]))
}

const OF_THE_CLUSTER: ReadonlySet<Referred> = new Set<Referred>(['clustertrustbundles', 'signers', 'volumeattachments'])
const scopeOf = (plural: Referred, namespace: string) => (OF_THE_CLUSTER.has(plural) ? '' : namespace)

/** Who waits for which objects that are not there. */
class Waiting {
  readonly #byObject = new Map<string, Set<string>>()
  readonly #byPod = new Map<string, readonly string[]>()

  for(plural: Referred, namespace: string, name: string): Iterable<string> | undefined {
    return this.#byObject.size === 0 ? undefined : this.#byObject.get(`${plural} ${namespace}/${name}`)
  }

  set(pod: string, namespace: string, missing: readonly Missing[]): void {
    this.forget(pod)
    if (missing.length === 0) return
    const objects = missing.flatMap(each => each.objects).map(({ plural, name }) => `${plural} ${scopeOf(plural, namespace)}/${name}`)
    if (objects.length === 0) return
    this.#byPod.set(pod, objects)
    for (const object of objects) {
      const pods = this.#byObject.get(object)
      if (pods) pods.add(pod)
      else this.#byObject.set(object, new Set([pod]))
    }
  }

  forget(pod: string): void {
    for (const object of this.#byPod.get(pod) ?? []) {
      const pods = this.#byObject.get(object)
      pods?.delete(pod)
      if (pods?.size === 0) this.#byObject.delete(object)
    }
    this.#byPod.delete(pod)
  }
}
