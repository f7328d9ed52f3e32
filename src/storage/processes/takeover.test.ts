import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { bytes, text } from '../../../test/kits/storage/conformance-kit.ts'
import { StoreProcess } from '../../../test/kits/storage/store-processes.ts'
import { checkDatabaseFile } from '../embedded/database-file.ts'
import { openEmbeddedStore } from '../embedded/embedded.ts'
import { type Batch, OutcomeUnknown, StoreUnavailable } from '../store.ts'
import { type Family, makeFamily } from './family.ts'
import { encodeSwap } from './frames.ts'
import { encodeHello } from './handshake.ts'
import { openProcessStore, type ProcessStore } from './process-store.ts'

type Place = { readonly dir: string; readonly family: Family }

function place(t: TestContext): Place {
  const dir = mkdtempSync(join(tmpdir(), 'keelson-takeover-'))
  const family = makeFamily()
  t.after(() => {
    rmSync(dir, { recursive: true, force: true })
    family[Symbol.dispose]()
  })
  return { dir, family: { socket: family.socket, secret: family.secret } }
}

async function started(t: TestContext, options: Place): Promise<StoreProcess> {
  const process = new StoreProcess()
  t.after(() => process.kill())
  await process.tell({ do: 'open', options })
  return process
}

async function opened(t: TestContext, options: Place): Promise<ProcessStore> {
  const store = await openProcessStore(options)
  t.after(() => store.close())
  return store
}

const roleIn = async (process: StoreProcess, dir: string) =>
  (await process.tell<{ role: string; commits: number }>({ do: 'role', dir })).role

test('whichever process is killed, another one goes on, and nothing that was acknowledged is lost', async t => {
  const options = place(t)
  const { dir } = options
  const store = await opened(t, options)
  const seen = new Map<number, string>()
  const stop = new AbortController()
  const watching = (async () => {
    for await (const { events } of store.watch('/', 1, stop.signal)) for (const { revision, key } of events) seen.set(revision, key)
  })()
  const all: StoreProcess[] = []
  const start = async (name: string) => {
    const process = await started(t, options)
    await process.tell({ do: 'write', dir, name, writers: 4 })
    all.push(process)
    return process
  }
  let running = await Promise.all(['a', 'b', 'c'].map(start))
  // This process is the primary at first; then one of the others is.
  await Promise.all(running.map(process => process.heard(30)))
  await store.close()
  await watching
  const takeovers: string[] = []
  for (let round = 0; round < 6; round++) {
    const counts = running.map(({ written }) => written.length)
    await Promise.all(running.map((process, i) => process.heard(counts[i]! + 40)))
    const roles = await Promise.all(running.map(process => roleIn(process, dir)))
    assert.equal(roles.filter(role => role === 'primary').length, 1)
    // Mostly the primary, sometimes a follower.
    const victim = running[round % 3 === 2 ? roles.indexOf('follower') : roles.indexOf('primary')]!
    takeovers.push(roles[running.indexOf(victim)]!)
    await victim.kill()
    running = [...running.filter(process => process !== victim), await start(`r${round}`)]
  }
  assert.equal(takeovers.filter(role => role === 'primary').length, 4)
  for (const process of running) await process.kill()
  stop.abort()

  checkDatabaseFile(join(dir, 'keelson.lmdb'))
  await using after = await openEmbeddedStore({ dir })
  const { oldest, newest } = await after.extent()
  const written = all.flatMap(process => process.written)
  assert.equal(new Set(written.map(({ revision }) => revision)).size, written.length, 'no revision was given to two writes')
  const last = new Map<string, (typeof written)[number]>()
  for (const write of written) {
    assert.ok(write.revision <= newest)
    if (write.revision >= oldest)
      assert.equal((await after.get(write.key, write.revision)).entry?.modified ?? null, write.value === null ? null : write.revision)
    if (write.revision > (last.get(write.key)?.revision ?? 0)) last.set(write.key, write)
  }
  for (const [key, { value, revision }] of last) {
    const { entry } = await after.get(key)
    // A later write may have been made without its answer being heard: its process was killed.
    if (!entry || entry.modified === revision) assert.ok(entry ? text(entry.value) === value : value === null || revision < newest, key)
  }
  for (const { doubt } of all.flatMap(process => process.doubts)) assert.match(doubt, /^(OutcomeUnknown|Error \S+ nobody else writes)/)
  const doubts = all.flatMap(process => process.doubts)
  assert.ok(doubts.length <= 4 * 12, `${doubts.length} outcomes in doubt`)
})

test('a follower that was waiting for an answer finds out what became of its swaps', async t => {
  const options = place(t)
  const { dir } = options
  const primary = await started(t, options)
  const store = await opened(t, options)
  assert.equal(store.role, 'follower')
  const swap = await store.swap('/a', { expect: 0, value: bytes('first') })
  assert.ok(swap.ok)
  // The primary is stopped, so that requests wait for it, and then ends without having seen them.
  primary.child.kill('SIGSTOP')
  const create = store.swap('/b', { expect: 0, value: bytes('b'), unique: true })
  const update = store.swap('/a', { expect: swap.revision, value: bytes('second') })
  const stale = store.swap('/a', { expect: 0, value: bytes('third') })
  const remove = store.swap('/none', { expect: 7, value: null })
  await new Promise(setImmediate)
  assert.equal(await store.fresh(), swap.revision, 'reads go on')
  primary.child.kill('SIGKILL')
  assert.ok((await create).ok && (await update).ok)
  assert.ok(!(await stale).ok && !(await remove).ok)
  assert.equal(store.role, 'primary')
  assert.equal(text((await store.get('/a')).entry!.value), 'second')
  await assert.rejects(openEmbeddedStore({ dir }), StoreUnavailable)
})

