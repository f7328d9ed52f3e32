/** Feature gates of this group: fields of a disabled feature are dropped, unless the stored object uses them already. */
import type { RequestContext } from '../../schema/request-context.ts'

export type Feature<T> = {
  /** All must be on. */
  readonly gates: readonly string[]
  readonly isUsedBy: (value: T) => boolean
  readonly drop: (value: T) => void
}

/** Drops fields of disabled features from `value`, unless `old` uses them. */
export function dropDisabled<T>(features: readonly Feature<T>[], value: T, old: T | undefined, { gate }: RequestContext): void {
  for (const { gates, isUsedBy, drop } of features) {
    if (gates.every(gate) || (old !== undefined && isUsedBy(old))) continue
    drop(value)
  }
}
