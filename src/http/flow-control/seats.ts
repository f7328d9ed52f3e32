/** Divides the seats of the server: each priority level has its share, and may lend and borrow within limits. */

/** The part of a PriorityLevelConfiguration that requests need. */
export type LevelConfiguration = {
  readonly name: string
  readonly uid: string
  /** Requests of this level never wait. */
  readonly isExempt: boolean
  readonly shares: number
  readonly lendablePercent: number
  /** Undefined: unlimited. */
  readonly borrowingLimitPercent: number | undefined
  /** Undefined: requests without a seat are rejected. */
  readonly queuing: { readonly queues: number; readonly handSize: number; readonly queueLengthLimit: number } | undefined
}

export type SeatLimits = {
  /** The level's share. */
  readonly nominal: number
  /** The seats that it never lends. */
  readonly lower: number
  /** The maximum with borrowed ones. */
  readonly upper: number
}

/** Divides seats by shares, rounded up; an infinite number is infinite for every level. */
export function divideSeats(total: number, levels: Iterable<LevelConfiguration>): Map<string, SeatLimits> {
  const all = [...levels]
  const sum = all.reduce((shares, level) => shares + level.shares, 0)
  return new Map(all.map(level => [level.name, limitsOf(level, total, sum)]))
}

function limitsOf({ shares, lendablePercent, borrowingLimitPercent }: LevelConfiguration, total: number, sum: number): SeatLimits {
  if (total === Number.POSITIVE_INFINITY) return { nominal: total, lower: total, upper: total }
  const nominal = sum === 0 ? 0 : Math.ceil((total * shares) / sum)
  const borrowable = borrowingLimitPercent === undefined ? total : Math.round((nominal * borrowingLimitPercent) / 100)
  return { nominal, lower: nominal - Math.round((nominal * lendablePercent) / 100), upper: nominal + borrowable }
}
