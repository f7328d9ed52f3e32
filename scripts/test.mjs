// The build, then test files and beside them format, lint and types. The files are those of `npm test`, with --all every one (`npm run
// test:all`), with --rest those that `npm test` leaves out (scripts/test-sets.mjs). Arguments narrow the files, whatever their set: those
// whose path contains one of them.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { duration } from './progress.mjs'
import { bundleTests } from './test-bundle.mjs'
import { runFiles } from './test-pool.mjs'
import { ALONE, HEAVY, LEFT_OUT, LONG } from './test-sets.mjs'

/** Something is said at least this often. */
const PROGRESS_MS = 10_000
/** As many of the slowest files are named. */
const SLOWEST = 10
/** A file of `npm test` that takes more processor time than this is named: it is to be made cheaper, or left to `npm run test:all`. */
const MAX_FAST_CPU_SECONDS = 15
/** Seconds and processor time of each file in the last runs: files that took longest begin first. */
const TIMES = '.cache/test-times.json'
/** Enough of an error to see its cause. */
const MAX_REASON = 6_000

const begun = performance.now()
withoutExtraAuthorities()
// Programs in Go, such as tsc and kubectl, which end before their garbage matters: a seventh of their processor time is its collection.
process.env.GOGC ??= '400'
const options = process.argv.slice(2).filter(arg => arg.startsWith('--'))
const wanted = process.argv.slice(2).filter(arg => !arg.startsWith('--'))
const isEverything = options.includes('--all') || options.includes('--rest')
for (const option of options) if (!['--all', '--rest'].includes(option)) stop(`there is no option ${option}; there are --all and --rest`)

const times = existsSync(TIMES) ? JSON.parse(readFileSync(TIMES, 'utf8')) : {}
const all = testFiles()
const leftOut = Object.values(LEFT_OUT).flat()
for (const file of [...leftOut, ...LONG, ...Object.keys(ALONE)])
  if (!all.includes(file)) stop(`scripts/test-sets.mjs names ${file}, which there is not`)
const files = inOrder(all.filter(isWanted))
if (files.length === 0) stop(`no test file has ${wanted.join(' or ')} in its path`)

const steps = []
// None of them needs the result of another: checks, the build, and the bundle of the tests.
const isWhole = wanted.length === 0 && !options.includes('--rest')
const checks = isWhole ? check() : undefined
const building = step('build', process.execPath, ['scripts/build.mjs', ...(isWhole ? [] : ['--if-stale'])])

