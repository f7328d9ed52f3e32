/** The simulator: runs repeat, and a fixed set of seeds and some new ones pass. Runs replace time and chance of a process of their own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const MS = '2000'
const SEEDS = '100'
/** Seconds of processor time for seeds that nobody has run before. */
const NEW_SECONDS = '25'

const simulate = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['scripts/simulate.mjs', ...args, '--ms', MS], { encoding: 'utf8', maxBuffer: 2 ** 28 })

/** The hashes of seeds that one process runs, one after the other. */
function hashesOf(seeds: readonly number[]): Map<number, string> {
  const { stdout, stderr } = simulate(...seeds.flatMap(seed => ['--seed', String(seed)]))
  const found = [...stdout.matchAll(/^seed (\d+): .*hash ([0-9a-f]{16})$/gm)]
  assert.equal(found.length, seeds.length, stdout + stderr)
  return new Map(found.map(([, seed, hash]) => [Number(seed), hash!]))
}

test('a seed gives the same run in another process, alone and after others, and another seed another run', () => {
  const seeds = [8, 9, 11, 12]
  const hashes = hashesOf(seeds)
  assert.deepEqual(new Map([...hashesOf([...seeds].reverse())].reverse()), hashes)
  assert.equal(new Set(hashes.values()).size, seeds.length)
})

test(`${SEEDS} seeds pass, and new ones`, t => {
  const { status, stdout, stderr } = simulate('--seeds', SEEDS, '--new', NEW_SECONDS, '--jobs', '1')
  for (const line of stdout.trim().split('\n').slice(-2)) t.diagnostic(line)
  assert.equal(status, 0, stdout + stderr)
})

test('apply ends well whichever of its calls of the store fails', () => {
  const { status, stdout, stderr } = simulate('--fail-nth', '--scenario', 'apply')
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /✓ apply by two managers, shared store, crash before: [1-9]\d* calls/)
})
