/**
 * The graph of owners and dependents, from the ownerReferences of objects. Only objects that have such references are in it, with only the
 * fields that are needed to find them again:
 *
 *     pod ──owner──→ replicaset ──owner──→ deployment          dependentsOf(replicaset's uid) = pod
 *
 * Owners are known by their uid alone. One that is gone stays known as gone for as long as an object refers to it.
 */
import type { OwnerReference } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'

/** Where an object is, and which one. */
export type Item = {
  readonly key: string
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly uid: string
}
export type Dependent = Item & { readonly references: readonly OwnerReference[] }

/** The effect of a change: whether the references are new, and the owners that have lost a dependent or are no longer blocked by it. */
export type Effect = { readonly isNew: boolean; readonly released: readonly string[] }

export class Graph {
  readonly #dependents = new Map<string, Dependent>()
  readonly #byOwner = new Map<string, Set<string>>()
  readonly #gone = new Set<string>()

  get(key: string): Dependent | undefined {
    return this.#dependents.get(key)
  }

  *dependentsOf(uid: string): Iterable<Dependent> {
    for (const key of this.#byOwner.get(uid) ?? []) yield this.#dependents.get(key)!
  }

  /** Whether an owner is known to be gone. */
  isGone(uid: string): boolean {
    return this.#gone.has(uid)
  }

  /** Takes in an object that refers to owners, or no longer refers to any. */
  put(item: Item, references: readonly OwnerReference[]): Effect {
    const before = this.#dependents.get(item.key)
    if (before?.uid === item.uid && sameReferences(before.references, references)) return NOTHING
    // The new ones first, so that nothing is forgotten of owners that are in both.
    for (const { uid } of references) {
      const keys = this.#byOwner.get(uid)
      if (keys) keys.add(item.key)
      else this.#byOwner.set(uid, new Set([item.key]))
    }
    const { released } = this.#forget(item.key, new Set(references.map(({ uid }) => uid)))
    if (references.length > 0) this.#dependents.set(item.key, { ...item, references })
    return { isNew: references.length > 0, released }
  }

  /** Forgets an object as a dependent of others. */
  remove(key: string): Effect {
    return this.#forget(key, NONE)
  }

  #forget(key: string, kept: ReadonlySet<string>): Effect {
    const before = this.#dependents.get(key)
    if (!before) return NOTHING
    this.#dependents.delete(key)
    const released = before.references.map(({ uid }) => uid)
    for (const uid of released) {
      const keys = this.#byOwner.get(uid)
      if (!kept.has(uid)) keys?.delete(key)
      if (keys?.size !== 0) continue
      this.#byOwner.delete(uid)
      this.#gone.delete(uid)
    }
    return { isNew: false, released }
  }

  /** Notes that an owner is gone. */
  lose(uid: string): void {
    if (this.#byOwner.has(uid)) this.#gone.add(uid)
  }
}

const NOTHING: Effect = { isNew: false, released: [] }
const NONE: ReadonlySet<string> = new Set()

/** Clients replace the list of references as a whole, so its order carries no meaning here. */
const sameReferences = (a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean =>
  a.length === b.length && a.every((reference, i) => sameReference(reference, b[i]!))

const sameReference = (a: OwnerReference, b: OwnerReference): boolean =>
  a.uid === b.uid &&
  a.name === b.name &&
  a.kind === b.kind &&
  a.apiVersion === b.apiVersion &&
  a.blockOwnerDeletion === b.blockOwnerDeletion
