/**
 * The nodes and the pods on them, kept up to date change by change. Questions about all pods at once are answered by groups:
 *
 *     pods of a namespace with the same labels      counted by node    spreading, affinity of a pod to others
 *     pods with the same pod affinity rules         counted by node    affinity and anti-affinity of others to a pod
 *
 * The cost of a decision depends on how many such groups there are, not on how many pods.
 */
import type { Node } from '../kinds/core/node.ts'
import { bump, NodeInfo } from './node-info.ts'
import type { PodAffinity, PodInfo } from './pod-info.ts'
import type { Labels, Selector } from './selector.ts'

/** How many pods of a group are on a node. */
type ByNode = Map<string, number>

type LabelGroup = {
  readonly labels: Labels
  readonly all: ByNode
  /** Without those that are being deleted. */
  readonly notTerminating: ByNode
}

export type AffinityGroup = { readonly affinity: PodAffinity; readonly byNode: ReadonlyMap<string, number> }

type Image = { readonly size: number; readonly nodes: Set<string> }

export class Cluster {
  readonly #nodes = new Map<string, NodeInfo>()
  #list: readonly NodeInfo[] = []
  readonly #pods = new Map<string, PodInfo>()
  readonly #labels = new Map<string, Map<string, LabelGroup>>()
  readonly #affinities = new Map<string, { readonly affinity: PodAffinity; readonly byNode: ByNode }>()
  readonly #antiAffinities = new Map<string, AffinityGroup>()
  readonly #claimUsers = new Map<string, number>()
  readonly #images = new Map<string, Image>()

  /** The nodes that are there. */
  get nodes(): readonly NodeInfo[] {
    return this.#list
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#nodes.get(name)
    return info?.node ? info : undefined
  }

  /** A pod on a node, or about to be. */
  pod(uid: string): PodInfo | undefined {
    return this.#pods.get(uid)
  }

  setNode(node: Node): void {
    const name = node.metadata.name ?? ''
    const info = this.#infoOf(name)
    const isNew = info.node === undefined
    this.#forgetImages(info)
    info.node = node
    for (const { names, sizeBytes = 0 } of node.status?.images ?? [])
      for (const image of names ?? []) {
        const known = this.#images.get(image)
        if (known) known.nodes.add(name)
        else this.#images.set(image, { size: Number(sizeBytes), nodes: new Set([name]) })
      }
    if (isNew) this.#list = [...this.#list, info]
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name)
    if (!info) return
    this.#forgetImages(info)
    info.node = undefined
    if (info.pods.size === 0) this.#nodes.delete(name)
    this.#list = this.#list.filter(each => each !== info)
  }

  /** Puts a pod on its node, in place of its earlier entry. */
  setPod(pod: PodInfo): void {
    this.removePod(pod.uid)
    this.#pods.set(pod.uid, pod)
    this.#infoOf(pod.nodeName).add(pod)
    this.#group(pod, 1)
  }

  removePod(uid: string): PodInfo | undefined {
    const pod = this.#pods.get(uid)
    if (!pod) return undefined
    this.#pods.delete(uid)
    const info = this.#infoOf(pod.nodeName)
    info.remove(uid)
    if (!info.node && info.pods.size === 0) this.#nodes.delete(info.name)
    this.#group(pod, -1)
    return pod
  }

  /** How many pods match, by node. `notTerminating` leaves out those that are being deleted. */
  countPods(
    { namespaces, matches }: { readonly namespaces: Iterable<string>; readonly matches: Selector['matches'] },
    which: 'all' | 'notTerminating',
  ): Map<string, number> {
    const counts = new Map<string, number>()
    for (const namespace of namespaces)
      for (const group of this.#labels.get(namespace)?.values() ?? [])
        if (group[which].size > 0 && matches(group.labels)) for (const [node, count] of group[which]) bump(counts, node, count)
    return counts
  }

  /** The namespaces that have pods on nodes. */
  get namespaces(): Iterable<string> {
    return this.#labels.keys()
  }

  /** The pods that have rules about which pods to be near to or away from. */
  get affinities(): Iterable<AffinityGroup> {
    return this.#affinities.values()
  }

  /** Those of them that must be away from others. */
  get antiAffinities(): Iterable<AffinityGroup> {
    return this.#antiAffinities.values()
  }

  isClaimUsed(namespace: string, claim: string): boolean {
    return this.#claimUsers.has(`${namespace}/${claim}`)
  }

  /** The size of an image on a node, and on how many nodes it is. */
  image(name: string, node: string): { readonly size: number; readonly nodes: number } | undefined {
    const image = this.#images.get(name)
    return image?.nodes.has(node) ? { size: image.size, nodes: image.nodes.size } : undefined
  }

  #infoOf(name: string): NodeInfo {
    let info = this.#nodes.get(name)
    if (!info) this.#nodes.set(name, (info = new NodeInfo(name)))
    return info
  }

  #forgetImages({ name, node }: NodeInfo): void {
    for (const { names } of node?.status?.images ?? [])
      for (const image of names ?? []) {
        const known = this.#images.get(image)
        known?.nodes.delete(name)
        if (known?.nodes.size === 0) this.#images.delete(image)
      }
  }

  #group(pod: PodInfo, sign: 1 | -1): void {
    const { namespace, labels, nodeName, affinity, claims, isTerminating } = pod
    const groups = entryOf(this.#labels, namespace, () => new Map<string, LabelGroup>())
    const key = labelKey(labels)
    const group = entryOf(groups, key, () => ({ labels, all: new Map(), notTerminating: new Map() }))
    bump(group.all, nodeName, sign)
    if (!isTerminating) bump(group.notTerminating, nodeName, sign)
    if (group.all.size === 0) groups.delete(key)
    if (groups.size === 0) this.#labels.delete(namespace)
    for (const claim of claims) bump(this.#claimUsers, `${namespace}/${claim}`, sign)
    if (!affinity) return
    const ruled = entryOf(this.#affinities, affinity.key, () => ({ affinity, byNode: new Map<string, number>() }))
    bump(ruled.byNode, nodeName, sign)
    if (affinity.requiredAnti.length > 0) this.#antiAffinities.set(affinity.key, ruled)
    if (ruled.byNode.size > 0) return
    this.#affinities.delete(affinity.key)
    this.#antiAffinities.delete(affinity.key)
  }
}

function entryOf<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}

/** The same for the same labels, in whatever order. */
function labelKey(labels: Labels): string {
  const keys = Object.keys(labels)
  if (keys.length > 1) keys.sort()
  let text = ''
  // Neither keys nor values of labels have these signs.
  for (const key of keys) text += `${key}=${labels[key]},`
  return text
}
