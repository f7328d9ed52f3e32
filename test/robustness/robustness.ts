/** The whole test: epochs of work and disturbance one after another on one server, each checked at its end. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProcessOptions, Scope } from '../kit.ts'
import { check } from './check.ts'
import { FLAGS, runEpoch } from './epoch.ts'
import type { History } from './history.ts'
import { Random } from './random.ts'
import { describe, summary } from './report.ts'
import { Replicas, SeveralProcesses, SingleServer, type Subject } from './subject.ts'

/** An epoch is short enough to hold all of it in memory, and long enough for several restarts. */
const EPOCH_MS = 30_000
const MAX_SHOWN = 3

export type RobustnessOptions = {
  readonly ms: number
  readonly seed: number
  readonly log: (text: string) => void
  readonly command?: ProcessOptions['command']
  /** Whether the server has several processes. */
  readonly isSeveral?: boolean | undefined
  /** The path of etcd: the run then uses several servers on an etcd cluster. */
  readonly etcd?: string | undefined
}

/** Runs for the given time. Returns a description of the violations; undefined when there are none. */
export async function robustness(
  scope: Scope,
  { ms, seed, log, command, isSeveral, etcd }: RobustnessOptions,
): Promise<string | undefined> {
  const random = new Random(seed)
  const options = { flags: FLAGS, ...(command && { command }) }
  const subject = subjectOf(scope, options, { isSeveral, etcd })
  await subject.start()
  let base: History['base'] | undefined
  for (let left = ms; left > 0; left -= EPOCH_MS) {
    const { history, failures, end } = await runEpoch(subject, { ms: Math.min(left, EPOCH_MS), random, ...(base && { base }) })
    const violations = check(history)
    log(`${summary(history)}; ${subject.describe()} so far`)
    if (failures.length + violations.length > 0)
      return [
        `${failures.length} failures and ${violations.length} broken promises with --seed ${seed}; all that happened is in ${keep(history, seed)}`,
        ...failures.slice(0, MAX_SHOWN).map(failure => `✗ ${failure}`),
        ...violations.slice(0, MAX_SHOWN).map(violation => describe(history, violation)),
        '',
      ].join('\n')
    base = end
  }
  return undefined
}

function subjectOf(scope: Scope, options: ProcessOptions, { isSeveral, etcd }: Pick<RobustnessOptions, 'isSeveral' | 'etcd'>): Subject {
  if (etcd !== undefined) return new Replicas(scope, { ...options, program: etcd })
  return isSeveral ? new SeveralProcesses(scope, options) : new SingleServer(scope, options)
}

/** The seed does not reproduce the server's timing: only the record shows what happened. */
function keep(history: History, seed: number): string {
  const file = join(mkdtempSync(join(tmpdir(), 'keelson-robustness-')), `${seed}.json`)
  writeFileSync(file, JSON.stringify(history))
  return file
}
