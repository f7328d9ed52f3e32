/** How much processor time a container has used since its start, where what it uses changes as its script says. */
import type { Use } from './scripted-use.ts'

/** In milliseconds of one processor: the uses are thousandths of one, each from a moment on. */
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
