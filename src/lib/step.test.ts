import assert from 'node:assert/strict'
import test from 'node:test'
import { finish, isStep, run, type Step, stepOf, waitFor } from './step.ts'

const NEVER = { pause: () => undefined }
const resolved = <T>(value: T) => new Promise<T>(resolve => setImmediate(() => resolve(value)))

test('work that waits for nothing has its result at once', () => {
  function* work(): Step<number> {
    yield
    yield
    return 3
  }
  assert.equal(run(work(), NEVER), 3)
  assert.equal(finish(work()), 3)
})

test('an error of work that waits for nothing is thrown at once', () => {
  function* work(): Step<void> {
    yield
    throw new Error('broken')
  }
  assert.throws(() => run(work(), NEVER), /^Error: broken$/)
  assert.throws(() => finish(work()), /^Error: broken$/)
})

test('work waits for promises, and goes on with their values', async () => {
  function* inner(): Step<string> {
    return (yield* waitFor(resolved('a'))) + (yield* waitFor(resolved('b')))
  }
  function* work(): Step<string> {
    yield
    const both = yield* inner()
    yield
    return `${both}${yield* waitFor(resolved('c'))}`
  }
  const result = run(work(), NEVER)
  assert.ok(result instanceof Promise)
  assert.equal(await result, 'abc')
})

test('a rejection arrives where the work waits', async () => {
  const seen: string[] = []
  function* work(): Step<string> {
    try {
      yield* waitFor(Promise.reject(new Error('refused')))
    } catch (error) {
      seen.push((error as Error).message)
    } finally {
      seen.push('finally')
    }
    return yield* waitFor(resolved('after'))
  }
  assert.equal(await run(work(), NEVER), 'after')
  assert.deepEqual(seen, ['refused', 'finally'])
})

test('an error after a wait rejects once, and is not thrown into the work that threw it', async () => {
  let caught = 0
  function* work(): Step<void> {
    yield* waitFor(resolved(1))
    try {
      throw new Error('broken')
    } catch (error) {
      caught++
      throw error
    }
  }
  await assert.rejects(async () => run(work(), NEVER), /^Error: broken$/)
  assert.equal(caught, 1)
})

test('a bare yield asks the pace, and work pauses for as long as it says', async () => {
  let asked = 0
  const pace = { pause: () => (++asked % 3 === 0 ? resolved(undefined) : undefined) }
  function* work(): Step<number> {
    for (let i = 0; i < 10; i++) assert.equal(yield, undefined)
    return asked
  }
  const result = run(work(), pace)
  assert.equal(asked, 3)
  assert.equal(await result, 10)
})

test('a pause that rejects stops the work where it is, and it can clean up', async () => {
  const stops = { pause: () => Promise.reject(new Error('cancelled')) }
  const seen: string[] = []
  function* work(): Step<void> {
    try {
      seen.push('begins')
      yield
      seen.push('goes on')
    } finally {
      seen.push('ends')
    }
  }
  await assert.rejects(async () => run(work(), stops), /^Error: cancelled$/)
  assert.deepEqual(seen, ['begins', 'ends'])
})

test('thousands of waits do not add up to a chain', async () => {
  function* work(): Step<number> {
    let sum = 0
    for (let i = 0; i < 20_000; i++) sum += yield* waitFor(Promise.resolve(1))
    return sum
  }
  assert.equal(await run(work(), NEVER), 20_000)
})

test('work that has to wait cannot be finished at once', () => {
  assert.throws(() => finish(waitFor(resolved(1))), /the work has to wait/)
})

test('a step is told from a result', () => {
  assert.ok(isStep(waitFor(resolved(1))))
  for (const result of [undefined, null, 1, 'text', {}, [], new Map(), { throw: true }]) assert.ok(!isStep(result))
})

test('a result that is no promise stays as it is, and a promise becomes a step with its value', async () => {
  for (const result of [undefined, null, 0, '', { a: 1 }]) assert.equal(stepOf(result), result)
  const step = stepOf(resolved('later'))
  assert.ok(isStep(step))
  assert.equal(await run(step, NEVER), 'later')
})

test('a promise that rejects before its step is run is not an unhandled rejection, and the step throws', async t => {
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', onUnhandled)
  t.after(() => process.off('unhandledRejection', onUnhandled))
  const step = stepOf(Promise.reject<number>(new Error('refused')))
  await resolved(undefined)
  await resolved(undefined)
  assert.deepEqual(unhandled, [])
  assert.ok(isStep(step))
  await assert.rejects(async () => run(step, NEVER), /^Error: refused$/)
})
