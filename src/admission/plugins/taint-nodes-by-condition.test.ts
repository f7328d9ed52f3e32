import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted } from '../../../test/kits/admission.ts'
import { Node } from '../../kinds/core/node.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }

test('a new node is not ready, and says so once', () => {
  assert.deepEqual(admitted(taintNodesByCondition, Node, {}).spec.taints, [NOT_READY])
  assert.deepEqual(admitted(taintNodesByCondition, Node, { spec: { taints: [NOT_READY] } }).spec.taints, [NOT_READY])
  const other = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }
  assert.deepEqual(admitted(taintNodesByCondition, Node, { spec: { taints: [other] } }).spec.taints, [other, NOT_READY])
})

test('a node that changes is left alone', () => {
  assert.equal(admitted(taintNodesByCondition, Node, {}, { old: {} }).spec.taints, undefined)
})
