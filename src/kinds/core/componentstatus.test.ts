import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells } from '../../../test/kits/kinds/kinds.ts'
import { ComponentStatus } from './componentstatus.ts'

test('a row tells whether the part works, and what is wrong with it', () => {
  const row = (...conditions: object[]) => Object.values(cells(ComponentStatus, { conditions }))
  assert.deepEqual(row({ type: 'Healthy', status: 'True', message: 'ok' }), ['Healthy', 'ok', ''])
  assert.deepEqual(row({ type: 'Healthy', status: 'False', error: 'gone' }), ['Unhealthy', '', 'gone'])
  assert.deepEqual(row(), ['Unknown', '', ''])
})
