import assert from 'node:assert/strict'
import test from 'node:test'
import { deviceId } from './device.ts'
import { DeviceUsage } from './usage.ts'

const result = { request: 'r', driver: 'd.example.com', pool: 'p', device: 'one' }
const isTaken = (usage: DeviceUsage): boolean => usage.of(deviceId(result)) !== undefined

function undecided(replaces: number): DeviceUsage {
  const usage = new DeviceUsage()
  usage.assume('claim', [result])
  usage.leaveUndecided('claim', replaces)
  usage.forget('claim')
  return usage
}

test('an assumed allocation takes its devices until it is stored or forgotten', () => {
  const usage = new DeviceUsage()
  usage.assume('claim', [result])
  assert.deepEqual([isTaken(usage), usage.isAssumed('claim')], [true, true])
  usage.forget('claim')
  assert.equal(isTaken(usage), false)
  usage.assume('claim', [result])
  usage.store('claim', [result], 2)
  usage.forget('claim')
  assert.deepEqual([isTaken(usage), usage.isAssumed('claim')], [true, false])
  usage.store('claim', undefined, 3)
  assert.equal(isTaken(usage), false)
})

test('one that may still be written takes them until its claim is seen at a newer revision than it replaces', () => {
  const usage = undecided(5)
  usage.store('claim', undefined, 5)
  assert.deepEqual([isTaken(usage), usage.isAssumed('claim')], [true, true])
  usage.store('claim', undefined, 6)
  assert.deepEqual([isTaken(usage), usage.isAssumed('claim')], [false, false])
  const written = undecided(5)
  written.store('claim', [result], 6)
  assert.deepEqual([isTaken(written), written.isAssumed('claim')], [true, false])
  written.store('claim', undefined, 7)
  assert.equal(isTaken(written), false)
})

test('a newer revision that was seen before the write failed decides as well', () => {
  const usage = new DeviceUsage()
  usage.assume('claim', [result])
  usage.store('claim', undefined, 6)
  usage.leaveUndecided('claim', 5)
  assert.equal(isTaken(usage), false)
})

test('an undecided write is given up once, and only itself', () => {
  const usage = undecided(5)
  assert.equal(usage.giveUp('claim', 4), false)
  assert.equal(isTaken(usage), true)
  assert.deepEqual([usage.giveUp('claim', 5), usage.giveUp('claim', 5)], [true, false])
  assert.equal(isTaken(usage), false)
})
