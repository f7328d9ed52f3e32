/** Devices that take from the same set of counters must have a group in common, or have none at all. */
import type { DeviceCounterConsumption } from '../kinds/resource/slice-shapes.ts'

type Consumptions = readonly DeviceCounterConsumption[]

/** The groups that all devices which consume a counter set have in common, by counter set; empty when there are none. */
export class CompatibilityGroups {
  readonly #common = new Map<string, readonly string[]>()

  /** Adds a device that is there already, whatever that means for others. */
  add(consumptions: Consumptions): void {
    for (const { counterSet, compatibilityGroups = [] } of consumptions) {
      const before = this.#common.get(counterSet)
      const isFirst = before === undefined
      if (isFirst) this.#common.set(counterSet, compatibilityGroups)
      else if (before.length > 0 && compatibilityGroups.length > 0)
        this.#common.set(counterSet, withSome(before.filter(group => compatibilityGroups.includes(group))))
    }
  }

  /** Adds a device if it goes with those that are there. Gives what takes it back. */
  join(consumptions: Consumptions): (() => void) | undefined {
    for (const { counterSet, compatibilityGroups = [] } of consumptions) {
      const before = this.#common.get(counterSet)
      if (before === undefined) continue
      const isAlike = before.length === 0 ? compatibilityGroups.length === 0 : compatibilityGroups.some(group => before.includes(group))
      if (!isAlike) return undefined
    }
    const saved = new Map(this.#common)
    this.add(consumptions)
    return () => {
      this.#common.clear()
      for (const [set, groups] of saved) this.#common.set(set, groups)
    }
  }
}

/** Devices that should not be together leave nothing that others could have in common with them; that is not the same as no groups. */
const withSome = (groups: readonly string[]): readonly string[] => (groups.length === 0 ? IMPOSSIBLE : groups)
const IMPOSSIBLE: readonly string[] = ['']
