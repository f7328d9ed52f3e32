/** How much of the memory there is goes to what: the store, the bytes of objects, and history. */
import { getHeapStatistics } from 'node:v8'
import { DEFAULT_HISTORY, type HistoryLimits } from '../../cache/resource-cache.ts'
import type { Limits } from '../../storage/quota.ts'
import type { Config } from '../config.ts'

const MIB = 2 ** 20

/** The part of all memory that a store in memory may take: requests, caches and the copies that they make need the rest. */
const STORE = { share: 1 / 4, least: 64 * MIB, most: 8192 * MIB }
/**
 * Bytes of objects that are held for reads; others are read again from the store. Beside them are the requests under way, which
 * decode and copy what they write.
 */
const OBJECTS = { share: 1 / 8, least: 32 * MIB, most: 1024 * MIB }
const HISTORY = { share: 1 / 16, least: 16 * MIB, most: 128 * MIB }

type Part = { readonly share: number; readonly least: number; readonly most: number }

const partOf = (memory: number, { share, least, most }: Part) => Math.min(most, Math.max(least, Math.floor(memory * share)))

/** What each object takes of the heap, however small it is: some 900 bytes in the indexes of store and cache, and as much again in those of controllers. */
const INDEX_BYTES = 2048

/** By `--quota-backend-bytes`; without limits where it is negative, as with etcd. */
export function storeLimits({ quotaBackendBytes }: Config, memory: number): Limits {
  if (quotaBackendBytes !== undefined && quotaBackendBytes < 0) return {}
  const mostKeys = Math.floor(getHeapStatistics().heap_size_limit / 2 / INDEX_BYTES)
  return { quotaBytes: quotaBackendBytes ?? partOf(memory, STORE), mostKeys }
}

export const objectBytes = (memory: number): number => partOf(memory, OBJECTS)

export function historyLimits({ historyMs }: Config, memory: number): HistoryLimits {
  const totalBytes = partOf(memory, HISTORY)
  return { ...DEFAULT_HISTORY, ageMs: historyMs, totalBytes, bytes: Math.min(DEFAULT_HISTORY.bytes, totalBytes) }
}
