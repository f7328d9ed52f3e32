/** How much a store may hold unless the operator says otherwise: it must fit what memory there is. */
import { availableMemory } from '../../lib/available-memory.ts'
import type { Config } from '../config.ts'

const MIB = 2 ** 20
/** What etcd allows by default, and what it is advised not to exceed. */
const LARGEST = 8192 * MIB
const SMALLEST = 64 * MIB
/** The part of all memory that a store in memory may take: requests, caches and the copies that they make need the rest. */
const SHARE = 1 / 4

/** `--quota-backend-bytes`, in bytes; without a limit where it is negative, as with etcd. */
export function quotaOf({ quotaBackendBytes }: Config): number {
  if (quotaBackendBytes === undefined) return Math.min(LARGEST, Math.max(SMALLEST, Math.floor(availableMemory() * SHARE)))
  return quotaBackendBytes < 0 ? Number.POSITIVE_INFINITY : quotaBackendBytes
}
