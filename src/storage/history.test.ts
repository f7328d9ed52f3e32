import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { History, type KeyState } from './history.ts'

function write(history: History<KeyState>, key: string, deleted = false): void {
  const modified = history.newest + 1
  history.append(key, { modified, created: history.latest(key)?.created ?? modified, deleted })
}

test('what remains behind a page is counted alike by undoing changes and key by key', () => {
  const steps = fc.array(fc.tuple(fc.nat(400), fc.boolean()), { minLength: 200, maxLength: 2_000 })
  fc.assert(
    fc.property(steps, fc.nat(2_000), fc.nat(30), (steps, back, limit) => {
      const history = new History<KeyState>()
      for (const [n, deletes] of steps) write(history, `/k/${n}`, deletes && history.latest(`/k/${n}`) !== undefined)
      const at = Math.max(1, history.newest - back)
      const all = history.page('/k/', { at }).found
      const page = history.page('/k/', { at, limit })
      assert.deepEqual(page.found, all.slice(0, limit))
      assert.equal(page.remaining, Math.max(0, all.length - limit))
      const uncounted = history.page('/k/', { at, limit, uncounted: true })
      assert.deepEqual(uncounted.found, page.found)
      assert.equal(uncounted.remaining > 0, page.remaining > 0)
    }),
    { numRuns: 50 },
  )
})

test('sweeping in steps drops exactly the unreadable revisions, each once', () => {
  const steps = fc.array(fc.tuple(fc.nat(5), fc.boolean()), { maxLength: 80 })
  fc.assert(
    fc.property(steps, fc.nat(), fc.integer({ min: 1, max: 20 }), (steps, forget, step) => {
      const history = new History<KeyState>()
      const written: { key: string; modified: number; deleted: boolean }[] = []
      for (const [n, deletes] of steps) {
        const key = `/k/${n}`
        const deleted = deletes && history.latest(key) !== undefined
        write(history, key, deleted)
        written.push({ key, modified: history.newest, deleted })
      }
      const oldest = 1 + (forget % history.newest)
      history.forget(oldest)
      const dropped: number[] = []
      for (let some = history.sweep(step); some; some = history.sweep(step)) dropped.push(...some.map(({ state }) => state.modified))
      const unreadable = written.filter(
        ({ key, modified, deleted }) =>
          modified <= oldest &&
          (deleted || written.some(later => later.key === key && later.modified > modified && later.modified <= oldest)),
      )
      assert.deepEqual(
        dropped.sort((a, b) => a - b),
        unreadable.map(({ modified }) => modified),
      )
      assert.deepEqual(history.sweepAll(), [])
    }),
  )
})

test('a key written very often is forgotten in small steps', () => {
  const history = new History<KeyState>()
  for (let i = 0; i < 50_000; i++) write(history, '/hot')
  history.forget(history.newest)
  let dropped = 0
  for (let some = history.sweep(512); some; some = history.sweep(512)) {
    assert.ok(some.length <= 512)
    dropped += some.length
  }
  assert.equal(dropped, 49_999)
})

test('a revision lost to damage is passed over', () => {
  const history = new History<KeyState>()
  history.append('/a', { modified: 2, created: 2, deleted: false })
  history.append('/b', { modified: 9, created: 9, deleted: false })
  const { revision, found } = history.changes('/', 1, 100)
  assert.equal(revision, 9)
  assert.deepEqual(
    found.map(change => change.key),
    ['/a', '/b'],
  )
  history.forget(9)
  while (history.sweep(2));
  assert.equal(history.page('/', {}).found.length, 2)
})

test('a history loaded at once is the same as one written', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(300), fc.boolean()), { maxLength: 1_000 }), steps => {
      const written = new History<KeyState>()
      const writes = steps.map(([n, deletes]) => {
        const key = `/k/${n}`
        const before = written.latest(key)
        const modified = written.newest + 1
        const state = { modified, created: before?.created ?? modified, deleted: deletes && before !== undefined }
        written.append(key, state)
        return { key, state }
      })
      const loaded = History.load(1, writes)
      assert.equal(loaded.newest, written.newest)
      assert.deepEqual(loaded.page('/', { limit: 50 }), written.page('/', { limit: 50 }))
      assert.deepEqual(loaded.changes('/', 1, 2_000), written.changes('/', 1, 2_000))
    }),
    { numRuns: 30 },
  )
})
