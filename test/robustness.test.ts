// Random clients on the real server, which is stopped and killed under them: everything they were told fits one history.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWith } from './programs.ts'
import { robustness } from './robustness/robustness.ts'

test('lists and watches are consistent with one history, through restarts and kills', { timeout: 400_000 }, async t => {
  const seed = Date.now() % 2 ** 32
  const problem = await robustness(t, { ms: 10_000, seed, log: text => t.diagnostic(text) })
  assert.equal(problem, undefined, problem)
})

test('so they are over three processes of one server, each of which is killed', { timeout: 400_000 }, async t => {
  const seed = Date.now() % 2 ** 32
  const problem = await robustness(t, { ms: 10_000, seed, log: text => t.diagnostic(text), isSeveral: true })
  assert.equal(problem, undefined, problem)
})

testWith(
  'etcd',
  'so they are over three servers on three members of etcd, each of which is stopped, killed and paused',
  { timeout: 300_000 },
  async (t, etcd) => {
    const seed = Date.now() % 2 ** 32
    const problem = await robustness(t, { ms: 10_000, seed, log: text => t.diagnostic(text), etcd })
    assert.equal(problem, undefined, problem)
  },
)
