import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Crowd } from './crowd.ts'
import { LIMITS } from './limits.ts'

test('a connection whose requests wait is asked for fewer, and for all again when none waits', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const said: number[] = []
  const crowd = new Crowd((limit, heard) => {
    said.push(limit)
    heard()
  })
  // Five watches, then a flood of which eight are being answered.
  for (let i = 0; i < 5 + 8; i++) crowd.opened()
  for (let i = 0; i < LIMITS.waitingPerConnection; i++) {
    crowd.opened()
    crowd.waits()
  }
  assert.deepEqual(said, [])
  crowd.opened()
  crowd.waits()
  assert.deepEqual(said, [5 + 8 + LIMITS.waitingPerConnection])
  for (let i = 0; i < 20; i++) {
    crowd.opened()
    crowd.waits()
  }
  assert.equal(said.length, 1)
  t.mock.timers.tick(LIMITS.easeMs)
  assert.equal(said.length, 1)
  for (let i = 0; i < LIMITS.waitingPerConnection + 21; i++) {
    crowd.goes()
    crowd.closed()
  }
  t.mock.timers.tick(LIMITS.easeMs)
  assert.deepEqual(said.slice(1), [LIMITS.streamsPerConnection])
  crowd.end()
})

test('a client is told the latest once it has taken note of what it was told before', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const said: number[] = []
  let heard = () => {}
  const crowd = new Crowd((limit, h) => {
    said.push(limit)
    heard = h
  })
  const flood = LIMITS.waitingPerConnection + 1
  for (let i = 0; i < 100; i++) crowd.opened()
  for (let i = 0; i < flood; i++) {
    crowd.opened()
    crowd.waits()
  }
  // Those that were being answered are done, one by one, while others keep coming.
  for (let i = 0; i < 90; i++) {
    crowd.closed()
    crowd.opened()
    crowd.waits()
  }
  assert.deepEqual(said, [100 + LIMITS.waitingPerConnection])
  heard()
  assert.deepEqual(said.slice(1), [10 + LIMITS.waitingPerConnection])
  heard()
  assert.equal(said.length, 2)
  crowd.end()
})

test('requests that are cancelled while they wait do not make the limit less than what may wait', () => {
  const said: number[] = []
  const crowd = new Crowd((limit, heard) => {
    said.push(limit)
    heard()
  })
  for (let i = 0; i < 500; i++) {
    crowd.opened()
    crowd.waits()
    crowd.closed()
  }
  assert.deepEqual(said, [LIMITS.waitingPerConnection])
  crowd.end()
})
