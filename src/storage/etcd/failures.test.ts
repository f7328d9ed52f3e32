import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EtcdCluster, type EtcdClusterOptions, startEtcd } from '../../../test/kits/etcd.ts'
import { bytes, collect, put, read, revisionOf, text } from '../../../test/kits/storage/conformance-kit.ts'
import { plainFormat } from '../../../test/kits/storage/plain-format.ts'
import { startTcpProxy } from '../../../test/kits/tcp-proxy.ts'
import { testWith } from '../../../test/programs.ts'
import { issueAuthority, issueClient, issueServer } from '../../lib/x509/issue.ts'
import type { Tls } from '../../transport/grpc/http2-session.ts'
import { Compacted, OutcomeUnknown, type Revision, type Store, StoreUnavailable, ValueTooLarge } from '../store.ts'
import { Cluster } from './cluster.ts'
import { type EtcdOptions, EtcdStore, openEtcdStore } from './etcd.ts'
import { prefixEnd, status } from './messages.ts'

const PATIENT = { timeout: 300_000 }

async function cluster(t: TestContext, options: EtcdClusterOptions): Promise<EtcdCluster> {
  const started = await startEtcd(options)
  t.after(() => started[Symbol.asyncDispose]())
  return started
}

async function open(t: TestContext, endpoints: readonly string[], more: Partial<EtcdOptions> = {}): Promise<EtcdStore> {
  const store = await openEtcdStore({ endpoints, prefix: '/registry', format: plainFormat, ...more })
  t.after(() => store.close())
  return store
}

/** Collects the events of a watch, which must have no gaps, until it has reached a revision. */
async function follow(store: Store, after: Revision, until: Promise<Revision>): Promise<Map<string, string[]>> {
  const seen = new Map<string, string[]>()
  const stop = new AbortController()
  let reached = after
  let goal = Number.POSITIVE_INFINITY
  const isDone = () => reached >= goal && stop.abort()
  until.then(revision => {
    goal = revision
    isDone()
  })
  for await (const { events, revision } of store.watch('/', after, stop.signal)) {
    for (const event of events) {
      assert.ok(event.revision > reached, 'an event came twice, or late')
      if (event.after) seen.set(event.key, [...(seen.get(event.key) ?? []), text(event.after.value)])
    }
    reached = revision
    isDone()
  }
  return seen
}

type Made = { readonly key: string; readonly value: string; readonly outcome: 'made' | 'not made' | 'unknown' }

/** Time between two writes: the test is about failures of members, not about the number of writes. */
const BREATH_MS = 2

/** Creates keys one after the other, and notes the outcome of each, until it is stopped. */
async function writeUntil(store: Store, name: string, isOver: () => boolean): Promise<Made[]> {
  const made: Made[] = []
  for (let i = 0; !isOver(); i++) {
    await sleep(BREATH_MS)
    const key = `/${name}/${i}`
    const value = randomUUID()
    const outcome = await store.swap(key, { expect: 0, value: bytes(value), unique: i % 2 === 0 }).then(
      swap => {
        assert.ok(swap.ok)
        return 'made' as const
      },
      error => {
        if (error instanceof OutcomeUnknown) return 'unknown' as const
        assert.ok(error instanceof StoreUnavailable, `${error}`)
        return 'not made' as const
      },
    )
    made.push({ key, value, outcome })
  }
  return made
}

/** Lets clients write and watch while something happens to the cluster; what they were told must then be so. */
async function survive(store: Store, { signal }: TestContext, happen: () => Promise<void>): Promise<void> {
  const after = revisionOf(await store.swap('/start', { expect: 0, value: bytes('x') }))
  let end: (revision: Revision) => void = () => {}
  const following = follow(store, after, new Promise(resolve => (end = resolve)))
  let isOver = false
  const writing = Promise.all(Array.from({ length: 8 }, (_, i) => writeUntil(store, `w${i}`, () => isOver || signal.aborted)))
  await happen()
  isOver = true
  const made = (await writing).flat()
  end(await put(store, '/end', 'x'))
  const seen = await following
  const kept = new Map((await store.list('/')).entries.map(({ key, value }) => [key, text(value)]))
  for (const { key, value, outcome } of made) {
    const stored = kept.get(key)
    if (outcome === 'made') assert.deepEqual([stored, seen.get(key)], [value, [value]], key)
    if (outcome === 'not made') assert.deepEqual([stored, seen.get(key)], [undefined, undefined], key)
    if (outcome === 'unknown') assert.deepEqual(seen.get(key), stored === undefined ? undefined : [stored], key)
  }
  assert.ok(made.some(({ outcome }) => outcome === 'made'))
}

