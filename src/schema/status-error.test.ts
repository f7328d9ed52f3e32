import assert from 'node:assert/strict'
import test from 'node:test'
import { LIMITS } from '../lib/limits.ts'
import { StatusError } from './status-error.ts'

test('an error holds no more of its message than is sent', () => {
  assert.equal(new StatusError(400, 'BadRequest', 'x').message, 'x')
  // At 6256f0f1 the message was cut only when it was sent.
  assert.ok(new StatusError(400, 'BadRequest', 'x'.repeat(1 << 22)).message.length < LIMITS.errorMessageLength + 100)
})
