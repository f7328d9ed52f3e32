// The command lines of the benchmarks: nothing is measured for somebody who asks for help or misspells an option.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readArguments } from '../bench/arguments.ts'
import { patient, ROOT, run } from './kit.ts'

const OPTIONS = { only: { type: 'string' }, quick: { type: 'boolean' } } as const
const read = (...args: string[]) => readArguments(args, 'USAGE', OPTIONS)
const valuesOf = (...args: string[]) => ({ ...(read(...args) as { values: object }).values })

test('options are read in both of their forms', () => {
  assert.deepEqual(valuesOf('--quick', '--only', 'start'), { quick: true, only: 'start' })
  assert.deepEqual(valuesOf('--only=start'), { only: 'start' })
})

test('--help prints the usage', () => assert.deepEqual(read('--quick', '--help'), { text: 'USAGE', exitCode: 0 }))

test('an option that is unknown, lacks its value, or is none at all is an error with the usage', () => {
  for (const args of [['--quik'], ['--only'], ['start']]) {
    const { text, exitCode } = read(...args) as { text: string; exitCode: number }
    assert.equal(exitCode, 1)
    assert.match(text, new RegExp(`${args[0]}[^\n]*\n\nUSAGE$`))
  }
})

test('npm run bench ends with the usage instead of measuring', patient, async () => {
  const ended = await run(process.execPath, ['--import', 'tsx', 'bench/run.ts', '--halp'], { cwd: ROOT })
  assert.equal(ended.code, 1)
  assert.equal(ended.stdout, '')
  assert.match(ended.stderr, /'--halp'[\s\S]*--only PART/)
})
