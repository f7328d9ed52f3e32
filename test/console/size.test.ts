// How much a browser loads for the console, compressed: all of it, and before the first page.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../kit.ts'

const FOLDER = join(ROOT, 'dist/console')
const MAX_ALL = 250 * 1024
const MAX_FIRST = 80 * 1024

/** The size of a file as gzip has it: brotli is smaller. */
const compressedSize = (file: string): number => statSync(existsSync(`${file}.gz`) ? `${file}.gz` : file).size
const sum = (files: readonly string[]): number => files.reduce((total, file) => total + compressedSize(join(FOLDER, file)), 0)

test('all files of the console are at most 250 KiB, those of its first page at most 80 KiB', () => {
  const all = readdirSync(join(FOLDER, 'assets')).filter(file => !/\.(br|gz)$/.test(file))
  assert.ok(sum(all.map(file => join('assets', file))) <= MAX_ALL, `${sum(all.map(file => join('assets', file)))} bytes`)
  const named = readFileSync(join(FOLDER, 'index.html'), 'utf8').matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)
  const first = ['index.html', ...Array.from(named, ([, file]) => file!)]
  assert.ok(first.length > 1, 'the page names no script')
  assert.ok(sum(first) <= MAX_FIRST, `${first.join(', ')}: ${sum(first)} bytes`)
})
