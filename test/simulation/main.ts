/** The command `npm run simulate`: runs seeds, and shows for each failed one a trace and the fewest faults that it needs. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { simulateBare } from './bare.ts'
import { failEveryNth, SCENARIOS } from './fail-nth.ts'
import { describeFault } from './faults.ts'
import { simulateProcesses } from './processes/processes.ts'
import { shrink } from './shrink.ts'
import { type Outcome, type Plan, type PlanOptions, planOf, STREAMS, simulateRun } from './simulate.ts'
import { STORE_SCENARIOS } from './store-scenarios.ts'

const DEFAULT_MS = 60_000
const PROCESSES_MS = 2_000
const DEFAULT_SEEDS = 100
const BARE_SEED = 1
const SHRINK_TRIES = 60
const MAX_FAILED = 5
const COLLECTIONS = 4
const TRACE_LINES = 60
/** Code that has run often is compiled better; a thousand seeds see little of the time before. */
const WARMING_SEEDS = 40
const MEASURED_SEEDS = 20
const USAGE = `npm run simulate -- [--seeds N] [--from N] [--seed N] [--minutes M] [--ms N] [--chore X] [--trace] [--mutants]

  --seeds N    runs N seeds (${DEFAULT_SEEDS})
  --from N     the first of them (1)
  --seed N     runs one seed; can be repeated
  --minutes M  runs new seeds for that time
  --new S      runs new seeds after the others, until clients have worked for S seconds of virtual time
  --hashes     prints the hash of every seed
  --jobs N     the number of processes that share the seeds
  --ms N       milliseconds of virtual time that clients work (${DEFAULT_MS})
  --chore X    has every run do this chore, and no others; can be repeated
  --trace      prints everything that happens
  --processes  runs several processes on one embedded store, without servers (${PROCESSES_MS} ms for each seed)
  --process-servers  has every run be one of several processes of one server
  --bare       prints the hash of a world without servers
  --speed      measures one server with ten clients, each with a request every one or two seconds
  --fail-nth   fails the first call of the store of each of some scenarios, then the second, and so on; --scenario TEXT selects some by name
  --mutants    shows how many seeds it takes to find known bugs; --mutant TEXT selects some by name
`

/** A disk does not leave a server in doubt. */
const FATES = ['error', 'unknown', 'crash', 'crash before'] as const

type Options = {
  readonly ms: number
  readonly isTraced: boolean
  readonly showsHashes: boolean
  readonly planOptions: PlanOptions
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', multiple: true },
      seeds: { type: 'string' },
      from: { type: 'string' },
      minutes: { type: 'string' },
      ms: { type: 'string' },
      chore: { type: 'string', multiple: true },
      new: { type: 'string' },
      part: { type: 'string' },
      trace: { type: 'boolean', default: false },
      hashes: { type: 'boolean', default: false },
      'until-failed': { type: 'boolean' },
      speed: { type: 'boolean' },
      bare: { type: 'boolean' },
      processes: { type: 'boolean' },
      'process-servers': { type: 'boolean' },
      'fail-nth': { type: 'boolean' },
      scenario: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return void process.stdout.write(USAGE)
  if (values.bare) return console.log(`seed ${BARE_SEED}: hash ${await simulateBare(BARE_SEED)}`)
  if (values.processes) {
    const seeds = values.seed?.map(Number) ?? range(Number(values.from ?? 1), Number(values.seeds ?? DEFAULT_SEEDS))
    const ms = Number(values.ms ?? PROCESSES_MS)
    return end(await runProcesses(seeds, { ms, isTraced: values.trace, showsHashes: values.hashes, isMutant: values['until-failed'] }))
  }
  const options = {
    ms: Number(values.ms ?? DEFAULT_MS),
    isTraced: values.trace,
    showsHashes: values.hashes,
    planOptions: { chores: values.chore, isOfProcesses: values['process-servers'] },
  }
  if (values.seed !== undefined) return end(await runEach(values.seed.map(Number), options))
  if (values['fail-nth']) return end(await runScenarios(values.scenario ?? ''))
  if (values.speed) return report([await measureSpeed(options)])
  const isTimed = values.minutes !== undefined
  const newest = Math.floor(Date.now() / 1_000)
  const from = Number(values.from ?? (isTimed ? newest : 1))
  const count = isTimed ? Number.POSITIVE_INFINITY : Number(values.seeds ?? DEFAULT_SEEDS)
  const until = isTimed ? performance.now() + Number(values.minutes) * 60_000 : Number.POSITIVE_INFINITY
  if (values['until-failed']) return end(await runUntilFailed(from, count, options))
  // Each of several processes runs every nth seed.
  const [part, parts] = (values.part ?? '1/1').split('/').map(Number)
  const share = { first: part! - 1, step: parts! }
  const totals = await runSeeds({ ...share, from, count, isOver: () => performance.now() >= until }, options)
  if (values.new === undefined) return report([totals])
  const more = { ...share, from: newest, count: Math.ceil((Number(values.new) * 1_000) / options.ms), isOver: () => false }
  return report([totals, await runSeeds(more, options)])
}

