/** `explore` of the library: workload and program are functions of this process. */
import { parseDuration } from '../../lib/duration.ts'
import { messageOf } from '../../lib/error-message.ts'
import { didYouMean } from '../../lib/nearest-name.ts'
import type { ExploreInvariant, ExploreOptions, ExploreReport, RunningServer } from '../../public.d.ts'
import type { Fetch } from '../fetch.ts'
import type { Perturbing } from '../test-kit.ts'
import { userAccess } from '../test-server.ts'
import { type ExploreSettings, exploreSubject } from './explore.ts'
import { broken, readInvariant } from './invariants.ts'
import { PERTURBATION_KINDS, perturbationOf } from './perturbation.ts'
import type { RunningProgram } from './program-runs.ts'
import { ExploreError, type Started, type Subject } from './run.ts'

export const DEFAULT_BUDGET = '5m'
const QUIET_MS = 100
const PATIENCE_MS = 2000

/** The user of a program that has none of its own. */
export const PROGRAM = 'program'
/** The group that may do everything. */
export const ADMINISTRATORS = 'system:masters'

type Workload = (server: RunningServer) => Promise<unknown>

/** Starts servers with the options of a user. */
export type StartServer = (options: NonNullable<ExploreOptions['server']>, perturber: Perturbing) => Promise<Started>

/** Throws TypeError for invalid options, and Error if the undisturbed run fails. */
export async function exploreInProcess(start: StartServer, workload: Workload, options: ExploreOptions): Promise<ExploreReport> {
  checkOptions(workload, options)
  const { program, user, userAgent = '', server = {}, quietMs = QUIET_MS, patienceMs = PATIENCE_MS, restart = 'on-failure' } = options
  const invariants = readInvariants(options.invariants ?? [])
  const subject: Subject = {
    start: perturber => start(server, perturber),
    workload: ({ access }) => workload(access),
    program: program && ((started, group) => runHere(program, started, { user: user ?? PROGRAM, groups: groupsOf(user, group) })),
    isProgram: programIs({ user: program ? (user ?? PROGRAM) : user, userAgent }),
    restart,
    quietMs,
    patienceMs,
    problems: started => problemsOf(invariants, started),
  }
  return exploreSubject(subject, settingsOf(options))
}

/** Which requests are those of the program. */
export const programIs =
  ({ user, userAgent }: { readonly user: string | undefined; readonly userAgent: string }) =>
  (name: string, agent: string): boolean =>
    (user === undefined || name === user) && agent.includes(userAgent)

/** A user that is not named may do everything; another one has the rights of its roles. */
export const groupsOf = (user: string | undefined, group: string): string[] => (user === undefined ? [ADMINISTRATORS, group] : [group])

/** One life of a function: after it was killed, none of its requests is sent, and none of them is answered. */
function runHere(
  program: NonNullable<ExploreOptions['program']>,
  { server }: Started,
  { user, groups }: { readonly user: string; readonly groups: readonly string[] },
): RunningProgram {
  const life = new AbortController()
  let isDead = false
  const never = new Promise<never>(() => {})
  const mortal =
    (fetch: Fetch): Fetch =>
    (path, init = {}) => {
      if (isDead) return never
      const signal = init.signal ? AbortSignal.any([init.signal as AbortSignal, life.signal]) : life.signal
      return fetch(path, { ...init, signal }).then(
        response => (isDead ? never : response),
        error => (isDead ? never : Promise.reject(error)),
      )
    }
  const access = userAccess(server, server.certify(user, groups), mortal)
  const ended = Promise.resolve()
    .then(() => program(access, life.signal))
    .then(
      () => undefined,
      error => (life.signal.aborted ? undefined : messageOf(error)),
    )
  const end = async () => {
    isDead = true
    life.abort()
  }
  return { ended, kill: end, stop: end }
}

type AnyInvariant = ExploreInvariant | ((server: RunningServer) => unknown)

function readInvariants(given: readonly unknown[]): AnyInvariant[] {
  if (!Array.isArray(given)) throw new TypeError('invariants must be a list')
  return given.map((each, i) => (typeof each === 'function' ? (each as AnyInvariant) : readInvariant(each, `invariants[${i}]`)))
}

