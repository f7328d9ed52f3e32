import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { PriorityClass, SYSTEM_PRIORITY_CLASSES } from './priorityclass.ts'

const named = (name: string, more: object = {}) => ({ metadata: { name }, ...more })

test('users have priorities up to a billion', () => {
  assert.equal(withDefaults(PriorityClass, {}).preemptionPolicy, 'PreemptLowerPriority')
  assert.deepEqual(check(PriorityClass, named('high', { value: 1_000_000_000, preemptionPolicy: 'Never' })), [])
  assert.deepEqual(check(PriorityClass, named('higher', { value: 1_000_000_001, preemptionPolicy: 'Maybe' })), [
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
    'preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"',
  ])
})

test('names of the system are for the classes of the system', () => {
  for (const { name, value } of SYSTEM_PRIORITY_CLASSES) assert.deepEqual(check(PriorityClass, named(name, { value })), [])
  const fault = (name: string, more: object) => check(PriorityClass, named(name, more))[0]!.split('error: ')[1]
  assert.equal(fault('system-mine', {}), 'system-mine is not a known system priority class')
  assert.equal(fault('system-node-critical', { value: 1 }), 'value of system-node-critical PriorityClass must be 2000001000')
  assert.equal(
    fault('system-cluster-critical', { value: 2_000_000_000, globalDefault: true }),
    'globalDefault of system-cluster-critical PriorityClass must be false',
  )
})

test('value and preemption stay', () => {
  const old = { value: 1 }
  assert.deepEqual(check(PriorityClass, { value: 1, description: 'x', globalDefault: true }, { old }), [])
  assert.deepEqual(check(PriorityClass, { value: 2, preemptionPolicy: 'Never' }, { old }), [
    'value: Forbidden: may not be changed in an update.',
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ])
})

test('its table shows the value', () => {
  const { Age: _, ...shown } = cells(PriorityClass, { value: 5 })
  assert.deepEqual(shown, { Value: 5, 'Global-Default': false, PreemptionPolicy: 'PreemptLowerPriority' })
})
