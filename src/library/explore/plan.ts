/** Plans perturbations from an undisturbed run: at the points that matter, in an order that follows from a seed. */
import { randomFrom } from '../../lib/random.ts'
import type { PerturbationKind } from '../../public.d.ts'
import type { LoggedChange } from './change-log.ts'
import { PERTURBATION_KINDS, type Perturbation, type WritePoint, writeKey } from './perturbation.ts'
import type { Write } from './perturber.ts'

export type Observed = {
  readonly writes: readonly Write[]
  readonly changes: readonly LoggedChange[]
  readonly watched: ReadonlySet<string>
  readonly readStale: ReadonlySet<string>
}

export type PlanOptions = {
  readonly kinds: readonly PerturbationKind[]
  readonly seed: number
  /** Whether the program may be killed. */
  readonly canKill: boolean
}

/** All perturbations, those of all kinds in turn. */
export function plan(observed: Observed, { kinds, seed, canKill }: PlanOptions): Perturbation[] {
  const random = randomFrom(seed)
  const queues = PERTURBATION_KINDS.filter(kind => kinds.includes(kind) && (canKill || !NEEDS_KILL.has(kind))).map(kind =>
    ordered(perturbationsOf(kind, observed), random),
  )
  const planned: Perturbation[] = []
  for (let i = 0; queues.some(queue => i < queue.length); i++) for (const queue of queues) if (i < queue.length) planned.push(queue[i]!)
  return planned
}

const NEEDS_KILL: ReadonlySet<PerturbationKind> = new Set(['stale', 'intermediate'])

function perturbationsOf(kind: PerturbationKind, { writes, changes, watched, readStale }: Observed): Perturbation[] {
  const made = distinct(writes.filter(({ status }) => status < 300))
  switch (kind) {
    case 'intermediate':
      // After the last write there is nothing left that the program would not do.
      return made.slice(0, -1).map(at => ({ kind, at }))
    case 'conflict':
      return made.filter(({ verb }) => verb === 'update' || verb === 'patch').map(at => ({ kind, at }))
    case 'timeout':
      return made.flatMap(at => [true, false].map(isMade => ({ kind, at, isMade })))
    case 'unobserved':
      return opposites(changes.filter(({ resource }) => watched.has(resource)))
    case 'stale':
      return superseded(changes.filter(({ resource }) => readStale.has(resource)))
  }
}

function distinct(writes: readonly Write[]): WritePoint[] {
  return [...new Map(writes.map(({ status: _, ...point }) => [writeKey(point), point])).values()]
}

/**
 * Changes after which the object is again as it was before an earlier one, or is gone after its deletion had begun: missing both of them, a
 * program misses something.
 */
function opposites(changes: readonly LoggedChange[]): Perturbation[] {
  return changes.flatMap((from, i): Perturbation[] => {
    const isEnd = (later: LoggedChange) => later.after === from.before || (from.after === 'marked' && later.after === 'absent')
    const to = changes.slice(i + 1).find(later => isSameObject(from, later) && isEnd(later))
    return to ? [{ kind: 'unobserved', from: pointOf(from), to: pointOf(to) }] : []
  })
}

/** Changes whose result did not last: a server that is behind still shows it. */
function superseded(changes: readonly LoggedChange[]): Perturbation[] {
  return changes
    .filter(
      (from, i) => from.after !== 'absent' && changes.slice(i + 1).some(later => isSameObject(from, later) && later.after !== from.after),
    )
    .map(from => ({ kind: 'stale', from: pointOf(from) }))
}

const isSameObject = (a: LoggedChange, b: LoggedChange): boolean =>
  a.resource === b.resource && a.namespace === b.namespace && a.name === b.name

const pointOf = ({ resource, namespace, name, change, ordinal }: LoggedChange) => ({ resource, namespace, name, change, ordinal })

/** First occurrences first, and those of the same number in an order that the seed decides. */
function ordered(perturbations: readonly Perturbation[], random: () => number): Perturbation[] {
  return perturbations
    .map(perturbation => ({
      perturbation,
      ordinal: 'at' in perturbation ? perturbation.at.ordinal : perturbation.from.ordinal,
      rank: random(),
    }))
    .sort((a, b) => a.ordinal - b.ordinal || a.rank - b.rank)
    .map(({ perturbation }) => perturbation)
}
