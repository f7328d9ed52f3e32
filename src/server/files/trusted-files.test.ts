import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { configOf } from '../../start-options.ts'
import { warnOfNamedFiles } from './trusted-files.ts'

test('files that settings name are examined, and settings that name none are not', t => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-named-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'open')
  writeFileSync(file, '')
  chmodSync(file, 0o666)
  const doubtsAbout = (setting: object) => {
    const doubted: string[] = []
    warnOfNamedFiles({ ...configOf({ store: 'memory' }), ...setting }, (_, path) => doubted.push(path))
    return doubted.filter(path => path === file)
  }
  assert.deepEqual(doubtsAbout({ tokenAuthFile: file }), [file])
  assert.deepEqual(doubtsAbout({ runtimeConfig: file }), [])
})
