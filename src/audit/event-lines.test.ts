// Lines are made from templates, and never from one of a request that differs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Annotations } from './annotations.ts'
import { type AuditEvent, eventJson } from './event.ts'
import { EventLines } from './event-lines.ts'
import { LEVELS, STAGES, type Stage } from './policy.ts'

const USERS = ['alice', 'bøb'].map(name => ({ name, groups: ['system:authenticated'] }))

const instant = fc.record({
  // Also before the year 0 and after 9999, which take more characters.
  seconds: usually(1_700_000_000, 1_700_000_001, 0, -62_167_219_201, 253_402_300_800),
  nanos: fc.constantFrom(0, 1, 999, 1000, 123_456_789, 999_999_999),
})

/** Most events are like one before, and differ in their id, their address, the name of their object and their times. */
const event: fc.Arbitrary<AuditEvent> = fc.record({
  level: usually('Metadata', ...LEVELS),
  auditID: fc.oneof({ weight: 12, arbitrary: fc.uuid() }, { weight: 1, arbitrary: fc.constant('own') }),
  stage: fc.oneof(usually<Stage>('ResponseComplete', ...STAGES), fc.constant<Stage>('RequestReceived')),
  requestURI: fc.oneof(
    usually('/a', '/a?b=<c>&d="e"', '/a?b=c&d=e', '/ü', '/\ue000', '/\\u0026'),
    fc.webPath().map(path => `/${path}?watch=1&x`),
  ),
  verb: usually('get', 'list'),
  user: usually(USERS[0], USERS[1], undefined),
  impersonatedUser: usually(undefined, USERS[1]),
  impersonationConstraint: fc.constant(undefined),
  sourceIPs: usually(['10.0.0.1'], ['10.0.0.2'], ['10.0.0.1', '10.0.0.2'], []),
  userAgent: usually('kubectl', 'curl "quoted" ü', '"stageTimestamp":"'),
  objectRef: usually(
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
  ),
  responseStatus: usually(undefined, { code: 200 }, { code: 404 }, { code: 200, message: 'done' }),
  requestObject: usually(undefined, '{"a":"ü"}'),
  responseObject: usually(undefined, '{"b":1}'),
  requestReceivedTimestamp: instant,
  stageTimestamp: instant,
  annotations: usually(Annotations.NONE, Annotations.of({ a: '1' }), Annotations.of({ a: '2', é: '"auditID":"' })),
})

/** The first value most of the time. */
function usually<T>(first: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 24, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(first, ...others) })
}

test('the line of an event is its JSON, whatever came before', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 20, maxLength: 60, size: 'max' }), events => {
      const lines = new EventLines()
      for (const each of events) lines.addJson(each)
      assert.equal(Buffer.from(lines.bytes).toString(), events.map(each => `${eventJson(each)}\n`).join(''))
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