/** Whether one of some seeds failed. Where garbage can be collected at will, shows how many runs are still held. */
async function runEach(seeds: readonly number[], options: Options): Promise<boolean> {
  let isFailed = false
  const worlds: WeakRef<object>[] = []
  for (const seed of seeds) {
    const { problems, world } = await runSeed(seed, options)
    if (problems.length > 0) isFailed = true
    worlds.push(world)
  }
  if (globalThis.gc) {
    await collectGarbage(globalThis.gc)
    console.log(`${worlds.filter(world => world.deref()).length} of ${worlds.length} runs are kept in memory`)
  }
  return isFailed
}

async function collectGarbage(gc: () => void): Promise<void> {
  // Finalizers let go of things that only the next collection takes.
  for (let i = 0; i < COLLECTIONS; i++) {
    await sleep(1)
    gc()
  }
}

/** Runs one seed and shows everything about it. */
async function runSeed(seed: number, { ms, isTraced, planOptions }: Options): Promise<Outcome> {
  const outcome = await simulateRun(planOf(seed, ms, planOptions), { isTraced: true })
  if (isTraced) for (const line of outcome.trace) console.log(line)
  console.log(`seed ${seed}: ${describeRun(outcome)}, hash ${outcome.digest}`)
  if (outcome.problems.length > 0) await explain(outcome)
  return outcome
}

/** Fails every call of the store of every scenario, in each way; whether a promise was broken. */
async function runScenarios(selected: string): Promise<boolean> {
  let isBroken = false
  for (const scenario of [...SCENARIOS, ...STORE_SCENARIOS].filter(({ name }) => name.includes(selected)))
    for (const isShared of [false, true])
      for (const fate of isShared ? FATES : FATES.filter(each => each !== 'unknown')) {
        const { calls, problems } = await failEveryNth(scenario, { fate, isShared })
        if (problems.length > 0) isBroken = true
        console.log(`${problems.length > 0 ? '✗' : '✓'} ${scenario.name}, ${isShared ? 'shared store' : 'disk'}, ${fate}: ${calls} calls`)
        for (const problem of problems) console.log(`    ${problem}`)
      }
  return isBroken
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i)

type ProcessesOptions = {
  readonly ms: number
  readonly isTraced: boolean
  readonly showsHashes: boolean
  /** Shows the first seed that fails, with the problem, and nothing else. */
  readonly isMutant?: boolean | undefined
}

/** Runs seeds of several processes on one embedded store; whether one failed. */
async function runProcesses(seeds: readonly number[], { ms, isTraced, showsHashes, isMutant = false }: ProcessesOptions): Promise<boolean> {
  const cpu = processorSeconds()
  const totals = { seeds: 0, failed: 0, calls: 0, primaries: 0, virtualMs: 0 }
  for (const seed of seeds) {
    const { problems, digest, calls, primaries, virtualMs, trace } = await simulateProcesses(seed, { ms, isTraced })
    passed({ seed, of: seeds.length, isFailed: problems.length > 0, virtualMs })
    if (isTraced) for (const line of trace) console.log(line)
    if (showsHashes) console.log(`seed ${seed}: hash ${digest}`)
    totals.seeds++
    totals.calls += calls
    totals.primaries += primaries
    totals.virtualMs += virtualMs
    if (problems.length === 0) continue
    totals.failed++
    if (isMutant) {
      console.log(`${seed}\n${problems[0]!.split('\n')[0]}`)
      return true
    }
    console.log(`✗ seed ${seed} failed; repeat it with: npm run simulate -- --processes --seed ${seed} --ms ${ms} --trace`)
    for (const problem of problems) console.log(`  ${problem.slice(0, 2_000).replaceAll('\n', '\n  ')}`)
    if (totals.failed === MAX_FAILED) break
  }
  const { failed, calls, primaries, virtualMs } = totals
  if (!isMutant)
    console.log(
      `${totals.seeds} seeds, ${failed} failed; ${Math.round(virtualMs / 1000)} s of virtual time with ${(processorSeconds() - cpu).toFixed(1)} s of processor time, ${calls} calls, ${primaries} primaries`,
    )
  return failed > 0
}

/** Shows the first seed that fails, with the problem; for mutants. */
async function runUntilFailed(from: number, count: number, { ms, planOptions }: Options): Promise<boolean> {
  for (let seed = from; seed < from + count; seed++) {
    const { problems } = await simulateRun(planOf(seed, ms, planOptions))
    if (problems.length === 0) continue
    console.log(`${seed}\n${problems[0]!.split('\n')[0]}`)
    return true
  }
  return false
}

type Seeds = {
  readonly from: number
  readonly count: number
  /** The first one of this process, and the distance to its next. */
  readonly first: number
  readonly step: number
  readonly isOver: () => boolean
}

/** Sums over seeds; processes send theirs to `scripts/simulate.mjs`, which adds them up. */
type Totals = { from: number; seeds: number; failed: number; requests: number; virtualMs: number; cpuSeconds: number }

