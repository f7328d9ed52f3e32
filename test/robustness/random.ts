/** Reproducible randomness: the same seed makes the same choices. */
import { randomFrom } from '../../src/lib/random.ts'

export class Random {
  /** Between 0 and 1. */
  readonly next: () => number

  constructor(seed: number) {
    this.next = randomFrom(seed)
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** True with a probability of 1 in `count`. */
  oneIn(count: number): boolean {
    return this.below(count) === 0
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!
  }

  /** Another source, independent from here on. */
  fork(): Random {
    return new Random(this.below(2 ** 32))
  }
}
