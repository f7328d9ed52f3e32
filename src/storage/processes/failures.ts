/** Errors of the primary as they reach a follower. */
import { messageOf } from '../../lib/error-message.ts'
import type { Fence } from '../../lib/fence.ts'
import { TransformError } from '../record-transformer.ts'
import { Compacted, FencedOff, FutureRevision, type Revision, SpaceExceeded, StoreUnavailable, ValueTooLarge } from '../store.ts'
import { encodeFrame, type Frame } from './frames.ts'

type Sent = { readonly kind: string; readonly message: string; readonly problem?: string; readonly revision?: Revision }

/** A broken fence is told by its place among those of the swap. */
export function encodeFailure(id: number, error: unknown, fences: readonly Fence[] = []): Buffer {
  if (error instanceof FencedOff) return encodeFrame('fenced', id, Uint8Array.of(fences.indexOf(error.fence)))
  return encodeFrame('failed', id, JSON.stringify(describe(error)))
}

function describe(error: unknown): Sent {
  const message = messageOf(error)
  if (error instanceof SpaceExceeded) return { kind: 'SpaceExceeded', message, problem: error.problem }
  if (error instanceof StoreUnavailable) return { kind: 'StoreUnavailable', message, problem: error.problem }
  if (error instanceof ValueTooLarge) return { kind: 'ValueTooLarge', message }
  if (error instanceof TransformError) return { kind: 'TransformError', message }
  if (error instanceof FutureRevision) return { kind: 'FutureRevision', message, revision: error.newest }
  if (error instanceof Compacted) return { kind: 'Compacted', message, revision: error.oldest }
  return { kind: error instanceof RangeError ? 'RangeError' : 'Error', message }
}

/** `asked` is the revision that was sent, where the request has one. */
export function decodeFailure({ body }: Frame, asked: Revision = 0): Error {
  const { kind, message, problem, revision = 0 } = JSON.parse(body.toString()) as Sent
  const options = problem === undefined ? {} : { problem }
  switch (kind) {
    case 'SpaceExceeded':
      return new SpaceExceeded(message, options)
    case 'StoreUnavailable':
      return new StoreUnavailable(message, options)
    case 'ValueTooLarge':
      return new ValueTooLarge(message)
    case 'TransformError':
      return new TransformError(message)
    case 'FutureRevision':
      return new FutureRevision(asked, revision)
    case 'Compacted':
      return new Compacted(asked, revision)
    default:
      return kind === 'RangeError' ? new RangeError(message) : new Error(message)
  }
}
