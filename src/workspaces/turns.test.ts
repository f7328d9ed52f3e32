import assert from 'node:assert/strict'
import test from 'node:test'
import type { Response } from '../http/message.ts'
import { Turn, Turns } from './turns.ts'

const OK: Response = { status: 200, headers: {}, body: new Uint8Array() }
const iteration = () => new Promise<void>(resolve => setImmediate(resolve))
/** Work that takes the processor for a while. */
function work(ms: number): Response {
  for (const end = performance.now() + ms; performance.now() < end; );
  return OK
}

test('requests are answered at once while their workspace has time left', () => {
  const turns = new Turns({ inflight: 2, waiting: 2, sliceMs: 60_000 })
  const answer = turns.run(new Turn(), () => OK)
  assert.equal(answer, OK)
})

test('a workspace that has used its slice waits, and another does not', async () => {
  const turns = new Turns({ inflight: 10, waiting: 100, sliceMs: 1 })
  const [busy, calm] = [new Turn(), new Turn()]
  const order: string[] = []
  const ask = (turn: Turn, name: string, ms: number) =>
    turns.run(turn, () => {
      order.push(name)
      return work(ms)
    })
  const answers = [1, 2, 3, 4].map(i => ask(busy, `busy ${i}`, 2))
  ask(calm, 'calm', 0)
  assert.deepEqual(order, ['busy 1', 'calm'])
  await Promise.all(answers)
  assert.deepEqual(order, ['busy 1', 'calm', 'busy 2', 'busy 3', 'busy 4'])
})

test('workspaces with waiting requests begin them in turns', async () => {
  const turns = new Turns({ inflight: 1, waiting: 100, sliceMs: 60_000 })
  const [a, b] = [new Turn(), new Turn()]
  const order: string[] = []
  const ask = (turn: Turn, name: string) =>
    turns.run(turn, async () => {
      order.push(name)
      await iteration()
      return OK
    })
  const asked = ['a', 'a', 'a', 'a'].map(name => ask(a, name))
  await Promise.all([...asked, ask(b, 'b'), ask(b, 'b')])
  assert.deepEqual(order.slice(-1), ['a'], 'the two of b do not wait for all of a')
})

test('writes whose bodies have arrived go on in turns, and a quiet workspace comes in between', async () => {
  const turns = new Turns({ inflight: 50, waiting: 100, sliceMs: 1 })
  const [noisy, quiet] = [new Turn(), new Turn()]
  const order: string[] = []
  let arrive = () => {}
  const body = new Promise<void>(resolve => {
    arrive = resolve
  })
  const write = async (): Promise<Response> => {
    await body
    await turns.resume(noisy)
    // Work by promises, as that of a write.
    await undefined
    order.push('noisy')
    return work(2)
  }
  const writes = Array.from({ length: 20 }, () => turns.run(noisy, write))
  // All of them are begun and wait for their bodies.
  while (noisy.active < 20) await iteration()
  arrive()
  const reads = 10
  for (let i = 0; i < reads; i++) {
    await iteration()
    await turns.run(quiet, () => {
      order.push('quiet')
      return OK
    })
  }
  const before = order.slice(0, order.lastIndexOf('quiet')).filter(name => name === 'noisy').length
  assert.ok(before <= reads + 2, `${before} writes before ${reads} reads: ${order.join(' ')}`)
  await Promise.all(writes)
  assert.equal(order.length, 20 + reads)
})

test('beyond the limits requests are refused, failures are passed on, and later ones are answered', async () => {
  const turns = new Turns({ inflight: 1, waiting: 1, sliceMs: 60_000 })
  const turn = new Turn()
  const failing = async (): Promise<Response> => {
    await iteration()
    throw new Error('failed')
  }
  const first = turns.run(turn, failing)
  const second = turns.run(turn, () => {
    throw new Error('thrown')
  })
  assert.throws(() => turns.run(turn, () => OK), { code: 429, reason: 'TooManyRequests' })
  await assert.rejects(async () => first, /failed/)
  await assert.rejects(async () => second, /thrown/)
  assert.equal(turn.active, 0)
  assert.equal(await turns.run(turn, () => OK), OK)
})
