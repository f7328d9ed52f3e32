import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { find, secretJson, testApi, testCatalog, testRequest } from '../../../test/kits/http/test-server.ts'
import type { Authenticator } from '../../authn/authenticator.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { Result } from '../../registry/api.ts'
import { Endpoints } from '../endpoints.ts'
import type { Response } from '../message.ts'
import { createServe } from '../serve.ts'
import { FlowControl } from './flow-control.ts'
import { UnsentResponses } from './unsent-responses.ts'

/** The level of everybody: one flow per user, so many seats for all of them. */
const level = { uid: 'level-uid', isExempt: false, shares: 1, lendablePercent: 0, borrowingLimitPercent: 0 }
const QUEUING = { queues: 8, handSize: 2, queueLengthLimit: 10 }
/** Requests of one user that may wait. */
const WAITING_PER_USER = 20
const everybody = { kind: 'Group', group: { name: 'system:authenticated' } }
const EVERYTHING = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }

function flowControlOf(seats: number, queuing: typeof QUEUING | undefined = QUEUING): FlowControl {
  const flowControl = new FlowControl({ seats, waitMs: LIMITS.waitMs })
  const probes = { verbs: ['get'], nonResourceURLs: ['/healthz'] }
  flowControl.configure(
    [
      { ...level, name: 'everybody', queuing },
      { ...level, name: 'catch-all', shares: 0, queuing: undefined },
    ],
    [
      {
        name: 'everybody',
        uid: 'schema-uid',
        level: 'everybody',
        matchingPrecedence: 100,
        distinguisher: 'ByUser',
        rules: [{ subjects: [everybody], resourceRules: [EVERYTHING] }],
      },
      {
        name: 'probes',
        uid: 'probes-uid',
        level: 'exempt',
        matchingPrecedence: 2,
        distinguisher: undefined,
        rules: [{ subjects: [everybody], nonResourceRules: [probes] }],
      },
    ],
  )
  return flowControl
}

const secrets = find(testCatalog(), 'secrets')
const OBJECT: Result = { type: 'object', code: 200, resource: secrets, json: secretJson('a'), warnings: [] }
const PATH = '/api/v1/namespaces/default/secrets'

/** Tokens are names of users here. */
const byName: Authenticator = {
  authenticate({ authorization = '' }) {
    const name = authorization.slice('Bearer '.length)
    return { outcome: 'user', user: { name, groups: ['system:authenticated', ...(name === 'admin' ? ['system:masters'] : [])] } }
  },
}
const as = (name: string) => ({ headers: { authorization: `Bearer ${name}` } })

/** A server whose calls the test answers. */
function held(seats: number, result: () => Result = () => OBJECT) {
  const calls: (() => void)[] = []
  const { api } = testApi({ handle: () => new Promise<void>(resolve => calls.push(resolve)).then(result) })
  const flowControl = flowControlOf(seats)
  const finish = () => {
    for (const answer of calls.splice(0)) answer()
  }
  const serve = createServe({ ...api, authenticator: byName, flowControl })
  return { serve, flowControl, calls, finish, [Symbol.dispose]: () => flowControl[Symbol.dispose]() }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await nextIteration()
}

test('when queues are full the response is 429 with Retry-After; other users wait, probes and admins are served', async () => {
  using server = held(1)
  const { serve, flowControl, calls, finish } = server
  const open = Array.from({ length: WAITING_PER_USER + 1 }, () => serve(testRequest(`${PATH}/a`, as('flood'))))
  await until(() => flowControl.waiting.readOnly === WAITING_PER_USER)
  const refused = await serve(testRequest(`${PATH}/a`, as('flood')))
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal(Buffer.from(refused.body as Uint8Array).toString(), 'Too many requests, please try again later.\n')
  assert.equal(refused.headers['x-kubernetes-pf-flowschema-uid'], 'schema-uid')
  assert.equal(refused.headers['x-kubernetes-pf-prioritylevel-uid'], 'level-uid')

  assert.equal((await serve(testRequest('/healthz', as('flood')))).status, 200)
  const admin = serve(testRequest(`${PATH}/a`, as('admin')))
  await until(() => calls.length === 2)
  calls.pop()!()
  assert.equal((await admin).status, 200)

  const quiet = serve(testRequest(`${PATH}/a`, as('quiet')))
  await until(() => flowControl.waiting.readOnly === WAITING_PER_USER + 1)
  // Round robin among users: the second request to start is the quiet user's.
  for (let i = 0; i < 3; i++) {
    finish()
    await until(() => calls.length === 1)
  }
  assert.equal((await quiet).status, 200)
  while (flowControl.waiting.readOnly > 0 || calls.length > 0) {
    finish()
    await nextIteration()
  }
  assert.ok((await Promise.all(open)).every(a => a.status === 200))
})

