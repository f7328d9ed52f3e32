/**
 * The nodes and the pods on them, kept up to date change by change. Questions about all pods at once are answered by groups of pods
 * that are alike (same namespace, labels and pod affinity rules), counted by node; answers are kept and brought up to date. So the
 * cost of a decision depends neither on how many pods there are nor, as a rule, on how many groups.
 */
import type { Node } from '../kinds/core/node.ts'
import { deepEqual } from '../lib/json-value.ts'
import { KeptAnswers } from './kept-answers.ts'
import { NodeDomains } from './node-domains.ts'
import { bump, NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Labels } from './selector.ts'

/** How many pods of a group are on a node. */
type ByNode = Map<string, number>

/** Pods that are alike, and how many of them are on each node. */
export type PodGroup = Pick<PodInfo, 'namespace' | 'labels' | 'affinity'> & {
  readonly all: ReadonlyMap<string, number>
  /** Without those that are being deleted. */
  readonly notTerminating: ReadonlyMap<string, number>
}
type OpenGroup = PodGroup & { readonly all: ByNode; readonly notTerminating: ByNode }

type Image = { readonly size: number; readonly nodes: Set<string> }

export class Cluster {
  readonly #nodes = new Map<string, NodeInfo>()
  readonly #list: NodeInfo[] = []
  /** Slots of nodes that are gone, below the number of slots that were ever taken at once. */
  readonly #freeSlots: number[] = []
  readonly #pods = new Map<string, PodInfo>()
  readonly #groups = new Map<string, Map<string, OpenGroup>>()
  readonly #withAffinity = new Set<OpenGroup>()
  readonly #avoided = new Set<string>()
  /** Answers about all pods. */
  readonly answers = new KeptAnswers()
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
    const before = info.node
    this.#forgetImages(info)
    info.node = node
    for (const { names, sizeBytes = 0 } of node.status?.images ?? [])
      for (const image of names ?? []) {
        const known = this.#images.get(image)
        if (known) known.nodes.add(name)
        else this.#images.set(image, { size: Number(sizeBytes), nodes: new Set([name]) })
      }
    if (node.spec?.taints?.some(({ effect }) => effect === 'PreferNoSchedule')) this.#avoided.add(name)
    else this.#avoided.delete(name)
    if (before === undefined) {
      info.slot = this.#freeSlots.pop() ?? this.#list.length
      this.#list.push(info)
    }
    if (before === undefined || !hasSameDomains(before, node)) this.answers.nodesChanged()
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name)
    if (!info?.node) return
    this.#forgetImages(info)
    this.#avoided.delete(name)
    info.node = undefined
    if (info.pods.size === 0) this.#nodes.delete(name)
    this.#list.splice(this.#list.indexOf(info), 1)
    this.#freeSlots.push(info.slot)
    info.slot = -1
    this.answers.nodesChanged()
  }

  /** Puts a pod on its node, in place of its earlier entry. */
  setPod(pod: PodInfo): void {
    const before = this.#pods.get(pod.uid)
    this.#pods.set(pod.uid, pod)
    if (before && takesSameRoom(before, pod)) {
      this.#infoOf(pod.nodeName).replace(pod)
      return
    }
    if (before) this.#take(before)
    const info = this.#infoOf(pod.nodeName)
    info.add(pod)
    this.#group(pod, 1)
    this.answers.moved({ pod, node: info, sign: 1 })
  }

  removePod(uid: string): PodInfo | undefined {
    const pod = this.#pods.get(uid)
    if (!pod) return undefined
    this.#pods.delete(uid)
    this.#take(pod)
    return pod
  }

  /** The domains of a topology key, each under a number. */
  domains(topologyKey: string): NodeDomains {
    return this.answers.to({ key: `domains ${topologyKey}`, answer: () => new NodeDomains(this.#list, topologyKey), update() {} })
  }

  /** The groups of the pods in some namespaces. */
  *groupsIn(namespaces: Iterable<string>): Iterable<PodGroup> {
    for (const namespace of namespaces) yield* this.#groups.get(namespace)?.values() ?? []
  }

  /** The groups of the pods that have rules about which pods to be near to or away from. */
  get groupsWithAffinity(): ReadonlySet<PodGroup> {
    return this.#withAffinity
  }

  /** The namespaces that have pods on nodes. */
  get namespaces(): Iterable<string> {
    return this.#groups.keys()
  }

  /** Whether a node has a taint that asks pods to go elsewhere if they can. */
  get hasAvoidedNodes(): boolean {
    return this.#avoided.size > 0
  }

  isClaimUsed(namespace: string, claim: string): boolean {
    return this.#claimUsers.has(`${namespace}/${claim}`)
  }

  /** Whether any node has an image. */
  hasImage(name: string): boolean {
    return this.#images.has(name)
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

  #take(pod: PodInfo): void {
    const info = this.#infoOf(pod.nodeName)
    info.remove(pod.uid)
    if (!info.node && info.pods.size === 0) this.#nodes.delete(info.name)
    this.#group(pod, -1)
    this.answers.moved({ pod, node: info, sign: -1 })
  }

  #group(pod: PodInfo, sign: 1 | -1): void {
    const { namespace, labels, nodeName, affinity, claims, isTerminating } = pod
    const groups = entryOf(this.#groups, namespace, () => new Map<string, OpenGroup>())
    const key = `${labelKey(labels)} ${affinity?.key ?? ''}`
    const group = entryOf(groups, key, () => ({ namespace, labels, affinity, all: new Map(), notTerminating: new Map() }))
    bump(group.all, nodeName, sign)
    if (!isTerminating) bump(group.notTerminating, nodeName, sign)
    if (affinity) this.#withAffinity.add(group)
    if (group.all.size === 0) {
      groups.delete(key)
      this.#withAffinity.delete(group)
    }
    if (groups.size === 0) this.#groups.delete(namespace)
    for (const claim of claims) bump(this.#claimUsers, `${namespace}/${claim}`, sign)
  }
}

/** Whether both versions of a node are in the same topology domains and can be reached by the same pods. */
const hasSameDomains = (before: Node, after: Node): boolean =>
  deepEqual(before.metadata.labels, after.metadata.labels) && deepEqual(before.spec?.taints, after.spec?.taints)

/** Whether a pod that has changed, such as in its status, makes no difference to where others can be. */
const takesSameRoom = (before: PodInfo, after: PodInfo): boolean =>
  before.nodeName === after.nodeName &&
  before.isTerminating === after.isTerminating &&
  before.affinity?.key === after.affinity?.key &&
  deepEqual(before.labels, after.labels) &&
  hasSameRequests(before, after) &&
  deepEqual(before.ports, after.ports) &&
  deepEqual(before.claims, after.claims) &&
  deepEqual(before.disks, after.disks)

const hasSameRequests = ({ requests: a, nonZero: b }: PodInfo, { requests: c, nonZero: d }: PodInfo): boolean =>
  a.cpu === c.cpu &&
  a.memory === c.memory &&
  a.ephemeralStorage === c.ephemeralStorage &&
  b.cpu === d.cpu &&
  b.memory === d.memory &&
  a.scalars.size === c.scalars.size &&
  [...a.scalars].every(([name, amount]) => c.scalars.get(name) === amount)

function entryOf<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}

/** The same for the same labels, in whatever order. */
export function labelKey(labels: Labels): string {
  const keys = Object.keys(labels)
  if (keys.length > 1) keys.sort()
  let text = ''
  // Neither keys nor values of labels have these signs.
  for (const key of keys) text += `${key}=${labels[key]},`
  return text
}
