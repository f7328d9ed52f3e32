/** Resource versions in requests: reading them, and waiting for one that is not there yet. */
import type { Caches } from '../cache/caches.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { badRequest, StatusError } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'

const PATIENCE_MS = 3000

/** Absent and `0` read as 0: any version will do. */
export function parseRevision(text: string): Revision {
  if (text === '') return 0
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  const why = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax'
  const { field, message } = invalid(
    refTo({ resourceVersion: text }).resourceVersion,
    `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`,
  )
  throw badRequest(`invalid resource version: ${field}: ${message}`)
}

/** Waits a little for a revision that other replicas may have seen already; answers 504 when it does not come. */
export async function waitForRevision(caches: Caches, revision: Revision, signal: AbortSignal): Promise<void> {
  if (caches.revision >= revision) return
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>(resolve => {
    timer = setTimeout(resolve, PATIENCE_MS)
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await Promise.race([caches.reached(revision), patience])
  clearTimeout(timer)
  if (caches.revision < revision) throw tooLargeRevision(revision, caches.revision)
}

export const tooLargeRevision = (asked: Revision, current: Revision) =>
  new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