/** Waits until writes succeed again, or for the first time. */
async function writable(store: Store, { signal }: TestContext): Promise<void> {
  for (;;) {
    await sleep(BREATH_MS, undefined, { signal })
    const key = `/writable/${randomUUID()}`
    const swap = await store.swap(key, { expect: 0, value: bytes('x') }).catch(() => undefined)
    if (swap?.ok) return
  }
}

testWith('etcd', 'what was said of writes is so after the only member was killed', PATIENT, async (t, program) => {
  const { endpoints, members } = await cluster(t, { program })
  const store = await open(t, endpoints)
  await survive(store, t, async () => {
    for (let i = 0; i < 3; i++) {
      await writable(store, t)
      await members[0]!.restart()
    }
    await writable(store, t)
  })
})

testWith('etcd', 'the leader of three members can be killed', PATIENT, async (t, program) => {
  const { endpoints, members } = await cluster(t, { program, members: 3 })
  const store = await open(t, endpoints)
  await survive(store, t, async () => {
    for (const member of members) {
      await writable(store, t)
      await member.kill()
      await writable(store, t)
      await member.restart()
    }
  })
})

testWith('etcd', 'a member that stops to answer is left for another', PATIENT, async (t, program) => {
  const { endpoints, members } = await cluster(t, { program, members: 3 })
  const store = await open(t, endpoints)
  await survive(store, t, async () => {
    for (const member of members) {
      member.pause()
      await writable(store, t)
      member.resume()
      await writable(store, t)
    }
  })
})

testWith('etcd', 'without a quorum nothing is written or read, and it is said why', PATIENT, async (t, program) => {
  const { endpoints, members } = await cluster(t, { program, members: 3 })
  const store = await open(t, endpoints)
  const revision = await put(store, '/a', 'x')
  await Promise.all([members[0]!.kill(), members[1]!.kill()])
  const refusal = (error: Error) => {
    assert.ok(error instanceof StoreUnavailable, `${error}`)
    assert.match(error.message, /has no leader|cannot reach etcd|does not answer/)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
  await assert.rejects(async () => store.fresh(), refusal)
  await assert.rejects(store.probe(), refusal)
  await assert.rejects(
    store.swap('/a', { expect: revision, value: bytes('y') }),
    error => error instanceof OutcomeUnknown || refusal(error as Error),
  )
  await Promise.all([members[0]!.restart(), members[1]!.restart()])
  await writable(store, t)
  await store.probe()
})

testWith('etcd', 'a write whose answer is lost is not said to have failed, nor made again', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program })
  const proxy = await startTcpProxy(Number(new URL(endpoints[0]!).port))
  t.after(() => proxy[Symbol.asyncDispose]())
  const store = await open(t, [`http://127.0.0.1:${proxy.port}`])
  const other = await open(t, endpoints)
  /** Makes a write of which etcd's answer is lost, after something else has happened there. */
  const losing = async (write: () => Promise<unknown>, meanwhile: () => Promise<unknown>) => {
    const before = await other.fresh()
    proxy.loseAnswers()
    const writing = write().then(
      value => ({ value }),
      error => ({ error }),
    )
    await collect(other, { after: before, count: 1 })
    await meanwhile()
    proxy.mend()
    return writing as Promise<{ value?: unknown; error?: unknown }>
  }
  const nothing = async () => {}

  const unique = await losing(() => store.swap('/unique', { expect: 0, value: bytes('1'), unique: true }), nothing)
  assert.deepEqual(unique.value, { ok: true, revision: (await other.get('/unique')).entry!.modified })
  const same = await losing(() => store.swap('/same', { expect: 0, value: bytes('1') }), nothing)
  assert.ok(same.error instanceof OutcomeUnknown, 'somebody else could have written the same')
  assert.equal((await other.get('/same')).entry!.created, (await other.get('/same')).entry!.modified, 'it was made once')

  const base = await put(other, '/updated', '1')
  const updated = await losing(() => store.swap('/updated', { expect: base, value: bytes('2') }), nothing)
  assert.ok(updated.error instanceof OutcomeUnknown)
  assert.equal(await read(other, '/updated'), '2')
})

