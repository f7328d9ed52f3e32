/**
 * Explores how a program reacts when something goes wrong: records an undisturbed run, plans perturbations from it, and repeats the run with
 * one of them at a time (after Sun et al., Automatic Reliability Testing for Cluster Management Controllers, OSDI 2022).
 */
import type { ExploreFinding, ExploreReport, PerturbationKind } from '../../public.d.ts'
import { differences, type FinalState } from './final-state.ts'
import { describe, idOf, type Perturbation } from './perturbation.ts'
import type { TraceEntry } from './perturber.ts'
import { type Observed, plan } from './plan.ts'
import { type Compare, ExploreError, type Outcome, runOnce, type Subject } from './run.ts'
import { RunHost } from './run-host.ts'

export type ExploreSettings = {
  readonly kinds: readonly PerturbationKind[]
  readonly seed: number
  readonly budgetMs: number
  readonly only: Perturbation | undefined
  /** `KIND`, or `KIND:FIELD`. */
  readonly ignore: readonly string[]
  /** Called before each run. */
  readonly onRun?: (text: string) => void
}

/** Throws ExploreError if the undisturbed run fails. */
export async function exploreSubject(subject: Subject, settings: ExploreSettings): Promise<ExploreReport> {
  const host = await RunHost.open(subject)
  try {
    return await exploreOn(host, subject, settings)
  } finally {
    await host.close()
  }
}

async function exploreOn(host: RunHost, subject: Subject, settings: ExploreSettings): Promise<ExploreReport> {
  const { kinds, seed, budgetMs, only, onRun = () => {} } = settings
  const until = performance.now() + budgetMs
  onRun('undisturbed')
  const first = await undisturbed(host, subject)
  onRun('undisturbed, once more')
  const notes: string[] = []
  const compare = comparing(first, await undisturbed(host, subject), { ...settings, notes })
  const canKill = subject.program !== undefined && subject.restart !== 'never'
  const planned = only ? [only] : plan(first, { kinds, seed, canKill })
  notes.push(...limitsOf(first, kinds, canKill))
  const findings = new Findings()
  let [tried, unreached] = [0, 0]
  for (const perturbation of planned) {
    if (tried > 0 && performance.now() >= until) break
    onRun(describe(perturbation))
    const outcome = await runOnce(host, subject, { perturbation, compare })
    tried++
    if (!outcome.isReached) unreached++
    if (outcome.problems.length === 0) continue
    if (!outcome.isReached) {
      notes.push(`differs although ${idOf(perturbation)} did not come to pass: ${outcome.problems.join('; ')}`)
      continue
    }
    if (findings.knows(perturbation, outcome)) continue
    onRun(`again: ${describe(perturbation)}`)
    const again = await runOnce(host, subject, { perturbation, compare })
    if (again.problems.length > 0 && again.isReached) findings.add(perturbation, again)
    else notes.push(`seen once and not again, with ${idOf(perturbation)}: ${outcome.problems.join('; ')}`)
  }
  if (tried < planned.length)
    notes.push(`the budget is used up: ${planned.length - tried} of ${planned.length} perturbations were not tried`)
  return { seed, planned: planned.length, tried, unreached, findings: findings.list, notes }
}

async function undisturbed(host: RunHost, subject: Subject): Promise<Outcome> {
  const outcome = await runOnce(host, subject, { perturbation: undefined, compare: () => [] })
  if (outcome.problems.length > 0) throw new ExploreError(`without any perturbation: ${outcome.problems.join('; ')}`)
  if (outcome.failure !== undefined) throw new ExploreError(`without any perturbation the program failed: ${outcome.failure}`)
  return outcome
}

/** Compares with the first of two undisturbed runs; where these differ, any state is fine. */
function comparing(
  first: Outcome,
  second: Outcome,
  { ignore, notes }: { readonly ignore: readonly string[]; readonly notes: string[] },
): Compare {
  const unstable = differences(first.state, second.state, () => false)
  const open = new Set(unstable.map(({ object, field }) => `${object}|${field}`))
  const named = unstable.filter(({ object }) => !isInBoth(object, first.state, second.state)).map(({ object }) => object)
  if (named.length > 0) notes.push(`not compared, as they differ without any perturbation: ${named.join(', ')}`)
  const isIgnored = (object: string, field: string) => open.has(`${object}|${field}`) || ignore.some(each => isMeant(each, object, field))
  return ({ state, deletions }) => [
    ...differences(first.state, state, isIgnored).map(({ text }) => text),
    ...[...deletions]
      .filter(([place, count]) => !place.endsWith('*') && count > (first.deletions.get(place) ?? 0))
      .map(([place, count]) => `${place} was deleted by the program ${times(count)}, not ${times(first.deletions.get(place) ?? 0)}`),
  ]
}