mkdirSync('.cache', { recursive: true })
const folder = mkdtempSync(resolve('.cache/tests-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))
const noted = join(folder, 'not-run')
const [bundle] = await Promise.all([bundleTests(files, folder), building])

const counts = { passed: 0, failed: 0, skipped: 0, files: 0 }
const failures = []
const skipped = []
const ended = []
const running = new Set()
/** The last failure of each file: diagnostics of a test come right after it. */
const lastFailures = new Map()
let said = performance.now()
const ticking = setInterval(() => performance.now() - said >= PROGRESS_MS && say(), 500)
await runFiles(files, {
  bundle,
  processes: Number(process.env.KEELSON_TEST_PROCESSES ?? Math.min(Math.max(availableParallelism(), 2), 4)),
  // Some tests wait more than they work.
  more: process.env.KEELSON_TEST_PROCESSES === undefined ? 4 : 0,
  isAlone: file => file in ALONE,
  isHeavy: file => HEAVY.includes(file),
  checks,
  showsOutput: wanted.length > 0,
  env: {
    ...process.env,
    KEELSON_TESTS_NOT_RUN: noted,
    // Properties are tried with more values where nobody waits for the result (test/kits/properties.ts).
    ...((isEverything || process.env.CI === 'true') && { KEELSON_PROPERTY_RUNS: process.env.KEELSON_PROPERTY_RUNS ?? '0.5' }),
  },
  report,
})
await checks
clearInterval(ticking)
process.exit(summarize())

/**
 * Every start of Node reads the file of NODE_EXTRA_CA_CERTS, which takes as long as all else that Node does at a start. Tests start Node more
 * than a thousand times, and only npm connects to servers that these authorities have signed.
 */
function withoutExtraAuthorities() {
  const { NODE_EXTRA_CA_CERTS: file } = process.env
  if (file) process.env.npm_config_cafile ??= file
  delete process.env.NODE_EXTRA_CA_CERTS
}

/** Every test file, sorted. */
function testFiles() {
  return ['src', 'test']
    .filter(existsSync)
    .flatMap(folder => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => join(folder, file)))
    .filter(file => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .sort()
}

function isWanted(file) {
  if (wanted.length > 0) return wanted.some(text => file.includes(text))
  // `npm run test:all -- --rest` gives both options: then only the rest is run.
  if (options.includes('--rest')) return leftOut.includes(file)
  return options.includes('--all') || !leftOut.includes(file)
}

/**
 * The longest come first, so that no process works alone at the end: those that are known to take long, others that `npm test` leaves out,
 * end-to-end tests, units; of these, those that took longest here.
 */
function inOrder(tests) {
  const rank = file =>
    LONG.includes(file) ? LONG.indexOf(file) : LONG.length + (leftOut.includes(file) ? 0 : file.startsWith('test/') ? 1 : 2)
  const took = file => times[file]?.seconds ?? 0
  return tests.sort((a, b) => rank(a) - rank(b) || took(b) - took(a))
}

async function check() {
  await step('format and lint', 'node_modules/.bin/biome', ['check', '.'])
  // Each thread of the compiler checks the types that files share once more, and tests keep the other processors busy.
  await step('types', 'node_modules/.bin/tsc', ['--checkers', '1'])
  await step('types of the console', 'node_modules/.bin/tsc', ['-p', 'console'])
}

/** Runs a program; its output is shown when it has ended, and a failure is the end of all. */
async function step(name, program, args) {
  const start = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  process.once('exit', () => child.kill())
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  const status = await new Promise(resolve => child.on('error', error => stop(String(error))).on('close', resolve))
  if (status !== 0) stop(`${output}${name}: FAILED`, status ?? 1)
  steps.push(`${name} ${duration(performance.now() - start)}`)
  console.log(`${name}: ok (${duration(performance.now() - start)})`)
}

function report(event) {
  const { type, file } = event
  if (type === 'begin') running.add(file)
  if (type === 'passed') {
    counts.passed++
    if (wanted.length > 0) console.log(`✔ ${event.name}  (${file})`)
  }
  if (type === 'skipped') {
    counts.skipped++
    skipped.push(event)
  }
  if (type === 'failed') {
    counts.failed++
    const text = `✖ ${event.name || 'the file itself'}\n  ${file}\n${indented(inSources(event.reason).slice(0, MAX_REASON))}`
    const failure = { text }
    failures.push(failure)
    lastFailures.set(file, failure)
    // The output of the file is printed once, here.
    console.log(`\n${text}${wanted.length === 0 && event.output ? `\n    output of the file so far:\n${indented(event.output)}` : ''}\n`)
  }
  if (type === 'diagnostic') {
    const failure = lastFailures.get(file)
    if (failure) failure.text += `\n    ${event.text}`
    if (failure || wanted.length > 0) console.log(`    ${event.text}`)
  } else if (type !== 'failed') lastFailures.delete(file)
  if (type === 'end') {
    running.delete(file)
    counts.files++
    ended.push(event)
  }
}

function say() {
  said = performance.now()
  const now = [...running].join(', ')
  console.log(`${duration(said - begun)}  ${counts.files} of ${files.length} files, ${tally()}  now: ${now}`)
}

/** The closing lines; the result is the exit code. */
function summarize() {
  writeFileSync(TIMES, JSON.stringify({ ...times, ...Object.fromEntries(ended.map(({ file, seconds, cpu }) => [file, { seconds, cpu }])) }))
  const slowest = ended.sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  const cpu = ended.every(file => file.cpu !== undefined) ? ended.reduce((sum, file) => sum + file.cpu, 0) : undefined
  console.log(`\nslowest files${cpu === undefined ? '' : ', with processor time'}:`)
  for (const { file, seconds, cpu } of slowest)
    console.log(`${seconds.toFixed(1).padStart(7)} s${cpu === undefined ? '' : `${cpu.toFixed(1).padStart(7)} s`}  ${file}`)
  if (failures.length > 0) console.error(`\nFAILED:\n${failures.map(({ text }) => text).join('\n')}`)
  const total = cpu === undefined ? '' : `, ${duration(cpu * 1000)} of processor time`
  console.log(`\n${counts.files} files, ${tally()}, in ${duration(performance.now() - begun)} (${[...steps, 'tests'].join(', ')}${total})`)
  const tooSlow = ended.filter(({ file, cpu }) => cpu > MAX_FAST_CPU_SECONDS && !leftOut.includes(file)).map(({ file }) => file)
  if (tooSlow.length > 0) console.error(`TOO SLOW FOR npm test (scripts/test-sets.mjs): ${tooSlow.join(', ')}`)
  const [missing, unexplained] = notRun()
  if (wanted.length === 0 && !isEverything) console.log(`not run: ${leftOut.length} files of npm run test:all`)
  for (const { file, name, reason } of unexplained) console.error(`NOT RUN: ${name}  (${file}): ${reason}`)
  if (missing.length > 0) console.error(`\n${missingLine(missing)}`)
  // In CI every test has to run; elsewhere a missing program is only reported.
  const isIncomplete = unexplained.length > 0 || missing.some(({ isOptional }) => !isOptional)
  return counts.failed > 0 || (isIncomplete && process.env.CI === 'true') ? 1 : 0
}

/** Tests that were not run: for want of something that test/programs.ts has noted, and for another reason. */
function notRun() {
  const notes = existsSync(noted)
    ? readFileSync(noted, 'utf8')
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
    : []
  const isNoted = ({ name }) => notes.some(({ title }) => name === title || name.endsWith(` > ${title}`))
  return [notes, skipped.filter(test => !isNoted(test))]
}

/** One line about tests that were not run, and how to run them. */
function missingLine(tests) {
  const programs = [...new Map(tests.map(({ program, hint }) => [program, `${program} (${hint})`])).values()]
  const count = tests.length === 1 ? '1 TEST WAS' : `${tests.length} TESTS WERE`
  return `${count} NOT RUN, because this machine lacks ${programs.join(', ')}`
}

/** A stack with the places in the sources instead of those in the bundle. */
function inSources(stack) {
  if (!stack.includes(bundle)) return stack
  inSources.map ??= new SourceMap(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')))
  const escaped = bundle.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return stack.replace(new RegExp(`${escaped}:(\\d+):(\\d+)`, 'g'), (place, line, column) => {
    const { originalSource, originalLine, originalColumn } = inSources.map.findEntry(line - 1, column - 1)
    return originalSource === undefined ? place : `${resolve(folder, originalSource)}:${originalLine + 1}:${originalColumn + 1}`
  })
}

function tally() {
  const skips = counts.skipped === 0 ? '' : `, ${counts.skipped} not run`
  return `${counts.passed} tests passed, ${counts.failed} failed${skips}`
}

function indented(text) {
  return text.replace(/^/gm, '    ')
}

function stop(why, code = 1) {
  console.error(why)
  process.exit(code)
}
