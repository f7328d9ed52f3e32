import assert from 'node:assert/strict'
import test from 'node:test'
import { webhookPath } from './webhook-transport.ts'

test('the path of a webhook is cleaned as client-go cleans it', () => {
  for (const [path, cleaned] of [
    ['', '/'],
    ['/', '/'],
    ['//', '/'],
    ['//validate-v1-pod', '/validate-v1-pod'],
    ['validate/', '/validate'],
    ['/a//b/./c/../d/', '/a/b/d'],
    ['/../a', '/a'],
  ] as const)
    assert.equal(webhookPath(path), cleaned)
})
