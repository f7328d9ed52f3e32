import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells } from '../../../test/kits/kinds/kinds.ts'
import { ComponentStatus } from './componentstatus.ts'

test('the table shows whether the component is healthy, and its error', () => {
  const row = (...conditions: object[]) => Object.values(cells(ComponentStatus, { conditions }))
  assert.deepEqual(row({ type: 'Healthy', status: 'True', message: 'ok' }), ['Healthy', 'ok', ''])
  assert.deepEqual(row({ type: 'Healthy', status: 'False', error: 'gone' }), ['Unhealthy', '', 'gone'])
  assert.deepEqual(row(), ['Unknown', '', ''])
})
