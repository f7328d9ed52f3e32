import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Freshness } from './freshness.ts'

/** A store that answers when it is told to, with the revision that it had when it was asked, and a cache that follows it. */
function bench() {
  const questions: ((fails?: boolean) => void)[] = []
  const state = { stored: 1, cached: 1, asked: 0 }
  const ask = () => {
    state.asked++
    const { stored } = state
    return new Promise<number>((resolve, reject) => questions.push(fails => (fails ? reject(new Error('gone')) : resolve(stored))))
  }
  const reach = (revision: number) => {
    state.cached = Math.max(state.cached, revision)
  }
  const answer = (fails?: boolean) => questions.shift()?.(fails)
  return { state, answer, freshness: new Freshness(ask, reach) }
}

test('one question serves all requests from before it was sent, and none from later', async () => {
  const { state, answer, freshness } = bench()
  const first = [freshness.now()]
  const next = [freshness.now(), freshness.now(), freshness.now()]
  assert.equal(state.asked, 1)
  state.stored = 2
  answer()
  await Promise.all(first)
  assert.equal(state.cached, 1)
  await new Promise(setImmediate)
  assert.equal(state.asked, 2)
  answer()
  await Promise.all(next)
  assert.deepEqual(state, { stored: 2, cached: 2, asked: 2 })
})

test('a question that fails fails for all that waited for it, and the next one is asked', async () => {
  const { answer, freshness } = bench()
  const first = freshness.now()
  const next = freshness.now()
  answer(true)
  await assert.rejects(first!, /gone/)
  await new Promise(setImmediate)
  answer()
  await next
})

test('a request that goes on reads every write from before it asked, whenever that was made', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('write', 'ask', 'answer', 'wait'), { maxLength: 60 }), async steps => {
      const { state, answer, freshness } = bench()
      const waiting: Promise<void>[] = []
      for (const step of steps) {
        if (step === 'write') state.stored++
        if (step === 'answer') answer()
        if (step === 'wait') await new Promise(setImmediate)
        if (step !== 'ask') continue
        const known = state.stored
        waiting.push(freshness.now()!.then(() => assert.ok(state.cached >= known, `${state.cached} is older than ${known}`)))
      }
      let done = false
      const all = Promise.all(waiting).then(() => (done = true))
      while (!done) {
        answer()
        await new Promise(setImmediate)
      }
      await all
    }),
  )
})

test('a store that knows its newest revision answers at once', async () => {
  let cached = 1
  let arrive = () => {}
  const arrived = new Promise<void>(resolve => (arrive = resolve))
  const freshness = new Freshness(
    () => 2,
    revision => (cached >= revision ? undefined : arrived),
  )
  const waiting = freshness.now()
  assert.ok(waiting)
  assert.equal(freshness.isAtOnce, true)
  cached = 2
  arrive()
  await waiting
  assert.equal(freshness.now(), undefined)
})
