import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { examinePlace, isBeyondDoubt, localUser, privateFolder, sharedFolder } from './trusted-place.ts'

const NOBODY = 65534
const onUnix = { skip: localUser() === undefined && 'owners and modes mean nothing on Windows' }

function folder(t: TestContext): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'keelson-place-')))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function made(path: string, mode: number): string {
  mkdirSync(path)
  chmodSync(path, mode)
  return path
}

/** The doubts about a path below a folder, without those about the folder's own parents. */
const doubts = (path: string, below: string, user = localUser()) =>
  examinePlace(path, user)
    .doubts.filter(doubt => doubt.path.startsWith(`${below}/`))
    .map(({ by, about, path }) => `${by} by the ${about} of ${path.slice(below.length + 1)}`)

test('a folder of this user in sticky folders of root is beyond doubt', onUnix, t => {
  const root = folder(t)
  writeFileSync(join(root, 'file'), '', { mode: 0o600 })
  assert.deepEqual(doubts(join(root, 'file'), root), [])
  assert.equal(isBeyondDoubt(join(root, 'file')), true)
  assert.equal(isBeyondDoubt(join(root, 'missing')), false)
})

test('whoever may write to a file, a folder or a parent is named', onUnix, t => {
  const root = folder(t)
  const open = made(join(root, 'open'), 0o777)
  const sticky = made(join(root, 'sticky'), 0o1777)
  const team = made(join(root, 'team'), 0o770)
  for (const parent of [open, sticky, team]) writeFileSync(join(parent, 'file'), '')
  // A group with other members.
  const user = { ...localUser()!, gid: -1 }
  assert.deepEqual(doubts(join(open, 'file'), root, user), ['others by the mode of open'])
  assert.deepEqual(doubts(open, root, user), ['anyone by the mode of open'])
  assert.deepEqual(doubts(join(sticky, 'file'), root, user), [])
  assert.deepEqual(doubts(sticky, root, user), ['anyone by the mode of sticky'])
  const { gid } = statSync(team)
  if (gid !== 0) assert.deepEqual(doubts(join(team, 'file'), root, user), ['others by the mode of team'])
  chmodSync(join(sticky, 'file'), 0o666)
  assert.deepEqual(doubts(join(sticky, 'file'), root, user), ['anyone by the mode of sticky/file'])
})

test('what another user owns could be from anyone where anyone may write, and is theirs elsewhere', onUnix, t => {
  const root = folder(t)
  const sticky = made(join(root, 'sticky'), 0o1777)
  writeFileSync(join(sticky, 'file'), '')
  const me = localUser()!
  // Files of root are trusted by all, so root gives them away; all other users examine their own files as another user.
  const user = me.uid === 0 ? me : { uid: me.uid + 1, gid: -1 }
  if (me.uid === 0) for (const path of [sticky, join(sticky, 'file')]) chownSync(path, NOBODY, NOBODY)
  assert.deepEqual(doubts(join(sticky, 'file'), root, user), ['others by the owner of sticky', 'anyone by the owner of sticky/file'])
})

test('links are followed where they lead, and that is examined in the same way', onUnix, t => {
  const root = folder(t)
  const open = made(join(root, 'open'), 0o777)
  writeFileSync(join(open, 'file'), '')
  symlinkSync(open, join(root, 'link'))
  symlinkSync('link/../open', join(root, 'second'))
  for (const link of ['link', 'second']) {
    const place = examinePlace(join(root, link, 'file'))
    assert.equal(place.path, join(open, 'file'))
    assert.deepEqual([...new Set(doubts(join(root, link, 'file'), root))], ['others by the mode of open'])
  }
  symlinkSync('loop', join(root, 'loop'))
  assert.throws(() => examinePlace(join(root, 'loop', 'file')), { code: 'ELOOP' })
  assert.equal(examinePlace(join(root, 'link', 'new', 'file')).path, join(open, 'new', 'file'))
})

test('a private folder is created for its owner alone, and one that is not private is not taken', onUnix, t => {
  const root = folder(t)
  const path = join(root, 'a', 'b')
  assert.equal(privateFolder(path), path)
  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.equal(privateFolder(path), path)
  chmodSync(path, 0o755)
  assert.equal(privateFolder(path), undefined)
  assert.equal(privateFolder(join(made(join(root, 'open'), 0o777), 'c')), undefined)
  writeFileSync(join(root, 'file'), '', { mode: 0o600 })
  for (const taken of ['file', 'file/below']) assert.equal(privateFolder(join(root, taken)), undefined)
  assert.equal(lstatSync(join(root, 'open', 'c'), { throwIfNoEntry: false }), undefined)
})

test('a shared folder is for others to read, and is not taken where they can write', onUnix, t => {
  const root = folder(t)
  const path = join(root, 'a', 'b')
  assert.equal(sharedFolder(path), path)
  assert.equal(statSync(path).mode & 0o022, 0)
  chmodSync(path, 0o700)
  assert.equal(sharedFolder(path), path)
  chmodSync(path, 0o757)
  assert.equal(sharedFolder(path), undefined)
})
