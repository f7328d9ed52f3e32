/** The mutants of the simulator fit the source. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { MUTANTS } from './mutants.ts'

test('every mutant changes one text of the source', () => {
  const wrong = MUTANTS.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2).map(({ name }) => name)
  assert.deepEqual(wrong, [])
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length)
})
