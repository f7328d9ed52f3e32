// Lines are made from templates, and never from one of a request that differs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Annotations } from './annotations.ts'
import { type AuditEvent, type AuditedRequest, eventJson, eventsOf, type ObjectReference } from './event.ts'
import { EventLines } from './event-lines.ts'
import { LEVELS, STAGES, type Stage } from './policy.ts'

const USERS = ['alice', 'bøb'].map(name => ({ name, groups: ['system:authenticated'] }))

const REFERENCES: readonly [ObjectReference, ...(ObjectReference | undefined)[]] = [
  { resource: 'pods', namespace: 'a', name: 'b' },
  { resource: 'pods', namespace: 'a', name: 'longer' },
  { resource: 'pods', namespace: 'a', name: 'ü' },
  { resource: 'pods', namespace: 'a', name: '"&' },
  { resource: 'pods', namespace: '\ue000', name: 'b' },
  { resource: 'pods', namespace: 'b', name: 'b' },
  { resource: 'pods', apiGroup: 'x', namespace: 'a', name: 'b' },
  { resource: 'pods', subresource: 'status', namespace: 'a', name: 'b' },
  { resource: 'pods', namespace: 'a', name: '' },
  { resource: 'pods', namespace: 'a', name: 'b', uid: 'u' },
  { resource: 'pods', namespace: 'a', name: 'b', resourceVersion: '5' },
  undefined,
]

/** Milliseconds since the epoch; also before the year 0 and after 9999, which take more characters. */
const time = fc
  .tuple(
    usually(1_700_000_000_000, 1_700_000_001_000, 0, -62_167_219_201_000, 253_402_300_800_000),
    fc.constantFrom(0, 0.001, 0.999, 1, 123.5, 999.75),
  )
  .map(([second, rest]) => second + rest)

/** Most requests are like one before, and differ in their id, their address and their time. */
const request: fc.Arbitrary<AuditedRequest> = fc.record({
  level: usually('Metadata', ...LEVELS),
  auditID: fc.oneof({ weight: 12, arbitrary: fc.uuid() }, { weight: 1, arbitrary: fc.constant('own') }),
  requestURI: fc.oneof(
    usually('/a', '/a?b=<c>&d="e"', '/a?b=c&d=e', '/ü', '/\ue000', '/\\u0026'),
    fc.webPath().map(path => `/${path}?watch=1&x`),
  ),
  verb: usually('get', 'list'),
  user: usually(USERS[0], USERS[1], undefined),
  sourceIPs: usually(['10.0.0.1'], ['10.0.0.2'], ['10.0.0.1', '10.0.0.2'], []),
  userAgent: usually('kubectl', 'curl "quoted" ü', '"stageTimestamp":"'),
  receivedAt: time,
})

/** Events of one request mostly refer to the same object, and differ in their stage. */
const events: fc.Arbitrary<readonly AuditEvent[]> = request.chain(each =>
  fc.array(
    fc.record({
      request: fc.constant(each),
      stage: fc.oneof(usually<Stage>('ResponseComplete', ...STAGES), fc.constant<Stage>('RequestReceived')),
      reachedAt: fc.oneof(time, fc.constant(each.receivedAt)),
      impersonated: usually(undefined, { user: USERS[1]!, constraint: undefined }, { user: USERS[1]!, constraint: 'impersonate:x' }),
      objectRef: usually(...REFERENCES),
      responseStatus: usually(undefined, { code: 200 }, { code: 404 }, { code: 200, message: 'done' }),
      requestObject: usually(undefined, '{"a":"ü"}'),
      responseObject: usually(undefined, '{"b":1}'),
      annotations: usually(Annotations.NONE, Annotations.of({ a: '1' }), Annotations.of({ a: '2', é: '"auditID":"' })),
      receivedWith: fc.constantFrom(undefined, Annotations.NONE, Annotations.of({ a: '3' })),
    }),
    { minLength: 1, maxLength: 3 },
  ),
)

/** The first value most of the time. */
function usually<T>(first: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 24, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(first, ...others) })
}

test('the line of an event is its JSON, whatever came before', () => {
  fc.assert(
    fc.property(fc.array(events, { minLength: 15, maxLength: 40, size: 'max' }), requests => {
      const all = requests.flat()
      const lines = new EventLines()
      for (const each of all) lines.addJson(each)
      assert.equal(
        Buffer.from(lines.bytes).toString(),
        all
          .flatMap(eventsOf)
          .map(each => `${eventJson(each)}\n`)
          .join(''),
      )
    }),
  )
})

test('lines are added after others were taken, and however long they are', () => {
  const lines = new EventLines()
  for (const length of [10, 3_000_000, 10]) {
    lines.add('ü'.repeat(length))
    lines.add('z')
    assert.equal(Buffer.from(lines.bytes).toString(), `${'ü'.repeat(length)}\nz\n`)
    assert.equal(lines.byteLength, 2 * length + 3)
    lines.clear()
    assert.equal(lines.byteLength, 0)
  }
})
