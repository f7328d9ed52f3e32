/** Resource versions in requests: reading them, and waiting for one that is not there yet. */
import type { Caches } from '../cache/caches.ts'
import { Cancellable, type Cancellation } from '../lib/cancellation.ts'
import { startTimer, stopTimer } from '../lib/environment.ts'
import { goQuote } from '../lib/go-text.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { badRequest, expired, type StatusError, tooLargeRevision } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'

const TIMEOUT_MS = 3000
const UINT64 = 2n ** 64n

/** Absent and `0` read as 0: any version will do. */
export function parseRevision(text: string): Revision {
  if (text === '') return 0
  // Larger numbers are revisions of the future.
  if (/^\d+$/.test(text) && BigInt(text) < UINT64) return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  const why = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax'
  const { field, message } = invalid(
    refTo({ resourceVersion: text }).resourceVersion,
    `strconv.ParseUint: parsing ${goQuote(text)}: ${why}`,
  )
  throw badRequest(`invalid resource version: ${field}: ${message}`)
}

/** How long to wait: until the signal is aborted, and no longer than the timeout of the request. */
export type WaitOptions = { readonly signal: Cancellation; readonly timeoutMs?: number | undefined }

const TOO_OLD = 'The resourceVersion for the provided list is too old.'

/** Waits a little for a revision that may come yet; returns the error to answer when it does not, or will not be again. */
export async function waitForRevision(
  caches: Caches,
  revision: Revision,
  { signal, timeoutMs = 0 }: WaitOptions,
): Promise<StatusError | undefined> {
  if (caches.revision >= revision) return undefined
  if (caches.isLost(revision)) return expired(TOO_OLD)
  // Over a store that others write to, the revision may be of a write that nothing here is told of: then the store has to be asked.
  caches.fresh()?.catch(() => {})
  const patience = new Cancellable()
  const stop = () => patience.abort(new Error('waited for long enough'))
  const timer = startTimer(stop, timeoutMs > 0 ? Math.min(timeoutMs, TIMEOUT_MS) : TIMEOUT_MS)
  signal.addEventListener('abort', stop, { once: true })
  await caches.reached(revision, patience)
  stopTimer(timer)
  signal.removeEventListener('abort', stop)
  if (caches.revision >= revision) return undefined
  return caches.isLost(revision) ? expired(TOO_OLD) : tooLargeRevision(revision, caches.revision)
}
