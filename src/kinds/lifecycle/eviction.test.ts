// Eviction and EvictionRequest: rules in kube-apiserver's words, and the turns of responders.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith } from '../../../test/kits/kinds/kinds.ts'
import { Eviction } from './eviction.ts'
import { EvictionRequest } from './evictionrequest.ts'

const UID = '0e58b2a5-2a3b-4c7e-9f5a-0123456789ab'
const target = { pod: { name: 'p', uid: UID } }
const ctx = contextWith({ gates: ['EvictionRequestAPI'], now: new Date('2026-01-01T00:00:00Z') })
const NOW = '2026-01-01T00:00:00Z'
const EVICTOR = 'imperative-eviction.k8s.io/evictor'

test('a request has a target, a requester of its own domain and an intent', () => {
  const spec = { target: { pod: { name: 'p', uid: 'x' } }, requester: 'a.k8s.io/x', intent: 'Later' }
  assert.deepEqual(check(EvictionRequest, { spec }, { ctx }), [
    'spec.target.pod.uid: Invalid value: "x": must be a lowercase UUID in 8-4-4-4-12 format',
    'spec.requester: Invalid value: "a.k8s.io/x": domain names *.k8s.io, *.kubernetes.io are reserved',
    'spec.intent: Unsupported value: "Later": supported values: "Eviction", "Withdrawn"',
  ])
  const good = { target, requester: 'acme.io/x', intent: 'Eviction' }
  assert.deepEqual(check(EvictionRequest, { spec: { ...good, intent: 'Withdrawn' } }, { old: { spec: good }, ctx }), [])
  assert.deepEqual(check(EvictionRequest, { spec: { ...good, requester: 'acme.io/y' } }, { old: { spec: good }, ctx }), [
    'spec.requester: Invalid value: null: field is immutable',
  ])
})

const responder = (name: string, state: string, priority = 1000) => ({ name, state, priority })
const waiting = responder(EVICTOR, 'Inactive', 100)
const begun = {
  targetResponders: [responder('a.io/x', 'Active'), waiting],
  responders: [{ name: 'a.io/x', startTime: NOW }, { name: EVICTOR }],
}
const faults = (status: object, old: object = {}) =>
  checkSubresource(Eviction, 'status', { spec: { target }, status }, { spec: { target }, status: old }, ctx)

test('responders have their turns in the order of their priorities', () => {
  assert.deepEqual(faults(begun), [])
  assert.deepEqual(faults({ ...begun, targetResponders: [responder('a.io/x', 'Inactive'), { ...waiting, state: 'Active' }] }), [
    'status.targetResponders[0].state: Invalid value: "Inactive": must be one of: Active, because this responder is next in line',
    'status.targetResponders[1].state: Invalid value: "Active": must be one of: Inactive, because the previously active has not finished processing',
    `status.responders[1].startTime: Required value: is required for an active responder`,
  ])
  const done = {
    targetResponders: [responder('a.io/x', 'Completed'), { ...waiting, state: 'Active' }],
    responders: [
      { name: 'a.io/x', startTime: NOW },
      { name: EVICTOR, startTime: NOW },
    ],
  }
  assert.deepEqual(faults(done, begun), [
    'status.targetResponders[0].state: Forbidden: must stay Active because the responder is in progress and it should report status.responders.heartbeatTime or status.responders.completionTime',
    `status.targetResponders[0].state: Invalid value: "Completed": cannot become Completed because the responder didn't report status.responders.completionTime`,
  ])
})

test('only the responder whose turn it is reports, and about the present', () => {
  const [first, second] = begun.responders
  assert.deepEqual(faults({ ...begun, responders: [first, { ...second, message: 'x' }] }, begun), [
    `status.responders[1]: Invalid value: {"Name":"${EVICTOR}","StartTime":null,"HeartbeatTime":null,"ExpectedCompletionTime":null,"CompletionTime":null,"Message":"x"}: field is immutable`,
  ])
  assert.deepEqual(faults({ ...begun, responders: [{ ...first, heartbeatTime: '2026-01-01T01:00:00Z' }, second] }, begun), [
    'status.responders[0].heartbeatTime: Invalid value: "2026-01-01T01:00:00Z": must be set to the present time',
  ])
})

test('an outcome stays', () => {
  const condition = { type: 'Failed', status: 'True', reason: 'R', message: '', lastTransitionTime: NOW }
  assert.deepEqual(faults({ conditions: [{ ...condition, status: 'False' }] }, { conditions: [condition] }), [
    'status.conditions: Invalid value: [{"type":"Failed","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":""}]: Failed condition status cannot be reverted',
  ])
})

test('a table shows whose turn it is', () => {
  const row = cells(Eviction, {
    spec: { target },
    status: {
      ...begun,
      requesters: [
        { name: 'b.io/r', intent: 'Eviction' },
        { name: 'a.io/r', intent: 'Withdrawn' },
      ],
      observedGeneration: 1,
    },
  })
  assert.deepEqual(
    [row['Target'], row['Target Type'], row['Status'], row['Active Responder'], row['Requesters'], row['Responder Heartbeat']],
    ['p', 'Pod', 'Progressing', 'a.io/x (1/2)', 'b.io/r', '<unset>'],
  )
})
