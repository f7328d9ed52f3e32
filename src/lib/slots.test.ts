import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Rank, Slots } from './slots.ts'

test('only so many run at once, in order, and a failure frees its slot', async () => {
  const slots = new Slots({ atOnce: 2, perIteration: 2 })
  const order: number[] = []
  let running = 0
  let most = 0
  const work = (number: number) => async () => {
    most = Math.max(most, ++running)
    order.push(number)
    await new Promise(setImmediate)
    running--
    if (number === 1) throw new Error('one')
    return number
  }
  const results = await Promise.allSettled([0, 1, 2, 3, 4].map(number => slots.run(work(number))))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
  assert.deepEqual([order, most], [[0, 1, 2, 3, 4], 2])
  assert.equal(await slots.run(work(5)), 5)
})

test('tasks begin by their rank, and of the lower ranks a few of each', async () => {
  const slots = new Slots({ atOnce: 1, perIteration: 1 })
  const order: string[] = []
  const run = (rank: Rank, names: string) => [...names].map(name => slots.run(async () => void order.push(name), rank))
  await Promise.all([...run('usual', '0123'), ...run('going on', 'abcdefg'), ...run('urgent', 'XY')])
  assert.equal(order.join(''), '0XYabc1def2g3')
  await Promise.all([...run('going on', 'abcde'), ...run('urgent', 'X')])
  assert.equal(order.slice(13).join(''), 'Xabcde')
})

test('what completes something comes before what goes on with something, and neither waits for all of the other', async () => {
  const slots = new Slots({ atOnce: 1, perIteration: 1 })
  const order: string[] = []
  const run = (rank: Rank, names: string) => [...names].map(name => slots.run(async () => void order.push(name), rank))
  await Promise.all([...run('usual', '012'), ...run('going on', 'abcdef'), ...run('completing', 'ABCDEFGHIJKLMNOP'), ...run('urgent', 'X')])
  assert.equal(order.join(''), '0XABCaDEFbGHIcJKL1MNOdPef2')
})

test('only so many begin in one iteration of the event loop', async () => {
  const slots = new Slots({ atOnce: 100, perIteration: 3 })
  let begun = 0
  const all = Promise.all(Array.from({ length: 10 }, () => slots.run(async () => void begun++)))
  const counts: number[] = []
  for (let iteration = 0; iteration < 4; iteration++) {
    await Promise.resolve()
    counts.push(begun)
    await new Promise(setImmediate)
  }
  assert.ok(counts[0]! <= 3, `${counts}`)
  for (const [iteration, count] of counts.entries()) assert.ok(count <= 3 * (iteration + 1), `${counts}`)
  await all
  assert.equal(begun, 10)
})
