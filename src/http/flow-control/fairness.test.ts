import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { find, secretJson, testApi, testCatalog, testRequest } from '../../../test/kits/http/test-server.ts'
import type { Authenticator } from '../../authn/authenticator.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { Result } from '../../registry/api.ts'
import type { Response } from '../message.ts'
import { createServe } from '../serve.ts'
import { FairQueues, type Lane } from './fair-queues.ts'
import { Fairness } from './fairness.ts'
import { Room } from './room.ts'

const QUEUES = { waiting: 1000, waitingPerUser: 500, waitMs: 1000 }

/** Keeps starting what waits until nothing more can. */
async function settle(lane: Lane): Promise<void> {
  for (let before = -1; before !== lane.waiting; ) {
    before = lane.waiting
    await turn()
    await turn()
  }
}

test('users take turns: one request of a late user does not wait for the thousand before it', async () => {
  const queues = new FairQueues(QUEUES)
  const lane = queues.lane({ seats: 1, seatsPerUser: 1, waits: true })
  const order: string[] = []
  const ask = (user: string) => lane.wait({ user, isGone: () => false, start: () => order.push(user), refuse: assert.fail })
  assert.equal(lane.enter('flood'), 'seated')
  for (let i = 0; i < 400; i++) ask('flood')
  ask('quiet')
  lane.leave('flood')
  await settle(lane)
  lane.leave(order[0]!)
  await settle(lane)
  assert.deepEqual(order, ['flood', 'quiet'])
  queues[Symbol.dispose]()
})

test('nobody is lost, seated twice or beyond the limits, whatever comes and goes', async () => {
  const step = fc.record({ act: fc.constantFrom('enter', 'leave', 'go'), user: fc.constantFrom('a', 'b', 'c') })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async steps => {
      const queues = new FairQueues({ ...QUEUES, waitingPerUser: 8 })
      const lane = queues.lane({ seats: 5, seatsPerUser: 3, waits: true })
      const seated: string[] = []
      let waiting = 0
      for (const { act, user } of steps) {
        if (act === 'leave') {
          const at = seated.indexOf(user)
          if (at >= 0) lane.leave(seated.splice(at, 1)[0]!)
        } else if (act === 'go') await settle(lane)
        else if (lane.enter(user) === 'seated') seated.push(user)
        else {
          const start = () => {
            seated.push(user)
            waiting--
          }
          if (lane.wait({ user, isGone: () => false, start, refuse: assert.fail })) waiting++
        }
        assert.equal(lane.seated, seated.length)
        assert.equal(lane.waiting, waiting)
        assert.ok(seated.length <= 5)
        for (const name of ['a', 'b', 'c']) assert.ok(seated.filter(s => s === name).length <= 3)
      }
      while (seated.length > 0) {
        lane.leave(seated.pop()!)
        await settle(lane)
      }
      assert.equal(lane.waiting, 0)
      queues[Symbol.dispose]()
    }),
    { numRuns: 60 },
  )
})

test('who waits too long is turned away, and who went away is not started', async () => {
  let now = 1
  const queues = new FairQueues(QUEUES, () => now)
  const lane = queues.lane({ seats: 1, seatsPerUser: 1, waits: true })
  const told: string[] = []
  const ask = (name: string, isGone = false) =>
    lane.wait({ user: name, isGone: () => isGone, start: () => told.push(`${name} starts`), refuse: () => told.push(`${name} refused`) })
  lane.enter('first')
  ask('late')
  now = 5000
  ask('gone', true)
  ask('patient')
  lane.refuseBefore(now - QUEUES.waitMs)
  lane.leave('first')
  await settle(lane)
  assert.deepEqual(told, ['late refused', 'gone refused', 'patient starts'])
  queues[Symbol.dispose]()
})

test('what arrives in one turn of the event loop is started a little at a time', async () => {
  const queues = new FairQueues(QUEUES)
  const lane = queues.lane({ seats: 400, seatsPerUser: 300, waits: true })
  let started = 0
  for (let i = 0; i < 200; i++)
    if (lane.enter('flood') === 'seated') started++
    else lane.wait({ user: 'flood', isGone: () => false, start: () => started++, refuse: assert.fail })
  assert.ok(started > 0 && started < 50)
  await settle(lane)
  assert.equal(started, 200)
  queues[Symbol.dispose]()
})

