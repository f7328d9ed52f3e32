import assert from 'node:assert/strict'
import test from 'node:test'
import { Pace } from './pace.ts'
import { run, type Step } from './step.ts'

const LARGE = 1 << 20

/** Keeps the processor busy for longer than a slice. */
function busy(): void {
  for (const began = performance.now(); performance.now() - began < 10; );
}

test('a small request is never paused, however long it runs', () => {
  const pace = new Pace({ bytes: 100 })
  for (let i = 0; i < 3; i++) {
    busy()
    assert.equal(pace.pause(), undefined)
  }
  assert.ok(!pace.isLarge)
})

test('a large request pauses where it first can, and then after each slice', async () => {
  const pace = new Pace({ bytes: LARGE })
  const first = pace.pause()
  assert.ok(first)
  await first
  assert.equal(pace.pause(), undefined)
  busy()
  assert.ok(pace.pause())
})

test('a small request becomes a large one by what it is found to be about, or by the work that it does', async () => {
  const found = new Pace({ bytes: 100 })
  found.atLeast(LARGE)
  found.atLeast(5)
  assert.ok(found.isLarge && found.pause())
  const work = { used: 0 }
  const worked = new Pace({ bytes: 100, work })
  assert.ok(!worked.isNoticeable)
  assert.equal(worked.pause(), undefined)
  work.used = LARGE
  assert.ok(worked.isNoticeable)
  assert.equal(worked.pause(), undefined, 'its slice begins')
  busy()
  assert.ok(worked.pause())
})

test('work in the background pauses after its first slice', () => {
  const pace = new Pace()
  assert.equal(pace.pause(), undefined)
  busy()
  assert.ok(pace.pause())
})

test('cancelled work stops at its next pause, with the error that it is told', async () => {
  let isGone = false
  const pace = new Pace({ bytes: LARGE, cancelled: () => (isGone ? new Error('the client has gone') : undefined) })
  let stops = 0
  function* work(): Step<void> {
    for (;;) {
      stops++
      busy()
      yield
      isGone = stops === 2
    }
  }
  await assert.rejects(async () => run(work(), pace), /the client has gone/)
  assert.equal(stops, 3)
})

test('work that has taken effect goes to its end, though nobody waits for it', async () => {
  const pace = new Pace({ bytes: LARGE, cancelled: () => new Error('the client has gone') })
  function* work(): Step<string> {
    pace.commit()
    yield
    return 'done'
  }
  assert.equal(await run(work(), pace), 'done')
})
