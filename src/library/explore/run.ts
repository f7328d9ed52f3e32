/** One run of the workload and the program on a server of its own, with one perturbation or none. */

import { messageOf } from '../../lib/error-message.ts'
import type { RunningServer } from '../../public.d.ts'
import type { Server } from '../../server/running-server.ts'
import type { Perturbing } from '../test-kit.ts'
import { ChangeLog, type LoggedChange } from './change-log.ts'
import { type FinalState, finalStateOf } from './final-state.ts'
import type { Perturbation } from './perturbation.ts'
import { Perturber, type TraceEntry, type Write } from './perturber.ts'
import type { Observed } from './plan.ts'
import { ProgramRuns, type RestartPolicy, type RunningProgram } from './program-runs.ts'
import { Quiet } from './quiet.ts'

/** The server of a run. */
export type Started = { readonly server: Server; readonly access: RunningServer; close(): Promise<void> }

/** The part of a user's question that each run needs. */
export type Subject = {
  start(perturber: Perturbing): Promise<Started>
  /** Rejects when it fails. Its end is the end of the run, once all is quiet. */
  workload(started: Started, program: ProgramRuns | undefined): Promise<unknown>
  /** Begins a life of the program, whose user is in a group that no other life has. */
  readonly program?: ((started: Started, group: string) => RunningProgram) | undefined
  readonly isProgram: (user: string, userAgent: string) => boolean
  readonly restart: RestartPolicy
  readonly quietMs: number
  readonly patienceMs: number
  /** Broken invariants of a final state. */
  problems(started: Started): Promise<string[]>
}

export type Outcome = Observed & {
  readonly state: FinalState
  /** How often the program has deleted each object: `secrets default/a`. */
  readonly deletions: ReadonlyMap<string, number>
  /** Whether the perturbation has come to pass. */
  readonly isReached: boolean
  readonly problems: readonly string[]
  /** Why the program has failed, if it has. */
  readonly failure: string | undefined
  readonly trace: readonly TraceEntry[]
}

/** Nothing could be explored; the message says why. */
export class ExploreError extends Error {}

/** Compares a final state with the expected one; returns the differences. */
export type Compare = (outcome: Pick<Outcome, 'state' | 'deletions'>) => string[]

/** A workload that hangs is given up, and so is a program that never comes to rest. */
const MAX_WORKLOAD_MS = 600_000
const MAX_SETTLE_MS = 120_000
/** How much longer than for the end of a run nothing must happen until events are no longer held back. */
const HOLDING = 3

/** The server of all runs, and the component that perturbs its requests. */
export type Host = { begin(perturber: Perturber): Promise<Started> }

export type RunOptions = { readonly perturbation: Perturbation | undefined; readonly compare: Compare }

export async function runOnce(host: Host, subject: Subject, { perturbation, compare }: RunOptions): Promise<Outcome> {
  const log = new ChangeLog()
  const perturber = new Perturber({ isProgram: subject.isProgram, log, perturbation })
  const started = await host.begin(perturber)
  const end = new AbortController()
  const runs = subject.program && new ProgramRuns(livesOf(subject.program, started, perturber), subject.restart)
  try {
    await started.server.settled()
    log.follow(started.server.client, end.signal)
    perturber.onKill = async () => {
      perturber.hasBegun = false
      await runs?.restart()
    }
    runs?.start()
    return await new Run({ subject, started, log, perturber, runs, perturbation, compare }).toEnd()
  } finally {
    await runs?.stop()
    end.abort()
  }
}

function livesOf(begin: NonNullable<Subject['program']>, started: Started, perturber: Perturber): () => RunningProgram {
  return () => {
    const group = perturber.newLife()
    const program = begin(started, group)
    return {
      ...program,
      kill() {
        perturber.bury(group)
        return program.kill()
      },
    }
  }
}

type RunParts = {
  readonly subject: Subject
  readonly started: Started
  readonly log: ChangeLog
  readonly perturber: Perturber
  readonly runs: ProgramRuns | undefined
  readonly perturbation: Perturbation | undefined
  readonly compare: Compare
}

class Run {
  readonly #parts: RunParts
  readonly #quiet: Quiet

  constructor(parts: RunParts) {
    this.#parts = parts
    const { perturber, log } = parts
    // Revisions do not count: leases are renewed all the time.
    this.#quiet = new Quiet(() => perturber.activity + log.count)
  }

