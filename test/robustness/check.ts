/** Checks a recorded history against all guarantees of the server. Pure: the same history always gives the same verdict. */
import { checkReads } from './check-reads.ts'
import { checkWatches } from './check-watches.ts'
import { checkWrites } from './check-writes.ts'
import { Frontier } from './frontier.ts'
import type { History, Violation } from './history.ts'
import { Timeline } from './timeline.ts'

/** All violated guarantees; empty for a history that a correct server can produce. */
export function check(history: History): Violation[] {
  const timeline = new Timeline(history)
  const frontier = new Frontier(history, timeline)
  const context = { history, timeline, frontier }
  return [...timeline.violations, ...checkWrites(context), ...checkReads(context), ...checkWatches(context)]
}
