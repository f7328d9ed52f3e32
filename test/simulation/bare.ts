/**
 * A world without servers: processes that sleep, send each other messages, read their clocks, are paused and die. Its hash follows from the
 * simulator's own arithmetic and order alone, so it stays the same when servers change, on every architecture and version of Node.
 */
import { chance, monotonicMs, nextIteration, sleep, startInterval, stopTimer, wallMs } from '../../src/lib/environment.ts'
import { Process, World } from './world.ts'

const PROCESSES = 5
const ROUNDS = 400
const MAX_MS = 50

/** The hash of a run. */
export async function simulateBare(seed: number): Promise<string> {
  const world = new World({ seed })
  const processes = Array.from({ length: PROCESSES }, (_, i) => new Process(`process ${i}`))
  const live = async (own: Process, number: number) => {
    own.clock.drift((number - 2) / 40, world.now)
    const ticking = startInterval(() => world.note(`${own.name} ticks at ${monotonicMs().toFixed(6)}`), 7 + number)
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(chance() * MAX_MS)
      const other = processes[Math.floor(chance() * PROCESSES)]!
      world.after(chance() ** 3 * MAX_MS, 'message', () => world.note(`${other.name} hears of ${own.name} at ${wallMs()}`), other)
      await new Promise<void>(nextIteration)
      if (chance() < 0.02) disturb(world, other)
    }
    stopTimer(ticking)
  }
  const work = async () => {
    // One of them is never paused, and lives to the end.
    for (const [i, process] of processes.entries()) if (i > 0) void world.in(process, 'live', () => live(process, i))
    await world.in(processes[0]!, 'live', () => live(processes[0]!, 0))
  }
  await world.run(work, { untilMs: ROUNDS * MAX_MS * 2 })
  if (world.failures.length > 0) throw new Error(world.failures[0])
  return world.trace.digest
}

function disturb(world: World, process: Process): void {
  if (process.name === 'process 0') return
  world.pause(process)
  world.after(chance() * MAX_MS, 'go on', () => world.resume(process))
  if (chance() < 0.05) world.after(MAX_MS, 'die', () => world.kill(process))
}
