import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '../../schema/status-error.ts'
import { failureStack, failureText, withoutQuoted } from './failure-text.ts'

test('a refusal is logged by reason and object, never with its message', () => {
  const refused = new StatusError(422, 'Invalid', 'secrets "a" is invalid: data: Invalid value: "hunter2"', {
    group: 'apps',
    kind: 'deployments',
    name: 'a',
  })
  assert.equal(failureText(refused), 'Invalid (422) deployments.apps a')
  assert.doesNotMatch(failureStack(refused), /hunter2/)
  assert.match(failureStack(refused), /^Invalid \(422\) deployments\.apps a\n\s+at /)
  assert.equal(failureText(new StatusError(418, '', 'hunter2')), 'refused (418)')
})

test('an unexpected failure is logged with its message, unless a parser quotes what it read', () => {
  assert.equal(failureText(new TypeError('x is not iterable')), 'TypeError: x is not iterable')
  const parsing = (() => {
    try {
      return JSON.parse('{"password": hunter2}')
    } catch (error) {
      return error
    }
  })()
  assert.equal(failureText(parsing), 'SyntaxError')
  assert.doesNotMatch(failureStack(parsing), /hunter2/)
})

test('what a webhook answered is left out of what is said of it', () => {
  assert.equal(
    withoutQuoted('an error on the server ("hunter2 \\"x\\" y") has prevented it'),
    'an error on the server ("…") has prevented it',
  )
  assert.equal(withoutQuoted('cut "hunter2'), 'cut "…"')
  assert.equal(withoutQuoted('connect ECONNREFUSED 127.0.0.1:1'), 'connect ECONNREFUSED 127.0.0.1:1')
})
