// Random clients on the real server, which is stopped and killed under them: everything they were told fits one history.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { robustness } from './robustness/robustness.ts'

test('lists and watches are consistent with one history, through restarts and kills', { timeout: 180_000 }, async t => {
  const seed = Date.now() % 2 ** 32
  const problem = await robustness(t, { ms: 24_000, seed, log: text => t.diagnostic(text) })
  assert.equal(problem, undefined, problem)
})
