import assert from 'node:assert/strict'
import test from 'node:test'
import { describe } from './diagnosis.ts'
import { unresolvable, unschedulable } from './plugin.ts'

const on = (...entries: [node: string, reasons: string[]][]) =>
  new Map(entries.map(([node, reasons]) => [node, { plugin: 'p', ...unschedulable(...reasons) }]))

test('reasons are counted over nodes and written in order', () => {
  const byNode = on(
    ['a', ['Insufficient cpu', 'Insufficient memory']],
    ['b', ['node(s) had untolerated taint(s)']],
    ['c', ['Insufficient cpu']],
  )
  assert.equal(
    describe({ nodes: 3, byNode }, 'preemption: none'),
    '0/3 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: none',
  )
})

test('counts are ordered as text', () => {
  const many = Array.from({ length: 10 }, (_, i): [string, string[]] => [String(i), i < 2 ? ['few'] : ['many']])
  assert.equal(
    describe({ nodes: 12, byNode: on(...many), others: unresolvable('rest') }),
    '0/12 nodes are available: 2 few, 2 rest, 8 many.',
  )
})

test('a problem of the pod itself is reported once for all nodes', () => {
  assert.equal(
    describe({ nodes: 2, byNode: new Map(), general: unresolvable('persistentvolumeclaim "c" not found') }),
    '0/2 nodes are available: persistentvolumeclaim "c" not found.',
  )
})

test('nodes without a reason are not mentioned', () => {
  assert.equal(describe({ nodes: 2, byNode: new Map() }), '0/2 nodes are available:')
})
