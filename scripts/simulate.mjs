// Bundles the simulator with the server and runs it: `npm run simulate -- --seeds 1000`. With `--build` it is only bundled, with `--built` the
// last bundle is run. With `--mutants`, known bugs are put into the source one at a time, and the number of seeds until each is found is shown.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { duration, Progress } from './progress.mjs'
import { bundleOf } from './test-bundle.mjs'

const FOLDER = 'dist/simulation'
const MAX_SEEDS = 200
/** Milliseconds that clients work in a run of a mutant. */
const MUTANT_MS = 5_000
/** Processes beyond this number take the memory that the others need. */
const MAX_JOBS = 4

mkdirSync(FOLDER, { recursive: true })
process.exit(process.argv.includes('--mutants') ? await runMutants() : await runSimulator())

async function runSimulator() {
  const file = `${FOLDER}/simulate.cjs`
  if (!process.argv.includes('--built')) await bundleOf({ entry: './test/simulation/main.ts', outfile: file })
  if (process.argv.includes('--build')) return 0
  const { args: given, flags } = flagsOf(process.argv.slice(2).filter(arg => arg !== '--built'))
  const { args, jobs } = jobsOf(given)
  const begin = performance.now()
  const parts = Array.from({ length: jobs }, (_, i) => (jobs === 1 ? [] : ['--part', `${i + 1}/${jobs}`]))
  const progress = new Progress(process.stderr)
  const passed = { seeds: 0, failed: 0, virtualMs: 0 }
  const onSeed = ({ of, isFailed, virtualMs }) => {
    passed.seeds++
    passed.failed += Number(isFailed)
    passed.virtualMs += virtualMs
    const seeds = of === null ? `${passed.seeds} seeds` : `${passed.seeds} of ${of} seeds`
    const virtual = `${duration(passed.virtualMs)} of virtual time`
    progress.show(`${duration(performance.now() - begin)}  ${seeds}, ${passed.failed} failed, ${virtual}`)
  }
  const ended = await Promise.all(parts.map(part => run(file, [...args, ...part], { flags, progress, onSeed })))
  progress.end()
  const all = ended.map(({ sent }) => sent ?? [])
  // The fixed seeds, and then the new ones.
  for (const i of [0, 1]) {
    const totals = all.flatMap(each => each[i] ?? [])
    if (totals.length > 0) console.log(describe(totals, (performance.now() - begin) / 1000))
  }
  return ended.every(({ status }) => status === 0) ? 0 : 1
}

/** Flags of V8, as in `--v8 --no-opt`, are for the processes that run seeds. */
function flagsOf(args) {
  const isFlag = i => args[i - 1] === '--v8'
  return { args: args.filter((arg, i) => arg !== '--v8' && !isFlag(i)), flags: args.filter((_, i) => isFlag(i)) }
}

/** One seed needs one process; many are shared by as many as there are processors. */
function jobsOf(args) {
  const at = args.indexOf('--jobs')
  const isOne = ['--seed', '--speed', '--processes', '--bare', '--fail-nth', '--help', '-h'].some(name => args.includes(name))
  if (at < 0) return { args, jobs: isOne ? 1 : Math.min(availableParallelism(), MAX_JOBS) }
  return { args: args.filter((_, i) => i !== at && i !== at + 1), jobs: Math.max(1, Number(args[at + 1])) }
}

function describe(totals, seconds) {
  const sum = name => totals.reduce((total, each) => total + each[name], 0)
  const [virtual, cpu, requests] = [sum('virtualMs') / 1000, sum('cpuSeconds'), sum('requests')]
  const speed = `${Math.round(virtual / cpu)} times as fast as real time on one processor`
  const load = `${Math.round(requests / virtual)} requests per virtual second, ${((cpu * 1000) / requests).toFixed(2)} ms of processor time each`
  return `${sum('seeds')} seeds from ${totals[0].from}, ${sum('failed')} failed; ${Math.round(virtual)} s of virtual time with ${cpu.toFixed(1)} s of processor time (${speed}), ${seconds.toFixed(0)} s in all; ${load}`
}

