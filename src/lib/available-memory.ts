/** How much memory this process may use. */
import { totalmem } from 'node:os'

/** That of its container (cgroup v1 or v2) or of the machine, whichever is less, in bytes. */
export function availableMemory(): number {
  const total = totalmem()
  const limit = process.constrainedMemory()
  // Without a limit it is 0, or a number beyond all memory.
  return limit && limit > 0 && limit < total ? limit : total
}
