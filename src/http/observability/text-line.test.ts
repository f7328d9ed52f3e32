import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textLine } from './text-line.ts'

const now = new Date('2026-07-01T12:00:00.250Z')

test('a line for people has time, level, message and fields, in colours where they are seen', () => {
  const line = textLine('info', { address: 'https://127.0.0.1:6443', ms: 12, missing: undefined, why: 'two words' }, 'ready', {
    now,
    colours: false,
  })
  assert.equal(line, '12:00:00.250 INFO  ready address=https://127.0.0.1:6443 ms=12 why="two words"\n')
  const painted = textLine('error', {}, 'broken', { now, colours: true })
  assert.equal(painted, '\u001b[2m12:00:00.250\u001b[0m \u001b[31mERROR\u001b[0m broken\n')
})

test('no text ends the line or steers the terminal', () => {
  const hostile = 'a\n\u001b[2Jb\u009b1m\u202ec'
  const line = textLine('warn', { path: hostile }, hostile, { now, colours: false })
  assert.equal(line.indexOf('\n'), line.length - 1)
  assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Cf}]/u)
})
