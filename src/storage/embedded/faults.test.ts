import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { open } from 'lmdb'
import { builtScript } from '../../../test/kits/script.ts'
import { bytes, collect, put, read, text } from '../../../test/kits/storage/conformance-kit.ts'
import type { Report } from '../../../test/kits/storage/full-disk-writer.ts'
import type { Refusals } from '../../../test/kits/storage/unprivileged-opener.ts'
import { testWith } from '../../../test/programs.ts'
import { StoreUnavailable } from '../store.ts'
import { openEmbeddedStore } from './embedded.ts'

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'keelson-faults-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Flips a bit of every copy of some text in the database file. */
function damage(dir: string, needle: string): void {
  const file = join(dir, 'keelson.lmdb')
  const content = readFileSync(file)
  let found = 0
  for (let at = content.indexOf(needle); at >= 0; at = content.indexOf(needle, at + 1), found++) content[at + needle.length - 1]! ^= 1
  assert.ok(found > 0)
  writeFileSync(file, content)
}

function unavailable(...words: RegExp[]): (error: Error) => boolean {
  return error => error instanceof StoreUnavailable && words.every(word => word.test(error.message))
}

test('a value damaged at rest is reported as a fault, never served, and can be replaced or deleted', async t => {
  const dir = directory(t)
  const first = await openEmbeddedStore({ dir })
  await put(first, '/a', 'sound before')
  const revision = await put(first, '/b', 'the value that will be damaged')
  await put(first, '/c', 'sound after')
  await put(first, '/d', 'the value that will be damaged')
  await first.close()
  damage(dir, 'will be damaged')

  await using store = await openEmbeddedStore({ dir })
  const { entry } = await store.get('/b')
  assert.match(entry!.fault!, /does not match its checksum/)
  assert.deepEqual(
    { ...entry, fault: '', value: [...entry!.value] },
    { key: '/b', created: revision, modified: revision, fault: '', value: [] },
  )
  const faults = (await store.list('/')).entries.map(entry => entry.fault !== undefined)
  assert.deepEqual(faults, [false, true, false, true])
  assert.deepEqual([await read(store, '/a'), await read(store, '/c')], ['sound before', 'sound after'])
  const events = await collect(store, { after: 1, count: 4 })
  assert.deepEqual(
    events.map(event => event.after!.fault !== undefined),
    faults,
  )
  assert.ok((await store.swap('/b', { expect: revision, value: null })).ok)
  await put(store, '/d', 'repaired')
  assert.deepEqual([await read(store, '/b'), await read(store, '/d')], [undefined, 'repaired'])
})

test('a record with a damaged key is reported under what is left of it and can be removed', async t => {
  const dir = directory(t)
  const first = await openEmbeddedStore({ dir })
  await put(first, '/first', 'x')
  const revision = await put(first, '/damaged/key', 'hidden')
  await put(first, '/last', 'y')
  await first.close()
  damage(dir, '/damaged/key')

  const second = await openEmbeddedStore({ dir })
  const { entries } = await second.list('/')
  assert.deepEqual(
    entries.map(({ key, fault, value }) => ({ key, faulty: fault !== undefined, value: text(value) })),
    [
      { key: '/damaged/kex', faulty: true, value: '' },
      { key: '/first', faulty: false, value: 'x' },
      { key: '/last', faulty: false, value: 'y' },
    ],
  )
  const newest = await put(second, '/damaged/kex', null)
  assert.equal(newest, revision + 2)
  await second.compact(newest)
  await second.close()
  await using store = await openEmbeddedStore({ dir })
  assert.deepEqual(
    (await store.list('/')).entries.map(entry => entry.key),
    ['/first', '/last'],
  )
})

test('a damaged revision neither hides other records nor stops writes', async t => {
  const dir = directory(t)
  const first = await openEmbeddedStore({ dir })
  for (const key of ['/a', '/b', '/c']) await put(first, key, key)
  await first.close()
  const root = open({ path: join(dir, 'keelson.lmdb'), overlappingSync: false, keyEncoding: 'binary', encoding: 'binary' })
  const log = root.openDB<Uint8Array, Uint8Array>('log', { keyEncoding: 'binary', encoding: 'binary' })
  const last = [...log.getKeys()].at(-1)!
  const body = log.get(last)!
  log.removeSync(last)
  const changed = Buffer.from(last)
  changed[1] = 0xff
  log.putSync(changed, body)
  await root.close()

  const second = await openEmbeddedStore({ dir })
  assert.deepEqual(await second.extent(), { oldest: 1, newest: 4 })
  assert.match((await second.get('/c')).entry!.fault!, /header/)
  assert.equal(await put(second, '/d', 'new'), 5)
  await second.close()
  await using store = await openEmbeddedStore({ dir })
  assert.deepEqual([await read(store, '/a'), await read(store, '/b'), await read(store, '/d')], ['/a', '/b', 'new'])
})