testWith('etcd', 'a swap that lost is known to have lost even if the answer was lost', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program })
  const proxy = await startTcpProxy(Number(new URL(endpoints[0]!).port))
  t.after(() => proxy[Symbol.asyncDispose]())
  const store = await open(t, [`http://127.0.0.1:${proxy.port}`])
  const other = await open(t, endpoints)
  const base = await put(other, '/a', '1')
  const next = await put(other, '/a', '2')
  proxy.loseAnswers()
  const writing = store.swap('/a', { expect: base, value: bytes('3') })
  // The proxy has passed it on when a later request has an effect.
  setTimeout(() => proxy.mend(), 200)
  const swap = await writing
  assert.ok(!swap.ok && swap.current!.modified === next && text(swap.current!.value) === '2')
})

testWith('etcd', 'a watch that was away while its place was compacted says so, another goes on', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program })
  const proxy = await startTcpProxy(Number(new URL(endpoints[0]!).port))
  t.after(() => proxy[Symbol.asyncDispose]())
  const store = await open(t, [`http://127.0.0.1:${proxy.port}`])
  const other = await open(t, endpoints)
  const first = await put(other, '/a', '1')
  const watch = store.watch('/', first, new AbortController().signal)[Symbol.asyncIterator]()
  const second = await put(other, '/a', '2').then(revision => watch.next().then(() => revision))
  proxy.cut()
  await put(other, '/a', '3')
  proxy.mend()
  assert.equal(text((await watch.next()).value!.events[0]!.after!.value), '3', 'a watch goes on where it was')
  proxy.cut()
  const lost = await put(other, '/a', '4')
  // A deletion at the very revision of a compaction is what etcd can forget without saying so.
  const deleted = revisionOf(await other.swap('/a', { expect: lost, value: null }))
  await put(other, '/b', '1')
  await other.compact(deleted)
  proxy.mend()
  await assert.rejects(watch.next(), (error: Compacted) => error instanceof Compacted && error.oldest >= lost)
  assert.ok(second > first)
})

testWith('etcd', 'a watch from the revision before a compacted deletion does not miss it silently', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program })
  const proxy = await startTcpProxy(Number(new URL(endpoints[0]!).port))
  t.after(() => proxy[Symbol.asyncDispose]())
  const store = await open(t, [`http://127.0.0.1:${proxy.port}`])
  const other = await open(t, endpoints)
  const created = await put(other, '/a', '1')
  const watch = store.watch('/', created - 1, new AbortController().signal)[Symbol.asyncIterator]()
  assert.equal((await watch.next()).value!.revision, created)
  proxy.cut()
  const deleted = revisionOf(await other.swap('/a', { expect: created, value: null }))
  await put(other, '/b', '1')
  await other.compact(deleted)
  proxy.mend()
  // Some versions report it, and those that have lost it must not be believed.
  const next = await watch.next().catch(error => error)
  if (!(next instanceof Compacted)) assert.equal(next.value.events[0].revision, deleted)
})

testWith('etcd', 'a full etcd takes no writes, and it is said what to do', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program, flags: ['--quota-backend-bytes', `${4 << 20}`] })
  const store = await open(t, endpoints)
  const value = new Uint8Array(256 << 10)
  let refused: unknown
  for (let i = 0; i < 100 && !refused; i++)
    refused = await store.swap(`/a/${i}`, { expect: 0, value }).then(
      () => undefined,
      error => error,
    )
  assert.ok(refused instanceof StoreUnavailable, `${refused}`)
  assert.match(refused.message, /space quota is used up: raise --quota-backend-bytes.*etcdctl alarm disarm/)
  assert.equal(refused.problem, 'etcdserver: mvcc: database space exceeded')
  await store.get('/a/0')
})

testWith('etcd', 'a value that is larger than etcd takes is refused as such', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program, flags: ['--max-request-bytes', `${1 << 20}`] })
  const store = await open(t, endpoints)
  for (const size of [(1 << 20) + 100, 3 << 20])
    await assert.rejects(store.swap('/a', { expect: 0, value: new Uint8Array(size) }), ValueTooLarge)
  await put(store, '/a', 'small')
})

