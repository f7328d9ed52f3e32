/** The processor time that a container has used since its start, with usage that changes as its script says. */
import type { Use } from './scripted-use.ts'

/** Milliseconds of one processor, from usages in thousandths, each valid from a time on. */
export function processorMs(uses: readonly Use[], ranMs: number, milliOf: (use: Use | undefined) => bigint): number {
  const changes = [...new Set([0, ...uses.map(({ afterMs }) => afterMs)])].filter(at => at < ranMs).sort((a, b) => a - b)
  let sum = 0
  for (const [i, from] of changes.entries()) {
    const until = Math.min(changes[i + 1] ?? ranMs, ranMs)
    const use = uses.findLast(({ afterMs }) => afterMs <= from)
    sum += (until - from) * Number(milliOf(use))
  }
  return sum / 1000
}
