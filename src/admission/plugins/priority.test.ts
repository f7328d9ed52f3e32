import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted, readerOf } from '../../../test/kits/admission.ts'
import { withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { PriorityClass } from '../../kinds/scheduling/priorityclass.ts'
import { priority } from './priority.ts'

const classed = (name: string, value: number, more: object = {}) => withDefaults(PriorityClass, { metadata: { name }, value, ...more })
const plugin = (...classes: object[]) => priority(readerOf({ priorityclasses: classes as never }), 'k8s.io', () => true)
const rankOf = ({ spec: { priorityClassName, priority: number, preemptionPolicy } }: any) => [priorityClassName, number, preemptionPolicy]

test('a pod without a class has priority zero, or that of the default class', () => {
  assert.deepEqual(rankOf(admitted(plugin(), Pod, { spec: {} })), [undefined, 0, 'PreemptLowerPriority'])
  const [low, high] = [classed('low', 5, { globalDefault: true, preemptionPolicy: 'Never' }), classed('high', 9, { globalDefault: true })]
  assert.deepEqual(rankOf(admitted(plugin(high, low), Pod, { spec: {} })), ['low', 5, 'Never'])
})

test('a pod with a class has its priority, and the class exists', () => {
  const spec = { priorityClassName: 'high' }
  assert.deepEqual(rankOf(admitted(plugin(classed('high', 9)), Pod, { spec })), ['high', 9, 'PreemptLowerPriority'])
  assert.equal(admitted(plugin(), Pod, { spec }), '403 pods "x" is forbidden: no PriorityClass with name high was found')
})

test('numbers in the pod may only repeat what the class says', () => {
  const high = plugin(classed('high', 9))
  const spec = { priorityClassName: 'high', priority: 9, preemptionPolicy: 'PreemptLowerPriority' }
  assert.deepEqual(rankOf(admitted(high, Pod, { spec })), ['high', 9, 'PreemptLowerPriority'])
  assert.equal(
    admitted(high, Pod, { spec: { ...spec, priority: 1 } }),
    '403 pods "x" is forbidden: the integer value of priority (1) must not be provided in pod spec; priority admission controller computed 9 from the given PriorityClass name',
  )
  assert.equal(
    admitted(high, Pod, { spec: { ...spec, preemptionPolicy: 'Never' } }),
    '403 pods "x" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
  )
})

test('an update that leaves the priority out keeps it', () => {
  const old = { spec: { priority: 7, preemptionPolicy: 'Never' } }
  assert.deepEqual(rankOf(admitted(plugin(), Pod, { spec: {} }, { old })), [undefined, 7, 'Never'])
})

test('there is one default class', () => {
  const [first, second] = [
    { metadata: { name: 'a' }, globalDefault: true },
    { metadata: { name: 'b' }, globalDefault: true },
  ]
  const taken = plugin(classed('a', 1, { globalDefault: true }))
  const why =
    '403 priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass a is already marked as default. Only one default can exist'
  assert.equal(admitted(taken, PriorityClass, second, { step: 'validate' }), why)
  assert.equal(admitted(taken, PriorityClass, second, { step: 'validate', old: {} }), why)
  assert.equal(admitted(taken, PriorityClass, first, { step: 'validate', old: first }).metadata.name, 'a')
  assert.equal(admitted(plugin(), PriorityClass, second, { step: 'validate' }).metadata.name, 'b')
})
