/**
 * Large writes let other requests run: between their steps, and between the parts of a step. This is the one place where they do.
 * Nothing but the time at which they run depends on it.
 */
import type { InParts } from '../lib/in-parts.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { yieldToOthers } from '../lib/yield.ts'
import { StatusError, timedOut } from '../schema/status-error.ts'
import type { Write } from './write-value.ts'

/** The largest write that takes no noticeable time, whatever it holds. */
export const SMALL_BYTES = 16 * 1024
/** How long a write may run without yielding, in milliseconds. */
const SLICE_MS = 8

/** Lets other requests run if the write is large and has run for a while; throws then if its client has gone. Undefined if it is to go on at once. */
export function yieldIfDue(write: Write): Promise<void> | undefined {
  if (!isLarge(write)) return undefined
  const now = performance.now()
  if (now - write.yieldedAt < SLICE_MS) return undefined
  return letOthersRun(write)
}

/** Whether a write may take noticeable time. */
export const isLarge = ({ ctx: { body }, found }: Write): boolean =>
  (body !== undefined && body.bytes.byteLength > SMALL_BYTES) || (found !== undefined && found.json.byteLength > SMALL_BYTES)

async function letOthersRun(write: Write): Promise<void> {
  await yieldToOthers()
  write.yieldedAt = performance.now()
  stopIfCancelled(write)
}

/** Throws if the client has gone or the deadline has passed. A write that is already stored is answered nevertheless. */
function stopIfCancelled({ ctx: { signal }, done, result }: Write): void {
  if (signal.aborted && !done && !result) throw signal.reason instanceof StatusError ? signal.reason : timedOut('the request was cancelled')
}

/** Runs work that may yield between its parts. */
export function runParts<R>(write: Write, work: InParts<R>): MaybePromise<R> {
  for (let part = work.next(); ; part = work.next()) {
    if (part.done) return part.value
    const yielding = yieldIfDue(write)
    if (yielding) return yielding.then(() => runParts(write, work))
  }
}

/** Runs work whose parts may take long in a write of any size. */
export function runPartsOfAnySize<R>(write: Write, work: InParts<R>): MaybePromise<R> {
  if (write.yieldedAt === 0) write.yieldedAt = performance.now()
  for (let part = work.next(); ; part = work.next()) {
    if (part.done) return part.value
    if (performance.now() - write.yieldedAt >= SLICE_MS) return letOthersRun(write).then(() => runPartsOfAnySize(write, work))
  }
}

/** Runs work that may take long in a write of any size: others run after so many parts. */
export async function runLongParts(write: Write, work: Iterator<void>, partsAtOnce: number): Promise<void> {
  for (;;) {
    for (let i = 0; i < partsAtOnce; i++) {
      if (work.next().done) return
    }
    await letOthersRun(write)
  }
}