/** The broken invariants of a final state. */
export async function problemsOf(invariants: readonly AnyInvariant[], { server, access }: Started): Promise<string[]> {
  const problems: string[] = []
  for (const invariant of invariants) {
    if (typeof invariant === 'function') {
      try {
        await invariant(access)
      } catch (error) {
        problems.push(messageOf(error))
      }
      continue
    }
    try {
      problems.push(...broken(invariant, server.client))
    } catch (error) {
      throw new ExploreError(`invariants: ${messageOf(error)}`)
    }
  }
  return problems
}

const OPTIONS: readonly (keyof ExploreOptions)[] = [
  'program',
  'user',
  'userAgent',
  'restart',
  'server',
  'perturbations',
  'invariants',
  'ignore',
  'seed',
  'budget',
  'only',
  'quietMs',
  'patienceMs',
]
export const RESTART_POLICIES = ['always', 'on-failure', 'never'] as const

function checkOptions(workload: unknown, options: ExploreOptions): void {
  if (typeof workload !== 'function') throw new TypeError('explore takes the workload first, a function of a server')
  if (typeof options !== 'object' || options === null)
    throw new TypeError('explore takes options after the workload: { program }, for example')
  for (const name of Object.keys(options))
    if (!OPTIONS.includes(name as keyof ExploreOptions)) throw new TypeError(`there is no option ${name}${didYouMean(name, OPTIONS)}`)
  const { program, user, userAgent, restart = 'never' } = options
  if (program !== undefined && typeof program !== 'function') throw new TypeError('program must be a function')
  if (program === undefined && user === undefined && userAgent === undefined)
    throw new TypeError('program is missing; or name the requests of the program by user or userAgent')
  for (const name of ['user', 'userAgent'] as const)
    if (options[name] !== undefined && (typeof options[name] !== 'string' || options[name] === ''))
      throw new TypeError(`${name} must be a text`)
  if (!RESTART_POLICIES.includes(restart)) throw new TypeError(`restart must be ${RESTART_POLICIES.join(', ')}, not ${String(restart)}`)
  for (const name of ['quietMs', 'patienceMs'] as const)
    if (options[name] !== undefined && !(Number.isFinite(options[name]) && options[name] > 0))
      throw new TypeError(`${name} must be a number above 0`)
}

/** The settings of an exploration. Throws TypeError, which names the option. */
export function settingsOf({
  perturbations = PERTURBATION_KINDS,
  seed = 1,
  budget = DEFAULT_BUDGET,
  only,
  ignore = [],
}: Pick<ExploreOptions, 'perturbations' | 'seed' | 'budget' | 'only' | 'ignore'>): ExploreSettings {
  const unknown = Array.isArray(perturbations) ? perturbations.find(kind => !PERTURBATION_KINDS.includes(kind)) : String(perturbations)
  if (unknown !== undefined)
    throw new TypeError(
      `perturbations: there is no ${unknown}${didYouMean(String(unknown), PERTURBATION_KINDS, `; there are ${PERTURBATION_KINDS.join(', ')}`)}`,
    )
  if (!Number.isSafeInteger(seed)) throw new TypeError(`seed must be a whole number, not ${String(seed)}`)
  const named = only === undefined ? undefined : perturbationOf(only)
  if (only !== undefined && !named)
    throw new TypeError(`only must be the id of a finding, such as intermediate/create/secrets/default/a/1, not ${only}`)
  if (!Array.isArray(ignore) || !ignore.every(each => typeof each === 'string' && /^[A-Za-z][\w.-]*(:[^:]+)?$/.test(each)))
    throw new TypeError(`ignore must be a list of KIND or KIND:FIELD.PATH, not ${JSON.stringify(ignore)}`)
  return { kinds: perturbations, seed, budgetMs: durationMs(budget), only: named, ignore }
}

function durationMs(budget: number | string): number {
  try {
    const ms = typeof budget === 'number' ? budget : Number(parseDuration(budget)) / 1e6
    if (ms > 0 && Number.isFinite(ms)) return ms
  } catch {
    // The message below says it better.
  }
  throw new TypeError(`budget must be milliseconds or a duration such as 5m, above 0, not ${String(budget)}`)
}
