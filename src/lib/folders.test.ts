import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { makeFolders } from './folders.ts'

test('folders are created with their parents, and creating them again is harmless', t => {
  const root = mkdtempSync(join(tmpdir(), 'keelson-folders-'))
  t.after(() => rmSync(root, { recursive: true }))
  makeFolders(join(root, 'a', 'b'), 0o700)
  makeFolders(join(root, 'a', 'b'), 0o700)
  assert.equal(statSync(join(root, 'a', 'b')).mode & 0o777, 0o700)
})

test('a folder that cannot be created is an error at once', t => {
  const root = mkdtempSync(join(tmpdir(), 'keelson-folders-'))
  t.after(() => rmSync(root, { recursive: true }))
  writeFileSync(join(root, 'file'), '')
  assert.throws(() => makeFolders(join(root, 'file')), { code: 'EEXIST' })
  assert.throws(() => makeFolders(join(root, 'file', 'below')), { code: /EEXIST|ENOTDIR/ })
  if (process.platform === 'linux') assert.throws(() => makeFolders('/proc/keelson/data'), { code: 'ENOENT' })
})