test('a large response keeps its seat until it is sent or its client has gone, a failed one does not', async () => {
  const items = Array.from({ length: 600 }, () => secretJson('a', { x: 'y'.repeat(1000) }))
  let fails = true
  using server = held(1, () => {
    if (fails) throw new Error('as the test wants it')
    return { type: 'list', resource: secrets, items, meta: { resourceVersion: '7' } }
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
  for (let i = 0; i < 20; i++) await nextIteration()
  assert.equal(calls.length, 0)
  first.taken!()
  assert.equal((await second).status, 200)
})

test('a response that has to be told when it was sent gives its seat back, too', async () => {
  let sent = 0
  const pieces = [Buffer.alloc(1)]
  const { api } = testApi({})
  using flowControl = flowControlOf(1)
  const answer = () => ({
    status: 200,
    headers: {},
    body: { type: 'pieces', length: undefined, pieces } as const,
    taken: () => void sent++,
  })
  const serve = createServe({
    ...api,
    authenticator: byName,
    flowControl,
    endpoints: new Endpoints(testCatalog(), [{ path: '/own', answer }]),
  })
  const executing = () =>
    flowControl
      .families()
      .find(({ name }) => name === 'apiserver_flowcontrol_current_executing_requests')!
      .samples.reduce((sum, [, value]) => sum + Number(value), 0)
  const response = await serve(testRequest('/own', as('admin')))
  assert.equal(executing(), 1)
  response.taken!()
  assert.deepEqual([executing(), sent], [0, 1])
})

test('synchronous results and failures are answered at once, also after waiting for a seat', async () => {
  const { api } = testApi()
  let fails = false
  const handle = (): Result => {
    if (fails) throw new TypeError('broken')
    return { type: 'object', code: 200, resource: secrets, json: secretJson('a'), warnings: [] }
  }
  using flowControl = flowControlOf(1)
  const serve = createServe({ ...api, registry: { handle }, flowControl })
  assert.ok(!(serve(testRequest(`${PATH}/a`)) instanceof Promise))
  fails = true
  const answers = await Promise.all(Array.from({ length: WAITING_PER_USER }, () => serve(testRequest(`${PATH}/a`))))
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
      return { type: 'list', resource: secrets, items, meta: { resourceVersion: '7' } }
    },
  })
  using flowControl = flowControlOf(400)
  const serve = createServe({ ...api, flowControl })
  const connection = { unsentResponses: new UnsentResponses(1_000_000, LIMITS.smallBytes) }
  const answers: Response[] = []
  const asked = Array.from({ length: 200 }, async () => answers.push(await serve(Object.assign(testRequest(PATH), connection))))
  for (let i = 0; i < 200; i++) await nextIteration()
  assert.ok(made < 25, `${made} answers of 100 kB in a room of 1 MB`)
  const before = made
  assert.equal((await serve(testRequest(PATH))).status, 200)
  assert.equal(made, before + 1)
  while (answers.length < 200) {
    for (const { taken } of answers.splice(0)) taken!()
    if (made >= 201) break
    await nextIteration()
  }
  await Promise.all(asked)
  assert.equal(made, 201)
})

test('a watch gives its seat back when it flows, and is refused when too many are open', async () => {
  const open: Response[] = []
  const { api } = testApi({ handle: () => ({ type: 'watch', resource: secrets, stream: { open() {}, close() {} } }) })
  using flowControl = flowControlOf(1)
  const serve = createServe({ ...api, flowControl })
  const ask = () => serve(testRequest(`${PATH}?watch=true`))
  for (let i = 0; i < LIMITS.watchesPerUser; i++) open.push(await ask())
  assert.ok(open.every(({ status }) => status === 200))
  assert.equal((await ask()).status, 429)
  open[0]!.taken!()
  assert.equal((await ask()).status, 200)
})

test('a write takes seats for the watches that it concerns while it runs, and metrics tell how many', async () => {
  using server = held(40)
  const { serve, flowControl, calls, finish } = server
  const forget = Array.from({ length: 55 }, () =>
    flowControl.watchOpened({
      attributes: {
        verb: 'watch',
        path: PATH,
        resource: { group: '', version: 'v1', plural: 'secrets', subresource: '', namespace: '', name: '' },
      },
      query: new URLSearchParams(),
      type: 'path',
      path: PATH,
    }),
  )
  const sampled = (name: string) => {
    const family = flowControl.families().find(each => each.name === `apiserver_flowcontrol_${name}`)!
    const sample = family.samples.find(([labels]) => labels['flow_schema'] === 'everybody')?.[1]
    return typeof sample === 'object' ? [sample.count, sample.sum] : sample
  }
  const remove = () => serve(testRequest(`${PATH}/a`, { method: 'DELETE', ...as('jane') }))
  const [first, second] = [remove(), remove()]
  await until(() => calls.length === 2)
  assert.equal(sampled('current_executing_requests'), 2)
  assert.equal(sampled('current_executing_seats'), 12)
  // Most of a level is for one user, and no more.
  const others = Array.from({ length: 4 }, remove)
  await until(() => flowControl.waiting.mutating > 0)
  assert.equal(sampled('current_inqueue_seats'), 6 * flowControl.waiting.mutating)
  while (sampled('current_executing_requests') !== 0 || flowControl.waiting.mutating > 0) {
    finish()
    await nextIteration()
  }
  for (const answer of await Promise.all([first, second, ...others])) assert.equal(answer.status, 200)
  assert.equal(sampled('current_executing_seats'), 0)
  assert.deepEqual(sampled('work_estimated_seats'), [6, 36])
  assert.deepEqual(sampled('watch_count_samples'), [6, 330])
  for (const each of forget) each()
  const last = remove()
  await until(() => calls.length === 1)
  assert.equal(sampled('current_executing_seats'), 1)
  finish()
  assert.equal((await last).status, 200)
})
