/**
 * Objects as they will be once what was decided about them is written: whoever looks for a volume meanwhile must not find the same
 * one. An assumption ends with the next change of the object, or when it is taken back.
 */
import type { Envelope } from '../../schema/object-meta.ts'

export class Assumed<O extends Envelope> {
  readonly #objects = new Map<string, O>()

  /** The object still has the resourceVersion of what it was made of. */
  assume(key: string, object: O): void {
    this.#objects.set(key, object)
  }

  forget(key: string): void {
    this.#objects.delete(key)
  }

  /** The stored object, or what it is assumed to be. */
  current(key: string, stored: O | undefined): O | undefined {
    const assumed = this.#objects.size > 0 ? this.#objects.get(key) : undefined
    if (!assumed) return stored
    if (stored && stored.metadata.resourceVersion === assumed.metadata.resourceVersion) return assumed
    this.#objects.delete(key)
    return stored
  }
}