test('a store of a later format is refused and left as it is', async t => {
  const dir = directory(t)
  const store = await openEmbeddedStore({ dir })
  await store.close()
  const root = open({ path: join(dir, 'keelson.lmdb'), overlappingSync: false, keyEncoding: 'binary', encoding: 'binary' })
  const meta = root.openDB('meta', { keyEncoding: 'binary', encoding: 'binary', useVersions: true })
  await meta.put(Buffer.from('settings'), Buffer.from('{"format":2,"compacted":1}'), 0)
  await root.close()
  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(openEmbeddedStore({ dir }), unavailable(/has format 2/, /start the release that wrote it/))
  }
})

test('a second open in the same process is refused until the first is closed', async t => {
  const dir = directory(t)
  const [first, second] = await Promise.allSettled([openEmbeddedStore({ dir }), openEmbeddedStore({ dir })])
  assert.equal(second.status, 'rejected')
  assert.ok(unavailable(/this process \(pid \d+\) already has it open/)(second.reason))
  assert.ok(first.status === 'fulfilled')
  await put(first.value, '/a', 'x')
  await first.value.close()
  await using store = await openEmbeddedStore({ dir })
  assert.equal(await read(store, '/a'), 'x')
})

test('a lock left by a process that has ended, or that cannot be read, is taken over', async t => {
  const dir = directory(t)
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  const leftovers = [{ pid: child.pid, started: 'x' }, { pid: process.pid, started: 'another boot/1' }, { pid: -1 }]
  for (const leftover of [...leftovers.map(owner => JSON.stringify({ ...owner, id: 'x' })), '', 'null', '{"pid":']) {
    writeFileSync(join(dir, 'keelson.lock'), leftover)
    const store = await openEmbeddedStore({ dir })
    await store.close()
    assert.throws(() => statSync(join(dir, 'keelson.lock')))
  }
})

test('a process that was considered dead can no longer write', async t => {
  const dir = directory(t)
  const fenced = await openEmbeddedStore({ dir })
  await put(fenced, '/a', 'x')
  const taker = spawnWriter(t, 'crash-writer.ts', [dir, '0'], { before: `rm -f '${join(dir, 'keelson.lock')}'` })
  await once(taker, 'message')
  taker.kill('SIGKILL')
  await once(taker, 'exit')
  const attempt = (key: string) => fenced.swap(key, { expect: 0, value: bytes('x') })
  await assert.rejects(attempt('/b'), unavailable(/another process has taken over/))
  await assert.rejects(attempt('/c'), unavailable(/another process has taken over/))
  assert.equal(await read(fenced, '/b'), undefined)
  await fenced.close()
})

test('a path that is a file, or lies below one, or is no database, is refused with advice', async t => {
  const dir = directory(t)
  writeFileSync(join(dir, 'file'), 'x')
  await assert.rejects(openEmbeddedStore({ dir: join(dir, 'file') }), unavailable(/a file is in the place of a directory/))
  await assert.rejects(openEmbeddedStore({ dir: join(dir, 'file', 'below') }), unavailable(/a file is in the place of a directory/))
  for (const content of ['x', 'not a database '.repeat(1_000)]) {
    const other = mkdtempSync(join(dir, 'other-'))
    writeFileSync(join(other, 'keelson.lmdb'), content)
    await assert.rejects(openEmbeddedStore({ dir: other }), unavailable(/is not a database of Keelson/))
  }
})

test('a database cut short is refused instead of crashing the process', async t => {
  const dir = directory(t)
  const store = await openEmbeddedStore({ dir })
  for (let i = 0; i < 100; i++) await put(store, `/k/${i}`, 'x'.repeat(3_000))
  await store.close()
  const file = join(dir, 'keelson.lmdb')
  writeFileSync(file, readFileSync(file).subarray(0, 16_384))
  await assert.rejects(openEmbeddedStore({ dir }), unavailable(/is cut short; restore it/))
})

