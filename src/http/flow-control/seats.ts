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

/** The part of one of several processes that share the seats of a server. */
export type ProcessShare = { readonly place: number; readonly of: number }
export const WHOLE: ProcessShare = { place: 0, of: 1 }

/** Divides seats by shares, rounded up, and those of each level among processes; an infinite number is infinite for every level. */
export function divideSeats(total: number, levels: Iterable<LevelConfiguration>, share = WHOLE): Map<string, SeatLimits> {
  const all = [...levels]
  const sum = all.reduce((shares, level) => shares + level.shares, 0)
  return new Map(all.map(level => [level.name, ofProcess(limitsOf(level, total, sum), share)]))
}

/**
 * All processes together have the limits of the level, except that a level with any seats has one in each: otherwise requests that reach
 * the others would never start.
 */
function ofProcess({ nominal, lower, upper }: SeatLimits, { place, of }: ProcessShare): SeatLimits {
  if (of === 1 || nominal === Number.POSITIVE_INFINITY) return { nominal, lower, upper }
  const part = (seats: number) => Math.floor(seats / of) + (place < seats % of ? 1 : 0)
  const own = nominal > 0 ? Math.max(1, part(nominal)) : 0
  return { nominal: own, lower: Math.min(own, part(lower)), upper: own + Math.max(0, part(upper) - part(nominal)) }
}

function limitsOf({ shares, lendablePercent, borrowingLimitPercent }: LevelConfiguration, total: number, sum: number): SeatLimits {
  if (total === Number.POSITIVE_INFINITY) return { nominal: total, lower: total, upper: total }
  const nominal = sum === 0 ? 0 : Math.ceil((total * shares) / sum)
  const borrowable = borrowingLimitPercent === undefined ? total : Math.round((nominal * borrowingLimitPercent) / 100)
  return { nominal, lower: nominal - Math.round((nominal * lendablePercent) / 100), upper: nominal + borrowable }
}