testWith('etcd', 'certificates: a wrong authority, a missing client certificate, and right ones', PATIENT, async (t, program) => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-etcd-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const validity = { notBefore: new Date(Date.now() - 3600_000), notAfter: new Date(Date.now() + 3600_000) }
  const authority = issueAuthority('etcd-ca', validity)
  const stranger = issueAuthority('another-ca', validity)
  const server = issueServer(authority, 'etcd', { names: ['127.0.0.1'], ...validity })
  const client = issueClient(authority, { commonName: 'keelson' }, validity)
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const tls = { cert: file('cert.pem', server.cert), key: file('key.pem', server.key), clientCa: file('ca.pem', authority.cert) }
  const { endpoints } = await cluster(t, { program, tls })
  const refusal = async (given: Tls, at = endpoints) => {
    const error = await open(t, at, { tls: given }).then(
      () => assert.fail('it should have been refused'),
      (error: Error) => error,
    )
    assert.ok(error instanceof StoreUnavailable, `${error}`)
    assert.doesNotMatch(error.message, /\n/)
    return error.message
  }
  assert.match(await refusal({ ca: stranger.cert, ...client }), /its certificate is not accepted .*; check --etcd-cafile/)
  assert.match(await refusal({ ca: authority.cert }), /refuses the certificate of this server|ended the connection/)
  const plain = endpoints.map(endpoint => endpoint.replace('https', 'http'))
  assert.match(await refusal({}, plain), /https:\/\//)
  const store = await open(t, endpoints, { tls: { ca: authority.cert, ...client } })
  await put(store, '/a', 'x')
  assert.equal(await read(store, '/a'), 'x')
})

testWith('etcd', 'a start without etcd fails in one line', PATIENT, async (t, program) => {
  const { endpoints, members } = await cluster(t, { program })
  await members[0]!.kill()
  await assert.rejects(
    open(t, endpoints),
    (error: Error) =>
      error instanceof StoreUnavailable && /^cannot reach etcd at .*: the connection was refused; check --etcd-servers/.test(error.message),
  )
  await assert.rejects(open(t, ['http://no-such-host.invalid:1']), /there is no host of that name|cannot be looked up/)
})

testWith('etcd', 'servers agree on the one that compacts, and the key is the one of kube-apiserver', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program })
  const [a, b] = [await open(t, endpoints), await open(t, endpoints, { prefix: '/other' })]
  let [mine, theirs] = [
    { version: 0, revision: 0 },
    { version: 0, revision: 0 },
  ]
  const first = await put(a, '/a', '1')
  mine = await a.compactTogether(mine)
  theirs = await b.compactTogether(theirs)
  assert.deepEqual([mine.version, theirs.version], [1, 1], 'the first round of all compacts nothing')
  assert.equal(await read(a, '/a', first), '1')
  const second = await put(a, '/a', '2')
  const round = mine
  mine = await a.compactTogether(mine)
  assert.equal(mine.version, 2)
  assert.equal((await a.extent()).oldest, round.revision, 'compacted at the revision of the last round')
  theirs = await b.compactTogether(theirs)
  assert.equal(theirs.version, 2, 'another was quicker')
  assert.equal((await a.extent()).oldest, round.revision)
  assert.equal(await read(a, '/a', second), '2')
  // The first has gone: the other takes over.
  const taken = theirs
  theirs = await b.compactTogether(theirs)
  assert.equal((await b.extent()).oldest, taken.revision)
  const plain = await open(t, endpoints, { prefix: '' })
  assert.equal(await read(plain, 'compact_rev_key'), `${taken.revision}`)
})

testWith('etcd', 'the members say of which version they are', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program, members: 3 })
  const members = new Cluster({ endpoints })
  t.after(() => members.close())
  for (const answer of await members.each(status, {})) assert.ok(answer.status === 'fulfilled' && /^3\./.test(answer.value.version))
})

testWith('etcd', 'a watch of the prefix alone is told how far it has got', PATIENT, async (t, program) => {
  const { endpoints } = await cluster(t, { program })
  const members = new Cluster({ endpoints })
  const key = Buffer.from('/registry/')
  const scope = { key, end: prefixEnd(key), isEverything: false }
  const store = new EtcdStore(members, scope, { endpoints, prefix: '/registry', format: plainFormat, version: '3.6.0' })
  t.after(() => store.close())
  const other = await open(t, endpoints, { prefix: '/other' })
  const written = await put(store, '/a', 'x')
  const stop = new AbortController()
  const watch = store.watch('/', written - 1, stop.signal)[Symbol.asyncIterator]()
  assert.equal((await watch.next()).value!.revision, written)
  const foreign = await put(other, '/a', 'x')
  assert.equal(await store.fresh(), foreign)
  assert.deepEqual(await watch.next(), { done: false, value: { revision: foreign, events: [] } })
  stop.abort()
})
