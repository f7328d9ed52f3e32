/** Large writes let other requests run: between their steps, and between the parts of a step. This is the one place where they do. */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { yieldToOthers } from '../lib/yield.ts'
import { StatusError, timedOut } from '../schema/status-error.ts'
import type { CallContext } from './api.ts'
import type { Write } from './write.ts'

/** Work in parts: it stops after each, so that others may run before the next. */
export type InParts<R> = Iterator<void, R>

/** From this size on, the steps of a write noticeably delay other requests. */
const LARGE_BYTES = 128 * 1024

/** Whether a write is large enough to yield. */
export const isLarge = ({ ctx: { body }, found }: Pick<Write, 'ctx' | 'found'>): boolean =>
  (body !== undefined && body.bytes.byteLength >= LARGE_BYTES) || (found !== undefined && found.json.byteLength >= LARGE_BYTES)

/** Lets other requests run; then throws if the client has gone or the deadline has passed. */
export async function letOthersRun(ctx: CallContext): Promise<void> {
  await yieldToOthers()
  stopIfCancelled(ctx)
}

/** Throws if the client has gone or the deadline has passed. */
export function stopIfCancelled({ signal }: CallContext): void {
  if (signal.aborted) throw signal.reason instanceof StatusError ? signal.reason : timedOut('the request was cancelled')
}

/** Runs work part by part. Synchronous for a write that is not large: nothing of it takes long. */
export function runParts<R>(write: Pick<Write, 'ctx' | 'found'>, work: InParts<R>): MaybePromise<R> {
  if (isLarge(write)) return runYielding(write.ctx, work)
  let part = work.next()
  while (!part.done) part = work.next()
  return part.value
}

/** Runs work part by part, and lets others run after so many parts. */
export async function runYielding<R>(ctx: CallContext, work: InParts<R>, partsAtOnce = 1): Promise<R> {
  for (;;) {
    for (let i = 0; i < partsAtOnce; i++) {
      const part = work.next()
      if (part.done) return part.value
    }
    await letOthersRun(ctx)
  }
}
