import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Recorder } from '../../test/kits/cache/widgets.ts'
import { type Bench, NOW, openBench } from '../../test/kits/registry.ts'
import type { Plugin } from '../admission/plugin.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import { defineKind } from '../schema/kind.ts'
import { invalid } from '../schema/refs.ts'
import { int32, mapOf, message, raw, string } from '../schema/types.ts'

const Widget = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Widget',
  scope: 'Namespaced',
  names: { plural: 'widgets' },
  generation: true,
  spec: message('WidgetSpec', {
    color: [1, string.default('grey'), 'Its color.'],
    size: [2, int32.min(0), 'How large it is.'],
    parts: [3, mapOf(string), 'What it is made of.'],
  }),
  status: message('WidgetStatus', { seen: [1, int32, 'How often it was seen.'] }),
  *validateUpdate({ spec }, old, at) {
    if (old.spec.color === 'black' && spec.color !== 'black') yield invalid(at.spec.color, 'black stays black')
  },
  *warn({ spec }) {
    if (spec.color === 'puce') yield 'nobody likes puce'
  },
  subresources: { status: {} },
  selectable: { 'spec.color': o => o.spec.color },
})
const Ghost = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Ghost',
  scope: 'Namespaced',
  names: { plural: 'ghosts' },
  fields: { data: [2, mapOf(string), 'What it knows.'] },
  allowCreateOnUpdate: true,
  deletion: { grace: (_, asked) => asked ?? 30, returns: 'object' },
})

/** Its status has rules of its own beside those of its type. */
const Gauge = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Gauge',
  scope: 'Namespaced',
  names: { plural: 'gauges' },
  spec: message('GaugeSpec', { limit: [1, int32.min(5), 'What it can show.'] }),
  status: message('GaugeStatus', { shown: [1, int32.min(0), 'What it shows.'], least: [2, int32, 'What it has shown.'] }),
  subresources: {
    status: {
      *validate({ status }, at) {
        if ((status.least ?? 0) > (status.shown ?? 0)) yield invalid(at.status.least, 'is more than is shown')
      },
    },
  },
})

async function bench(t: TestContext, more: Parameters<typeof openBench>[1] = {}): Promise<Bench> {
  const opened = await openBench([Widget, Ghost, Gauge], more)
  t.after(() => opened.close())
  return opened
}
const named = (name: string, rest: object = {}) => ({ metadata: { name }, ...rest })

test('a status is held to its type as well as to rules of its own, and to nothing of the spec', async t => {
  const { send } = await bench(t)
  await send('POST gauges', named('a', { spec: { limit: 7 } }))
  const { body } = await send('PUT gauges/a/status', named('a', { spec: { limit: 1 }, status: { shown: -1 } }))
  assert.deepEqual(
    body.details.causes.map(({ field, message }: any) => `${field}: ${message}`),
    [
      'status.shown: Invalid value: -1: must be greater than or equal to 0',
      // An absent number is zero, and is reported as that.
      'status.least: Invalid value: 0: is more than is shown',
    ],
  )
  assert.equal((await send('PUT gauges/a/status', named('a', { status: { shown: 1 } }))).code, 200)
})

test('a create fills what the server owns and the defaults, and clears what it does not take', async t => {
  const { send } = await bench(t)
  const { code, body } = await send('POST widgets', {
    metadata: {
      name: 'a',
      uid: 'mine',
      creationTimestamp: '2001-01-01T00:00:00Z',
      generation: 9,
      deletionTimestamp: '2001-01-01T00:00:00Z',
    },
    spec: { size: 3 },
    status: { seen: 7 },
  })
  assert.equal(code, 201)
  const { uid, resourceVersion, managedFields, ...metadata } = body.metadata
  assert.match(uid, /^0{8}-/)
  assert.equal(resourceVersion, '2')
  assert.equal(managedFields.length, 1)
  assert.deepEqual(metadata, { name: 'a', namespace: 'default', generation: 1, creationTimestamp: '2026-07-01T12:00:00Z' })
  assert.deepEqual([body.kind, body.apiVersion, body.spec, body.status], ['Widget', 'test.example/v1', { color: 'grey', size: 3 }, {}])
})

