/**
 * How busy the clients of a run are. Most happens in bursts; between them there are few requests, so that leases, bookmarks, compaction
 * and whatever else follows the clock is seen over a long time that costs little.
 */
import type { Random } from '../robustness/random.ts'

/** From and to, in milliseconds after the beginning of the work. */
export type Burst = readonly [fromMs: number, toMs: number]

const BURST_MS = 1_000
const MAX_LONGER_MS = 4_000
const MAX_CALM_MS = 24_000
/** The factor by which clients wait longer when there is no burst. */
export const CALM = 20

/** A run begins with a burst. */
export function planBursts(random: Random, ms: number): Burst[] {
  const bursts: Burst[] = []
  for (let at = 0; at < ms; at += random.below(MAX_CALM_MS)) {
    const from = at
    at += BURST_MS + random.below(MAX_LONGER_MS)
    bursts.push([from, at])
  }
  return bursts
}

export const isBusy = (bursts: readonly Burst[], ms: number): boolean => bursts.some(([from, to]) => from <= ms && ms < to)