test('a copy saved while writes go on is a whole store of its own', async t => {
  const dir = directory(t)
  await using store = await openEmbeddedStore({ dir: join(dir, 'original') })
  for (let i = 0; i < 50; i++) await put(store, `/k/${i}`, `${i}`)
  mkdirSync(join(dir, 'copy'))
  const file = join(dir, 'copy', 'keelson.lmdb')
  const writing = Promise.all(Array.from({ length: 50 }, (_, i) => put(store, `/later/${i}`, 'x')))
  await store.save(file)
  await writing
  await assert.rejects(store.save(file), unavailable(/cannot save the store/, /already exists/))
  await using copy = await openEmbeddedStore({ dir: join(dir, 'copy') })
  const { newest } = await copy.extent()
  assert.ok(newest >= 51 && newest <= 101)
  const { entries } = await copy.list('/')
  assert.equal(entries.length, newest - 1)
  const original = await store.list('/', { at: newest })
  assert.deepEqual(
    entries.map(entry => [entry.key, text(entry.value), entry.modified]),
    original.entries.map(entry => [entry.key, text(entry.value), entry.modified]),
  )
})

test('a directory, database or lock that may not be written is refused with advice', { skip: process.platform === 'win32' }, async t => {
  const dir = directory(t)
  const made = ['directory', 'database', 'lock'].map(name => join(dir, name))
  for (const path of made) await (await openEmbeddedStore({ dir: path })).close()
  for (const path of [dir, ...made]) chmodSync(path, 0o777)
  for (const path of made) for (const file of ['keelson.lmdb', 'keelson.lmdb-lock']) chmodSync(join(path, file), 0o666)
  chmodSync(made[0]!, 0o555)
  chmodSync(join(made[1]!, 'keelson.lmdb'), 0o444)
  chmodSync(join(made[2]!, 'keelson.lmdb-lock'), 0o444)
  const child = spawnWriter(t, 'unprivileged-opener.ts', [...made, join(made[0]!, 'below')], { before: ':' })
  const [refusals] = (await once(child, 'message')) as [Refusals]
  assert.equal(refusals.length, 4)
  for (const refusal of refusals)
    assert.match(refusal, /^StoreUnavailable: cannot open the store in .*: permission is missing; let this user write/)
  chmodSync(made[0]!, 0o777)
})

const FULL_DISK = 'a full disk refuses writes, shows nothing that was not stored, and writes work again once there is space'
testWith('prlimit', FULL_DISK, {}, async (t, prlimit) => {
  const dir = directory(t)
  const child = spawnWriter(t, 'full-disk-writer.ts', [dir], { before: 'ulimit -S -f 4000' })
  const [full] = (await once(child, 'message')) as [Report]
  assert.ok(full.unavailable)
  assert.match(full.message, /no space is left|the disk is full/)
  assert.equal(full.newest, full.acknowledged)
  assert.equal(full.watched, full.acknowledged)
  assert.equal(full.readable, full.acknowledged - 1)
  assert.equal(full.unhandled, 0)

  execFileSync(prlimit, ['--pid', `${child.pid}`, '--fsize=unlimited'])
  child.send('continue')
  const [after] = (await once(child, 'message')) as [Report]
  assert.equal(after.message, '')
  assert.equal(after.newest, full.newest + 160)
  assert.equal(after.readable, after.newest - 1)
  await once(child, 'exit')
  await using store = await openEmbeddedStore({ dir })
  assert.equal((await store.extent()).newest, after.newest)
})

test('under churn with compaction the file stops growing', async t => {
  const dir = directory(t)
  await using store = await openEmbeddedStore({ dir })
  const value = Buffer.alloc(2_000, 1)
  const churn = async () => {
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const { entry } = await store.get(`/k/${i}`)
          await store.swap(`/k/${i}`, { expect: entry?.modified ?? 0, value })
        }),
      )
      await store.compact((await store.extent()).newest - 100)
    }
    // The file has room for more behind its last page.
    return store.size().bytes
  }
  await churn()
  const settled = await churn()
  for (let i = 0; i < 4; i++) assert.ok((await churn()) <= settled * 1.25)
})

/** A script of the test kit in a process of its own, started by a shell that first does something else. */
function spawnWriter(t: TestContext, script: string, args: string[], { before }: { before: string }): ChildProcess {
  const path = builtScript(t, fileURLToPath(new URL(`../../../test/kits/storage/${script}`, import.meta.url)))
  const child = spawn('sh', ['-c', `${before}; exec "$@"`, 'sh', process.execPath, path, ...args], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}