test('an update with a resourceVersion that loses a race to a deletion gets 404', async t => {
  const { send } = await bench(t)
  const race = async (...requests: [request: string, body: (resourceVersion: string) => object][]) => {
    const { resourceVersion } = (await send('POST widgets', named('a'))).body.metadata
    const answers = await Promise.all(requests.map(([request, body]) => send(request, body(resourceVersion))))
    return answers.map(({ code }) => code)
  }
  const remove = (resourceVersion: string) => ({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { resourceVersion } })
  const replace = (resourceVersion: string) => ({ metadata: { name: 'a', resourceVersion }, spec: { size: 4 } })
  const patch = (resourceVersion: string) => ({ metadata: { resourceVersion }, spec: { size: 5 } })
  assert.deepEqual(await race(['DELETE widgets/a', remove], ['DELETE widgets/a', remove]), [200, 404])
  assert.deepEqual(await race(['DELETE widgets/a', remove], ['PUT widgets/a', replace]), [200, 404])
  assert.deepEqual(await race(['DELETE widgets/a', remove], ['PATCH widgets/a', patch]), [200, 404])
  assert.deepEqual(await race(['PUT widgets/a', replace], ['DELETE widgets/a', remove]), [200, 409])
})

test('of concurrent creates of one name, one succeeds', async t => {
  const { send } = await bench(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('POST widgets', named('a'))))
  assert.deepEqual(answers.map(a => a.code).sort(), [201, ...Array(19).fill(409)])
  assert.equal(answers.find(a => a.code === 409)!.body.reason, 'AlreadyExists')
})

test('a generated name that is taken is made again', async t => {
  const suffixes = ['aaaaa', 'aaaaa', 'aaaaa', 'bbbbb']
  const { send } = await bench(t, { suffix: () => suffixes.shift()! })
  const first = await send('POST widgets', { metadata: { generateName: 'w-' } })
  const second = await send('POST widgets', { metadata: { generateName: 'w-' } })
  assert.deepEqual([first.body.metadata.name, second.body.metadata.name], ['w-aaaaa', 'w-bbbbb'])
})

test('all errors are reported at once, and nothing is stored', async t => {
  const { send, caches } = await bench(t)
  const before = caches.revision
  const { code, body } = await send('POST widgets', { metadata: { name: 'Bad_Name' }, spec: { size: -1 } })
  assert.equal(code, 422)
  assert.deepEqual(
    body.details.causes.map((c: { field: string }) => c.field),
    ['metadata.name', 'spec.size'],
  )
  assert.equal(caches.revision, before)
})

test('a dry run answers like the real thing and changes nothing', async t => {
  const { send, caches } = await bench(t)
  const dry = await send('POST widgets?dryRun=All', named('a'))
  assert.deepEqual([dry.code, dry.body.metadata.resourceVersion], [201, undefined])
  await send('POST widgets', named('a'))
  const before = caches.revision
  assert.equal((await send('POST widgets?dryRun=All', named('a'))).code, 409)
  const patched = await send('PATCH widgets/a?dryRun=All', { spec: { size: 2 } })
  assert.deepEqual([patched.body.spec.size, patched.body.metadata.resourceVersion, patched.body.metadata.generation], [2, '2', 2])
  assert.equal((await send('DELETE widgets/a?dryRun=All')).code, 200)
  assert.equal(caches.revision, before)
})

test('a replace of a version that is no longer the latest conflicts; one without a version takes the latest', async t => {
  const { send } = await bench(t)
  const { body } = await send('POST widgets', named('a'))
  const next = await send('PUT widgets/a', { ...body, spec: { size: 1 } })
  assert.deepEqual([next.code, next.body.metadata.generation], [200, 2])
  const late = await send('PUT widgets/a', { ...body, spec: { size: 2 } })
  assert.deepEqual([late.code, late.body.reason], [409, 'Conflict'])
  assert.equal((await send('PUT widgets/a', named('a', { spec: { size: 3 } }))).code, 200)
})

