// The JSON of audit events.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Annotations } from './annotations.ts'
import { type AuditEvent, eventJson } from './event.ts'

const USERS = ['alice', 'bob'].map(name => ({ name, groups: ['system:authenticated'] }))
const RECEIVED = 1_700_000_000_000

const request = fc.record({
  requestURI: fc.constantFrom('/api/v1/namespaces/a/pods', '/api/v1/namespaces/a/pods/b', '/apis/<x>&y'),
  verb: fc.constantFrom('get', 'list', 'create', 'update'),
  user: fc.constantFrom(...USERS),
  impersonatedUser: fc.option(fc.constantFrom(...USERS), { nil: undefined }),
  sourceIPs: fc.constantFrom(['10.0.0.1'], ['10.0.0.2'], ['10.0.0.1', '10.0.0.2'], []),
  userAgent: fc.constantFrom('', 'kubectl', 'curl "quoted"'),
  objectRef: fc.option(
    fc.record({
      resource: fc.constant('pods'),
      namespace: fc.constantFrom('a', ''),
      name: fc.constantFrom('b', 'c', ''),
      uid: fc.constantFrom('', 'u-1', 'u-2'),
      resourceVersion: fc.constantFrom('', '5', '6'),
    }),
    { nil: undefined },
  ),
})

test('an event has the fields of its request that have a value', () => {
  fc.assert(
    fc.property(fc.array(request, { minLength: 2, maxLength: 30 }), requests => {
      for (const asked of requests) assert.deepEqual(JSON.parse(eventJson(eventOf(asked))), expected(asked))
    }),
  )
})

type SampleRequest = typeof request extends fc.Arbitrary<infer T> ? T : never

function eventOf({ impersonatedUser, objectRef, ...asked }: SampleRequest): AuditEvent {
  return {
    request: { ...asked, level: 'Metadata', auditID: 'id', receivedAt: RECEIVED },
    stage: 'ResponseComplete',
    reachedAt: RECEIVED,
    impersonated: impersonatedUser && { user: impersonatedUser, constraint: undefined },
    objectRef,
    responseStatus: { code: 200 },
    requestObject: undefined,
    responseObject: undefined,
    annotations: Annotations.NONE,
  }
}

/** The fields of an event; those without a value are absent. */
function expected({ requestURI, verb, user, impersonatedUser, sourceIPs, userAgent, objectRef }: SampleRequest): unknown {
  const named = ({ name: username, groups }: { name: string; groups: string[] }) => ({ username, groups })
  const time = '2023-11-14T22:13:20.000000Z'
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: 'id',
    stage: 'ResponseComplete',
    requestURI,
    verb,
    user: named(user),
    ...(impersonatedUser && { impersonatedUser: named(impersonatedUser) }),
    ...(sourceIPs.length > 0 && { sourceIPs }),
    ...(userAgent !== '' && { userAgent }),
    ...(objectRef && { objectRef: Object.fromEntries(Object.entries(objectRef).filter(([, value]) => value !== '')) }),
    responseStatus: { metadata: {}, code: 200 },
    requestReceivedTimestamp: time,
    stageTimestamp: time,
  }
}
