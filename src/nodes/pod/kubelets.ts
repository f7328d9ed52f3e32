/** The kubelets of simulated nodes: the pods that each has admitted, with their addresses and certificates. */

import { queueKey } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import type { ControllerContext } from '../../controllers/controller.ts'
import type { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { PodAddresses } from '../node/addresses.ts'
import { nodeIdentity } from '../node/identity.ts'
import { isTerminalPhase } from './phase.ts'
import { PodCertificates } from './pod-certificates.ts'

/** The kubelet of one node. All that it knows comes from stored pods. */
export class Kubelet {
  /** The uid of its Node: a new Node of the same name gets a new kubelet. */
  readonly uid: string
  /** The API in the name of the node. */
  readonly client: Client
  readonly recorder: EventRecorder
  readonly certificates: PodCertificates
  readonly addresses: PodAddresses
  /** The keys of pods that it has taken on and that have not ended. */
  readonly admitted = new Set<string>()

  constructor({ metadata, spec }: Node, { client, recorder, certificates }: Pick<Kubelet, 'client' | 'recorder' | 'certificates'>) {
    this.uid = metadata.uid ?? ''
    this.client = client
    this.recorder = recorder
    this.certificates = certificates
    this.addresses = new PodAddresses(spec.podCIDRs ?? [])
  }

  /** Takes over a pod that was started before this kubelet. */
  restore({ metadata, status }: Pod): void {
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

export type KubeletsParts = Pick<ControllerContext, 'client' | 'recorderFor' | 'onError'> & { readonly random: () => number }

/** Kubelets by the names of their nodes, each created when its node is first needed. */
export class Kubelets {
  readonly #parts: KubeletsParts
  readonly #byNode = new Map<string, Kubelet>()

  constructor(parts: KubeletsParts) {
    this.#parts = parts
  }

  of(node: Node): Kubelet {
    const { name = '', uid = '' } = node.metadata
    const known = this.#byNode.get(name)
    if (known?.uid === uid) return known
    const { client, recorderFor, random, onError } = this.#parts
    const self = client.as(nodeIdentity(name))
    const kubelet = new Kubelet(node, {
      client: self,
      recorder: recorderFor(self, { component: 'kubelet', host: name }),
      certificates: new PodCertificates({ client: self, random, onError }),
    })
    for (const pod of client.of(Pod).byIndex(NODE_INDEX, name)) kubelet.restore(pod)
    this.#byNode.set(name, kubelet)
    return kubelet
  }

  has(node: string): boolean {
    return this.#byNode.has(node)
  }

  /** Notes that a pod has ended. */
  release(node: string, pod: string): void {
    this.#byNode.get(node)?.release(pod)
  }

  forget(node: string): void {
    this.#byNode.delete(node)
  }
}
