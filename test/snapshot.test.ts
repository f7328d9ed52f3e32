// keelson snapshot: saved while clients write, restored to another directory, with the clients of the lost future noticing.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { LIMITS } from '../src/lib/limits.ts'
import { openEmbeddedReader } from '../src/storage/embedded/reader.ts'
import {
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  keelson,
  patient,
  type Scope,
  serveHere,
  startInProcess,
  type Target,
  targetOf,
  temporaryDirectory,
} from './kit.ts'
import { commandLines, keelsonHere } from './kits/command-here.ts'
import { damageData } from './kits/damage.ts'
import { startEtcd } from './kits/etcd.ts'
import { testWith } from './programs.ts'

type Writer = { readonly acknowledged: () => number; readonly sent: () => number; stop(): Promise<void> }

/** Counts up in two config maps in turn, each write after the one before was acknowledged. */
function countUp(server: Target, name: string): Writer {
  let [sent, acknowledged, isStopped] = [0, 0, false]
  const write = async (half: 'a' | 'b', count: number) => {
    const path = `${CONFIG_MAPS}/${name}-${half}`
    const body = configMap(`${name}-${half}`, { count: String(count) })
    const answer = count === 1 ? await ask(server, CONFIG_MAPS, { method: 'POST', body }) : await ask(server, path, { method: 'PUT', body })
    assert.ok(answer.status < 300, answer.text)
  }
  const running = (async () => {
    while (!isStopped) {
      const next = sent + 1
      sent = next
      await write('a', next)
      await write('b', next)
      acknowledged = next
    }
  })()
  return {
    acknowledged: () => acknowledged,
    sent: () => sent,
    async stop() {
      isStopped = true
      await running
    },
  }
}

const names = (list: { json: { items: { metadata: { name: string } }[] } }) => list.json.items.map(({ metadata }) => metadata.name)

/** A server with some objects, and a snapshot of it. */
async function saved(t: Scope) {
  const server = await serveHere(t)
  const made = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('kept', { secret: 'pssst' }) })
  assert.equal(made.status, 201)
  const file = join(server.dataDir, '..', 'one.snapshot')
  const result = await keelsonHere('snapshot', 'save', file, '--data-dir', server.dataDir)
  assert.equal(result.code, 0, result.stderr)
  return { server, file, made, result }
}

test('a snapshot under constant writes is one state between those before and after it', patient, async t => {
  const server = await serveHere(t)
  const ballast = 'x'.repeat(4000)
  await Promise.all(
    Array.from({ length: 300 }, (_, i) => ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(`ballast-${i}`, { ballast }) })),
  )
  const writers = ['one', 'two', 'three'].map(name => countUp(server, name))
  const folder = temporaryDirectory(t)
  const file = join(folder, 'backup.snapshot')
  const before = writers.map(writer => writer.acknowledged())
  const result = await keelson('snapshot', 'save', file, '--data-dir', server.dataDir)
  const after = writers.map(writer => writer.sent())
  await Promise.all(writers.map(writer => writer.stop()))
  assert.equal(result.code, 0, result.stderr)
  assert.equal(result.stderr, '', 'there is no progress bar where there is no terminal')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder), ['backup.snapshot'])
  const last = (await ask(server, CONFIG_MAPS)).json.metadata.resourceVersion

  const dataDir = join(folder, 'restored')
  mkdirSync(dataDir, { mode: 0o700 })
  cpSync(join(server.dataDir, 'pki'), join(dataDir, 'pki'), { recursive: true })
  const restored = await keelson('snapshot', 'restore', file, '--data-dir', dataDir)
  assert.equal(restored.code, 0, restored.stderr)
  await server.stop()
  const again = await serveHere(t, { dataDir })
  const found = await ask(again, CONFIG_MAPS)
  const counts = new Map<string, number>(found.json.items.map((item: any) => [item.metadata.name, Number(item.data.count)]))
  for (const [i, name] of ['one', 'two', 'three'].entries()) {
    const [a, b] = [counts.get(`${name}-a`) ?? 0, counts.get(`${name}-b`) ?? 0]
    assert.ok(a >= before[i]! && b >= before[i]!, 'what was acknowledged before is there')
    assert.ok(a <= after[i]!, 'what was sent later is not there')
    assert.ok(a === b || a === b + 1, `${name}: ${a} and ${b} are of one moment`)
  }
  // With the keys of before, the clients of before are known.
  assert.equal((await ask({ url: again.url, credentials: { ...server.credentials } }, CONFIG_MAPS)).status, 200)
  for (const { metadata } of found.json.items)
    assert.ok(Number(metadata.resourceVersion) > Number(last), 'no resourceVersion of an object goes back')
})

