/** Writes all bytes to a file or a pipe. */
import { writeSync } from 'node:fs'

/** How long a pipe is given until it is tried again. */
const PAUSE_MS = 1

/**
 * Returns when all bytes are written; waits while a pipe is full, also one that does not make writers wait, as Node's standard output.
 * Throws when they cannot be written; some of them may be.
 */
export function writeWhole(file: number, bytes: Uint8Array): void {
  let written = 0
  while (written < bytes.byteLength) {
    try {
      written += writeSync(file, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      pause()
    }
  }
}

const never = new Int32Array(new SharedArrayBuffer(4))
const pause = () => Atomics.wait(never, 0, 0, PAUSE_MS)
