import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonPathError, parseJsonPath } from './json-path.ts'
import { findFirst, findValues, type Work } from './json-path-search.ts'
import type { Json } from './json-value.ts'

const pod = {
  metadata: { name: 'web', labels: { 'app.kubernetes.io/name': 'web', tier: 'front' }, annotations: null },
  spec: {
    containers: [
      { name: 'a', ports: [80, 443] },
      { name: 'b', ports: [8080] },
    ],
    replicas: 3,
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', weight: 2 },
      { type: 'Synced', status: 'False', weight: 1.5 },
    ],
  },
} satisfies Json
const find = (path: string, data: Json = pod) => findValues(parseJsonPath(`{${path}}`), data)[0]
const first = (path: string, data: Json = pod) => findFirst(parseJsonPath(`{${path}}`), data)

test('fields follow one another', () => {
  assert.deepEqual(find('.metadata.name'), ['web'])
  assert.deepEqual(find('$.spec.replicas'), [3])
  assert.deepEqual(find('@.spec.nothing.further'), [])
  assert.deepEqual(find('.metadata.annotations'), [null])
  assert.deepEqual(find('.metadata.annotations.x'), [])
  assert.deepEqual(find('.'), [])
})

test('names with dots are escaped or quoted', () => {
  assert.deepEqual(find('.metadata.labels.app\\.kubernetes\\.io/name'), ['web'])
  assert.deepEqual(find(".metadata.labels['app\\.kubernetes\\.io/name']"), ['web'])
  assert.deepEqual(find(".metadata['labels'].tier"), ['front'])
})

test('lists are indexed, cut and joined', () => {
  assert.deepEqual(find('.spec.containers[0].name'), ['a'])
  assert.deepEqual(find('.spec.containers[-1].name'), ['b'])
  assert.deepEqual(find('.spec.containers[*].name'), ['a', 'b'])
  assert.deepEqual(find('.spec.containers[0:2].ports[0]'), [80, 8080])
  assert.deepEqual(find('.spec.containers[0].ports[::2]'), [80])
  assert.deepEqual(find(".metadata['name','labels'].tier"), ['front'])
  assert.deepEqual(find('.spec.containers[0,1].name'), ['a', 'b'])
  assert.equal(first('.spec.containers[7].name'), undefined)
  assert.throws(() => find('.spec.containers[7]'), { message: 'array index out of bounds: index 7, length 2' })
  assert.throws(() => find('.metadata[0]'), JsonPathError)
})

test('filters choose items', () => {
  assert.deepEqual(find('.status.conditions[?(@.type=="Ready")].status'), ['True'])
  assert.deepEqual(find(".status.conditions[?(@.type!='Ready')].status"), ['False'])
  assert.deepEqual(find('.status.conditions[?(@.weight>1)].type', { status: { conditions: [{ type: 'x', weight: 2 }] } }), ['x'])
  assert.deepEqual(find('.status.conditions[?(@.weight)].type'), ['Ready', 'Synced'])
  assert.deepEqual(find('.status.conditions[?(@.missing=="x")].type'), [])
  assert.deepEqual(find('.status.conditions[?(@.type==")")].type'), [])
  assert.equal(first('.status.conditions[?(@.weight==2)].type'), undefined, 'a fraction and a whole number do not compare')
  assert.equal(first('.metadata[?(@.name=="web")]'), undefined)
})

test('wildcards and descent find everything below', () => {
  assert.deepEqual(find('.status.conditions[0].*'), ['Ready', 'True', 2])
  assert.deepEqual(find('..type'), ['Ready', 'Synced'])
  assert.deepEqual(find('.spec..name'), ['a', 'b'])
})

test('templates hold text and values', () => {
  assert.deepEqual(findValues(parseJsonPath('name: {.metadata.name}!'), pod), [['name: '], ['web'], ['!']])
  assert.deepEqual(find('"quoted \\"text\\""'), ['quoted "text"'])
  assert.deepEqual(find('true'), [true])
  assert.deepEqual(find('1.5'), [1.5])
})

test('what is not a path says why', () => {
  for (const [path, message] of [
    ['.a[', 'unterminated array'],
    ['.a[x]', 'invalid array index x'],
    ['.a[?(@.b', 'unterminated filter'],
    ['....a', 'invalid multiple recursive descent'],
    ['"x', 'unterminated quoted string'],
    ['~', 'unrecognized character in action: ~'],
    ['1-2', undefined],
  ] as const)
    if (message) assert.throws(() => parseJsonPath(`{${path}}`), { message })
    else assert.doesNotThrow(() => parseJsonPath(`{${path}}`))
  assert.throws(() => parseJsonPath('{.a'), { message: 'unclosed action' })
  assert.throws(() => find('range'), { message: 'unrecognized identifier range' })
})

test('names that objects inherit are not there', () => {
  assert.deepEqual(find('.constructor'), [])
  assert.deepEqual(find('.__proto__'), [])
  assert.deepEqual(find('.__proto__.a', JSON.parse('{"__proto__":{"a":1}}')), [1])
})

test('a path that finds ever more is given up', () => {
  const wide = JSON.parse(
    `[${Array(50)
      .fill(`[${Array(50).fill('[1,2]').join(',')}]`)
      .join(',')}]`,
  )
  assert.equal(first('..[*]..[*]..[*]..[*]', wide), undefined)
  let deep: Json = 1
  for (let i = 0; i < 900; i++) deep = { a: deep }
  assert.equal(find('..a', deep)?.length, 900)
})

test('whatever is written, parsing ends with a path or an error of its own', () => {
  const piece = fc.constantFrom(
    '.',
    '..',
    'a',
    '*',
    '[',
    ']',
    '[?(',
    ')]',
    '(',
    '@',
    '$',
    '{',
    '}',
    '"',
    "'",
    '\\',
    ',',
    ':',
    '-',
    '1',
    '==',
    ' ',
    '\n',
    'true',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
      try {
        findValues(parseJsonPath(`{${pieces.join('')}}`), pod, atMost(200_000))
      } catch (error) {
        assert.ok(error instanceof JsonPathError || error instanceof TooMuchWork, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})

class TooMuchWork extends Error {}

const atMost = (units: number): Work => {
  let left = units
  return {
    charge(units) {
      left -= units
      if (left < 0) throw new TooMuchWork()
    },
  }
}

test('a search counts every value that it looks at', () => {
  const work = (path: string, data: Json) => {
    let units = 0
    findValues(parseJsonPath(`{${path}}`), data, {
      charge(more) {
        units += more
      },
    })
    return units
  }
  const list = (length: number): Json => Array.from({ length }, (_, i) => ({ a: i, b: 'text' }))
  for (const path of ['..a', '[*].a', '[?(@.a==1)].b', '...*...*', '[*].b.*'])
    assert.ok(work(path, list(200)) > 15 * work(path, list(10)), path)
  assert.ok(work('.a.b', { a: { b: 1 } }) < 10)
  assert.throws(() => findValues(parseJsonPath('{...*...*...*...*}'), pod, atMost(500)), TooMuchWork)
})
