/** Compares the figures in packages/cel/README.md with the counts of tests. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../kit.ts'

/** Asserts that the table row of that name shows these figures. */
export function assertShown(row: string, figures: readonly number[]): void {
  const lines = readFileSync(join(ROOT, 'packages/cel/README.md'), 'utf8').split('\n')
  assert.ok(
    lines.some(line => line.startsWith(`| ${row} | ${figures.map(figure => figure.toLocaleString('en-US')).join(' | ')} |`)),
    `packages/cel/README.md must show | ${row} | ${figures.join(' | ')} |`,
  )
}
