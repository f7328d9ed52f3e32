import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trimEnd } from './trim-end.ts'

test('a character is removed from the end of a text only', () => {
  assert.equal(trimEnd('//a//b///', '/'), '//a//b')
  assert.equal(trimEnd('///', '/'), '')
  assert.equal(trimEnd('', '/'), '')
  // As a pattern this would take minutes.
  assert.equal(trimEnd(`${'/'.repeat(300_000)}x`, '/').length, 300_001)
})
