import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { ManualClock } from '../../test/kits/storage/manual-clock.ts'
import { Annotations } from './annotations.ts'
import { BatchingSink } from './batching-sink.ts'
import { type AuditEvent, type AuditedRequest, eventJson, eventLine } from './event.ts'
import { LogFile, type OtherWriters } from './log-file.ts'
import { type Grouping, LogSink } from './log-sink.ts'
import { type AuditSink, everySink, lenient } from './sink.ts'
import { TruncatingSink } from './truncating-sink.ts'

type Sample = Omit<Partial<AuditEvent>, 'request'> & { readonly request?: Partial<AuditedRequest> }

const event = (auditID: string, { request, ...more }: Sample = {}): AuditEvent => ({
  request: {
    level: 'Metadata',
    auditID,
    requestURI: '/api?a=1&b=<2>',
    verb: 'get',
    user: { name: 'jane', groups: ['dev'] },
    sourceIPs: ['10.0.0.1'],
    userAgent: 'test',
    receivedAt: 0.001,
    ...request,
  },
  stage: 'ResponseComplete',
  reachedAt: 1000,
  impersonated: undefined,
  objectRef: undefined,
  responseStatus: { code: 200 },
  requestObject: undefined,
  responseObject: undefined,
  annotations: Annotations.NONE,
  ...more,
})