test('a watch goes on over a change of the primary, without a gap', async t => {
  const options = place(t)
  const { dir } = options
  const primary = await started(t, options)
  const store = await opened(t, options)
  const third = await started(t, options)
  const seen: number[] = []
  const stop = new AbortController()
  const watching = (async () => {
    for await (const { events } of store.watch('/', 1, stop.signal)) {
      seen.push(...events.map(({ revision }) => revision))
      if (seen.length === 30) stop.abort()
    }
  })()
  assert.equal(await primary.tell({ do: 'swaps', dir, name: 'one', count: 10 }), 10)
  await primary.kill()
  assert.equal(await third.tell({ do: 'swaps', dir, name: 'two', count: 10 }), 10)
  for (let i = 0; i < 10; i++) assert.ok((await store.swap(`/three/${i}`, { expect: 0, value: bytes('x') })).ok)
  await watching
  assert.deepEqual(
    seen,
    Array.from({ length: 30 }, (_, i) => i + 2),
  )
})

test('a follower sees its own writes as the very values that it has sent, and those of others as their bytes', async t => {
  const options = place(t)
  const { dir } = options
  const primary = await started(t, options)
  const store = await opened(t, options)
  const stop = new AbortController()
  const watch = store.watch('/', await store.fresh(), stop.signal)[Symbol.asyncIterator]()
  const seen = async () => {
    const { value } = (await watch.next()) as IteratorYieldResult<Batch>
    return value.events.map(({ after }) => after!.value)
  }
  const own = bytes('own')
  const [swap, [value]] = await Promise.all([store.swap('/own', { expect: 0, value: own }), seen()])
  assert.ok(swap.ok)
  assert.equal(value, own)
  assert.notEqual((await store.get('/own')).entry!.value, own, 'a read is of the file')
  const [, [other]] = await Promise.all([primary.tell({ do: 'swaps', dir, name: 'other', count: 1 }), seen()])
  assert.ok(other!.length > 0)
  stop.abort()
})

test('swaps that are made at once in followers share commits', async t => {
  const options = place(t)
  const { dir } = options
  const primary = await started(t, options)
  const store = await opened(t, options)
  const count = async () => (await primary.tell<{ commits: number }>({ do: 'role', dir })).commits
  const before = await count()
  const swaps = await Promise.all(Array.from({ length: 300 }, (_, i) => store.swap(`/k/${i}`, { expect: 0, value: bytes('x') })))
  assert.ok(swaps.every(swap => swap.ok))
  const commits = (await count()) - before
  assert.ok(commits <= 10, `${commits} commits`)
})

test('a follower that is killed or stopped does not keep the others from writing, and its pages are reused', async t => {
  const options = place(t)
  const { dir } = options
  const store = await opened(t, options)
  const [killed, stopped] = [await started(t, options), await started(t, options)]
  await killed.tell({ do: 'newest', dir })
  await killed.kill()
  stopped.child.kill('SIGSTOP')
  const write = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      const { entry } = await store.get('/large')
      assert.ok((await store.swap('/large', { expect: entry?.modified ?? 0, value: Buffer.alloc(200_000, round) })).ok)
      await store.compact(await store.fresh())
    }
  }
  await write(20)
  const { size } = statSync(join(dir, 'keelson.lmdb'))
  await write(100)
  assert.ok(statSync(join(dir, 'keelson.lmdb')).size < size + (8 << 20), 'the file does not grow with what is written')
  stopped.child.kill('SIGCONT')
  assert.equal(await stopped.tell({ do: 'newest', dir }), await store.fresh())
})

test('processes of another family, and of none, are refused with the same error', async t => {
  const options = place(t)
  const { dir } = options
  const primary = await started(t, options)
  const refusal = (error: Error) =>
    error instanceof StoreUnavailable && error.message.includes(`process ${primary.child.pid} has it open; stop that one first`)
  await assert.rejects(openEmbeddedStore({ dir }), refusal)
  const other = place(t)
  await assert.rejects(openProcessStore({ dir, family: other.family }), refusal)
  await assert.rejects(openProcessStore({ dir, family: { ...options.family, secret: other.family.secret } }), refusal)
})

test('a connection that does not show the secret is closed, and changes nothing', async t => {
  const options = place(t)
  const store = await opened(t, options)
  const hello = { pid: process.pid, member: 'x', hasOpened: true }
  const swap = encodeSwap(1, '/a', { expect: 0, value: bytes('x') })
  for (const first of [swap, encodeHello({ ...hello, secret: 'wrong' }), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
    const socket = connect(options.family.socket)
    socket.on('error', () => {})
    socket.write(Buffer.concat([first, swap]))
    let received = 0
    socket.on('data', chunk => (received += chunk.length))
    await new Promise(resolve => socket.on('close', resolve))
    assert.equal(received, 0)
  }
  assert.deepEqual(await store.extent(), { oldest: 1, newest: 1 })
})

test('calls that wait for a primary that does not answer fail at once when the store is abandoned', async t => {
  const options = place(t)
  const primary = await started(t, options)
  const store = await opened(t, options)
  primary.child.kill('SIGSTOP')
  const sent = store.swap('/a', { expect: 0, value: bytes('x') })
  const probe = store.probe()
  store.abandon!()
  await assert.rejects(sent, OutcomeUnknown)
  await assert.rejects(probe, StoreUnavailable)
  await store.close()
})
