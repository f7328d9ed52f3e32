// The library for controllers (keelson/controller) against a real server, over its fetch and over a KubeConfig of client-node; with the
// kubeconfig of another API server, such as kube-apiserver, most of it also against that.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { fetchWith } from '../src/controller-library/connection.ts'
import {
  ApiError,
  type ApiObject,
  connect,
  eventRecorder,
  type FetchLike,
  type Index,
  informer,
  leaderElection,
  namedBy,
  OWNER_INDEX,
  queueKey,
  type Signal,
  workQueue,
} from '../src/controller-library/index.ts'
import { eventually, patient, type Scope, serverOfFile } from './kit.ts'
import { testWith } from './programs.ts'

type ConfigMap = ApiObject & { readonly data?: Readonly<Record<string, string>> }
const CONFIG_MAPS = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const NAMESPACES = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false }

const LEASES = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' }
const EVENTS = { apiVersion: 'v1', kind: 'Event', plural: 'events' }

const server = serverOfFile({ nodes: 0, controllers: ['none'] })
let count = 0

/** A server that can be written to. */
type Reached = { readonly fetch: FetchLike; readonly config: KubeConfig }
const ours: Reached = {
  get fetch() {
    return server.fetch as FetchLike
  },
  get config() {
    const config = new KubeConfig()
    config.loadFromOptions(server.kubeConfig)
    return config
  },
}

const portable: [title: string, body: (t: Scope, reached: Reached) => Promise<void>][] = []
/** A test that runs against another API server as well. */
function portableTest(title: string, body: (t: Scope, reached: Reached) => Promise<void>): void {
  portable.push([title, body])
  test(title, patient, t => body(t, ours))
}

/** Waits until a check no longer throws. */
async function holds(check: () => void): Promise<void> {
  let last: unknown
  const succeeds = () => {
    try {
      check()
      return true
    } catch (error) {
      last = error
      return undefined
    }
  }
  await eventually('the check', succeeds).catch(() => {
    throw last
  })
}

/** Config maps of a namespace of its own; errors are kept. */
async function open(t: Scope, fetch: FetchLike = server.fetch as FetchLike) {
  const namespace = `controllers-${++count}-${process.pid}`
  await connect(fetch)
    .of(NAMESPACES)
    .create({ metadata: { name: namespace } })
  const end = new AbortController()
  t.after(() => end.abort())
  const errors: unknown[] = []
  const api = connect(fetch, { userAgent: 'tested' })
  const maps = api.of<ConfigMap>(CONFIG_MAPS)
  const named = (name: string, more: object = {}) => ({ metadata: { namespace, name, ...more } })
  const settings = { namespace, signal: end.signal as Signal, onError: (error: unknown) => errors.push(error) }
  return { namespace, end, errors, api, maps, named, settings }
}

portableTest('objects are read and written, and expected failures are values', async (t, reached) => {
  const { maps, named, api, namespace } = await open(t, reached.fetch)
  const made = await maps.create({ ...named('a'), data: { k: '1' } })
  assert.deepEqual([made?.data, made?.kind], [{ k: '1' }, 'ConfigMap'])
  assert.equal(await maps.create(named('a')), undefined)
  assert.equal((await maps.update({ ...made!, data: { k: '2' } }))?.data?.['k'], '2')
  await assert.rejects(maps.update({ ...made!, data: {} }), (error: ApiError) => error instanceof ApiError && error.reason === 'Conflict')
  assert.equal((await maps.patch(named('a').metadata, { data: { l: '3' } }))?.data?.['l'], '3')
  const applied = await maps.apply({ ...named('b'), data: { k: '4' } }, { fieldManager: 'other' })
  assert.equal((applied as any).metadata.managedFields[0].manager, 'other')
  assert.deepEqual(
    (await maps.list({ namespace })).map(({ kind, metadata }) => [kind, metadata.name]),
    [
      ['ConfigMap', 'a'],
      ['ConfigMap', 'b'],
    ],
  )
  for (const gone of [maps.get(named('none').metadata), maps.patch(named('none').metadata, {}), maps.update(named('none'))])
    assert.equal(await gone, undefined)
  // Another object has the name: it must not be deleted.
  assert.equal(await maps.delete({ metadata: { ...made!.metadata, uid: 'another' } }), false)
  assert.deepEqual([await maps.delete(made!), await maps.delete(made!)], [true, false])
  assert.equal((await api.of(NAMESPACES).get({ name: namespace }))?.metadata.name, namespace)
  await assert.rejects(async () => maps.get({ name: 'a' }), /configmaps a: objects of configmaps are in namespaces, and none is named/)
})

