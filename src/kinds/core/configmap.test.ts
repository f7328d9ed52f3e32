import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check } from '../../../test/kits/kinds/kinds.ts'
import { ConfigMap } from './configmap.ts'

test('keys are file names and are in one map only', () => {
  assert.match(check(ConfigMap, { data: { 'a b': '' } })[0]!, /^data\[a b\]: Invalid value: "a b": a valid config key must consist/)
  assert.match(check(ConfigMap, { binaryData: { '..': '' } })[0]!, /^binaryData\[\.\.\]: Invalid value: "\.\.": must not be '\.\.'/)
  assert.deepEqual(check(ConfigMap, { data: { a: '' }, binaryData: { a: '' } }), [
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ])
})

test('both maps together hold a mebibyte', () => {
  const half = 512 * 1024
  const binaryData = { b: Buffer.alloc(half).toString('base64') }
  assert.deepEqual(check(ConfigMap, { data: { a: 'x'.repeat(half) }, binaryData }), [])
  assert.deepEqual(check(ConfigMap, { data: { a: 'x'.repeat(half + 1) }, binaryData }), [
    '[]: Too long: may not be more than 1048576 bytes',
  ])
})

test('an immutable object cannot change', () => {
  const old = { immutable: true, data: { a: '1' }, binaryData: { b: 'eA==' } }
  const SEALED = 'Forbidden: field is immutable when `immutable` is set'
  assert.deepEqual(check(ConfigMap, { data: { a: '2' } }, { old }), [`immutable: ${SEALED}`, `data: ${SEALED}`, `binaryData: ${SEALED}`])
  assert.deepEqual(check(ConfigMap, { ...old, metadata: { labels: { a: 'b' } } }, { old }), [])
  assert.deepEqual(check(ConfigMap, { immutable: true }, { old: { data: { a: '1' } } }), [])
})

test('its table counts the keys of both maps', () => {
  assert.equal(cells(ConfigMap, { data: { a: '' }, binaryData: { b: 'eA==' } })['Data'], 2)
})