test('while others ask, the many of one user rest between two of them, and nobody else waits for that', { timeout: 30_000 }, async () => {
  let now = 1
  const queues = new FairQueues(QUEUES, () => now)
  const lane = queues.lane({ seats: 400, seatsPerUser: 300, waits: true })
  const order: string[] = []
  const ask = (user: string) => {
    queues.seen(user)
    const start = () => {
      order.push(user)
      now += 1
    }
    assert.ok(lane.wait({ user, isGone: () => false, start, refuse: assert.fail }))
  }
  queues.seen('quiet')
  for (let i = 0; i < 8; i++) ask('flood')
  await settle(lane)
  assert.deepEqual(order, ['flood'])
  ask('quiet')
  await settle(lane)
  assert.deepEqual(order, ['flood', 'quiet'])
  now += 7
  while (order.length < 3) await sleep(1)
  assert.deepEqual(order, ['flood', 'quiet', 'flood'])
  // Nobody else asks any more, so there is nobody to rest for.
  now += 1000
  while (order.length < 9) await sleep(1)
  queues[Symbol.dispose]()
})

const secrets = find(testCatalog(), 'secrets')
const OBJECT: Result = { form: 'object', code: 200, resource: secrets, json: secretJson('a'), warnings: [] }
const PATH = '/api/v1/namespaces/default/secrets'

/** Tokens are names of users here. */
const byName: Authenticator = {
  authenticate({ authorization = '' }) {
    const name = authorization.slice('Bearer '.length)
    return { outcome: 'user', user: { name, groups: ['system:authenticated', ...(name === 'admin' ? ['system:masters'] : [])] } }
  },
}
const as = (name: string) => ({ headers: { authorization: `Bearer ${name}` } })

/** A server whose calls are answered when the test says so. */
function held(limits: { reads: number; writes: number }, result: () => Result = () => OBJECT) {
  const calls: (() => void)[] = []
  const { api } = testApi({ handle: () => new Promise<void>(resolve => calls.push(resolve)).then(result) })
  const fairness = new Fairness(limits)
  const finish = () => {
    for (const answer of calls.splice(0)) answer()
  }
  const serve = createServe({ ...api, authenticator: byName, fairness })
  return { serve, fairness, calls, finish, [Symbol.dispose]: () => fairness[Symbol.dispose]() }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn()
}

test('reads and writes have seats of their own', async () => {
  using server = held({ reads: 1, writes: 1 })
  const { serve, fairness, calls, finish } = server
  const answers = [
    serve(testRequest(`${PATH}/a`)),
    serve(testRequest(PATH, { method: 'POST', body: '{}' })),
    serve(testRequest(`${PATH}/a`)),
    serve(testRequest(`${PATH}/a`, { method: 'DELETE' })),
  ]
  await until(() => calls.length === 2 && fairness.waiting.readOnly === 1 && fairness.waiting.mutating === 1)
  finish()
  await until(() => calls.length === 2)
  finish()
  assert.deepEqual(
    (await Promise.all(answers)).map(a => a.status),
    [200, 200, 200, 200],
  )
})

test('past the room to wait the answer is 429 with a time to come back; others wait, probes and admins get in', async () => {
  using server = held({ reads: 1, writes: 1 })
  const { serve, fairness, calls, finish } = server
  const open = Array.from({ length: LIMITS.waitingPerUser + 1 }, () => serve(testRequest(`${PATH}/a`, as('flood'))))
  await until(() => fairness.waiting.readOnly === LIMITS.waitingPerUser)
  const refused = await serve(testRequest(`${PATH}/a`, as('flood')))
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '1')
  const { reason, message, details } = JSON.parse(Buffer.from(refused.body as Uint8Array).toString())
  assert.deepEqual([reason, message, details], ['TooManyRequests', 'Too many requests, please try again later.', { retryAfterSeconds: 1 }])

  assert.equal((await serve(testRequest('/healthz', as('flood')))).status, 200)
  const admin = serve(testRequest(`${PATH}/a`, as('admin')))
  await until(() => calls.length === 2)
  calls.pop()!()
  assert.equal((await admin).status, 200)

  const quiet = serve(testRequest(`${PATH}/a`, as('quiet')))
  await until(() => fairness.waiting.readOnly === LIMITS.waitingPerUser + 1)
  // One of each user by turns: the second to be let in is the quiet one.
  for (let i = 0; i < 3; i++) {
    finish()
    await until(() => calls.length === 1)
  }
  assert.equal((await quiet).status, 200)
  while (fairness.waiting.readOnly > 0 || calls.length > 0) {
    finish()
    await turn()
  }
  assert.ok((await Promise.all(open)).every(a => a.status === 200))
})