test('an informer that knows a future which is lost finds it expired and lists again', patient, async t => {
  const { server, file } = await saved(t)
  const lost = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('lost') })
  const known = lost.json.metadata.resourceVersion
  await server.stop()
  const dataDir = join(server.dataDir, '..', 'restored')
  assert.equal((await keelsonHere('snapshot', 'restore', file, '--data-dir', dataDir)).code, 0)
  const again = await serveHere(t, { dataDir })
  const watched = await ask(again, `${CONFIG_MAPS}?watch=true&resourceVersion=${known}&timeoutSeconds=1`)
  const status = watched.status === 200 ? JSON.parse(watched.text.split('\n')[0]!).object : watched.json
  assert.deepEqual([status.code, status.reason], [410, 'Expired'])
  const listed = await ask(again, `${CONFIG_MAPS}?resourceVersion=${known}`)
  assert.ok(names(listed).includes('kept') && !names(listed).includes('lost'))
  assert.ok(BigInt(listed.json.metadata.resourceVersion) > BigInt(known))
  // A write on the strength of the lost future is refused.
  const body = { ...lost.json, metadata: { ...lost.json.metadata, name: 'kept', uid: undefined } }
  assert.equal((await ask(again, `${CONFIG_MAPS}/kept`, { method: 'PUT', body })).status, 409)
})

test('two restores of one snapshot do not share resourceVersions, and events live on for their time', patient, async t => {
  const { server, file } = await saved(t)
  const event = {
    metadata: { name: 'e' },
    involvedObject: { kind: 'ConfigMap', name: 'kept', namespace: 'default' },
    reason: 'Tested',
    type: 'Normal',
  }
  assert.equal((await ask(server, '/api/v1/namespaces/default/events', { method: 'POST', body: event })).status, 201)
  const folder = join(server.dataDir, '..')
  await keelsonHere('snapshot', 'save', file, '--data-dir', server.dataDir)
  const newest: number[] = []
  for (const name of ['first', 'second']) {
    const dir = join(folder, name)
    const before = Date.now()
    assert.equal((await keelsonHere('snapshot', 'restore', file, '--data-dir', dir)).code, 0)
    await using reader = await openEmbeddedReader(join(dir, 'store'))
    newest.push(reader.fresh())
    assert.deepEqual(await reader.extent(), { oldest: newest.at(-1), newest: newest.at(-1) })
    const deadline = reader.deadline('/core/events/default/e')!
    assert.ok(deadline >= before + 3_600_000 && deadline <= Date.now() + 3_600_000, 'the hour of an event begins again')
  }
  assert.ok(newest[1]! > newest[0]! + 1000, `${newest}`)
  const chosen = join(folder, 'third')
  assert.equal((await keelsonHere('snapshot', 'restore', file, '--data-dir', chosen, '--bump-revision', '5')).code, 0)
  const { revision } = JSON.parse((await keelsonHere('snapshot', 'status', file, '--output', 'json')).stdout)
  await using reader = await openEmbeddedReader(join(chosen, 'store'))
  assert.equal(reader.fresh(), revision + 5)
})

test('a snapshot comes from a directory without a server, too, and nothing there changes', patient, async t => {
  const { server, file } = await saved(t)
  await server.stop()
  const before = readFileSync(join(server.dataDir, 'store', 'keelson.lmdb'))
  const other = `${file}.2`
  const result = await keelsonHere('snapshot', 'save', other, '--data-dir', server.dataDir)
  assert.equal(result.code, 0, result.stderr)
  assert.ok(readFileSync(join(server.dataDir, 'store', 'keelson.lmdb')).equals(before))
  const status = await keelsonHere('snapshot', 'status', other, '--output', 'json')
  const { revision, records, resources, hash, encrypted, groupDomain } = JSON.parse(status.stdout)
  assert.ok(revision > 100 && records > 100)
  assert.equal(resources['/core/configmaps/'].records > 0, true)
  assert.deepEqual([groupDomain, encrypted], ['k8s.io', {}])
  const text = await keelson('snapshot', 'status', other)
  assert.match(text.stdout, new RegExp(`^revision +${revision}$`, 'm'))
  assert.match(text.stdout, new RegExp(`^sha256 +${hash}, correct$`, 'm'))
  assert.match(text.stdout, /^core\/configmaps +\d+ +[\d.]+ (bytes|KiB)$/m)
})

