/** `keelson explore -- COMMAND`: finds what goes wrong with a controller when caches are stale, events are missed or it dies. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseYaml } from '../../codec/yaml.ts'
import { readServeFlags } from '../../flags/read-flags.ts'
import { UsageError } from '../../flags/usage-error.ts'
import { parseDuration } from '../../lib/duration.ts'
import { replaceFile } from '../../lib/private-files.ts'
import { exploreSubject } from '../../library/explore/explore.ts'
import { groupsOf, PROGRAM, problemsOf, programIs, RESTART_POLICIES, settingsOf } from '../../library/explore/in-process.ts'
import { readInvariant } from '../../library/explore/invariants.ts'
import type { ProgramRuns } from '../../library/explore/program-runs.ts'
import { ExploreError, type Started, type Subject } from '../../library/explore/run.ts'
import { ManifestError } from '../../library/manifests.ts'
import { type Perturbing, TestKit } from '../../library/test-kit.ts'
import { testServer } from '../../library/test-server.ts'
import type { ExploreInvariant, PerturbationKind } from '../../public.d.ts'
import { type Config, ConfigError } from '../../server/config.ts'
import { kubeconfigText } from '../../server/credentials/kubeconfig.ts'
import { startServer } from '../../server/start.ts'
import { startChild } from '../child.ts'
import type { Command } from '../command.ts'
import { type OwnFlags, readOwnFlags } from '../own-flags.ts'
import { askedToStop, ENDING_WITH_TERMINAL } from '../signals.ts'
import { killAll, startProgram } from './process.ts'
import { jsonOf, quoted, textOf } from './report.ts'

const FLAGS = [
  'workload',
  'objects',
  'user',
  'user-agent',
  'restart',
  'perturbations',
  'invariants',
  'ignore',
  'seed',
  'budget',
  'only',
  'quiet',
  'patience',
  'output',
]

/** There are findings. Other failures exit with 1: nothing was explored. */
const FOUND = 3
const QUIET_MS = 500
const PATIENCE_MS = 10_000

export const explore: Command = async args => {
  const own = readOwnFlags(args, { flags: FLAGS, switches: ['show-output', 'verbose'] })
  if (own.command.length === 0)
    throw new UsageError('no command; write it after two dashes: keelson explore --objects sample.yaml -- ./operator')
  const output = own.value('output') ?? 'text'
  if (output !== 'text' && output !== 'json') throw new UsageError(`--output takes text, json, not "${output}"`)
  const folder = mkdtempSync(join(tmpdir(), 'keelson-explore-'))
  const stop = askedToStop(ENDING_WITH_TERMINAL).then(signal => {
    throw new ConfigError(`ended by ${signal}`)
  })
  try {
    const settings = { ...settingsIn(own), ...(own.has('verbose') && { onRun: (text: string) => void process.stderr.write(`${text}\n`) }) }
    const report = await Promise.race([exploreSubject(subjectOf(own, folder), settings), stop])
    const repeat = ({ id }: { readonly id: string }) => commandText(own, { id, seed: report.seed })
    process.stdout.write(output === 'json' ? jsonOf(report, repeat) : textOf(report, repeat))
    return report.findings.length > 0 ? FOUND : 0
  } catch (error) {
    throw error instanceof ExploreError || error instanceof ManifestError ? new ConfigError(error.message) : error
  } finally {
    killAll()
    rmSync(folder, { recursive: true, force: true })
  }
}

function settingsIn(own: OwnFlags) {
  const numberOf = (name: string) => (own.value(name) === undefined ? undefined : Number(own.value(name)))
  try {
    return settingsOf({
      ...(own.has('perturbations') && { perturbations: own.list('perturbations') as PerturbationKind[] }),
      ...(own.has('seed') && { seed: numberOf('seed')! }),
      ...(own.has('budget') && { budget: own.value('budget')! }),
      ...(own.has('only') && { only: own.value('only')! }),
      ignore: own.list('ignore'),
    })
  } catch (error) {
    // The message begins with the name of the option, which is that of the flag.
    throw new UsageError(`--${(error as Error).message}`)
  }
}

