/**
 * The group versions for which no peer is asked: those of definitions and of aggregated servers. They are objects in the store that all
 * servers share, and a peer that has not seen the end of one must not keep it alive here.
 */

/** For this long after its end a peer may still list a group version. */
export const GRACE_MS = 5 * 60_000

export type Exclusion = {
  /** Group versions as `GROUP/VERSION`. */
  readonly current: ReadonlySet<string>
  /** Those that have ended, with the time at which they count no longer. */
  readonly ended: ReadonlyMap<string, number>
}

export const NOTHING_EXCLUDED: Exclusion = { current: new Set(), ended: new Map() }

/** The exclusion when other group versions have become the current ones. */
export function excludedAfter(before: Exclusion, current: ReadonlySet<string>, now: number): Exclusion {
  const ended = new Map([...before.ended].filter(([, until]) => until > now))
  for (const version of before.current) if (!current.has(version)) ended.set(version, now + GRACE_MS)
  return { current, ended }
}

/** All excluded versions, in order. */
export const allExcluded = ({ current, ended }: Exclusion): string[] => [...new Set([...current, ...ended.keys()])].sort()

export const isExcluded = ({ current, ended }: Exclusion, group: string, version: string): boolean => {
  const key = `${group}/${version}`
  return current.has(key) || ended.has(key)
}

/** In how many milliseconds the exclusion changes by itself; undefined if it does not. */
export const nextEnd = ({ ended }: Exclusion, now: number): number | undefined =>
  ended.size === 0 ? undefined : Math.max(1, Math.min(...ended.values()) - now)
