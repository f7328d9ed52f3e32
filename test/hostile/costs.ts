/** The costs of a server that loads `blocked-time.mjs`, and their limits. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { KEELSON, ROOT, type ServerProcess } from '../kit.ts'
import { slowness } from './machine.ts'

/**
 * The limit of a request's processor time, and of the time that it blocks the event loop, on the machine that `slowness` compares with. Slower
 * machines get that many times as much.
 */
export const MAX_CPU_MS = 500
export const MAX_BLOCKED_MS = 100
/** The command of a server whose costs are measured. */
export const MEASURED = [process.execPath, '--import', join(ROOT, 'test/hostile/blocked-time.mjs'), KEELSON] as const

export type Costs = { readonly blocked: number; readonly worked: number; readonly used: number }

/**
 * The costs since the last call, in milliseconds (see `blocked-time.mjs`): the longest time that the event loop was blocked, the time of
 * the main thread, and the processor time of all threads.
 */
export async function costs(server: ServerProcess): Promise<Costs> {
  const reports = () => [...server.stderr().matchAll(/^blocked (\S+) of (\S+), all (\S+)$/gm)]
  const { length } = reports()
  server.child.kill('SIGUSR2')
  while (reports().length === length) await delay(1)
  const [blocked, worked, used] = reports().at(-1)!.slice(1).map(Number) as [number, number, number]
  return { blocked, worked, used }
}

/** Compiling and collecting garbage fall into some request or other, and take as long again. */
const NOISE = 2

/** The machine is measured as often: other programs come and go, and the slowest moment counts. */
const MOMENTS = 5

/** Fails if something took longer than it may. The machine is measured only then: a quick request is in order on any machine. */
export function assertWithin(what: string, ms: number, most: number): void {
  let slow = 1
  for (let i = 0; i < MOMENTS && ms >= most * slow; i++) slow = Math.max(slow, slowness() * NOISE)
  assert.ok(
    ms < most * slow,
    `it ${what} ${ms.toFixed(0)} ms, and ${(most * slow).toFixed(0)} ms are the most at a slowness of ${slow.toFixed(1)}`,
  )
}
