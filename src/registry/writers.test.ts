import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { LIMITS } from '../lib/limits.ts'
import { Writers } from './writers.ts'

test('the last writes are known by their revision, in whatever order they are noted', () => {
  const revisions = fc.uniqueArray(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(revisions, fc.infiniteStream(fc.string()), (noted, users) => {
      const writers = new Writers()
      const expected = new Map<number, string>()
      for (const revision of noted) {
        const user = users.next().value!
        writers.note(revision, user, new Date(revision * 1000))
        expected.set(revision, user)
      }
      for (const [revision, user] of expected) assert.deepEqual(writers.of(revision), { user, time: new Date(revision * 1000) })
      for (const revision of noted) if (!expected.has(revision + 1)) assert.equal(writers.of(revision + 1), undefined)
    }),
  )
})

test('what is kept is bounded: the oldest writes are forgotten', () => {
  const writers = new Writers()
  const time = new Date(0)
  for (let revision = 1; revision <= LIMITS.notedWrites + 5_000; revision++) writers.note(revision, `user-${revision % 3000}`, time)
  assert.equal(writers.of(1), undefined)
  assert.equal(writers.of(LIMITS.notedWrites + 5_000)?.user, `user-${(LIMITS.notedWrites + 5_000) % 3000}`)
  assert.ok(writers.of(6_500))
})
