// Everything `npm test` stands for: format and lint, types, the build, then every test. Arguments narrow the test files.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const run = (command, args, env = {}) => spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1
const mustSucceed = (command, args) => {
  const status = run(command, args)
  if (status !== 0) process.exit(status)
}
const wanted = process.argv.slice(2)
const tests = ['src', 'test']
  .filter(existsSync)
  .flatMap(dir => readdirSync(dir, { recursive: true, encoding: 'utf8' }).map(file => join(dir, file)))
  .filter(file => file.endsWith('.test.ts') && !file.includes('node_modules'))
  .filter(file => wanted.length === 0 || wanted.some(text => file.includes(text)))
  .sort()

if (wanted.length === 0) {
  mustSucceed('npx', ['biome', 'check', '.'])
  mustSucceed('npx', ['tsc'])
}
mustSucceed('node', ['scripts/build.mjs', ...(wanted.length === 0 ? [] : ['--if-stale'])])

const folder = mkdtempSync(join(tmpdir(), 'keelson-tests-'))
const collected = join(folder, 'not-run')
const failed = join(folder, 'failed')
const reporters = [
  ['--test-reporter', process.stdout.isTTY ? 'spec' : 'tap', '--test-reporter-destination', 'stdout'],
  ['--test-reporter', './scripts/failures-reporter.mjs', '--test-reporter-destination', failed],
].flat()
const status = run('node', ['--import', 'tsx', '--test', '--test-concurrency=2', ...reporters, ...tests], {
  KEELSON_TESTS_NOT_RUN: collected,
})
const notRun = existsSync(collected)
  ? readFileSync(collected, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  : []
const failures = existsSync(failed) ? readFileSync(failed, 'utf8') : ''
rmSync(folder, { recursive: true })
if (failures !== '') console.error(`\nFAILED:\n${failures}`)
if (notRun.length > 0) console.error(`\n${notRunLine(notRun)}`)
// In CI every test has to run; elsewhere a missing program is only reported.
const isIncomplete = notRun.some(({ isOptional }) => !isOptional)
process.exit(isIncomplete && process.env.CI === 'true' ? status || 1 : status)

/** One line about tests that were not run (test/programs.ts records them), and how to run them. */
function notRunLine(tests) {
  const programs = [...new Map(tests.map(({ program, hint }) => [program, `${program} (${hint})`])).values()]
  const count = tests.length === 1 ? '1 TEST WAS' : `${tests.length} TESTS WERE`
  return `${count} NOT RUN, because this machine lacks ${programs.join(', ')}`
}