portableTest('a KubeConfig of client-node is enough, and its connections are kept', async (t, reached) => {
  const { namespace, named, settings } = await open(t, reached.fetch)
  const { config } = reached
  const maps = connect(config).of<ConfigMap>(CONFIG_MAPS)
  const cached = informer(maps, settings)
  await cached.synced
  for (const name of ['a', 'b', 'c']) await maps.create(named(name))
  await holds(() => assert.equal(cached.list().length, 3))
  await config.makeApiClient(CoreV1Api).deleteNamespacedConfigMap({ namespace, name: 'b' })
  await holds(() =>
    assert.deepEqual(
      cached.list({ namespace }).map(map => map.metadata.name),
      ['a', 'c'],
    ),
  )
  assert.equal(cached.get({ namespace, name: 'b' }), undefined)
})

portableTest('a long list is read page by page, and at once if its pages expire', async (t, reached) => {
  let expire = false
  const paths: string[] = []
  const { maps, named, namespace } = await open(t, async (path, init) => {
    paths.push(path)
    if (expire && path.includes('continue=')) {
      expire = false
      return new Response(JSON.stringify({ kind: 'Status', message: 'expired', reason: 'Expired', code: 410 }), { status: 410 })
    }
    return reached.fetch(path.replace('limit=500', 'limit=2'), init as object)
  })
  for (let i = 0; i < 5; i++) await maps.create(named(`m${i}`))
  paths.length = 0
  const names = async () => (await maps.list({ namespace })).map(({ metadata }) => metadata.name)
  assert.deepEqual(await names(), ['m0', 'm1', 'm2', 'm3', 'm4'])
  assert.equal(paths.length, 3)
  paths.length = 0
  expire = true
  assert.deepEqual(await names(), ['m0', 'm1', 'm2', 'm3', 'm4'])
  assert.deepEqual(
    paths.map(path => path.includes('limit=')),
    [true, true, false],
  )
})

portableTest('an informer delivers present objects and changes, and keeps indexes', async (t, reached) => {
  const { maps, named, settings, errors } = await open(t, reached.fetch)
  const owner = (await maps.create(named('owner')))!
  const cached = informer(maps, settings)
  const seen: string[] = []
  cached.onChange(({ type, object, previous }) => seen.push(`${type} ${object.metadata.name} ${previous?.data?.['k'] ?? '-'}`))
  cached.onChange(() => {
    throw new Error('of a handler')
  })
  await cached.synced
  await holds(() => assert.deepEqual(seen, ['added owner -']))
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid! }]
  await maps.create({ ...named('child', { ownerReferences }), data: { k: '1' } })
  await maps.patch(named('child').metadata, { data: { k: '2' } })
  await holds(() => assert.equal(cached.get(named('child').metadata)?.data?.['k'], '2'))
  assert.deepEqual(
    cached.byIndex(OWNER_INDEX, owner.metadata.uid!).map(({ metadata }) => metadata.name),
    ['child'],
  )
  const byValue: Index<ConfigMap> = { name: 'value', valuesOf: ({ data }) => Object.values(data ?? {}) }
  assert.deepEqual([cached.byIndex(byValue, '1').length, cached.byIndex(byValue, '2').length], [0, 1])
  await maps.delete(named('child'))
  await holds(() => assert.deepEqual(seen.slice(1), ['added child -', 'updated child 1', 'deleted child 2']))
  assert.deepEqual([cached.byIndex(byValue, '2').length, new Set(errors.map(String))], [0, new Set(['Error: of a handler'])])
  const late: string[] = []
  cached.onChange(({ type, object }) => late.push(`${type} ${object.metadata.name}`))
  await holds(() => assert.deepEqual(late, ['added owner']))
})

test('an informer goes on after failed lists, lost connections and watches that are gone', patient, async t => {
  const { maps, named, settings, errors, namespace } = await open(t)
  const { faults } = server
  t.after(() => faults.clear())
  faults.add({ verb: 'list', namespace, status: 503, times: 1 })
  faults.add({ verb: 'watch', namespace, disconnect: true, times: 1 })
  const cached = informer(maps, settings)
  const seen: string[] = []
  cached.onChange(({ type, object }) => seen.push(`${type} ${object.metadata.name} ${object.data?.['k']}`))
  await maps.create({ ...named('a'), data: { k: '1' } })
  await cached.synced
  await maps.create({ ...named('b'), data: { k: '1' } })
  await holds(() => assert.deepEqual(seen, ['added a 1', 'added b 1']))
  assert.deepEqual(errors.length, 2, String(errors))

  // While it is not watching, one object is deleted, and another replaced by one of the same name.
  faults.add({ verb: 'watch', namespace, events: 'gone', times: 1 })
  faults.add({ verb: 'list', namespace, status: 500, times: 1 })
  await maps.delete(named('a'))
  await maps.delete(named('b'))
  await maps.create({ ...named('b'), data: { k: '2' } })
  await holds(() => assert.deepEqual([seen.slice(2).sort(), cached.list().length], [['added b 2', 'deleted a 1', 'deleted b 1'], 1]))
})

