import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repeat } from './repeat.ts'

/** Repeats until an outcome is `'good'`; the pauses that were made, in milliseconds. */
async function outcomeOf(outcomes: readonly string[], { stopsAfter = Number.POSITIVE_INFINITY } = {}) {
  const left = [...outcomes]
  const pauses: number[] = []
  const outcome = await repeat(async () => left.shift()!, {
    isFinal: each => each === 'good',
    firstPauseMs: 100,
    pause: async ms => pauses.push(Math.round(ms)) < stopsAfter,
    random: () => 0.5,
  })
  return { outcome, pauses }
}

test('a final outcome ends the repetition', async () => {
  assert.deepEqual(await outcomeOf(['good']), { outcome: 'good', pauses: [] })
  assert.deepEqual(await outcomeOf(['bad', 'worse', 'good', 'unused']), { outcome: 'good', pauses: [110, 165] })
})

test('after five attempts, or a pause that ends early, the last outcome counts', async () => {
  const failures = ['1', '2', '3', '4', '5', '6']
  assert.deepEqual(await outcomeOf(failures), { outcome: '5', pauses: [110, 165, 248, 371] })
  assert.deepEqual(await outcomeOf(failures, { stopsAfter: 2 }), { outcome: '2', pauses: [110, 165] })
})