/** Mutants are tried at the same time, as far as there are processors. */
async function runMutants() {
  const options = { mutants: { type: 'boolean' }, mutant: { type: 'string' }, seeds: { type: 'string' }, jobs: { type: 'string' } }
  const { values } = parseArgs({ options })
  const most = Number(values.seeds ?? MAX_SEEDS)
  const waiting = (await mutants()).filter(({ name }) => name.includes(values.mutant ?? ''))
  const found = []
  const all = waiting.length
  const begin = performance.now()
  const progress = new Progress(process.stderr)
  const unchanged = await bundleOf({ entry: './test/simulation/main.ts', outfile: `${FOLDER}/simulate.cjs` })
  const work = async number => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      found.push(await tryMutant(mutant, { number, most, unchanged }, progress))
      const missed = found.filter(each => !each).length
      progress.show(`${duration(performance.now() - begin)}  ${found.length} of ${all} mutants tried, ${missed} not found`)
    }
  }
  const jobs = Number(values.jobs ?? Math.min(availableParallelism(), MAX_JOBS))
  await Promise.all(Array.from({ length: jobs }, (_, i) => work(i)))
  progress.end()
  // The rows of the table in docs/simulation.md.
  for (const mutant of found) if (mutant) console.log(`| ${mutant.name} | ${mutant.seeds} |`)
  console.log(`${found.filter(Boolean).length} of ${found.length} mutants found`)
  return found.every(Boolean) ? 0 : 1
}

/** The mutant with the number of seeds until it was found, or undefined. A seed that fails without the mutant as well does not count. */
async function tryMutant(mutant, { number, most, unchanged }, progress) {
  const say = text => progress.beside(() => console.log(text))
  const outfile = `${FOLDER}/mutant-${number}.cjs`
  const file = await bundleOf({ entry: './test/simulation/main.ts', outfile, plugins: [changed(mutant)] })
  for (let from = 1; from <= most; ) {
    const failed = await firstFailed(file, mutant, { from, count: most - from + 1 })
    if (!failed) break
    if (!(await firstFailed(unchanged, mutant, { from: failed.seed, count: 1 }))) {
      say(`✓ ${mutant.name}: found with seed ${failed.seed}\n    ${failed.problem.slice(0, 200)}`)
      return { ...mutant, seeds: failed.seed }
    }
    say(`  seed ${failed.seed} fails without the mutant "${mutant.name}" as well: ${failed.problem.slice(0, 200)}`)
    from = failed.seed + 1
  }
  say(`✗ ${mutant.name}: not found in ${most} seeds`)
  return undefined
}

/** The first of some seeds that fails, as runs of a mutant are, with the problem; undefined if all pass. */
async function firstFailed(file, { name, processes, processServers, ms = MUTANT_MS, chores = [] }, { from, count }) {
  const servers = ['--ms', String(ms), ...chores.flatMap(chore => ['--chore', chore]), ...(processServers ? ['--process-servers'] : [])]
  const args = ['--until-failed', '--from', String(from), '--seeds', String(count), ...(processes ? ['--processes'] : servers)]
  const { status, stdout, stderr } = await run(file, args)
  if (status !== 0 && status !== 1) throw new Error(`${name}: ${stderr}`)
  const [seed, problem] = stdout.trim().split('\n')
  return status === 1 && problem !== undefined ? { seed: Number(seed), problem } : undefined
}

/** The list, which is in TypeScript as all of the simulator is. */
async function mutants() {
  const file = await bundleOf({ entry: './test/simulation/mutants.ts', outfile: `${FOLDER}/mutants.cjs` })
  return (await import(resolve(file))).default.MUTANTS
}

/** Replaces a text of one file while it is bundled. */
function changed({ name, file, find, replace }) {
  return {
    name: 'mutant',
    setup({ onLoad }) {
      const path = resolve(file)
      onLoad({ filter: /\.ts$/ }, loaded => {
        if (loaded.path !== path) return
        const parts = readFileSync(path, 'utf8').split(find)
        if (parts.length !== 2) throw new Error(`${file} has the text of the mutant "${name}" ${parts.length - 1} times`)
        return { contents: parts.join(replace), loader: 'ts' }
      })
    },
  }
}

/**
 * Runs a bundle to its end: its status, the totals that it has sent, and its output, which is shown at once where there is progress.
 * `onSeed` is called for every seed.
 */
function run(file, args, { flags = [], progress, onSeed = () => {} } = {}) {
  return new Promise(done => {
    const child = spawn(process.execPath, ['--enable-source-maps', ...flags, file, ...args], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    const output = { stdout: '', stderr: '' }
    let sent
    for (const name of ['stdout', 'stderr'])
      child[name].setEncoding('utf8').on('data', text => {
        if (progress) progress.beside(() => process[name].write(text))
        else output[name] += text
      })
    child.on('message', message => {
      if (message.seed === undefined) sent = message
      else onSeed(message)
    })
    child.on('close', status => done({ status, sent, ...output }))
  })
}
