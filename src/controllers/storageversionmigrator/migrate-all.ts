/** Writes many objects again: in pages, several at once, no more per second than is allowed, and until none is left. */
import { monotonicMs, sleep } from '../../lib/environment.ts'
import type { Outcome, Progress } from './reconcile.ts'

type Candidate = { readonly isOutdated: boolean }

export type Limits = { readonly page: number; readonly atOnce: number; readonly perSecond: number }

/** The objects that are not migrated yet, and the number of all. A migration is repeated while outdated objects remain. */
export type Candidates<O> = { readonly total: number; readonly left: readonly O[] }

export type MigrateParts<O extends Candidate> = {
  readonly candidates: () => Candidates<O>
  /** Undefined when the object is gone. */
  readonly write: (object: O) => Promise<unknown>
  readonly outcomeOf: (error: unknown) => Outcome
  readonly limits: Limits
  readonly signal: AbortSignal
  /** Called after each page but the last. False ends the migration. */
  readonly report: (progress: Progress) => Promise<boolean>
}

export type MigrateResult =
  | { readonly type: 'done'; readonly progress: Progress }
  | { readonly type: 'stopped' }
  | { readonly type: 'again' | 'failed'; readonly progress: Progress; readonly error: unknown }

/** How often outdated objects are searched for: writes that began before the change may have stored some meanwhile. */
const MAX_ROUNDS = 5

export async function migrateAll<O extends Candidate>(parts: MigrateParts<O>): Promise<MigrateResult> {
  let found = parts.candidates()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const result = await migrateThese(found, parts)
    if (result.type !== 'done') return result
    found = parts.candidates()
    const left = found.left.filter(({ isOutdated }) => isOutdated)
    if (left.length === 0) return result
    found = { total: found.total, left }
  }
  const progress = { left: found.left.length, total: found.total }
  return { type: 'again', progress, error: new Error('objects are still being written in another version') }
}

async function migrateThese<O extends Candidate>({ total, left }: Candidates<O>, parts: MigrateParts<O>): Promise<MigrateResult> {
  const { limits, signal, report } = parts
  let remaining = left.length
  for (let start = 0; start < left.length; start += limits.page) {
    const page = left.slice(start, start + limits.page)
    const began = monotonicMs()
    const failure = await writePage(page, parts)
    remaining -= page.length - (failure?.left ?? 0)
    if (failure) return { type: failure.type, progress: { left: remaining, total }, error: failure.error }
    if (signal.aborted) return { type: 'stopped' }
    if (remaining === 0) break
    if (!(await report({ left: remaining, total }))) return { type: 'stopped' }
    const rest = (page.length / limits.perSecond) * 1000 - (monotonicMs() - began)
    if (rest > 0) await sleep(rest, { signal }).catch(() => {})
    if (signal.aborted) return { type: 'stopped' }
  }
  return { type: 'done', progress: { left: 0, total } }
}

type Failure = { readonly type: 'again' | 'failed'; readonly error: unknown; readonly left: number }

/** Writes several objects at once, so that they share commits. After a failure no further write starts. */
async function writePage<O extends Candidate>(
  page: readonly O[],
  { write, outcomeOf, limits, signal }: MigrateParts<O>,
): Promise<Failure | undefined> {
  let next = 0
  let written = 0
  let found: Omit<Failure, 'left'> | undefined
  const work = async () => {
    while (next < page.length && !found && !signal.aborted) {
      const object = page[next++]!
      try {
        await write(object)
      } catch (error) {
        const type = outcomeOf(error)
        if (type !== 'migrated') {
          // An error that ends the migration outweighs one that can be retried.
          if (!found || type === 'failed') found = { type, error }
          return
        }
      }
      written++
    }
  }
  await Promise.all(Array.from({ length: Math.min(limits.atOnce, page.length) }, work))
  const failure = found as Omit<Failure, 'left'> | undefined
  return failure && { ...failure, left: page.length - written }
}