function subjectOf(own: OwnFlags, folder: string): Subject {
  const { config, apply, processes } = readServeFlags(['--store=memory', '--secure-port=0', `--data-dir=${folder}`, ...own.others])
  if (processes > 1) throw new UsageError('--processes is for keelson serve; the server of keelson explore is this process')
  if (config.store === 'etcd')
    throw new UsageError('--store etcd: an exploration changes everything in its store, which others may use; use memory')
  const restart = RESTART_POLICIES.find(policy => policy === (own.value('restart') ?? 'on-failure'))
  if (!restart) throw new UsageError(`--restart takes ${RESTART_POLICIES.join(', ')}, not "${own.value('restart')}"`)
  const isEndless = restart === 'always' && !own.has('workload') && !own.has('objects')
  if (isEndless) throw new UsageError('--restart always: with no --workload and no --objects, a run would never end')
  const user = own.value('user')
  const invariants = invariantsIn(own.value('invariants'))
  const showsOutput = own.has('show-output')
  return {
    start: perturber => startFor(config, apply, perturber),
    workload: (started, program) => workloadOf(own, config, { started, program }),
    program(started, group) {
      const { server } = started
      const pair = server.certify(user ?? PROGRAM, groupsOf(user, group))
      const file = join(folder, 'program.kubeconfig')
      replaceFile(file, kubeconfigText({ server: server.url, ca: server.credentials.ca, ...pair }))
      return startProgram(own.command, { env: { KUBECONFIG: file, KEELSON_URL: server.url }, showsOutput })
    },
    isProgram: programIs({ user: user ?? PROGRAM, userAgent: own.value('user-agent') ?? '' }),
    restart,
    quietMs: durationIn(own, 'quiet', QUIET_MS),
    patienceMs: durationIn(own, 'patience', PATIENCE_MS),
    problems: started => problemsOf(invariants, started),
  }
}

function durationIn(own: OwnFlags, name: string, fallback: number): number {
  const text = own.value(name)
  return text === undefined ? fallback : millisecondsIn(text, `--${name}`)
}

async function startFor(config: Config, apply: readonly string[], perturber: Perturbing): Promise<Started> {
  const kit = new TestKit({ perturber })
  const { testEndpoints } = await import('../../library/test-endpoints.ts')
  const endpoints = testEndpoints({ kit, groupDomain: config.groupDomain })
  const server = await startServer({ ...config, testEndpoints: true }, { ...kit.start, endpoints })
  try {
    const access = await testServer({ server, kit, groupDomain: config.groupDomain, apply })
    return { server, access, close: () => access.close() }
  } catch (error) {
    await server.close('the manifests could not be applied')
    throw error
  }
}

/** Applies the objects and runs the workload, as the administrator; without either, the command itself is the workload. */
async function workloadOf(
  own: OwnFlags,
  { kubeconfig = '' }: Config,
  { started, program }: { readonly started: Started; readonly program: ProgramRuns | undefined },
): Promise<void> {
  const objects = own.list('objects')
  if (objects.length > 0) await started.access.apply(...objects)
  const workload = own.value('workload')
  if (workload !== undefined) {
    const child = startChild(
      'sh',
      ['-c', workload],
      { KUBECONFIG: kubeconfig, KEELSON_URL: started.server.url },
      { isSilent: !own.has('show-output') },
    )
    const code = await child.exited
    if (code !== 0) throw new Error(`${workload} exited with ${code}`)
  }
  if (objects.length > 0 || workload !== undefined) return
  await program?.done
  if (program?.lastFailure !== undefined && !program.hasSucceeded) throw new Error(program.lastFailure)
}

/** A YAML file with a list of invariants. */
function invariantsIn(file: string | undefined): ExploreInvariant[] {
  if (file === undefined) return []
  let value: unknown
  try {
    value = parseYaml(readFileSync(file, 'utf8')).value
  } catch (error) {
    throw new ConfigError(`--invariants ${file}: ${(error as Error).message}`)
  }
  if (!Array.isArray(value)) throw new ConfigError(`--invariants ${file}: it must be a list such as [{ kind: Secret, count: 0 }]`)
  return value.map((each, i) => {
    try {
      return readInvariant(each, `[${i}]`)
    } catch (error) {
      throw new ConfigError(`--invariants ${file}: ${(error as Error).message}`)
    }
  })
}

/** The command line that tries one perturbation alone. */
function commandText(own: OwnFlags, { id, seed }: { readonly id: string; readonly seed: number }): string {
  const left = readOwnFlags(own.given, { flags: ['only', 'seed', 'budget', 'output', 'perturbations'] }).others
  return ['keelson', 'explore', ...left, `--seed=${seed}`, `--only=${id}`, '--', ...own.command].map(quoted).join(' ')
}

/** Milliseconds of a text such as `5m`, above zero. Throws UsageError, which names the flag. */
function millisecondsIn(text: string, flag: string): number {
  try {
    const ms = Number(parseDuration(text)) / 1e6
    if (ms > 0) return ms
  } catch {
    // The message below says it better.
  }
  throw new UsageError(`${flag} takes a duration such as 30s or 5m, above 0, not "${text}"`)
}
