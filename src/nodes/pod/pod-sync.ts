/** Brings one pod up to date: reads the state around it, decides its next step with `reconcilePod`, and carries it out. */

import { namedBy, queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { internalIPs, isAlive } from '../node/simulated-node.ts'
import type { LivePods } from '../process/live-pods.ts'
import type { CommandRuns, PodToRun } from '../script/command-runs.ts'
import { type Rejection, rejectionOf, resizeProblem } from './admission.ts'
import type { DeferredPods } from './deferred-pods.ts'
import type { Kubelet, Kubelets } from './kubelets.ts'
import { isTerminalPhase } from './phase.ts'
import type { PodEvent } from './pod-draft.ts'
import { PodReferences } from './pod-references.ts'
import { type PodStep, reconcilePod } from './reconcile.ts'
import { RecordedEvents } from './recorded-events.ts'
import type { Gate } from './restart-policy.ts'
import type { WaitingPods } from './waiting-pods.ts'
import { WritePauses } from './write-pauses.ts'

export type PodSyncParts = {
  readonly client: Client
  readonly kubelets: Kubelets
  readonly waiting: WaitingPods
  readonly deferred: DeferredPods
  readonly runs: CommandRuns
  readonly live: LivePods
  readonly gate: Gate
  /** Has a pod looked at again. */
  readonly enqueue: (key: string) => void
}

/** A pod on a node that works. */
type BoundPod = { readonly key: string; readonly pod: Pod; readonly node: Node; readonly kubelet: Kubelet }

export class PodSync {
  readonly #parts: PodSyncParts
  readonly #pods: ResourceClient<Pod>
  readonly #nodes: ResourceClient<Node>
  readonly #references: PodReferences
  readonly #recorded = new RecordedEvents()
  readonly #pauses = new WritePauses()

  constructor(parts: PodSyncParts) {
    this.#parts = parts
    this.#pods = parts.client.of(Pod)
    this.#nodes = parts.client.of(Node)
    this.#references = new PodReferences(parts.client, parts.gate)
  }

  /** Returns the milliseconds until the next look, if time alone brings a change. */
  async sync(key: string): Promise<number | undefined> {
    const { client, kubelets } = this.#parts
    const pod = this.#pods.get(namedBy(key))
    const node = pod && this.#nodes.get({ name: pod.spec.nodeName ?? '' })
    if (!pod || !node || !isReadyForPods(node)) return undefined
    const pauseMs = this.#pauses.left(key, pod, client.now.getTime())
    if (pauseMs > 0) return pauseMs
    const kubelet = kubelets.of(node)
    const bound: BoundPod = { key, pod, node, kubelet }
    const certified = hasCertificates(bound) ? await kubelet.certificates.bring(pod, key, node) : NO_CERTIFICATES
    const now = client.now.getTime()
    const step = this.#decide(bound, now)
    if (await this.#write(bound, step, now)) this.#follow(bound, step)
    for (const event of certified.events) record(bound, event)
    const lookAt = Math.min(step.nextAt ?? Number.POSITIVE_INFINITY, certified.nextAt)
    return Number.isFinite(lookAt) ? Math.max(lookAt - now, 1) : undefined
  }

  /** Forgets a pod that is gone. */
  forget({ node, pod, uid }: { readonly node: string; readonly pod: string; readonly uid: string }): void {
    const { waiting, deferred, runs, live } = this.#parts
    waiting.forget(pod)
    deferred.forget(node, pod)
    runs.forget(uid)
    live.forget(uid)
    this.#recorded.forget(pod)
    this.#pauses.forget(pod)
  }

  /** Decides the next step and notes what follows from it. Nothing is awaited between: addresses and admissions are given out once. */
  #decide(bound: BoundPod, now: number): PodStep {
    const { key, pod, node, kubelet } = bound
    const { waiting, deferred, runs, live, gate, enqueue } = this.#parts
    const { name: nodeName = '' } = node.metadata
    const missing = this.#references.missingForVolumes(pod, (volume, index) => kubelet.certificates.problemOf(key, volume, index))
    const toRun = toRunOf(bound)
    const step = reconcilePod(pod, {
      now,
      hostIPs: toRun.hostIPs,
      freePodIPs: toRun.podIPs,
      rejection: () => this.#rejectionOf(bound),
      missingForVolumes: missing,
      missingForContainer: container => this.#references.missingForContainer(pod, container),
      commands: runs.of(toRun),
      live: live.of(pod),
      resizeProblem: () => resizeProblem(pod.spec, () => this.#othersOf(bound), this.#roomFor(bound)),
      gate,
    })
    if (step.isAdmitted) kubelet.admitted.add(key)
    if (step.takesAddresses) kubelet.addresses.take(key)
    waiting.set(key, pod.metadata.namespace ?? '', [...missing, ...step.missing])
    deferred.set(nodeName, key, step)
    runs.request(toRun, step.requests, () => enqueue(key))
    return step
  }

  /** Returns false when the pod is gone. */
  async #write(bound: BoundPod, step: PodStep, now: number): Promise<boolean> {
    const { key, pod, kubelet } = bound
    const pods = kubelet.client.of(Pod)
    if (step.status) {
      if (!(await pods.updateStatus({ ...pod, status: step.status }))) return false
      this.#pauses.wrote(key, pod, now)
    }
    if (!step.isPending) for (const event of this.#recorded.news(key, step.events)) record(bound, event)
    if (step.isGone && !isKeptByOthers(pod)) await pods.delete(pod, { gracePeriodSeconds: 0 })
    return true
  }

  /** Has processes and probes follow the stored status. */
  #follow(bound: BoundPod, step: PodStep): void {
    const { live, enqueue } = this.#parts
    const to = toRunOf(bound)
    live.follow({
      to: { ...to, pod: { ...to.pod, status: step.status ?? to.pod.status } },
      stops: step.stops,
      onChange: () => enqueue(bound.key),
      record: event => record(bound, event),
    })
  }

  #rejectionOf(bound: BoundPod): Rejection | undefined {
    const { key, pod, node, kubelet } = bound
    if (kubelet.admitted.has(key)) return undefined
    return rejectionOf(pod.spec, () => this.#othersOf(bound), {
      name: node.metadata.name ?? '',
      labels: node.metadata.labels ?? {},
      taints: node.spec?.taints,
      count: kubelet.admitted.size,
      ...this.#roomFor(bound),
    })
  }

  #roomFor({ pod, node }: BoundPod) {
    const { allocatable } = node.status
    return { allocatable, gate: this.#parts.gate, claimed: pod.status.nodeAllocatableResourceClaimStatuses }
  }

  /** The other pods that the node has taken on. */
  #othersOf({ pod, node, kubelet }: BoundPod): readonly Pod[] {
    const isOther = ({ metadata }: Pod) => metadata.uid !== pod.metadata.uid && kubelet.admitted.has(queueKey(metadata))
    return [...this.#pods.byIndex(NODE_INDEX, node.metadata.name ?? '')].filter(isOther)
  }
}