test('an informer sees a write that it was told of, before its event and never after its deletion', patient, async t => {
  const { maps, named, settings, namespace } = await open(t)
  const { faults } = server
  t.after(() => faults.clear())
  const cached = informer(maps, settings)
  await cached.synced
  const seen: string[] = []
  cached.onChange(({ type, object }) => seen.push(`${type} ${object.data?.['k']}`))
  faults.add({ verb: 'watch', namespace, events: { delayMs: 1000 }, times: 1 })
  const made = (await maps.create({ ...named('a'), data: { k: '1' } }))!
  cached.saw(made)
  assert.deepEqual([cached.get(made.metadata)?.data, seen], [{ k: '1' }, ['added 1']])
  await maps.delete(made)
  await holds(() => assert.equal(cached.get(made.metadata), undefined))
  cached.saw(made)
  assert.deepEqual([cached.get(made.metadata), seen], [undefined, ['added 1', 'deleted 1']])
})

portableTest('objects are delivered again after a while if that is asked for', async (t, reached) => {
  const { maps, named, settings } = await open(t, reached.fetch)
  await maps.create(named('a'))
  const cached = informer(maps, { ...settings, resyncMs: 10 })
  let updates = 0
  cached.onChange(({ type }) => type === 'updated' && updates++)
  await holds(() => assert.equal(updates >= 2, true))
})

portableTest('a queue repeats conflicts at once, and reports other failures', async (t, reached) => {
  const { maps, named, settings, errors } = await open(t, reached.fetch)
  const old = (await maps.create(named('a')))!
  await maps.patch(old.metadata, { data: { k: '1' } })
  const { config } = reached
  const core = config.makeApiClient(CoreV1Api)
  const { namespace = '', name = '' } = old.metadata
  const attempts = [
    () => maps.update(old),
    () => core.replaceNamespacedConfigMap({ namespace, name, body: old as object }),
    () => core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } }),
    () => Promise.resolve(),
  ]
  let next = 0
  const queue = workQueue<string>({ ...settings, name: 'q', reconcile: async () => void (await attempts[next++]?.()) })
  queue.add(queueKey(old.metadata))
  await holds(() => assert.equal(next, 4))
  await queue.idle()
  assert.equal(errors.length, 1)
  assert.match(String(errors[0]), /AlreadyExists/)
  assert.deepEqual(namedBy(queueKey(old.metadata)), { namespace, name })
})

portableTest('of two participants one leads, and the other follows when it ends', async (t, reached) => {
  const { api, namespace, settings, errors } = await open(t, reached.fetch)
  const leading: string[] = []
  const take = (holder: string) => {
    const end = new AbortController()
    t.after(() => end.abort())
    const ended = leaderElection({
      ...settings,
      api,
      name: 'lease',
      holder,
      retryMs: 20,
      signal: end.signal,
      async lead({ signal, mayWrite }) {
        assert.ok(mayWrite())
        leading.push(holder)
        await new Promise(resolve => (signal as AbortSignal).addEventListener('abort', resolve))
      },
    })
    return { end, ended }
  }
  const first = take('first')
  await holds(() => assert.deepEqual(leading, ['first']))
  const second = take('second')
  first.end.abort()
  await first.ended
  await holds(() => assert.deepEqual(leading, ['first', 'second']))
  const lease = async (): Promise<any> => await api.of(LEASES).get({ namespace, name: 'lease' })
  const { spec } = await lease()
  assert.deepEqual([spec.holderIdentity, spec.leaseDurationSeconds], ['second', 15])
  second.end.abort()
  await second.ended
  assert.equal((await lease()).spec.holderIdentity, '')
  await assert.rejects(leaderElection({ ...settings, api, name: 'l', renewMs: 20_000, lead: async () => {} }), RangeError)
  assert.deepEqual(errors, [])
})

portableTest('events are counted up, and those of a namespace that is gone are no failure', async (t, reached) => {
  const { api, maps, named, settings, errors, namespace } = await open(t, reached.fetch)
  const object = (await maps.create(named('a')))! as ConfigMap & { apiVersion: string; kind: string }
  const recorder = eventRecorder({ api, component: 'tested', onError: settings.onError })
  for (let i = 0; i < 3; i++) recorder.event(object, 'Normal', 'Made', 'it is there')
  await recorder.flushed()
  const events: any[] = [...(await api.of(EVENTS).list({ namespace }))]
  const [{ reason, message, count, source, involvedObject }] = events
  assert.deepEqual([events.length, reason, message, count, source], [1, 'Made', 'it is there', 3, { component: 'tested' }])
  assert.equal(involvedObject.uid, object.metadata.uid)
  recorder.event({ ...object, metadata: { ...object.metadata, namespace: 'no-such' } }, 'Warning', 'Lost', 'nobody reads it')
  await recorder.flushed()
  assert.deepEqual(errors, [])
})

testWith('another API server', 'the same against another API server', patient, async (t: TestContext, file) => {
  const config = new KubeConfig()
  config.loadFromFile(file)
  const reached = { config, fetch: fetchWith(config) }
  for (const [title, body] of portable) await t.test(title, scope => body(scope, reached))
})
