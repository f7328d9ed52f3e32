import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check } from '../../../test/kits/kinds/kinds.ts'
import { ControllerRevision } from './controllerrevision.ts'

const data = { spec: { a: 1 } }

test('there is data, a JSON object, and a revision that is not below zero', () => {
  assert.deepEqual(check(ControllerRevision, { data, revision: 1 }), [])
  assert.deepEqual(check(ControllerRevision, { revision: 1 }), ['data: Required value: data is mandatory'])
  assert.deepEqual(check(ControllerRevision, { data: [1] }), ['data: Required value: data must be a valid JSON object'])
  assert.deepEqual(check(ControllerRevision, { data, revision: -1 }), ['revision: Invalid value: -1: must be greater than or equal to 0'])
})

test('data does not change; the revision may', () => {
  const old = { data, revision: 1 }
  assert.deepEqual(check(ControllerRevision, { data: { spec: { a: 2 } }, revision: 1 }, { old }), [
    'data: Invalid value: {"spec":{"a":2}}: field is immutable',
  ])
  assert.deepEqual(check(ControllerRevision, { revision: 1 }, { old }), ['data: Invalid value: null: field is immutable'])
  assert.deepEqual(check(ControllerRevision, { data, revision: 2 }, { old }), [])
})

test('its table shows the controller', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true }
  const shown = (ownerReferences: object[]) => cells(ControllerRevision, { metadata: { ownerReferences }, data, revision: 3 })
  assert.deepEqual(shown([owner]), { Controller: 'daemonset.apps/d', Revision: 3, Age: '<unknown>' })
  assert.equal(shown([{ ...owner, apiVersion: 'v1', kind: 'Pod' }])['Controller'], 'pod/d')
  assert.equal(shown([])['Controller'], '<none>')
})
