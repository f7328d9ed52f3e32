/**
 * The simulator: a fixed set of seeds and some new ones pass, and runs repeat. Runs replace time and chance of a process of their own; as few
 * of them as possible, since code is slow until it has run often.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { before, test } from 'node:test'

const MS = '1000'
const SEEDS = '100'
/** Seconds for which clients of seeds that nobody has run before work, in virtual time. */
const NEW_SECONDS = '60'
/** The seeds of several processes on one embedded store. */
const PROCESS_SEEDS = '12'
const REPEATED = [12, 11, 9, 4]
/**
 * The hash of a world without servers (`bare.ts`). It is the same on every architecture and version of Node. Only a change of how the
 * simulator orders completions, draws numbers, counts time or hashes may change it: then `npm run simulate -- --bare` prints the new one.
 */
const BARE_HASH = 'e8c2cd35095954c7'
/** Seeds that are run again, without the optimizing compiler, as what it makes of arithmetic must not matter; then garbage is collected. */
const PLAINLY = ['--v8', '--no-opt', '--v8', '--expose-gc']

const simulate = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['scripts/simulate.mjs', '--built', ...args, '--ms', MS], { encoding: 'utf8', maxBuffer: 2 ** 28 })

before(() => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/simulate.mjs', '--build'], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})

const hashesIn = (stdout: string): ReadonlyMap<number, string> =>
  new Map([...stdout.matchAll(/^seed (\d+): .*\bhash ([0-9a-f]{16})$/gm)].map(([, seed, hash]) => [Number(seed), hash!]))

test(`${SEEDS} seeds pass, and new ones, and a seed gives the same run again, in another process and after other seeds`, t => {
  const { status, stdout, stderr } = simulate('--seeds', SEEDS, '--new', NEW_SECONDS, '--jobs', '1', '--hashes')
  for (const line of stdout.trim().split('\n').slice(-2)) t.diagnostic(line)
  assert.equal(status, 0, stdout + stderr)
  const hashes = hashesIn(stdout)
  assert.equal(new Set(hashes.values()).size, hashes.size, 'another seed gives another run')
  assert.equal(hashes.size, Number(SEEDS) + (Number(NEW_SECONDS) * 1_000) / Number(MS))
  const repeated = simulate(...PLAINLY, ...REPEATED.flatMap(seed => ['--seed', String(seed)]))
  const again = hashesIn(repeated.stdout)
  assert.deepEqual([...again.keys()], REPEATED, repeated.stdout + repeated.stderr)
  for (const [seed, hash] of again) assert.equal(hash, hashes.get(seed), `seed ${seed}`)
  // Memory would grow with every seed.
  assert.match(repeated.stdout, new RegExp(`^0 of ${REPEATED.length} runs are kept in memory$`, 'm'))
})

test('a world without servers has the hash that it has everywhere', () => {
  const { stdout, stderr } = simulate('--bare')
  assert.equal(hashesIn(stdout).get(1), BARE_HASH, stdout + stderr)
})

test('processes on one embedded store keep its contract while they are killed, and a seed gives the same run again', () => {
  const runs = [simulate('--processes', '--seeds', PROCESS_SEEDS, '--hashes'), simulate('--processes', '--seed', '2', '--hashes')]
  for (const { status, stdout, stderr } of runs) assert.equal(status, 0, stdout + stderr)
  const [all, one] = runs.map(({ stdout }) => hashesIn(stdout))
  assert.equal(new Set(all!.values()).size, Number(PROCESS_SEEDS))
  assert.equal(one!.get(2), all!.get(2))
})

test('every scenario ends well whichever of its calls of the store fails', t => {
  const { status, stdout, stderr } = simulate('--fail-nth')
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /✓ apply by two managers, shared store, crash before: [1-9]\d* calls/)
  const calls = [...stdout.matchAll(/^✓ .*: (\d+) calls$/gm)].map(([, count]) => Number(count))
  t.diagnostic(`${calls.length} combinations of scenario, store and fault, with ${calls.reduce((sum, count) => sum + count, 0)} calls`)
  assert.ok(calls.every(count => count > 0))
})
