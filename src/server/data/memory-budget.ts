/** Divides the available memory between the store, the bytes of objects, and history. */
import { getHeapStatistics } from 'node:v8'
import { DEFAULT_HISTORY, type HistoryLimits } from '../../cache/resource-cache.ts'
import type { Limits } from '../../storage/quota.ts'
import type { Config } from '../config.ts'
import { historyAge } from './history-window.ts'

const MIB = 2 ** 20

/** The share of memory for a store in memory: requests, caches and their copies need the rest. */
const STORE = { share: 1 / 4, least: 64 * MIB, most: 8192 * MIB }
/**
 * Bytes of objects that are kept for reads; others are read from the store again. Requests under way need memory, too: they
 * decode and copy their objects.
 */
const OBJECTS = { share: 1 / 8, least: 32 * MIB, most: 1024 * MIB }
const HISTORY = { share: 1 / 16, least: 16 * MIB, most: 128 * MIB }

type Part = { readonly share: number; readonly least: number; readonly most: number }

const partOf = (memory: number, { share, least, most }: Part) => Math.min(most, Math.max(least, Math.floor(memory * share)))

/** Heap bytes of an object, however small: some 900 in the indexes of store and cache, and as many again in those of controllers. */
const INDEX_BYTES = 2048

/** Limits from `--quota-backend-bytes`; none where it is negative, as in etcd. */
export function storeLimits({ quotaBackendBytes }: Config, memory: number): Limits {
  if (quotaBackendBytes !== undefined && quotaBackendBytes < 0) return {}
  const mostKeys = Math.floor(getHeapStatistics().heap_size_limit / 2 / INDEX_BYTES)
  return { quotaBytes: quotaBackendBytes ?? partOf(memory, STORE), mostKeys }
}

export const objectBytes = (memory: number): number => partOf(memory, OBJECTS)

export function historyLimits(config: Config, memory: number): HistoryLimits {
  const totalBytes = partOf(memory, HISTORY)
  return { ...DEFAULT_HISTORY, ageMs: historyAge(config), totalBytes, bytes: Math.min(DEFAULT_HISTORY.bytes, totalBytes) }
}
