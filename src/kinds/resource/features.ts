/** Feature gates of this group: what a feature adds is dropped while its gate is off, unless the stored object uses it already. */
import type { RequestContext } from '../../schema/request-context.ts'

export type Feature<T> = {
  /** All must be on. */
  readonly gates: readonly string[]
  readonly isUsedBy: (value: T) => boolean
  readonly drop: (value: T) => void
}

/** Drops from `value` what belongs to features that are off and that `old` does not use. */
export function dropDisabled<T>(features: readonly Feature<T>[], value: T, old: T | undefined, { gate }: RequestContext): void {
  for (const { gates, isUsedBy, drop } of features) {
    if (gates.every(gate) || (old !== undefined && isUsedBy(old))) continue
    drop(value)
  }
}