test('a write that changes nothing is not stored and makes no event', async t => {
  const { send, caches } = await bench(t)
  const { body } = await send('POST widgets', named('a', { spec: { parts: { x: '1' } } }))
  const later = new Date(NOW.getTime() + 60_000)
  for (const answer of [
    await send('PUT widgets/a', body, { now: later }),
    await send('PATCH widgets/a', {}, { now: later }),
    await send('PATCH widgets/a', [{ op: 'replace', path: '/spec/parts/x', value: '1' }], {
      now: later,
      type: 'application/json-patch+json',
    }),
  ])
    assert.deepEqual(answer.body, body)
  assert.equal(String(caches.revision), body.metadata.resourceVersion)
})

test('patches that race all take effect', async t => {
  const { send } = await bench(t)
  await send('POST widgets', named('a'))
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => send('PATCH widgets/a', { spec: { parts: { [`k${i}`]: 'v' } } })))
  assert.ok(answers.every(a => a.code === 200))
  assert.equal(Object.keys((await send('GET widgets/a')).body.spec.parts).length, 30)
})

test('the status is written through its own path, and the rest is not', async t => {
  const { send } = await bench(t)
  await send('POST widgets', named('a'))
  const status = await send('PUT widgets/a/status', named('a', { spec: { size: 9 }, status: { seen: 4 } }))
  assert.deepEqual([status.body.status, status.body.spec, status.body.metadata.generation], [{ seen: 4 }, { color: 'grey' }, 1])
  const spec = await send('PATCH widgets/a', { spec: { size: 2 }, status: { seen: 5 } })
  assert.deepEqual([spec.body.status, spec.body.spec.size], [{ seen: 4 }, 2])
})

test('rules on changes and warnings of a kind are heard', async t => {
  const { send } = await bench(t)
  const { warnings } = await send('POST widgets', named('a', { spec: { color: 'puce' } }))
  assert.deepEqual(warnings, ['nobody likes puce'])
  await send('PATCH widgets/a', { spec: { color: 'black' } })
  const refused = await send('PATCH widgets/a', { spec: { color: 'red' } })
  assert.deepEqual(refused.body.details.causes, [
    { reason: 'FieldValueInvalid', message: 'Invalid value: "red": black stays black', field: 'spec.color' },
  ])
})

test('a strict strategic merge patch or apply is rejected with its own error text', async t => {
  const { send } = await bench(t)
  await send('POST widgets', named('a'))
  const merged = await send('PATCH widgets/a?fieldValidation=Strict', '{"spec":{"hue":[1,"x"]}}', {
    type: 'application/strategic-merge-patch+json',
  })
  assert.equal(merged.code, 422)
  assert.equal(
    merged.body.message,
    ' "" is invalid: patch: Invalid value: "map[spec:map[hue:[1 x]]]": strict decoding error: unknown field "spec.hue"',
  )
  const apply = (query: string, text: string) =>
    send(`PATCH widgets/a?fieldManager=m&force=true&fieldValidation=${query}`, text, { type: 'application/apply-patch+yaml' })
  const twice = `apiVersion: ${(await send('GET widgets/a')).body.apiVersion}\nkind: Widget\nmetadata:\n  name: a\n  name: a\n`
  assert.deepEqual((await apply('Warn', twice)).warnings, ['line 5: key "name" already set in map'])
  const refused = await apply('Strict', twice)
  assert.equal(refused.code, 400)
  assert.equal(
    refused.body.message,
    'error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 5: key "name" already set in map',
  )
  assert.equal(
    (await apply('Warn', '- 1')).body.message,
    'error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}',
  )
})

test('a patch cannot make an object of another kind, except one that is merged as values', async t => {
  const { send } = await bench(t)
  await send('POST widgets', named('a'))
  for (const changes of [{ kind: 'Other' }, { apiVersion: 'nope/v1' }, { kind: 5 }, { apiVersion: 'a/b/c' }]) {
    const { code, body } = await send('PATCH widgets/a', changes)
    assert.deepEqual([code, body.details.causes[0].field], [422, 'patch'], JSON.stringify(changes))
  }
  assert.equal((await send('PATCH widgets/a', { kind: null, apiVersion: '' })).code, 200)
  const type = 'application/strategic-merge-patch+json'
  assert.equal((await send('PATCH widgets/a', { kind: 'Other' }, { type })).body.kind, 'Widget')
  assert.equal((await send('PATCH widgets/a', 'null', { type })).code, 200)
  assert.deepEqual((await send('PATCH widgets/a', 'null')).body.message, 'Invalid JSON Patch')
})

