/** The amount of memory this process may use. */
import { totalmem } from 'node:os'

/** The limit of its container (cgroup v1 or v2) or the memory of the machine, whichever is less, in bytes. */
export function availableMemory(): number {
  const total = totalmem()
  const limit = process.constrainedMemory()
  // Without a limit, cgroup v2 gives 0 and v1 a number larger than any memory.
  return limit && limit > 0 && limit < total ? limit : total
}