/** A sink that keeps its batches; writes wait where `release` is to be called first. */
function collecting({ isSlow = false } = {}) {
  const batches: string[][] = []
  const waiting: (() => void)[] = []
  let isClosed = false
  const sink: AuditSink = {
    write(events) {
      batches.push(events.map(({ request }) => request.auditID))
      return isSlow ? new Promise(resolve => waiting.push(() => resolve(true))) : true
    },
    async close() {
      isClosed = true
    },
  }
  return { sink, batches, release: () => waiting.splice(0).forEach(go => void go()), closed: () => isClosed }
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-audit-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('an event is written as Go writes it', () => {
  assert.equal(
    eventJson(event('a', { annotations: Annotations.of({ b: '2', a: '1' }), objectRef: { name: 'n', resource: 'pods', namespace: '' } })),
    String.raw`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete","requestURI":"/api?a=1\u0026b=\u003c2\u003e","verb":"get","user":{"username":"jane","groups":["dev"]},"sourceIPs":["10.0.0.1"],"userAgent":"test","objectRef":{"resource":"pods","name":"n"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"1970-01-01T00:00:00.000001Z","stageTimestamp":"1970-01-01T00:00:01.000000Z","annotations":{"a":"1","b":"2"}}`,
  )
  assert.equal(
    eventLine(event('a')),
    '1970-01-01T00:00:00.000001Z AUDIT: id="a" stage="ResponseComplete" ip="10.0.0.1" method="get" user="jane" groups="\\"dev\\"" as="<self>" asgroups="<lookup>" user-agent="test" namespace="<none>" uri="/api?a=1&b=<2>" response="200"',
  )
})

test('a full batch is sent at once, another one after its time', async () => {
  const { sink, batches, closed } = collecting()
  const clock = new ManualClock()
  const batching = { bufferSize: 10, maxSize: 2, maxWaitMs: 1000, throttle: undefined, isConcurrent: true }
  const batched = new BatchingSink(sink, { batching, clock, lost: () => assert.fail('nothing is lost') })
  for (const id of ['a', 'b', 'c']) assert.equal(batched.write([event(id)]), true)
  assert.deepEqual(batches, [['a', 'b']])
  clock.advance(999)
  assert.equal(batches.length, 1)
  clock.advance(1)
  assert.deepEqual(batches, [['a', 'b'], ['c']])
  batched.write([event('d')])
  await batched.close()
  assert.deepEqual(batches.at(-1), ['d'])
  assert.equal(closed(), true)
})

test('events for which there is no room are lost and counted, and requests go on', async () => {
  const { sink, batches, release } = collecting({ isSlow: true })
  const lost: string[] = []
  const batching = { bufferSize: 2, maxSize: 1, maxWaitMs: 0, throttle: undefined, isConcurrent: false }
  const batched = new BatchingSink(sink, {
    batching,
    clock: new ManualClock(),
    lost: (plugin, why, events) => lost.push(`${plugin}: ${why}: ${events.map(({ request }) => request.auditID)}`),
  })
  for (const id of ['a', 'b', 'c', 'd']) assert.equal(batched.write([event(id)]), true)
  assert.deepEqual(lost, ['buffered: audit buffer queue blocked: d'])
  const closing = batched.close()
  while (batches.length < 3) {
    release()
    await new Promise(setImmediate)
  }
  release()
  await closing
  assert.deepEqual(batches, [['a'], ['b'], ['c']])
  batched.write([event('e')])
  assert.equal(lost.at(-1), 'buffered: audit backend shut down: e')
})

test('the throttle limits how many batches are sent', () => {
  const { sink, batches } = collecting()
  const clock = new ManualClock()
  const batching = { bufferSize: 100, maxSize: 1, maxWaitMs: 0, throttle: { perSecond: 1, burst: 2 }, isConcurrent: true }
  const batched = new BatchingSink(sink, { batching, clock, lost: () => assert.fail('nothing is lost') })
  for (const id of ['a', 'b', 'c', 'd']) batched.write([event(id)])
  assert.equal(batches.length, 2)
  for (let i = 0; i < 30; i++) clock.advance(100)
  assert.equal(batches.length, 4)
})

test('large events lose their bodies, larger ones are lost, and batches are split', async () => {
  const kept: AuditEvent[][] = []
  const lost: string[] = []
  const sink: AuditSink = { write: events => kept.push([...events]) > 0, async close() {} }
  const truncating = new TruncatingSink(sink, {
    limits: { maxEventBytes: 800, maxBatchBytes: 810 },
    lost: (plugin, why) => lost.push(`${plugin}: ${why}`),
  })
  const body = JSON.stringify('x'.repeat(1000))
  assert.equal(
    await truncating.write([
      event('a', { request: { level: 'Request' }, requestObject: body }),
      event('b', { request: { userAgent: 'y'.repeat(900) } }),
      event('c'),
    ]),
    true,
  )
  assert.deepEqual(
    kept.map(batch => batch.map(({ request }) => request.auditID)),
    [['a'], ['c']],
  )
  assert.equal(kept[0]![0]!.requestObject, undefined)
  assert.deepEqual(kept[0]![0]!.annotations.record, { 'audit.k8s.io/truncated': 'true' })
  assert.deepEqual(lost, ['truncate: event is too large even after truncating'])
})

test('each of two events that come together is measured by itself', async () => {
  const stages: string[][] = []
  const sink: AuditSink = { write: events => stages.push(events.map(({ stage }) => stage)) > 0, async close() {} }
  const lost: string[] = []
  const truncating = new TruncatingSink(sink, {
    limits: { maxEventBytes: 500, maxBatchBytes: 600 },
    lost: (_, why, events) => lost.push(`${why}: ${events.map(({ stage }) => stage)}`),
  })
  const annotations = Annotations.of({ long: 'x'.repeat(500) })
  await truncating.write([event('a', { receivedWith: Annotations.NONE }), event('b', { receivedWith: Annotations.NONE, annotations })])
  assert.deepEqual(stages, [['RequestReceived'], ['ResponseComplete'], ['RequestReceived']])
  assert.deepEqual(lost, ['event is too large even after truncating: ResponseComplete'])
})

test('a log file is rotated, compressed and cleaned up', async t => {
  const folder = folderOf(t)
  const path = join(folder, 'logs', 'audit.log')
  let now = Date.parse('2026-01-02T03:04:05.678Z')
  const open = () =>
    new LogFile(path, {
      rotation: { maxBytes: 20, maxBackups: 2, maxAgeMs: 10_000, isCompressed: true },
      now: () => now,
      failed: why => assert.fail(why),
    })
  const file = open()
  assert.equal(statSync(path).mode & 0o777, 0o600)
  for (const line of ['first line here\n', 'second line here\n', 'third line here\n', 'fourth line here\n']) {
    file.append(Buffer.from(line))
    now += 1000
  }
  await file.close()
  assert.equal(readFileSync(path, 'utf8'), 'fourth line here\n')
  const old = () => readdirSync(join(folder, 'logs')).filter(name => name !== 'audit.log')
  assert.deepEqual(old(), ['audit-2026-01-02T03-04-07.678.log.gz', 'audit-2026-01-02T03-04-08.678.log.gz'])
  assert.equal(gunzipSync(readFileSync(join(folder, 'logs', old()[1]!))).toString(), 'third line here\n')
  now += 60_000
  await open().close()
  assert.deepEqual(old(), [])
  assert.equal(readFileSync(path, 'utf8'), 'fourth line here\n')
})

/** A log that no line can be written to, and what it says about lost events. */
function onFullDisk({ grouping }: { readonly grouping: Grouping }): { readonly sink: LogSink; readonly lost: readonly string[] } {
  const lost: string[] = []
  const append = () => {
    throw new Error('ENOSPC: no space left on device, write')
  }
  const sink = new LogSink(
    { append, async close() {} },
    {
      format: 'json',
      grouping,
      lost: (plugin, why, events) => lost.push(`${plugin}: ${why}: ${events.map(({ request }) => request.auditID)}`),
    },
  )
  return { sink, lost }
}

test('a log that cannot be written says so; blocking requests go on, strict ones do not', async () => {
  const { sink, lost } = onFullDisk({ grouping: 'none' })
  assert.equal(sink.write([event('a'), event('b')]), false)
  assert.equal(lenient(sink).write([event('c')]), true)
  assert.equal(await everySink([collecting().sink, sink]).write([event('d')]), false)
  assert.deepEqual(
    lost,
    ['a,b', 'c', 'd'].map(ids => `log: ENOSPC: no space left on device, write: ${ids}`),
  )
})

/** A log that remembers the ids of each write. */
function remembering(grouping: Grouping) {
  const writes: string[] = []
  const idsOf = (lines: Uint8Array) => Array.from(Buffer.from(lines).toString().trim().split('\n'), line => JSON.parse(line).auditID).join()
  const writer = { append: (lines: Uint8Array) => void writes.push(idsOf(lines)), async close() {} }
  return { sink: new LogSink(writer, { format: 'json', grouping, lost: () => assert.fail('nothing is lost') }), writes }
}

test('the lines of one iteration are written with one call, and whoever waits for them goes on then', async () => {
  const { sink, writes } = remembering('iteration')
  assert.equal(sink.keeping!.settled(), undefined)
  for (const id of ['a', 'b', 'c']) assert.equal(sink.write([event(id)]), true)
  assert.equal(writes.length, 0)
  await everySink([collecting().sink, lenient(sink)]).keeping!.settled()
  assert.deepEqual(writes, ['a,b,c'])
  assert.equal(sink.keeping!.settled(), undefined)
  // Too much to wait, and the end.
  sink.write([event('d', { requestObject: JSON.stringify('x'.repeat(2 << 20)) })])
  sink.write([event('e')])
  await sink.close()
  assert.deepEqual(writes, ['a,b,c', 'd', 'e'])
})

test('lines that nobody waits for are written together after a moment, when they are many, and at the end', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { sink, writes } = remembering('delay')
  for (const id of ['a', 'b']) assert.equal(sink.write([event(id)]), true)
  assert.deepEqual([sink.keeping, everySink([sink]).keeping, writes.length], [undefined, undefined, 0])
  t.mock.timers.tick(1000)
  sink.write([event('c')])
  t.mock.timers.tick(1000)
  assert.deepEqual(writes, ['a,b', 'c'])
  const many = Array.from({ length: 2000 }, (_, i) => `${i}`)
  for (const id of many) sink.write([event(id)])
  const early = writes.length - 2
  assert.ok(early > 0 && early < 100, `${early} calls`)
  await sink.close()
  assert.deepEqual(writes.slice(2).join(), many.join())
})

