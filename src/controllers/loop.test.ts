import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { StatusError } from '../schema/status-error.ts'
import { Loop, type LoopParts } from './loop.ts'

function open(t: TestContext, parts: Partial<LoopParts<string>> & Pick<LoopParts<string>, 'settle'>) {
  const ending = new AbortController()
  t.after(() => ending.abort())
  return { loop: new Loop<string>({ onError: assert.ifError, signal: ending.signal, ...parts }), ending }
}
const turn = () => new Promise(setImmediate)

test('a key that is woken often before its turn is looked at once, after the turn of who woke it', async t => {
  const seen: string[] = []
  const { loop } = open(t, { settle: async key => void seen.push(key) })
  void loop.wake('a', 'b')
  const done = loop.wake('a')
  assert.deepEqual(seen, [])
  await done
  assert.deepEqual(seen, ['a', 'b'])
  await loop.wake()
  assert.equal(seen.length, 2)
})

test('a key that is woken during its turn is looked at again, never twice at once', async t => {
  let under = 0
  let looks = 0
  const { loop } = open(t, {
    atOnce: 4,
    settle: async key => {
      assert.equal(++under, 1)
      if (++looks < 3) void loop.wake(key)
      await turn()
      under--
    },
  })
  await loop.wake('a')
  assert.equal(looks, 3)
})

test('as many keys as were asked for are looked at at once, also those that come later', async t => {
  let under = 0
  let most = 0
  const { loop } = open(t, {
    atOnce: 3,
    settle: async key => {
      most = Math.max(most, ++under)
      if (key === '0') void loop.wake('5', '6', '7')
      await turn()
      under--
    },
  })
  await loop.wake('0', '1', '2', '3', '4')
  assert.equal(most, 3)
})

test('whoever was beaten to a write looks again at once, but not forever', async t => {
  let looks = 0
  const errors: unknown[] = []
  const { loop } = open(t, {
    onError: error => errors.push(error),
    settle: async () => {
      looks++
      throw new StatusError(409, 'Conflict', 'too late')
    },
  })
  await loop.wake('a')
  assert.equal(looks, 6)
  assert.equal(errors.length, 1)
})

test('what failed is told of and tried again later, what wants to be called again is', async t => {
  let looks = 0
  const failed: string[] = []
  const done = new Promise<void>(resolve => {
    const { loop } = open(t, {
      onError: (_, key) => failed.push(key),
      settle: async () => {
        if (++looks === 1) throw new Error('no')
        if (looks === 2) return 1
        resolve()
        return undefined
      },
    })
    void loop.wake('a')
  })
  // The loop keeps no process alive.
  const alive = setInterval(() => {}, 1000)
  t.after(() => clearInterval(alive))
  await done
  assert.deepEqual([looks, failed], [3, ['a']])
})

test('after its end a loop begins nothing more, and nobody waits for it', async t => {
  const seen: string[] = []
  const { loop, ending } = open(t, {
    settle: async key => {
      seen.push(key)
      ending.abort()
      throw new Error('the store is closed')
    },
  })
  await loop.wake('a', 'b')
  await loop.wake('c')
  assert.deepEqual(seen, ['a'])
})

test('whatever is woken is looked at after its last wake', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean()), { maxLength: 30 }), async script => {
      const asked = new Map<string, number>()
      const answered = new Map<string, number>()
      const loop = new Loop<string>({
        atOnce: 2,
        onError: assert.ifError,
        signal: new AbortController().signal,
        settle: async key => {
          const state = asked.get(key)!
          await turn()
          answered.set(key, state)
        },
      })
      for (const [key, waits] of script) {
        asked.set(key, (asked.get(key) ?? 0) + 1)
        void loop.wake(key)
        if (waits) await turn()
      }
      await loop.settled()
      assert.deepEqual([...answered].sort(), [...asked].sort())
    }),
    { numRuns: 50 },
  ))
