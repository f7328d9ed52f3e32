import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ensureFolderKey, folderKeyFile, openFolderEncryption } from './folder-encryption.ts'

const RECORD = { key: '/core/secrets/default/a', place: '/registry/secrets/default/a' }
const VALUE = Buffer.from('the value of a secret')

async function folderWithKey(t: { after(end: () => void): void }): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-key-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await ensureFolderKey(folder, 'k8s.io')
  return folder
}

async function transformerOf(folder: string) {
  const { transformer, missing } = await openFolderEncryption(folder)
  assert.equal(missing, undefined)
  return transformer
}

test('the key of a folder is the same, read as the server wrote it or as YAML', async t => {
  const folder = await folderWithKey(t)
  const written = (await transformerOf(folder)).toStorage(RECORD, VALUE)
  assert.match(Buffer.from(written).toString('latin1'), /^k8s:enc:aesgcm:v1:local-[0-9a-f]{8}:/)
  appendFileSync(folderKeyFile(folder), '# edited\n')
  const edited = await transformerOf(folder)
  assert.deepEqual(await edited.fromStorage(RECORD, written), { value: VALUE, isStale: false })
  assert.deepEqual(await edited.fromStorage(RECORD, VALUE), { value: VALUE, isStale: true })
})

test('a key that somebody has damaged is refused as in any configuration', async t => {
  const folder = await folderWithKey(t)
  const file = folderKeyFile(folder)
  writeFileSync(file, readFileSync(file, 'utf8').replace(/secret: .{4}/, 'secret: '))
  await assert.rejects(transformerOf(folder), /secret is not of the expected length, got 29/)
})