test('a writer that takes its time makes those wait who need their lines', async () => {
  const go: ((why?: Error) => void)[] = []
  const lost: string[] = []
  const append = () => new Promise<void>((resolve, reject) => go.push(why => (why ? reject(why) : resolve())))
  const options = { format: 'json', lost: (_plugin: string, why: string) => void lost.push(why) } as const
  const sink = new LogSink({ append, async close() {} }, { ...options, grouping: 'iteration' })
  sink.write([event('a')])
  let isSettled = false
  const settled = sink.keeping!.settled()!.then(() => (isSettled = true))
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  assert.deepEqual([go.length, isSettled], [1, false])
  const late = sink.keeping!.settled()
  assert.ok(late)
  go[0]!()
  await Promise.all([settled, late])
  assert.equal(sink.keeping!.settled(), undefined)
  const strict = new LogSink({ append, async close() {} }, { ...options, grouping: 'none' })
  const kept = strict.write([event('b')])
  go[1]!(new Error('EPIPE: broken pipe, write'))
  assert.equal(await kept, false)
  assert.deepEqual(lost, ['EPIPE: broken pipe, write'])
})

test('whoever waits for lines that cannot be written goes on, and they are counted', async () => {
  const { sink, lost } = onFullDisk({ grouping: 'iteration' })
  for (const id of ['a', 'b']) sink.write([event(id)])
  await sink.keeping!.settled()
  assert.deepEqual(lost, ['log: ENOSPC: no space left on device, write: a,b'])
})

