/** Pods that wait for room on a node which others are leaving for them. Pods of lower or the same priority leave that room alone. */
import type { PodInfo } from './pod-info.ts'

export class Nominations {
  readonly #byNode = new Map<string, Map<string, PodInfo>>()
  readonly #nodes = new Map<string, string>()

  /** Enters a pod under its node, in place of its earlier entry; an empty node ends its nomination. */
  set(pod: PodInfo, node: string): void {
    this.remove(pod.uid)
    if (node === '') return
    this.#nodes.set(pod.uid, node)
    const pods = this.#byNode.get(node)
    if (pods) pods.set(pod.uid, pod)
    else this.#byNode.set(node, new Map([[pod.uid, pod]]))
  }

  remove(uid: string): void {
    const node = this.#nodes.get(uid)
    if (node === undefined) return
    this.#nodes.delete(uid)
    const pods = this.#byNode.get(node)!
    pods.delete(uid)
    if (pods.size === 0) this.#byNode.delete(node)
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodes.get(uid)
  }

  isAnyOn(node: string): boolean {
    return this.#byNode.size > 0 && this.#byNode.has(node)
  }

  on(node: string): Iterable<PodInfo> {
    return this.#byNode.get(node)?.values() ?? []
  }
}