test('a long answer keeps its seat until it is sent or its client is gone, a failed one does not', async () => {
  const items = Array.from({ length: 600 }, () => secretJson('a', { x: 'y'.repeat(1000) }))
  let fails = true
  using server = held({ reads: 1, writes: 1 }, () => {
    if (fails) throw new Error('as the test wants it')
    return { form: 'list', resource: secrets, items, meta: { resourceVersion: '7' } }
  })
  const { serve, calls, finish } = server
  const next = async (request = testRequest(PATH)) => {
    const answer = serve(request)
    await until(() => calls.length === 1)
    finish()
    return answer
  }
  assert.equal((await next()).status, 500)
  fails = false
  const first = await next()
  const second = next()
  for (let i = 0; i < 20; i++) await turn()
  assert.equal(calls.length, 0)
  first.taken!()
  assert.equal((await second).status, 200)
})

test('what waits for nothing is answered at once, and what fails at once is answered too, also after a wait for its turn', async () => {
  const { api } = testApi()
  let fails = false
  const handle = (): Result => {
    if (fails) throw new TypeError('broken')
    return { form: 'object', code: 200, resource: secrets, json: secretJson('a'), warnings: [] }
  }
  using fairness = new Fairness({ reads: 1, writes: 1 })
  const serve = createServe({ ...api, registry: { handle }, fairness })
  assert.ok(!(serve(testRequest(`${PATH}/a`)) instanceof Promise))
  fails = true
  const answers = await Promise.all(Array.from({ length: 40 }, () => serve(testRequest(`${PATH}/a`))))
  assert.ok(answers.every(({ status }) => status === 500))
  fails = false
  assert.equal((await serve(testRequest(`${PATH}/a`))).status, 200)
})

test('a connection whose client does not read gets no more answers made, and others do', async () => {
  const items = Array.from({ length: 100 }, () => secretJson('a', { x: 'y'.repeat(1000) }))
  let made = 0
  const { api } = testApi({
    handle: () => {
      made++
      return { form: 'list', resource: secrets, items, meta: { resourceVersion: '7' } }
    },
  })
  using fairness = new Fairness({ reads: 400, writes: 1 })
  const serve = createServe({ ...api, fairness })
  const connection = { room: new Room(1_000_000, LIMITS.smallBytes) }
  const answers: Response[] = []
  const asked = Array.from({ length: 200 }, async () => answers.push(await serve(Object.assign(testRequest(PATH), connection))))
  for (let i = 0; i < 200; i++) await turn()
  assert.ok(made < 25, `${made} answers of 100 kB in a room of 1 MB`)
  const before = made
  assert.equal((await serve(testRequest(PATH))).status, 200)
  assert.equal(made, before + 1)
  while (answers.length < 200) {
    for (const { taken } of answers.splice(0)) taken!()
    if (made >= 201) break
    await turn()
  }
  await Promise.all(asked)
  assert.equal(made, 201)
})

test('a watch keeps its seat while it is open, and is refused when there is none', async () => {
  const open: Response[] = []
  const { api } = testApi({ handle: () => ({ form: 'watch', resource: secrets, stream: { open() {}, close() {} } }) })
  using fairness = new Fairness({ reads: 1, writes: 1 })
  const serve = createServe({ ...api, fairness })
  const ask = () => serve(testRequest(`${PATH}?watch=true`))
  for (let i = 0; i < LIMITS.watchesPerUser; i++) open.push(await ask())
  assert.ok(open.every(({ status }) => status === 200))
  assert.equal((await ask()).status, 429)
  open[0]!.taken!()
  assert.equal((await ask()).status, 200)
})

test('while several ask, who has many waiting gets one request started in a turn, and who has few all of them', async () => {
  let now = 1
  const queues = new FairQueues(QUEUES, () => now)
  const lane = queues.lane({ seats: 100, seatsPerUser: 100, waits: true })
  const order: string[] = []
  const ask = (user: string) => {
    queues.seen(user)
    const start = () => {
      order.push(user)
      lane.leave(user)
    }
    lane.wait({ user, isGone: () => false, start, refuse: assert.fail })
  }
  for (let i = 0; i < 50; i++) ask('flood')
  for (let i = 0; i < 3; i++) ask('quiet')
  while (order.filter(user => user === 'quiet').length < 3) await turn()
  const before = order.slice(0, order.lastIndexOf('quiet'))
  assert.ok(before.filter(user => user === 'flood').length <= 2, order.join(' '))
  // Alone again, it gets as many as ever.
  now += 1000
  await settle(lane)
  assert.equal(order.length, 53)
  queues[Symbol.dispose]()
})
