import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { Dispatcher } from './dispatcher.ts'
import { PriorityLevel } from './priority-level.ts'
import type { LevelConfiguration, SeatLimits } from './seats.ts'

const WAIT_MS = 1000

type Setup = { readonly seats?: number; readonly queuing?: LevelConfiguration['queuing']; readonly borrowable?: () => number }

function openLevel({ seats = 1, queuing = { queues: 64, handSize: 8, queueLengthLimit: 50 }, borrowable = () => 0 }: Setup = {}) {
  let now = 1
  const dispatcher = new Dispatcher({ waitMs: WAIT_MS, now: () => now })
  const configuration = { name: 'test', uid: '', isExempt: false, shares: 1, lendablePercent: 0, borrowingLimitPercent: undefined, queuing }
  const limits: SeatLimits = { nominal: seats, lower: seats, upper: seats + 100 }
  const level = new PriorityLevel(configuration, limits, { dispatcher, borrowable })
  dispatcher.serve([level])
  const pass = (ms: number) => (now += ms)
  return { level, dispatcher, configuration, limits, pass, [Symbol.dispose]: () => dispatcher[Symbol.dispose]() }
}

/** Starts waiting requests until none can start. */
async function settle(level: PriorityLevel): Promise<void> {
  for (let before = -1; before !== level.waiting; ) {
    before = level.waiting
    await nextIteration()
    await nextIteration()
  }
}

const never = { seats: 1, isGone: () => false, reject: assert.fail }

test('flows are served round robin: one request of a late flow does not wait for the hundreds before it', async () => {
  using bench = openLevel()
  const { level } = bench
  const order: string[] = []
  const ask = (flow: string) => assert.ok(level.wait({ ...never, flow, start: () => order.push(flow) }))
  assert.equal(level.enter('flood'), 'seated')
  for (let i = 0; i < 400; i++) ask('flood')
  ask('quiet')
  level.leave('flood')
  await settle(level)
  level.leave(order[0]!)
  await settle(level)
  assert.deepEqual(order, ['flood', 'quiet'])
})

test('no request is lost, seated twice or seated beyond the limits, for random arrivals and departures', async () => {
  const step = fc.record({ act: fc.constantFrom('enter', 'leave', 'go', 'configure'), flow: fc.constantFrom('a', 'b', 'c') })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async steps => {
      using bench = openLevel({ seats: 4, queuing: { queues: 8, handSize: 2, queueLengthLimit: 4 } })
      const { level, configuration, limits } = bench
      const seated: string[] = []
      let waiting = 0
      for (const { act, flow } of steps) {
        if (act === 'leave') {
          const at = seated.indexOf(flow)
          if (at >= 0) level.leave(seated.splice(at, 1)[0]!)
        } else if (act === 'go') await settle(level)
        else if (act === 'configure') level.configure(configuration, limits)
        else if (level.enter(flow) === 'seated') seated.push(flow)
        else {
          const start = () => {
            seated.push(flow)
            waiting--
          }
          if (level.wait({ ...never, flow, start })) waiting++
        }
        assert.equal(level.executing, seated.length)
        assert.equal(level.waiting, waiting)
        assert.equal(level.borrowed, 0)
        assert.ok(seated.length <= 4)
        for (const name of ['a', 'b', 'c']) assert.ok(seated.filter(s => s === name).length <= 3)
      }
      while (seated.length > 0) {
        level.leave(seated.pop()!)
        await settle(level)
      }
      assert.equal(level.waiting, 0)
    }),
    { numRuns: 60 },
  )
})

test('a request that waits too long is rejected, and a rejected one is not started', async () => {
  using bench = openLevel()
  const { level, pass } = bench
  const outcomes: string[] = []
  const ask = (flow: string, isGone = false) =>
    level.wait({
      flow,
      seats: 1,
      isGone: () => isGone,
      start: () => outcomes.push(`${flow} starts`),
      reject: reason => outcomes.push(`${flow} ${reason}`),
    })
  level.enter('first')
  ask('late')
  pass(5000)
  ask('gone', true)
  ask('patient')
  level.rejectBefore(5001 - WAIT_MS)
  level.leave('first')
  await settle(level)
  assert.deepEqual(outcomes, ['late time-out', 'gone cancelled', 'patient starts'])
})

test('queues are as long as configured, and requests that only wait for the CPU do not count', async () => {
  using bench = openLevel({ seats: 20, queuing: { queues: 2, handSize: 1, queueLengthLimit: 3 } })
  const { level } = bench
  let started = 0
  const ask = (flow: string) => {
    const entry = level.enter(flow)
    if (entry === 'seated') started++
    else return entry === 'wait' && level.wait({ ...never, flow, start: () => started++ })
    return true
  }
  // Three quarters of the seats, and the queue of one flow.
  const taken = Array.from({ length: 30 }, () => ask('a')).filter(Boolean).length
  await settle(level)
  assert.deepEqual([started, level.waiting], [15, taken - 15])
  assert.ok(taken >= 18 && taken <= 20 + 6)
  assert.equal(ask('a'), false)
  for (let i = 0; i < 5; i++) {
    assert.equal(ask('b'), true)
    await settle(level)
  }
  assert.equal(started, 20)
})

