import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restartDelayMs } from './restart-policy.ts'

test('containers that fail again wait for a shorter time with ReduceDefaultCrashLoopBackOffDecay', () => {
  const delays = (isOn: boolean) =>
    [1, 2, 3, 20].map(restarts =>
      restartDelayMs(restarts, 1_000, { gate: name => isOn && name === 'ReduceDefaultCrashLoopBackOffDecay', firstMs: undefined }),
    )
  assert.deepEqual(delays(false), [10_000, 20_000, 40_000, 300_000])
  assert.deepEqual(delays(true), [1_000, 2_000, 4_000, 60_000])
})
