/** The progress of long work, as scripts show it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './kit.ts'

const scripts = () => import(join(ROOT, 'scripts/progress.mjs'))
const CLEARED = '\r\x1b[K'

async function progressOn(stream: { readonly isTTY: boolean; readonly columns?: number }) {
  const { Progress } = await scripts()
  const written: string[] = []
  const clock = { ms: 0 }
  const write = (text: string) => written.push(text)
  return { written, write, clock, progress: new Progress({ ...stream, write }, { now: () => clock.ms }) }
}

test('a terminal has one line, which makes way for other output and goes in the end', async () => {
  const { progress, written, write } = await progressOn({ isTTY: true, columns: 10 })
  progress.beside(() => write('before\n'))
  progress.show('1 of 2')
  progress.beside(() => write('seed 1 failed\n'))
  progress.show('2 of 2, which is longer')
  progress.end()
  progress.beside(() => write('over\n'))
  assert.deepEqual(written, [
    'before\n',
    `${CLEARED}1 of 2`,
    CLEARED,
    'seed 1 failed\n',
    `${CLEARED}1 of 2`,
    `${CLEARED}2 of 2, w`,
    CLEARED,
    'over\n',
  ])
})

test('elsewhere there is a line now and then', async () => {
  const { progress, written, write, clock } = await progressOn({ isTTY: false })
  for (; clock.ms <= 70_000; clock.ms += 10_000) progress.show(`after ${clock.ms} ms`)
  progress.beside(() => write('seed 1 failed\n'))
  progress.end()
  assert.deepEqual(written, ['after 30000 ms\n', 'after 60000 ms\n', 'seed 1 failed\n'])
})

test('durations are short to read', async () => {
  const { duration } = await scripts()
  assert.deepEqual([0, 59_400, 60_000, 3_599_000, 3_600_000, 25_380_000].map(duration), [
    '0 s',
    '59 s',
    '1:00 min',
    '59:59 min',
    '1:00 h',
    '7:03 h',
  ])
})