test('damaged, truncated and foreign files are refused, and nothing changes', patient, async t => {
  const { server, file } = await saved(t)
  const folder = temporaryDirectory(t)
  const bytes = readFileSync(file)
  const wrong = join(folder, 'wrong')
  const target = join(folder, 'data')
  const cases: [string, Buffer, RegExp][] = [
    ['a byte in the header', flipped(bytes, 30), /is damaged: a part does not match its checksum/],
    ['a byte in the middle', flipped(bytes, bytes.length >> 1), /is damaged/],
    ['a byte of the hash', flipped(bytes, bytes.length - 10), /is damaged/],
    ['an end that is missing', bytes.subarray(0, -1), /is cut short/],
    ['a half', bytes.subarray(0, bytes.length >> 1), /is cut short/],
    ['another file', Buffer.from('SQLite format 3'), /is not a snapshot of Keelson/],
    ['an empty file', Buffer.alloc(0), /is not a snapshot of Keelson/],
  ]
  const actions = cases.flatMap(([, content], i) => {
    const damaged = `${wrong}-${i}`
    writeFileSync(damaged, content)
    return [
      ['status', damaged],
      ['restore', damaged, '--data-dir', `${target}-${i}`],
    ]
  })
  const results = await commandLines(actions.map(args => ['snapshot', ...args]))
  for (const [i, [what, , message]] of cases.entries()) {
    for (const { code, stderr } of results.slice(2 * i, 2 * i + 2)) {
      assert.equal(code, 1, what)
      assert.match(stderr, message, what)
    }
    assert.ok(!existsSync(`${target}-${i}`), `${what}: nothing is left behind`)
  }
  const taken = await keelsonHere('snapshot', 'restore', file, '--data-dir', server.dataDir)
  assert.equal(taken.code, 1)
  assert.match(taken.stderr, /is not empty \(.*store.*\), and a restore writes over nothing: name a new directory, or move this one away/)
  writeFileSync(wrong, 'a letter')
  const over = await keelsonHere('snapshot', 'save', wrong, '--data-dir', server.dataDir)
  assert.deepEqual([over.code, readFileSync(wrong, 'utf8')], [1, 'a letter'])
  assert.match(over.stderr, /is no snapshot, and was left as it is/)
})

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at]! ^= 4
  return copy
}

test('a snapshot takes a right of its own', patient, async t => {
  const { server, file } = await saved(t)
  const { stdout } = await keelsonHere('kubeconfig', '--user', 'bob', '--group', 'dev', '--data-dir', server.dataDir)
  const kubeconfig = join(temporaryDirectory(t), 'bob.kubeconfig')
  writeFileSync(kubeconfig, stdout, { mode: 0o600 })
  const bob = { ...targetOf(stdout), url: server.url }
  const refused = await keelsonHere('snapshot', 'save', `${file}.bob`, '--kubeconfig', kubeconfig)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /User "bob" cannot get path "\/keelson\/v1\/store\/snapshot"/)
  assert.ok(!existsSync(`${file}.bob`))
  assert.equal((await ask(bob, '/keelson/v1/store/snapshot')).status, 403)
  const role = { metadata: { name: 'backup' }, rules: [{ nonResourceURLs: ['/keelson/v1/store/snapshot'], verbs: ['get'] }] }
  const binding = {
    metadata: { name: 'backup' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'backup' },
    subjects: [{ kind: 'User', name: 'bob', apiGroup: 'rbac.authorization.k8s.io' }],
  }
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  assert.equal((await ask(server, `${rbac}/clusterroles`, { method: 'POST', body: role })).status, 201)
  assert.equal((await ask(server, `${rbac}/clusterrolebindings`, { method: 'POST', body: binding })).status, 201)
  const allowed = await keelsonHere('snapshot', 'save', `${file}.bob`, '--kubeconfig', kubeconfig)
  assert.equal(allowed.code, 0, allowed.stderr)
  assert.equal((await ask(server, '/keelson/v1/store/snapshot', { method: 'POST', body: {} })).status, 405)
})

const SNAPSHOT = '/keelson/v1/store/snapshot'

type Stalled = { readonly statuses: Promise<(number | undefined)[]>; leave(): void }

/** Begins a snapshot and reads nothing but the head of the response; over HTTP/2 several on one connection, at the same moment. */
function beginSnapshots(server: Target, protocol: 'http/1.1' | 'http/2', count = 1): Stalled {
  if (protocol === 'http/1.1') {
    const sent = request(new URL(SNAPSHOT, server.url), { ...server.credentials, agent: false })
    const status = new Promise<number | undefined>(resolve => {
      sent.on('response', answer => resolve(answer.on('error', () => {}).statusCode)).on('error', () => resolve(undefined))
    })
    sent.end()
    return { statuses: Promise.all([status]), leave: () => sent.destroy() }
  }
  const session = connect(server.url, server.credentials).on('error', () => {})
  const status = () =>
    new Promise<number | undefined>(resolve => {
      const stream = session.request({ ':path': SNAPSHOT })
      stream.on('response', head => resolve(head[':status'])).on('error', () => resolve(undefined))
    })
  return { statuses: Promise.all(Array.from({ length: count }, status)), leave: () => session.destroy() }
}

