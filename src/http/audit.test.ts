import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Auditor } from '../audit/auditor.ts'
import { type AuditEvent, eventsOf } from '../audit/event.ts'
import { AuditPolicy } from '../audit/policy.ts'
import type { AuditSink } from '../audit/sink.ts'
import { Stopwatch } from '../lib/stopwatch.ts'
import { audit, holdForAudit } from './audit.ts'
import type { Exchange, Handler } from './exchange.ts'
import type { Response, Settle } from './message.ts'

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
    keeping: { settled: () => settling, flush: () => settling },
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

function handlerOf(sink: AuditSink, handler: Handler, policy: object = {}): Handler {
  const auditor = new Auditor(new AuditPolicy({ rules: [{ level: 'Metadata', ...policy }] }), () => sink)
  const api = { auditor }
  return holdForAudit(audit(handler, api), api)
}

function audited(sink: AuditSink, policy: object = {}) {
  const done: string[] = []
  const handler: Handler = ({ request }) => {
    done.push(request.method)
    return RESPONSE
  }
  const handle = handlerOf(sink, handler, policy)
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
  const { handle } = audited(sink)
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

/** A sink that keeps the events of an iteration together, and the calls to it. */
function groupedSink() {
  const calls: (readonly AuditEvent[])[] = []
  const sink: AuditSink = { isGrouped: true, write: events => calls.push(events) > 0, async close() {} }
  return { sink, calls, stages: () => calls.map(events => events.flatMap(eventsOf).map(({ stage }) => stage)) }
}

test('both events of a read that waits for nothing are written together', () => {
  const { sink, stages } = groupedSink()
  audited(sink).ask('GET', 'get')
  assert.deepEqual(stages(), [['RequestReceived', 'ResponseComplete']])
  const other = groupedSink()
  audited(other.sink, { omitStages: ['RequestReceived'] }).ask('GET', 'get')
  audited(other.sink, { omitStages: ['ResponseComplete'] }).ask('GET', 'get')
  assert.deepEqual(other.stages(), [['ResponseComplete'], ['RequestReceived']])
})

test('the first event of a read that waits is written before it does, as it was when the request came', async () => {
  const { sink, calls, stages } = groupedSink()
  let resolve: (response: Response) => void = () => {}
  const answer = new Promise<Response>(done => (resolve = done))
  const handle = handlerOf(sink, ({ audit: record }) => {
    record!.annotate('decision', 'allow')
    return answer
  })
  const handled = handle(exchangeOf('GET', 'get'))
  assert.deepEqual([stages(), calls[0]![0]!.annotations.record], [[['RequestReceived']], {}])
  resolve(RESPONSE)
  await handled
  assert.deepEqual(stages(), [['RequestReceived'], ['ResponseComplete']])
})

test('the first event of a write is written before it is handled', () => {
  const { sink, stages } = groupedSink()
  audited(sink).ask('POST', 'create')
  assert.deepEqual(stages(), [['RequestReceived'], ['ResponseComplete']])
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
