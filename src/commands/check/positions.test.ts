import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Positions } from './positions.ts'

const TEXT = `# a comment
apiVersion: v1
spec:
  containers:
  - name: a
    env: [{ name: X, value: 'y' }]
  - name: b
metadata:
  labels:
    "example.com/a.b": c
? [complex, key]
: value
last: 1
`
const at = (field: string) => {
  const { line, column } = new Positions(TEXT, 10).of(field)
  return `${line}:${column}`
}

test('fields, items of lists and quoted keys have the position of their key or their beginning', () => {
  assert.deepEqual(['apiVersion', 'spec.containers', 'spec.containers[1]', 'spec.containers[1].name'].map(at), [
    '11:1',
    '13:3',
    '16:5',
    '16:5',
  ])
  assert.equal(at('spec.containers[0].env[0].value'), '15:22')
  assert.equal(at('metadata.labels[example.com/a.b]'), '19:5')
  assert.equal(at('metadata.labels["example.com/a.b"]'), '19:5')
  assert.equal(at('last'), '22:1')
})

test('a missing field has the position of the nearest one around it', () => {
  assert.deepEqual(['spec.containers[0].image', 'spec.nothing.here', 'nothing', ''].map(at), ['14:5', '12:1', '11:1', '11:1'])
})

test('JSON has positions, too', () => {
  assert.deepEqual(new Positions('{"a": {\n "b": 1}}', 1).of('a.b'), { line: 2, column: 2 })
})
