import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Auditor } from '../audit/auditor.ts'
import { AuditPolicy } from '../audit/policy.ts'
import type { AuditSink } from '../audit/sink.ts'
import { Stopwatch } from '../lib/stopwatch.ts'
import { audit, holdForAudit } from './audit.ts'
import type { Exchange, Handler } from './exchange.ts'
import type { Settle } from './message.ts'

/** A sink that takes events at once and keeps them later. */
function slowSink() {
  const taken: string[] = []
  let settle: (() => void) | undefined
  let settling: Promise<void> | undefined
  const sink: AuditSink = {
    write(events) {
      taken.push(...events.map(({ stage }) => stage))
      settling ??= new Promise(resolve => (settle = resolve))
      return true
    },
    settled: () => settling,
    async close() {},
  }
  const keep = () => {
    settling = undefined
    settle?.()
  }
  return { sink, taken, keep }
}

const exchangeOf = (method: string, verb: string): Exchange =>
  ({
    request: { method, target: '/version', headers: {}, headerLines: [], peer: { address: '127.0.0.1' } },
    route: { type: 'path', attributes: { verb, path: '/version' } },
    id: 'id',
    user: { name: 'jane', groups: [] },
    stopwatch: new Stopwatch(),
  }) as unknown as Exchange

const RESPONSE = { status: 200, headers: {}, body: new Uint8Array() }
const turn = () => new Promise(setImmediate)

function audited(sink: AuditSink, policy: object = {}) {
  const auditor = new Auditor(new AuditPolicy({ rules: [{ level: 'Metadata', ...policy }] }), () => sink)
  const done: string[] = []
  const handler: Handler = ({ request }) => {
    done.push(request.method)
    return RESPONSE
  }
  const api = { auditor, now: () => new Date() }
  const handle = holdForAudit(audit(handler, api), api)
  const ask = (method: string, verb: string) => void Promise.resolve(handle(exchangeOf(method, verb))).then(() => done.push('answered'))
  return { done, ask, handle }
}

test('a read is handled while its line is written, and answered when it is', async () => {
  const { sink, taken, keep } = slowSink()
  const { done, ask } = audited(sink)
  ask('GET', 'get')
  await turn()
  assert.deepEqual([done, taken], [['GET'], ['RequestReceived', 'ResponseComplete']])
  keep()
  await turn()
  assert.deepEqual(done, ['GET', 'answered'])
})

test('a connection that asks before it sends gets the response at once, and waits until the lines are written', async () => {
  const { sink, keep } = slowSink()
  const { handle } = audited({ ...sink, flush: () => sink.settled!() })
  let settle: Settle | undefined
  const exchange = exchangeOf('GET', 'get')
  const request = Object.assign(exchange.request, { beforeSending: (given: Settle) => void (settle = given) })
  assert.equal(handle({ ...exchange, request }), RESPONSE)
  const waiting = settle!()
  assert.ok(waiting)
  keep()
  await waiting
  assert.equal(settle!(), undefined)
})

test('a write is handled when its line is written', async () => {
  const { sink, taken, keep } = slowSink()
  const { done, ask } = audited(sink)
  ask('POST', 'create')
  await turn()
  assert.deepEqual([done, taken], [[], ['RequestReceived']])
  keep()
  await turn()
  assert.deepEqual([done, taken], [['POST'], ['RequestReceived', 'ResponseComplete']])
  keep()
  await turn()
  assert.deepEqual(done, ['POST', 'answered'])
})

test('a write waits for nothing before it is handled if the policy omits its first stage', async () => {
  const { sink, keep } = slowSink()
  const { done, ask } = audited(sink, { omitStages: ['RequestReceived'] })
  ask('POST', 'create')
  assert.deepEqual(done, ['POST'])
  keep()
  await turn()
  assert.deepEqual(done, ['POST', 'answered'])
})
