import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pacedWrites } from './paced-writes.ts'

const request = (name: string) => ({ name }) as never

test('writes are begun in order, only so many at once, and failures make room as well', async () => {
  const begun: string[] = []
  const [ends, fails]: [(() => void)[], (() => void)[]] = [[], []]
  const write = pacedWrites(({ name }) => {
    begun.push(name)
    return new Promise((resolve, reject) => {
      ends.push(() => resolve(undefined))
      fails.push(() => reject(new Error(name)))
    })
  })
  const all = Array.from({ length: 100 }, (_, i) => write(request(String(i))))
  const results = Promise.allSettled(all)
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
  }
  await turns(100)
  const most = begun.length
  assert.ok(most > 1 && most < 100)
  await turns(100)
  assert.equal(begun.length, most)
  fails[0]!()
  ends[1]!()
  await turns(10)
  assert.equal(begun.length, most + 2)
  for (let i = 2; i < 100; i++) {
    while (ends.length <= i) await turns(1)
    ends[i]!()
  }
  assert.deepEqual((await results).filter(({ status }) => status === 'rejected').length, 1)
  assert.deepEqual(
    begun,
    Array.from({ length: 100 }, (_, i) => String(i)),
  )
})

test('clients are served between writes', async () => {
  let begun = 0
  const write = pacedWrites(async () => {
    begun++
    return undefined
  })
  const all = Array.from({ length: 50 }, (_, i) => write(request(String(i))))
  await new Promise(setImmediate)
  assert.ok(begun < 50)
  await Promise.all(all)
  assert.equal(begun, 50)
})
