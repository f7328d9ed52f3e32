import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToProcess } from '../../server/processes/messages.ts'
import { type Member, ProcessGroup } from './process-group.ts'

class TestMember implements Member {
  readonly number: number
  readonly pid: number
  isReady = false
  isPrimary = false
  isDrained = false
  unanswered = 0
  readonly got: ToProcess[] = []

  constructor(number: number) {
    this.number = number
    this.pid = 100 + number
  }

  send(message: ToProcess): void {
    this.got.push(message)
  }

  has(type: ToProcess['type']): number {
    return this.got.filter(message => message.type === type).length
  }
}

const READY = { type: 'ready', url: 'https://localhost', ca: '' } as const

/** A group of three that serve; process 1 owns the store. */
function open() {
  const ended: number[] = []
  const group = new ProcessGroup<TestMember>({
    count: 3,
    id: 'these',
    store: { socket: 'socket', secret: 'secret' },
    end: ({ number }) => ended.push(number),
  })
  const members = [1, 2, 3].map(number => new TestMember(number))
  for (const member of members) group.add(member)
  group.take({ type: 'primary' }, members[0]!)
  for (const member of members) group.take(READY, member)
  return { group, ended, members: members as [TestMember, TestMember, TestMember] }
}

test('the first process runs the duties at the start, and then one that serves and does not own the store', () => {
  const { group, members } = open()
  const [first, second, third] = members
  assert.deepEqual(
    members.map(({ got }) => got[0]!.type === 'welcome' && got[0]!.isAppointed),
    [true, false, false],
  )
  group.remove(first)
  assert.deepEqual([group.leader?.number, second.has('appointed'), third.has('appointed')], [3, 0, 1])
  group.take({ type: 'primary' }, second)
  const next = new TestMember(1)
  group.add(next)
  group.take(READY, next)
  group.remove(third)
  assert.deepEqual([group.leader?.number, second.has('appointed'), next.has('appointed')], [1, 0, 1])
})

test('a process that begins while nobody runs the duties is appointed', () => {
  const { group, members } = open()
  for (const member of members) group.remove(member)
  assert.equal(group.leader, undefined)
  const next = new TestMember(2)
  group.add(next)
  const [welcome] = next.got
  assert.ok(welcome?.type === 'welcome' && welcome.isAppointed && !welcome.isFirstStart)
})

test('processes that serve share the limits, and share them anew when one ends', () => {
  const { group, members } = open()
  const [first, second, third] = members
  assert.deepEqual(third.got.at(-1), { type: 'share', place: 2, of: 3 })
  group.remove(second)
  assert.deepEqual(
    [first.got.at(-1), third.got.at(-1)],
    [0, 1].map(place => ({ type: 'share', place, of: 2 })),
  )
})

test('a lock passes on when its holder ends, and a message that arrives after that takes none', () => {
  const { group, members } = open()
  const [first, second, third] = members
  group.take({ type: 'lock', name: 'a' }, second)
  group.take({ type: 'lock', name: 'a' }, first)
  assert.deepEqual([second.has('locked'), first.has('locked')], [1, 0])
  group.remove(second)
  assert.equal(first.has('locked'), 1)
  // It was on its way when the process ended. Nobody would release this lock.
  group.take({ type: 'lock', name: 'b' }, second)
  group.take({ type: 'lock', name: 'b' }, third)
  assert.deepEqual([second.has('locked'), third.has('locked')], [1, 1])
})

test('a process that does not answer pings is ended, as is one that does not take what it is sent', () => {
  const { group, ended, members } = open()
  const [first, , third] = members
  for (let i = 0; i < 16; i++) {
    group.ping()
    group.take({ type: 'pong' }, first)
    group.take({ type: 'pong' }, third)
  }
  assert.deepEqual(ended, [2])
  group.take({ type: 'stuck', pid: third.pid }, first)
  assert.deepEqual(ended, [2, 3])
})

test('the owner of the store closes it last', () => {
  const { group, members } = open()
  const [first, second, third] = members
  group.stop('SIGTERM')
  const closed = () => members.map(member => member.has('close'))
  for (const member of [first, second]) group.take({ type: 'drained' }, member)
  assert.deepEqual(closed(), [0, 0, 0])
  group.take({ type: 'drained' }, third)
  assert.deepEqual(closed(), [0, 1, 1])
  group.remove(second)
  group.remove(third)
  assert.equal(first.has('close'), 1)
})

test('a process that ends alone closes at once', () => {
  const { group, members } = open()
  group.take({ type: 'drained' }, members[1])
  assert.deepEqual(
    members.map(member => member.has('close')),
    [0, 1, 0],
  )
})
