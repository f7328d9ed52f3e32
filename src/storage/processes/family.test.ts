import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeFamily, socketFolderIn } from './family.ts'

function folder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'keelson-family-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('the socket is in the data folder, for the user alone, and is gone with the family', async t => {
  const data = join(folder(t), 'data')
  const family = makeFamily(await socketFolderIn(data))
  assert.equal(dirname(dirname(family.socket)), data)
  assert.equal(statSync(dirname(family.socket)).mode & 0o777, 0o700)
  family[Symbol.dispose]()
  assert.deepEqual(readdirSync(data), [])
})

test('a folder whose path is too long for a socket, or that cannot be made, has none', async t => {
  const dir = folder(t)
  assert.equal(await socketFolderIn(join(dir, 'x'.repeat(100))), undefined)
  assert.equal(await socketFolderIn('/proc/none'), undefined)
  assert.deepEqual(readdirSync(dir), [])
  const family = makeFamily()
  assert.ok(existsSync(dirname(family.socket)))
  family[Symbol.dispose]()
  assert.ok(!existsSync(dirname(family.socket)))
})

test('folders of supervisors that were killed are removed, others are not', async t => {
  const dir = folder(t)
  // No process has this id.
  for (const name of ['.processes-4194305', `.processes-${process.ppid}`, 'processes']) mkdirSync(join(dir, name))
  const made = await socketFolderIn(dir)
  assert.deepEqual(readdirSync(dir).sort(), [`.processes-${process.pid}`, `.processes-${process.ppid}`, 'processes'].sort())
  assert.equal(made, join(dir, `.processes-${process.pid}`))
})