test('a level without queues rejects what finds no seat, and starts the rest a little at a time', async () => {
  using bench = openLevel({ seats: 20, queuing: undefined as never })
  const { level, configuration, limits } = bench
  level.configure({ ...configuration, queuing: undefined }, limits)
  let started = 0
  const entries = Array.from({ length: 25 }, () => {
    const entry = level.enter('')
    if (entry === 'seated') started++
    if (entry === 'wait') assert.ok(level.wait({ ...never, flow: '', start: () => started++ }))
    return entry
  })
  assert.equal(entries.filter(entry => entry === 'concurrency-limit').length, 5)
  await settle(level)
  assert.equal(started, 20)
})

test('a level borrows seats that others lend, as long as they lend them', async () => {
  let lent = 2
  using bench = openLevel({ seats: 4, borrowable: () => lent - bench.level.borrowed })
  const { level } = bench
  const seated = []
  for (let i = 0; i < 10; i++) {
    if (level.enter('a') === 'seated') seated.push('a')
    await nextIteration()
  }
  // One seat of the four is left to other flows.
  assert.deepEqual([seated.length, level.borrowed], [5, 2])
  assert.equal(level.enter('b'), 'seated')
  await nextIteration()
  assert.equal(level.enter('b'), 'wait')
  lent = 3
  assert.equal(level.enter('b'), 'seated')
})

test('requests that arrive in one iteration of the event loop are started a few at a time', async () => {
  using bench = openLevel({ seats: 400 })
  const { level } = bench
  let started = 0
  for (let i = 0; i < 200; i++)
    if (level.enter('flood') === 'seated') started++
    else level.wait({ ...never, flow: 'flood', start: () => started++ })
  assert.ok(started > 0 && started < 50)
  await settle(level)
  assert.equal(started, 200)
})

test('while others send requests, the backlog of one flow rests between two requests, and other flows do not wait for it', {
  timeout: 30_000,
}, async () => {
  using bench = openLevel({ seats: 400 })
  const { level, dispatcher, pass } = bench
  const order: string[] = []
  const ask = (flow: string) => {
    dispatcher.seen(flow)
    const start = () => {
      order.push(flow)
      pass(1)
    }
    assert.ok(level.wait({ ...never, flow, start }))
  }
  dispatcher.seen('quiet')
  for (let i = 0; i < 8; i++) ask('flood')
  await settle(level)
  assert.deepEqual(order, ['flood'])
  ask('quiet')
  await settle(level)
  assert.deepEqual(order, ['flood', 'quiet'])
  pass(7)
  while (order.length < 3) await sleep(1)
  assert.deepEqual(order, ['flood', 'quiet', 'flood'])
  // No other user sends requests any more, so the backlog need not rest.
  pass(1000)
  while (order.length < 9) await sleep(1)
})

test('while several send requests, an iteration starts one request of a backlog, and all of a flow with few waiting', async () => {
  using bench = openLevel({ seats: 100 })
  const { level, dispatcher, pass } = bench
  const order: string[] = []
  const ask = (flow: string) => {
    dispatcher.seen(flow)
    const start = () => {
      order.push(flow)
      level.leave(flow)
    }
    level.wait({ ...never, flow, start })
  }
  for (let i = 0; i < 50; i++) ask('flood')
  for (let i = 0; i < 3; i++) ask('quiet')
  while (order.filter(flow => flow === 'quiet').length < 3) await nextIteration()
  const before = order.slice(0, order.lastIndexOf('quiet'))
  assert.ok(before.filter(flow => flow === 'flood').length <= 2, order.join(' '))
  // Alone again, it gets as many as ever.
  pass(1000)
  await settle(level)
  assert.equal(order.length, 53)
})

test('a request of several seats waits for all of them, and those behind it do not take them', async () => {
  using bench = openLevel({ seats: 4 })
  const { level } = bench
  const started: string[] = []
  const ask = (flow: string, seats: number) => assert.ok(level.wait({ ...never, flow, seats, start: () => started.push(flow) }))
  for (const flow of ['a', 'b']) assert.equal(level.enter(flow), 'seated')
  ask('large', 3)
  ask('small', 1)
  await settle(level)
  assert.deepEqual(started, [])
  level.leave('a')
  await settle(level)
  assert.deepEqual(started, ['large'])
  assert.equal(level.executing, 4)
  level.leave('b')
  await settle(level)
  assert.deepEqual(started, ['large', 'small'])
  level.leave('large', 3)
  level.leave('small')
  assert.ok(level.isIdle)
})

test('a request that takes more seats than a level has starts when the level is idle', () => {
  using bench = openLevel({ seats: 2 })
  const { level } = bench
  assert.equal(level.enter('a', 5), 'seated')
  assert.equal(level.enter('b'), 'wait')
  level.leave('a', 5)
  assert.equal(level.enter('b'), 'seated')
})
