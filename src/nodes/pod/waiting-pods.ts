/** Pods that wait for objects that do not exist yet, or not in the state that they need. */
import type { Missing, Referred } from './references.ts'

export class WaitingPods {
  readonly #podsByObject = new Map<string, Set<string>>()
  readonly #objectsByPod = new Map<string, readonly string[]>()

  /** The keys of the pods that wait for an object. */
  for(plural: Referred, namespace: string, name: string): Iterable<string> {
    return (this.#podsByObject.size === 0 ? undefined : this.#podsByObject.get(keyOf(plural, namespace, name))) ?? []
  }

  /** Replaces the objects that a pod waits for. */
  set(pod: string, namespace: string, missing: readonly Missing[]): void {
    this.forget(pod)
    const objects = missing.flatMap(each => each.objects).map(({ plural, name }) => keyOf(plural, namespace, name))
    if (objects.length === 0) return
    this.#objectsByPod.set(pod, objects)
    for (const object of objects) {
      const pods = this.#podsByObject.get(object)
      if (pods) pods.add(pod)
      else this.#podsByObject.set(object, new Set([pod]))
    }
  }

  forget(pod: string): void {
    for (const object of this.#objectsByPod.get(pod) ?? []) {
      const pods = this.#podsByObject.get(object)
      pods?.delete(pod)
      if (pods?.size === 0) this.#podsByObject.delete(object)
    }
    this.#objectsByPod.delete(pod)
  }
}

const CLUSTER_SCOPED: ReadonlySet<Referred> = new Set<Referred>(['clustertrustbundles', 'signers', 'volumeattachments'])

const keyOf = (plural: Referred, namespace: string, name: string) => `${plural} ${CLUSTER_SCOPED.has(plural) ? '' : namespace}/${name}`