  async toEnd(): Promise<Outcome> {
    const { perturbation, perturber } = this.#parts
    const failure = await this.#workload()
    if (failure === undefined && perturbation?.kind === 'stale') await this.#restartBehind(perturbation)
    perturber.release()
    return this.#settle(failure === undefined ? [] : [`the workload failed: ${failure}`])
  }

  /** Runs the workload; returns why it failed. Events that are held back are released when nothing else happens. */
  async #workload(): Promise<string | undefined> {
    const { subject, started, perturber, runs } = this.#parts
    let result: { readonly failure: string | undefined } | undefined
    subject.workload(started, runs).then(
      () => (result = { failure: undefined }),
      error => (result = { failure: messageOf(error) }),
    )
    const until = performance.now() + MAX_WORKLOAD_MS
    while (!result) {
      if ((await this.#quiet.tick()) >= HOLDING * subject.quietMs && perturber.release()) this.#quiet.begin()
      if (performance.now() > until) return `it has not ended within ${MAX_WORKLOAD_MS / 60_000} minutes`
    }
    return result.failure
  }

  /** Starts the program again at a server that is behind, and lets that server catch up when the program has done its work. */
  async #restartBehind({ from }: Extract<Perturbation, { readonly kind: 'stale' }>): Promise<void> {
    const { subject, started, log, perturber } = this.#parts
    await started.server.settled()
    await this.#quiet.lasting(subject.quietMs, MAX_SETTLE_MS)
    const change = log.find(from)
    if (!change) return
    perturber.note(`the program is killed and started again, at a server that is behind: its state is that of revision ${change.revision}`)
    perturber.fallBehind(change.revision)
    await perturber.onKill()
    // A program takes its time until it reads for the first time.
    this.#quiet.begin()
    while (!perturber.isReached && (await this.#quiet.tick()) < subject.patienceMs);
    await this.#quiet.lasting(HOLDING * subject.quietMs, MAX_SETTLE_MS)
    perturber.note('the server has caught up')
    perturber.catchUp()
  }

  /** Waits until the state is as expected and nothing happens, or until it is not for long enough. */
  async #settle(failures: readonly string[]): Promise<Outcome> {
    const { subject, started, compare, perturber, perturbation } = this.#parts
    const until = performance.now() + MAX_SETTLE_MS
    this.#quiet.begin()
    let isJudged = false
    for (;;) {
      const quietMs = await this.#quiet.tick()
      const isLate = performance.now() >= until
      // Only with an expected state is it clear that nothing more will come; and a program that was started again has to begin first.
      const enoughMs = perturbation && perturber.hasBegun ? subject.quietMs : subject.patienceMs
      if (quietMs < enoughMs) isJudged = false
      // A state that was judged is judged again when it changes, and at the end.
      if ((quietMs < enoughMs || (isJudged && quietMs < subject.patienceMs)) && !isLate) continue
      await started.server.settled()
      isJudged = true
      const found = this.#found()
      const problems = [...failures, ...compare(found), ...(await subject.problems(started))]
      if (problems.length > 0 && quietMs < subject.patienceMs && !isLate) continue
      if (problems.length > 0 && found.failure !== undefined && !failures.some(text => text.endsWith(found.failure!)))
        problems.push(`the program has failed: ${found.failure}`)
      return { ...found, problems }
    }
  }

  #found(): Omit<Outcome, 'problems'> {
    const { started, log, perturber, runs } = this.#parts
    const { writes, watched, readStale, isReached, trace } = perturber
    const deletions = deletionsBy(writes, log.changes)
    return {
      state: finalStateOf(started.server.client),
      deletions,
      changes: log.changes,
      writes,
      watched,
      readStale,
      isReached,
      failure: runs?.lastFailure,
      trace,
    }
  }
}

/** Deletions of objects that the program has asked to delete. */
function deletionsBy(writes: readonly Write[], changes: readonly LoggedChange[]): Map<string, number> {
  const placeOf = ({ resource, namespace, name }: Pick<LoggedChange, 'resource' | 'namespace' | 'name'>) =>
    `${resource} ${namespace === '' ? name : `${namespace}/${name}`}`
  const asked = new Set(writes.filter(({ verb, status }) => verb === 'delete' && status < 300).map(placeOf))
  const counts = new Map<string, number>()
  for (const change of changes) {
    const place = placeOf(change)
    if (change.change === 'deleted' && asked.has(place)) counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  return counts
}