function record({ pod, kubelet }: BoundPod, { type, reason, message, fieldPath }: PodEvent): void {
  kubelet.recorder.event(fieldPath ? { ...pod, fieldPath } : pod, type, reason, message)
}

/** Whether a node works and has its addresses. */
export const isReadyForPods = (node: Node | undefined): boolean =>
  node !== undefined && isAlive(node) && (node.spec.podCIDRs ?? []).length > 0 && internalIPs(node).length > 0

/** The pod with the addresses that it has, or gets when it is started. */
function toRunOf({ key, pod, node, kubelet }: BoundPod): PodToRun {
  const hostIPs = internalIPs(node)
  const stored = (pod.status.podIPs ?? []).flatMap(({ ip }) => ip ?? [])
  const podIPs = stored.length > 0 ? stored : pod.spec.hostNetwork ? hostIPs : kubelet.addresses.peek(key)
  return { pod, hostIPs, podIPs, allocatable: node.status.allocatable as PodToRun['allocatable'] }
}

const NO_CERTIFICATES: { readonly events: readonly PodEvent[]; readonly nextAt: number } = { events: [], nextAt: Number.POSITIVE_INFINITY }

/** Whether the node looks after certificates of a pod: from its admission until its end. */
const hasCertificates = ({ key, pod: { metadata, status }, kubelet }: BoundPod): boolean =>
  kubelet.admitted.has(key) && metadata.deletionTimestamp === undefined && !isTerminalPhase(status.phase)

/**
 * Whether a pod that has ended stays until somebody removes a finalizer: it may be gone at any time. A pod without finalizers should be
 * gone by then; that it is not means that a server ended, or lost its store, after it had marked the pod and before it could remove it.
 */
const isKeptByOthers = ({ metadata: { deletionGracePeriodSeconds, finalizers = [] } }: Pod): boolean =>
  Number(deletionGracePeriodSeconds ?? 0) === 0 && finalizers.length > 0
