import assert from 'node:assert/strict'
import test from 'node:test'
import { PodWrites } from './pod-writes.ts'

function open() {
  const [due, done]: [string[], string[]] = [[], []]
  const writes = new PodWrites(key => void due.push(key))
  const note = (text: string) => async () => void done.push(text)
  return { writes, due, done, note }
}

test('the writes of a key run in the order in which they were added', async () => {
  const { writes, due, done, note } = open()
  for (const text of ['first', 'second']) writes.add('a', note(text))
  writes.add('b', note('other'))
  assert.deepEqual(due, ['a', 'a', 'b'])
  assert.equal(await writes.run('b'), undefined)
  assert.equal(await writes.run('a'), undefined)
  assert.deepEqual(done, ['other', 'first', 'second'])
  await writes.run('a')
  assert.equal(done.length, 3)
})

test('a write that is not ready is repeated before the writes after it', async () => {
  const { writes, done, note } = open()
  const delays = [500, undefined]
  writes.add('a', async () => delays.shift())
  writes.add('a', note('after it'))
  assert.equal(await writes.run('a'), 500)
  assert.deepEqual(done, [])
  assert.equal(await writes.run('a'), undefined)
  assert.deepEqual(done, ['after it'])
})

test('a write that fails is not repeated, and does not stop the writes after it', async () => {
  const { writes, done, note } = open()
  writes.add('a', () => Promise.reject(new Error('refused')))
  writes.add('a', note('next'))
  await assert.rejects(writes.run('a'), { message: 'refused' })
  await writes.run('a')
  assert.deepEqual(done, ['next'])
})
