import assert from 'node:assert/strict'
import test from 'node:test'
import { NOW } from '../../test/kits/registry.ts'
import { Budget } from '../schema/budget.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { printerColumns } from './columns.ts'

const object = {
  apiVersion: 'stable.example.com/v1',
  kind: 'Widget',
  metadata: { name: 'a', creationTimestamp: '2026-07-01T11:00:00Z' },
  spec: {
    text: 'red',
    whole: 7,
    part: 1.5,
    yes: true,
    list: ['a', '<b>'],
    map: { b: 1, a: null },
    nothing: null,
    when: '2026-06-30T12:00:00Z',
  },
} as AnyObject

function cell(type: string, jsonPath: string): unknown {
  const [[, [, get]]] = printerColumns([{ name: 'X', type, jsonPath }]) as any
  return get(object, { now: NOW, budget: new Budget() })
}

test('cells show what a path finds as the type of their column', () => {
  const shown = (type: string, ...paths: string[]) => paths.map(path => cell(type, `.spec.${path}`))
  assert.deepEqual(shown('string', 'text', 'whole', 'part', 'yes'), ['red', '7', '1.5', 'true'])
  assert.deepEqual(shown('string', 'list', 'map', 'nothing', 'missing'), [
    '["a","\\u003cb\\u003e"]',
    '{"a":null,"b":1}',
    '<no value>',
    null,
  ])
  assert.deepEqual(shown('integer', 'whole', 'part', 'text'), [7, 1, null])
  assert.deepEqual(shown('number', 'whole', 'part', 'yes'), [7, 1.5, null])
  assert.deepEqual(shown('boolean', 'yes', 'text'), [true, null])
  assert.deepEqual(shown('date', 'when', 'text', 'whole'), ['24h', '<invalid>', null])
  assert.equal(cell('string', '.spec.list[1]'), '<b>')
})

test('without columns there is Age, and a path that cannot be read leaves none', () => {
  assert.deepEqual(
    printerColumns(undefined).map(([name, [type]]) => [name, type]),
    [['Age', 'date']],
  )
  assert.deepEqual(printerColumns([{ name: 'X', type: 'string', jsonPath: '.spec[' }]), [])
})

test('once the cells of a table have cost too much work, the rest of them say so', () => {
  const columns = printerColumns([
    { name: 'Text', type: 'string', jsonPath: '.spec.text' },
    { name: 'Every', type: 'string', jsonPath: '...*...*...*...*' },
    { name: 'Whole', type: 'integer', jsonPath: '.spec.whole' },
  ])
  const cells = (units: number) => {
    const ctx = { now: NOW, budget: new Budget(units) }
    return columns.map(([, [, get]]) => get(object, ctx))
  }
  assert.deepEqual(cells(100), ['red', '<too expensive>', '<too expensive>'])
  assert.notEqual(cells(1_000_000)[1], '<too expensive>')
})
