import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { draftOf, keepsModes, replaceFile, writePrivateFile } from './private-files.ts'

test('a private file is replaced atomically, without leftovers, and a link in its place is not followed', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-private-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [file, other] = [join(folder, 'file'), join(folder, 'other')]
  writeFileSync(file, 'old', { mode: 0o644 })
  writeFileSync(other, 'of another')
  for (const write of [writePrivateFile, replaceFile]) {
    await write(file, 'new')
    assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], ['new', 0o600])
    rmSync(file)
    symlinkSync(other, file)
    await write(file, 'again')
    assert.deepEqual([readFileSync(file, 'utf8'), readFileSync(other, 'utf8')], ['again', 'of another'])
  }
  await assert.rejects(writePrivateFile(join(folder, 'missing', 'file'), ''), { code: 'ENOENT' })
  assert.deepEqual(readdirSync(folder).sort(), ['file', 'other'])
  assert.notEqual(draftOf(file), draftOf(file))
})

test('a file system that keeps modes is told from one that does not', () => {
  assert.equal(keepsModes(tmpdir()), true)
})