test('unknown and duplicate fields are ignored, warned of or refused, as asked', async t => {
  const { send } = await bench(t)
  const text = '{"metadata":{"name":"a"},"spec":{"hue":1,"size":1,"size":2}}'
  const warned = await send('POST widgets', text)
  assert.deepEqual(warned.warnings, ['unknown field "spec.hue"', 'duplicate field "spec.size"'])
  assert.equal(warned.body.spec.size, 2)
  assert.deepEqual((await send('PUT widgets/a?fieldValidation=Ignore', text)).warnings, [])
  const refused = await send('PUT widgets/a?fieldValidation=Strict', text)
  assert.equal(refused.code, 400)
  assert.match(refused.body.message, /strict decoding error: unknown field "spec\.hue", duplicate field "spec\.size"$/)
})

test('keys of the prototype are plain data on every path', async t => {
  const { send } = await bench(t)
  const text = '{"metadata":{"name":"a"},"data":{"__proto__":"1","constructor":"2","toString":"3"}}'
  await send('POST ghosts', text)
  await send('PATCH ghosts/a', '{"data":{"__proto__":"4","hasOwnProperty":"5"}}')
  await send('PATCH ghosts/a', '[{"op":"add","path":"/data/valueOf","value":"6"}]', { type: 'application/json-patch+json' })
  const { body } = await send('GET ghosts/a')
  assert.deepEqual(Object.entries(body.data), [
    ['__proto__', '4'],
    ['constructor', '2'],
    ['toString', '3'],
    ['hasOwnProperty', '5'],
    ['valueOf', '6'],
  ])
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

test('a replace of an absent name is rejected, or creates where the kind allows it', async t => {
  const { send } = await bench(t)
  assert.equal((await send('PUT widgets/a', named('a'))).code, 404)
  assert.equal((await send('PUT ghosts/a', named('a'))).code, 201)
})

test('a replace that creates ignores a resourceVersion, and is a conflict when it names a uid', async t => {
  const { send } = await bench(t)
  assert.equal((await send('PUT ghosts/b', { metadata: { name: 'b', resourceVersion: '1' } })).code, 201)
  const { code, body } = await send('PUT ghosts/c', { metadata: { name: 'c', uid: 'u-1' } })
  assert.equal(code, 409)
  assert.match(body.message, /Precondition failed: UID in precondition: u-1, UID in object meta: $/)
})

test('a create that names a resourceVersion is refused last, and only when it could be one', async t => {
  const { send } = await bench(t)
  const versioned = (resourceVersion: string, more: object = {}) => ({ metadata: { name: 'a', resourceVersion, ...more } })
  const labels = { a: 'not valid!' }
  assert.equal((await send('POST widgets', versioned('7', { labels }))).code, 422)
  const { code, body } = await send('POST widgets', versioned('7'))
  assert.deepEqual([code, body.reason, body.message], [500, '', 'resourceVersion should not be set on objects to be created'])
  assert.equal((await send('POST widgets?dryRun=All', versioned('7'))).code, 201)
  for (const text of ['0', 'x', '-1', '1.5', '99999999999999999999999']) {
    assert.equal((await send('POST widgets', versioned(text))).code, 201, text)
    await send('DELETE widgets/a')
  }
})

test('a create under the name of an object that is being deleted says so', async t => {
  const { send } = await bench(t)
  await send('POST widgets', { metadata: { name: 'a', finalizers: ['example.com/hold'] } })
  assert.match((await send('POST widgets', named('a'))).body.message, /^widgets.*"a" already exists$/)
  await send('DELETE widgets/a')
  assert.match((await send('POST widgets', named('a'))).body.message, /^object is being deleted: widgets.*"a" already exists$/)
})

test('finalizers hold a deletion until the last is removed', async t => {
  const { send } = await bench(t)
  await send('POST widgets', { metadata: { name: 'a', finalizers: ['example.com/hold'] } })
  const marked = await send('DELETE widgets/a')
  assert.deepEqual([marked.code, marked.body.metadata.deletionTimestamp, marked.body.metadata.generation], [200, '2026-07-01T12:00:00Z', 2])
  assert.deepEqual((await send('DELETE widgets/a')).body, marked.body)
  assert.equal((await send('PATCH widgets/a', { metadata: { finalizers: null } })).code, 200)
  assert.equal((await send('GET widgets/a')).code, 404)
})

test('a kind with grace is marked first, its grace period can only be shortened, and it is removed at zero', async t => {
  const { send } = await bench(t)
  await send('POST ghosts', named('a'))
  const marked = await send('DELETE ghosts/a')
  assert.deepEqual([marked.body.metadata.deletionGracePeriodSeconds, marked.body.metadata.deletionTimestamp], [30, '2026-07-01T12:00:30Z'])
  assert.equal((await send('DELETE ghosts/a?gracePeriodSeconds=60')).body.metadata.deletionGracePeriodSeconds, 30)
  const hurried = await send('DELETE ghosts/a?gracePeriodSeconds=10')
  assert.deepEqual(
    [hurried.body.metadata.deletionGracePeriodSeconds, hurried.body.metadata.deletionTimestamp],
    [10, '2026-07-01T12:00:10Z'],
  )
  assert.equal((await send('DELETE ghosts/a?gracePeriodSeconds=0')).body.kind, 'Ghost')
  assert.equal((await send('GET ghosts/a')).code, 404)
})

test('preconditions of a delete are respected', async t => {
  const { send } = await bench(t)
  const { body } = await send('POST widgets', named('a'))
  assert.equal((await send('DELETE widgets/a', { preconditions: { uid: 'another' } })).code, 409)
  assert.equal((await send('DELETE widgets/a', { preconditions: { resourceVersion: '1' } })).code, 409)
  const { uid, resourceVersion } = body.metadata
  assert.equal((await send('DELETE widgets/a', { preconditions: { uid, resourceVersion } })).code, 200)
})

test('pages are one snapshot, count what follows, and their tokens open no other list', async t => {
  const { send } = await bench(t)
  for (const name of ['a', 'b', 'c', 'd', 'e']) await send('POST widgets', named(name))
  const first = await send('GET widgets?limit=2')
  assert.equal(first.body.metadata.remainingItemCount, 3)
  await send('DELETE widgets/d')
  await send('POST widgets', named('bb'))
  const token = encodeURIComponent(first.body.metadata.continue)
  const second = await send(`GET widgets?limit=2&continue=${token}`)
  const third = await send(`GET widgets?limit=2&continue=${encodeURIComponent(second.body.metadata.continue)}`)
  const names = [first, second, third].flatMap(page => page.body.items.map((o: { metadata: { name: string } }) => o.metadata.name))
  assert.deepEqual(names, ['a', 'b', 'c', 'd', 'e'])
  assert.equal(third.body.metadata.continue, undefined)
  assert.equal(third.body.metadata.resourceVersion, first.body.metadata.resourceVersion)
  assert.equal((await send(`GET ghosts?limit=2&continue=${token}`)).code, 400)
  assert.equal((await send(`GET widgets?limit=2&continue=${token}`, undefined, { namespace: 'other' })).code, 400)
})

test('a token of a forgotten snapshot is answered 410 with one that goes on from the latest state', async t => {
  const { send, store } = await bench(t, { history: { bytes: Number.POSITIVE_INFINITY, entries: 2, ageMs: Number.POSITIVE_INFINITY } })
  for (const name of ['a', 'b', 'c']) await send('POST widgets', named(name))
  const first = await send('GET widgets?limit=1')
  for (let i = 0; i < 4; i++) await send('PATCH widgets/c', { spec: { size: i + 1 } })
  const token = encodeURIComponent(first.body.metadata.continue)
  // Revisions that the cache has forgotten are read from the store.
  assert.equal((await send(`GET widgets?limit=1&continue=${token}`)).body.items[0].metadata.name, 'b')
  await store.compact((await store.extent()).newest)
  const late = await send(`GET widgets?limit=1&continue=${token}`)
  assert.deepEqual([late.code, late.body.reason], [410, 'Expired'])
  const rest = await send(`GET widgets?continue=${encodeURIComponent(late.body.continue)}`)
  assert.deepEqual(
    rest.body.items.map((o: { metadata: { name: string } }) => o.metadata.name),
    ['b', 'c'],
  )
})

test('a token expires with its time, though nothing has changed', async t => {
  const { send } = await bench(t, { tokenMs: -1 })
  for (const name of ['a', 'b']) await send('POST widgets', named(name))
  const first = await send('GET widgets?limit=1')
  const late = await send(`GET widgets?limit=1&continue=${encodeURIComponent(first.body.metadata.continue)}`)
  assert.deepEqual([late.code, late.body.reason], [410, 'Expired'])
  const rest = await send(`GET widgets?limit=1&continue=${encodeURIComponent(late.body.continue)}`)
  assert.equal(rest.body.items[0].metadata.name, 'b')
})

test('a watch sees every change made through every verb', async t => {
  const { send } = await bench(t)
  const { body: stream } = await send('GET widgets?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan')
  const sink = new Recorder()
  stream.open(sink)
  await send('POST widgets', named('a'))
  await send('PATCH widgets/a', { spec: { color: 'red' } })
  await send('PUT widgets/a/status', named('a', { status: { seen: 1 } }))
  await send('POST widgets', named('b'))
  await send('DELETE widgets')
  assert.deepEqual(
    sink.events.map(e => `${e.type} ${e.path}`),
    ['ADDED default/a', 'MODIFIED default/a', 'MODIFIED default/a', 'ADDED default/b', 'DELETED default/a', 'DELETED default/b'],
  )
  stream.close()
})

test('big integers survive a create, a patch and a read', async () => {
  const Exact = defineKind({
    group: 'test.example',
    version: 'v1',
    kind: 'Exact',
    scope: 'Cluster',
    names: { plural: 'exacts' },
    fields: { data: [2, raw, 'Anything.'] },
  })
  const { send, close } = await openBench([Exact])
  await send('POST exacts', '{"metadata":{"name":"a"},"data":{"n":9223372036854775807}}')
  await send('PATCH exacts/a', { metadata: { labels: { x: 'y' } } })
  assert.equal((await send('GET exacts/a')).body.data.n, 9223372036854775807n)
  await close()
})

test('an object that cannot be read can only be thrown away, and not by a dry run', async t => {
  const { send, store } = await bench(t)
  await send('POST widgets', named('a', { metadata: { name: 'a', finalizers: ['test.example/held'] } }))
  const [entry] = (await store.list('/')).entries
  await store.swap(entry!.key, { expect: entry!.modified, value: Buffer.from('scrambled') })
  const unreadable = 'ignoreStoreReadErrorWithClusterBreakingPotential=true'
  assert.equal((await send('GET widgets/a')).code, 500)
  assert.equal((await send('DELETE widgets/a')).code, 500)
  assert.equal((await send(`DELETE widgets/a?${unreadable}&dryRun=All`)).body.status, 'Success')
  assert.equal((await send('GET widgets/a')).code, 500)
  assert.equal((await send(`DELETE widgets/a?${unreadable}`)).body.status, 'Success')
  assert.equal((await send('GET widgets/a')).code, 404)
})

test('objects of the cluster have no namespace, whatever they say', async t => {
  const bench = await openBench([Namespace])
  t.after(() => bench.close())
  const { code, body } = await bench.send('POST namespaces', { metadata: { name: 'x', namespace: 'y' } })
  assert.deepEqual([code, body.metadata.namespace], [201, undefined])
})

test('an object in which a field manager has two entries is not stored', async () => {
  const doubling: Plugin = {
    name: 'Doubling',
    mutate({ object }) {
      const { managedFields } = object!.metadata
      object!.metadata.managedFields = [...managedFields!, ...managedFields!]
    },
  }
  const bench = await openBench([Widget], { plugins: [doubling] })
  const { code, body } = await bench.send('POST widgets', { metadata: { name: 'a' }, spec: { color: 'red' } })
  assert.equal(code, 500)
  assert.match(body.message, /assertion owned_once failed: the field manager ".*" has two entries in widgets.test.example "a"/)
  assert.equal((await bench.send('GET widgets/a')).code, 404)
  await bench.close()
})