async function runSeeds({ from, count, first, step, isOver }: Seeds, { ms, showsHashes, planOptions }: Options): Promise<Totals> {
  const cpu = processorSeconds()
  const totals = { from, seeds: 0, failed: 0, requests: 0, virtualMs: 0, cpuSeconds: 0 }
  for (let at = first; at < count && totals.failed < MAX_FAILED && !isOver(); at += step) {
    const outcome = await simulateRun(planOf(from + at, ms, planOptions))
    passed({ seed: from + at, of: count, isFailed: outcome.problems.length > 0, virtualMs: outcome.virtualMs })
    totals.seeds++
    totals.requests += outcome.requests
    totals.virtualMs += outcome.virtualMs
    if (showsHashes) console.log(`seed ${from + at}: hash ${outcome.digest}`)
    if (outcome.problems.length === 0) continue
    totals.failed++
    await explain(outcome)
  }
  return { ...totals, cpuSeconds: processorSeconds() - cpu }
}

/** One server without faults: three writers, two readers, two watchers, and one that watches all of each kind. */
async function measureSpeed({ ms }: Options): Promise<Totals> {
  const run = async (seed: number) => {
    const plan = planOf(seed, ms)
    const habits = { ...plan.habits, writers: 3, readers: 2, watchers: 2, heavyBytes: 2_000 }
    return await simulateRun({
      ...plan,
      servers: 1,
      store: 'disk',
      faults: [],
      bursts: [],
      chores: [],
      isNew: false,
      habits,
      streams: STREAMS[0]!,
    })
  }
  for (let seed = 1; seed <= WARMING_SEEDS; seed++) await run(seed)
  const cpu = processorSeconds()
  const totals = { from: WARMING_SEEDS + 1, seeds: 0, failed: 0, requests: 0, virtualMs: 0, cpuSeconds: 0 }
  for (; totals.seeds < MEASURED_SEEDS; totals.seeds++) {
    const { requests, virtualMs, problems } = await run(totals.from + totals.seeds)
    totals.requests += requests
    totals.virtualMs += virtualMs
    if (problems.length > 0) totals.failed++
  }
  return { ...totals, cpuSeconds: processorSeconds() - cpu }
}

/** Tells `scripts/simulate.mjs` about a seed; `of` how many there are in all, which JSON has as null if nobody knows. */
function passed(seed: { readonly seed: number; readonly of: number; readonly isFailed: boolean; readonly virtualMs: number }): void {
  process.send?.(seed)
}

const processorSeconds = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1e6

function report(all: readonly Totals[]): void {
  const isFailed = all.some(({ failed }) => failed > 0)
  if (process.send) return void process.send(all, () => end(isFailed))
  console.log(JSON.stringify(all))
  end(isFailed)
}

/** Shows a failed run: how to repeat it, the faults that it needs, its problems, and what happened before the end. */
async function explain(failed: Outcome): Promise<void> {
  const { seed, ms } = failed.plan
  const smallest = await shrink(failed, { tries: SHRINK_TRIES })
  const { trace } = await simulateRun(smallest.plan, { isTraced: true })
  const file = join(mkdtempSync(join(tmpdir(), 'keelson-simulation-')), `${seed}.txt`)
  writeFileSync(file, `${trace.join('\n')}\n`)
  console.log(`✗ seed ${seed} failed: ${describeRun(failed)}`)
  const ofProcesses = failed.plan.store === 'processes' && planOf(seed, ms).store !== 'processes' ? ' --process-servers' : ''
  const named = ofProcesses + (isPlanned(failed.plan) ? '' : failed.plan.chores.map(name => ` --chore ${name}`).join(''))
  console.log(`  repeat it with: npm run simulate -- --seed ${seed}${ms === DEFAULT_MS ? '' : ` --ms ${ms}`}${named}`)
  for (const problem of failed.problems) console.log(`  ${problem.slice(0, 2_000).replaceAll('\n', '\n  ')}`)
  const { faults } = smallest.plan
  console.log(`  it still fails with ${faults.length} of ${failed.plan.faults.length} faults${faults.length > 0 ? ':' : ''}`)
  for (const fault of faults) console.log(`    ${describeFault(fault)}`)
  for (const problem of smallest.problems.slice(0, 1)) console.log(`    ${problem.split('\n')[0]}`)
  console.log(`  the end of what happened then; all of it is in ${file}`)
  for (const line of trace.slice(-TRACE_LINES)) console.log(`    ${line}`)
}

const isPlanned = ({ seed, ms, chores }: Plan): boolean => String(planOf(seed, ms).chores) === String(chores)

const describeRun = ({ plan, acts, completions, virtualMs }: Outcome): string =>
  [describePlan(plan), `${acts} acts`, `${completions} completions`, `${Math.round(virtualMs)} ms`].join(', ')

const STORES = { disk: 'servers on a disk', shared: 'servers on a shared store', processes: 'processes of one server' }

const describePlan = ({ servers, store, faults }: Plan): string =>
  `${servers === 1 ? `one ${STORES[store].replace('servers', 'server')}` : `${servers} ${STORES[store]}`}, ${faults.length} faults`

const end = (isFailed: boolean): never => process.exit(isFailed ? 1 : 0)

void main()
