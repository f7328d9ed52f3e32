/** Pods that wait until others on their node end, or need less. */
export class DeferredPods {
  readonly #byNode = new Map<string, Set<string>>()

  /** The keys of the pods of a node that wait. */
  on(node: string): ReadonlySet<string> {
    return this.#byNode.get(node) ?? NONE
  }

  set(node: string, pod: string, { isDeferred }: { readonly isDeferred: boolean }): void {
    const pods = this.#byNode.get(node)
    if (!isDeferred) this.forget(node, pod)
    else if (pods) pods.add(pod)
    else this.#byNode.set(node, new Set([pod]))
  }

  forget(node: string, pod: string): void {
    const pods = this.#byNode.get(node)
    pods?.delete(pod)
    if (pods?.size === 0) this.#byNode.delete(node)
  }
}

const NONE: ReadonlySet<string> = new Set()
