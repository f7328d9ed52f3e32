/**
 * Objects with decisions that are not written yet: a search for a volume meanwhile must not find the same
 * one. An assumption ends with the next change of the object, or when it is taken back.
 */
import type { Envelope } from '../../schema/object-meta.ts'

export class Assumed<O extends Envelope> {
  readonly #objects = new Map<string, O>()

  /** The assumed object keeps the resourceVersion of the stored object that it was made from. */
  assume(key: string, object: O): void {
    this.#objects.set(key, object)
  }

  forget(key: string): void {
    this.#objects.delete(key)
  }

  /** The assumed object if it is newer than the stored one, or else the stored one. */
  current(key: string, stored: O | undefined): O | undefined {
    const assumed = this.#objects.size > 0 ? this.#objects.get(key) : undefined
    if (!assumed) return stored
    if (stored && stored.metadata.resourceVersion === assumed.metadata.resourceVersion) return assumed
    this.#objects.delete(key)
    return stored
  }
}
