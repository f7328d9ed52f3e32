/**
 * Memory for many small objects that are loaded together. A buffer of its own for each takes longer to make than the object takes to read,
 * and a hundred bytes more. A slab is free when nothing of it is used any more: objects are loaded in the order of their keys, and evicted
 * in that order.
 */
const SLAB_BYTES = 64 << 10
/** Larger objects get buffers of their own, so that little is lost at the ends of slabs. */
const MAX_SMALL_BYTES = 4 << 10

export class Slabs {
  #slab: Buffer | undefined
  #used = 0

  readonly allocate = (bytes: number): Buffer => {
    if (bytes > MAX_SMALL_BYTES) return Buffer.allocUnsafeSlow(bytes)
    if (!this.#slab || this.#used + bytes > SLAB_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    this.#used += bytes
    return this.#slab.subarray(this.#used - bytes, this.#used)
  }
}
