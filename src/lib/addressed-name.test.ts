import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressedBy, portNumberOf } from './addressed-name.ts'

test('a scheme and a port may be in the name', () => {
  assert.deepEqual(addressedBy('web'), { scheme: '', name: 'web', port: '' })
  assert.deepEqual(addressedBy('web:http'), { scheme: '', name: 'web', port: 'http' })
  assert.deepEqual(addressedBy('https:web:8443'), { scheme: 'https', name: 'web', port: '8443' })
  for (const text of ['', ':80', 'ftp:web:80', 'https::80', 'http:web:80:more']) assert.equal(addressedBy(text), undefined, text)
})

test('a port is a number and nothing else', () => {
  assert.equal(portNumberOf('8443'), 8443)
  for (const text of ['', '0', '65536', '80@example.com', '80/x', '-1', '1e3']) assert.equal(portNumberOf(text), undefined, text)
})