const NEVER_ROTATED = { maxBytes: 0, maxBackups: 0, maxAgeMs: 0, isCompressed: false }

test('a line that was cut off when the disk was full does not swallow the next', async t => {
  const path = join(folderOf(t), 'audit.log')
  const open = () => new LogFile(path, { rotation: NEVER_ROTATED, now: Date.now, failed: why => assert.fail(why) })
  appendFileSync(path, '{"half')
  const file = open()
  file.append(Buffer.from('one\n'))
  file.append(Buffer.from('two\n'))
  await file.close()
  assert.equal(readFileSync(path, 'utf8'), '{"half\none\ntwo\n')
  const again = open()
  again.append(Buffer.from('three\n'))
  await again.close()
  assert.equal(readFileSync(path, 'utf8'), '{"half\none\ntwo\nthree\n')
})

test('a log that is not a plain file is never rotated', async t => {
  const path = join(folderOf(t), 'audit.log')
  symlinkSync('/dev/null', path)
  const rotation = { ...NEVER_ROTATED, maxBytes: 4 }
  const file = new LogFile(path, { rotation, now: Date.now, failed: why => assert.fail(why) })
  for (let i = 0; i < 3; i++) file.append(Buffer.from('a line\n'))
  await file.close()
  assert.deepEqual(readdirSync(dirname(path)), ['audit.log'])
})

test('several writers append whole lines to one log, which one of them rotates for all', async t => {
  const folder = folderOf(t)
  const path = join(folder, 'audit.log')
  let now = Date.parse('2026-01-02T03:04:05.678Z')
  const open = (others: OtherWriters) =>
    new LogFile(path, {
      rotation: { ...NEVER_ROTATED, maxBytes: 1000, isCompressed: true },
      now: () => now++,
      failed: why => assert.fail(why),
      others,
    })
  const rotator: LogFile = open({ isRotator: true, askToRotate: () => assert.fail('it rotates itself') })
  let asked = 0
  const other = open({
    isRotator: false,
    async askToRotate() {
      asked++
      await new Promise(setImmediate)
      rotator.rotateFull()
    },
  })
  const lines: string[] = []
  for (let i = 0; i < 300; i++) {
    const line = `${i}: ${'x'.repeat(i % 40)}`
    lines.push(line)
    // The other one writes most of them, so that it has to ask.
    ;(i % 10 === 0 ? rotator : other).append(Buffer.from(`${line}\n`))
    if (i % 3 === 0) await new Promise(setImmediate)
  }
  await other.close()
  await rotator.close()
  assert.ok(asked > 0)
  const names = readdirSync(folder).sort()
  assert.ok(names.length > 5)
  assert.deepEqual(new Set(names.map(name => name.slice(name.lastIndexOf('.')))), new Set(['.gz', '.log']))
  const texts = names.map(name => (name.endsWith('.gz') ? gunzipSync(readFileSync(join(folder, name))) : readFileSync(join(folder, name))))
  const found = texts.join('').trim().split('\n')
  assert.deepEqual(found.toSorted(), lines.toSorted())
  // Nobody rotates a file twice: all but the last are full.
  for (const text of texts.slice(0, -1)) assert.ok(text.byteLength > 900, String(text.byteLength))
})

test('a log that another process has renamed or removed is opened anew', async t => {
  const path = join(folderOf(t), 'audit.log')
  const others = { isRotator: false, askToRotate: () => assert.fail('there is room') }
  const file = new LogFile(path, { rotation: NEVER_ROTATED, now: Date.now, failed: why => assert.fail(why), others })
  file.append(Buffer.from('one\n'))
  renameSync(path, `${path}.old`)
  file.append(Buffer.from('two\n'))
  assert.deepEqual([readFileSync(`${path}.old`, 'utf8'), readFileSync(path, 'utf8')], ['one\n', 'two\n'])
  rmSync(path)
  file.append(Buffer.from('three\n'))
  assert.equal(readFileSync(path, 'utf8'), 'three\n')
  await file.close()
})