/** A server with more records than the buffers of sockets take. */
async function largeServer(t: Scope) {
  const server = await startInProcess(t)
  const long = 'x'.repeat(1_000_000)
  for (let i = 0; i < 20; i++)
    assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(`large-${i}`, { long }) })).status, 201)
  const begin = (protocol: 'http/1.1' | 'http/2', count?: number) => {
    const begun = beginSnapshots(server, protocol, count)
    t.after(begun.leave)
    return begun
  }
  const heldRevision = async () => {
    const lines = (await ask(server, '/keelson/v1/doctor')).text.trimEnd().split('\n')
    return JSON.parse(lines.at(-1)!).report.store.heldRevision as number | undefined
  }
  const released = () => eventually('no revision is held', async () => ((await heldRevision()) === undefined ? true : undefined))
  /** Resolves once a further snapshot is begun, which is left at once. */
  const room = () =>
    eventually('there is room again', async () => {
      const { statuses, leave } = begin('http/1.1')
      const isBegun = (await statuses)[0] === 200
      leave()
      return isBegun ? true : undefined
    })
  return { server, begin, heldRevision, released, room }
}

test('few snapshots are saved at once; clients that leave or stop reading make room, and hold nothing any more', patient, async t => {
  const { server, begin, heldRevision, released, room } = await largeServer(t)
  const { statuses, leave } = begin('http/2', 20)
  const codes = await statuses
  assert.deepEqual(
    [200, 429].map(code => codes.filter(status => status === code).length),
    [2, 18],
  )
  await eventually('a revision is held', async () => ((await heldRevision()) === undefined ? undefined : true))
  const refused = await ask(server, SNAPSHOT)
  assert.deepEqual([refused.status, refused.json.message], [429, '2 snapshots are being saved already'])
  leave()
  await released()
  await room()

  const limits = LIMITS as { stallMs: number }
  const { stallMs } = limits
  t.after(() => (limits.stallMs = stallMs))
  limits.stallMs = 200
  // As many as are saved at once; they stay connected, and read nothing.
  for (const protocol of ['http/1.1', 'http/2'] as const) {
    await begin(protocol).statuses
    await begin(protocol).statuses
    limits.stallMs = stallMs
    await room()
    await released()
    limits.stallMs = 200
  }
})

test('a record that cannot be read ends the snapshot with its key', patient, async t => {
  const { server, file } = await saved(t)
  await server.stop()
  damageData(server.dataDir, 'pssst')
  const offline = await keelsonHere('snapshot', 'save', `${file}.2`, '--data-dir', server.dataDir)
  assert.equal(offline.code, 1)
  assert.match(offline.stderr, /was given up: \/core\/configmaps\/default\/kept cannot be read: .*checksum; keelson doctor --fix/)
  await serveHere(t, { dataDir: server.dataDir })
  const online = await keelsonHere('snapshot', 'save', `${file}.2`, '--data-dir', server.dataDir)
  assert.match(online.stderr, /was given up: \/core\/configmaps\/default\/kept cannot be read/)
  assert.ok(!existsSync(`${file}.2`))
})

testWith('etcd', 'a server on etcd says how etcd is backed up', patient, async (t, program) => {
  const cluster = await startEtcd({ program })
  t.after(() => cluster[Symbol.asyncDispose]())
  const server = await serveHere(t, { flags: ['--store', 'etcd', '--etcd-servers', cluster.endpoints.join(',')] })
  const file = join(temporaryDirectory(t), 'a')
  const { code, stderr } = await keelsonHere('snapshot', 'save', file, '--data-dir', server.dataDir)
  assert.equal(code, 1)
  assert.match(stderr, /etcdctl snapshot save FILE; keelson migrate copies it/)
})

test('wrong arguments are explained', patient, async () => {
  const cases: [string[], RegExp][] = [
    [[], /what is to be done\? keelson snapshot save FILE \| status FILE \| restore FILE/],
    [['keep', 'a'], /unknown action keep/],
    [['save'], /which file\?/],
    [['status', 'a', 'b'], /what is b\?/],
    [['status', 'a', '--output', 'xml'], /--output takes text, json, not "xml"/],
    [['restore', 'a'], /--data-dir is missing/],
    [['restore', 'a', '--data-dir', 'b', '--bump-revision', '-3'], /--bump-revision takes a whole number above 0/],
    [['save', 'a', '--force'], /unknown argument --force/],
  ]
  for (const [i, { code, stderr }] of (await commandLines(cases.map(([args]) => ['snapshot', ...args]))).entries()) {
    assert.equal(code, 2, stderr)
    assert.match(stderr, cases[i]![1])
  }
  const nowhere = await keelsonHere('snapshot', 'save', '/tmp/x', '--data-dir', '/no/such/directory')
  assert.deepEqual([nowhere.code, /there is no data in \/no\/such\/directory/.test(nowhere.stderr)], [1, true])
})
