/** A node with the pods on it, and the sum of their requests. */
import type { Node } from '../kinds/core/node.ts'
import { ANY_ADDRESS, type HostPort } from '../kinds/rules/pod/scheduling/host-ports.ts'
import type { NodeIdentity } from '../kinds/rules/pod/scheduling/node-match.ts'
import type { PodInfo } from './pod-info.ts'
import { allocatableOf, type Resources } from './resources.ts'
import type { Labels } from './selector.ts'

type Used = { cpu: number; memory: number; ephemeralStorage: number; scalars: Map<string, number> }
const NO_ALLOCATABLE: Resources & { readonly pods: number } = allocatableOf()

/** Pods come and go; the node itself may come after its pods. */
export class NodeInfo implements NodeIdentity {
  readonly name: string
  readonly pods: Map<string, PodInfo>
  readonly requested: Used
  readonly nonZero: { cpu: number; memory: number }
  readonly #ports: Map<string, number>
  /** Its slot in arrays that have one for each node of the cluster, as long as it is there; otherwise -1. */
  slot = -1
  /** Another number after each change of the node or of the room on it, and never one that any node has had before. */
  generation = nextGeneration()
  #node: Node | undefined
  #allocatable = NO_ALLOCATABLE
  #features: ReadonlySet<string> = new Set()

  constructor(name: string, from?: NodeInfo) {
    this.name = name
    this.pods = new Map(from?.pods)
    const used = from?.requested ?? { cpu: 0, memory: 0, ephemeralStorage: 0, scalars: new Map() }
    this.requested = { ...used, scalars: new Map(used.scalars) }
    this.nonZero = { ...(from?.nonZero ?? { cpu: 0, memory: 0 }) }
    this.#ports = new Map(from ? from.#ports : [])
    if (!from) return
    this.slot = from.slot
    this.#node = from.#node
    this.#allocatable = from.#allocatable
    this.#features = from.#features
  }

  /** The same node, to try something out on. */
  copy(): NodeInfo {
    return new NodeInfo(this.name, this)
  }

  /** Undefined while there are pods bound to a node that is not there. */
  get node(): Node | undefined {
    return this.#node
  }

  set node(node: Node | undefined) {
    this.#node = node
    this.#allocatable = node ? allocatableOf(node.status?.allocatable) : NO_ALLOCATABLE
    this.#features = new Set(node?.status?.declaredFeatures)
    this.generation = nextGeneration()
  }

  get labels(): Labels {
    return this.#node?.metadata.labels ?? NO_LABELS
  }

  get allocatable(): Resources & { readonly pods: number } {
    return this.#allocatable
  }

  /** Features that pods can rely on. */
  get features(): ReadonlySet<string> {
    return this.#features
  }

  add(pod: PodInfo): void {
    this.pods.set(pod.uid, pod)
    this.#count(pod, 1)
  }

  /** Takes in a pod that is there and needs as much as before. */
  replace(pod: PodInfo): void {
    this.pods.set(pod.uid, pod)
  }

  remove(uid: string): void {
    const pod = this.pods.get(uid)
    if (!pod) return
    this.pods.delete(uid)
    this.#count(pod, -1)
  }

  /** Whether another pod has the port already; one that listens on every address conflicts with all. */
  isTaken({ ip, protocol, port }: HostPort): boolean {
    if (this.#ports.size === 0) return false
    if (ip !== ANY_ADDRESS) return this.#ports.has(portKey(ip, protocol, port)) || this.#ports.has(portKey(ANY_ADDRESS, protocol, port))
    const ending = portKey('', protocol, port)
    for (const key of this.#ports.keys()) if (key.endsWith(ending)) return true
    return false
  }

  #count({ requests, nonZero, ports }: PodInfo, sign: 1 | -1): void {
    this.generation = nextGeneration()
    const { requested } = this
    requested.cpu += sign * requests.cpu
    requested.memory += sign * requests.memory
    requested.ephemeralStorage += sign * requests.ephemeralStorage
    for (const [name, amount] of requests.scalars) requested.scalars.set(name, (requested.scalars.get(name) ?? 0) + sign * amount)
    this.nonZero.cpu += sign * nonZero.cpu
    this.nonZero.memory += sign * nonZero.memory
    for (const { ip, protocol, port } of ports) bump(this.#ports, portKey(ip, protocol, port), sign)
  }
}

let generations = 0
const nextGeneration = (): number => ++generations

const NO_LABELS: Labels = {}
/** The address ends at the bar, which no address has. */
const portKey = (ip: string, protocol: string, port: number): string => `${ip}|${protocol}/${port}`

/** Counts under a key; a count of zero is no entry. */
export function bump<K>(counts: Map<K, number>, key: K, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