const isInBoth = (object: string, a: FinalState, b: FinalState): boolean => a.get(object)?.length === b.get(object)?.length

/** `Widget`, `Widget:status.attempts`: the kind may have its group. */
function isMeant(ignored: string, object: string, field: string): boolean {
  const [kind = '', path = ''] = ignored.split(':')
  const own = object.split(' ')[0]!
  if (own !== kind && own.split('.')[0] !== kind) return false
  return path === '' || field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`)
}

const times = (count: number): string => (count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`)

/** Kinds of perturbations that this program gives no occasion for. */
function limitsOf({ writes, watched, readStale }: Observed, kinds: readonly PerturbationKind[], canKill: boolean): string[] {
  const notes: string[] = []
  if (writes.length === 0) notes.push('the program has written nothing')
  if (kinds.includes('unobserved') && watched.size === 0) notes.push('unobserved: the program watches nothing')
  if (!canKill && kinds.some(kind => kind === 'stale' || kind === 'intermediate'))
    notes.push('stale, intermediate: the program is not restarted')
  else if (kinds.includes('stale') && readStale.size === 0)
    notes.push(
      'stale: none of the reads of the program may show an older state: those with resourceVersion=0 may, as those of most informers',
    )
  return notes
}

type Found = { finding: ExploreFinding; readonly signature: string }

/** Findings, one for the same problems by the same kind of perturbation: that with the shortest trace. */
class Findings {
  readonly #found: Found[] = []

  get list(): ExploreFinding[] {
    return this.#found.map(({ finding }) => finding)
  }

  /** Whether these problems have been found already; then this is one more perturbation that causes them. */
  knows(perturbation: Perturbation, outcome: Outcome): boolean {
    const known = this.#found.find(({ signature }) => signature === signatureOf(perturbation, outcome))
    if (!known) return false
    const other = findingOf(perturbation, outcome)
    const [shorter, longer] = other.trace.length < known.finding.trace.length ? [other, known.finding] : [known.finding, other]
    known.finding = { ...shorter, others: [...known.finding.others, longer.id] }
    return true
  }

  add(perturbation: Perturbation, outcome: Outcome): void {
    if (!this.knows(perturbation, outcome))
      this.#found.push({ finding: findingOf(perturbation, outcome), signature: signatureOf(perturbation, outcome) })
  }
}

const signatureOf = ({ kind }: Perturbation, { problems }: Outcome): string => JSON.stringify([kind, ...problems])

function findingOf(perturbation: Perturbation, { problems, trace }: Outcome): ExploreFinding {
  return {
    id: idOf(perturbation),
    kind: perturbation.kind,
    perturbation: describe(perturbation),
    problems,
    trace: smallest(trace, perturbation, problems),
    others: [],
  }
}

const BY: Readonly<Record<TraceEntry['by'], string>> = { program: 'program: ', other: 'others:  ', explorer: '* ' }
const MAX_TRACE = 60

/** The entries about the object of the perturbation and those of the problems, and all acts of the explorer. */
function smallest(trace: readonly TraceEntry[], perturbation: Perturbation, problems: readonly string[]): string[] {
  const point = 'at' in perturbation ? perturbation.at : perturbation.from
  const own = `${point.resource.split(':')[0]} ${point.namespace === '' ? point.name : `${point.namespace}/${point.name}`}`
  const isNamed = (object: string) => {
    const place = object.slice(object.indexOf(' ') + 1)
    return place !== '' && problems.some(problem => ` ${problem}`.includes(` ${place}`))
  }
  const isVague = problems.every(problem => problem.startsWith('the workload failed'))
  return trace
    .filter(({ by, object }) => isVague || by === 'explorer' || object === own || isNamed(object))
    .slice(-MAX_TRACE)
    .map(({ by, text }) => `${BY[by]}${text}`)
}
