// Assertions in pairs: a store that lies, or records that were damaged, are noticed; the request fails, and the failure is counted.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startServer } from '../src/server/start.ts'
import { configOf } from '../src/start-options.ts'
import { MemoryStore } from '../src/storage/memory.ts'
import type { Batch, Change, Swap } from '../src/storage/store.ts'
import { ask, CONFIG_MAPS, configMap, type Target, targetOf, Watching } from './kit.ts'

/** A store whose answers and events can be falsified. */
class LyingStore extends MemoryStore {
  answer: (key: string, change: Change, swap: Swap) => Swap = (_key, _change, swap) => swap
  events: (batch: Batch) => Batch = batch => batch

  override async swap(key: string, change: Change): Promise<Swap> {
    return this.answer(key, change, await super.swap(key, change))
  }

  override async *watch(...request: Parameters<MemoryStore['watch']>): AsyncGenerator<Batch> {
    for await (const batch of super.watch(...request)) yield this.events(batch)
  }

  honest(): void {
    this.answer = (_key, _change, swap) => swap
    this.events = batch => batch
  }
}

const store = new LyingStore()
let server: Target
let close = async () => {}

before(async () => {
  const started = await startServer(configOf({ controllers: ['none'], nodes: 0, port: 0, store: 'memory', logLevel: 'silent' }), { store })
  server = targetOf(started.kubeconfig)
  close = () => started.close()
})
after(() => close())

async function failures(assertion: string): Promise<number> {
  const { text } = await ask(server, '/metrics')
  return Number(new RegExp(`^keelson_assertion_failures_total\\{assertion="${assertion}"\\} (\\d+)$`, 'm').exec(text)?.[1])
}

/** The answer to a request, and how many failures it counted. */
async function counted<T>(assertion: string, request: () => Promise<T>): Promise<{ answer: T; more: number }> {
  const earlier = await failures(assertion)
  const answer = await request()
  return { answer, more: (await failures(assertion)) - earlier }
}

const keyOf = (name: string) => `/core/configmaps/default/${name}`
const create = (name: string) => ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(name, { a: '0' }) })
const read = (name: string) => ask(server, `${CONFIG_MAPS}/${name}`)
const merge = (path: string, body: object) =>
  ask(server, path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })

test('a healthy server has counted nothing', async () => {
  for (const assertion of ['revision_order', 'history_complete', 'owned_once', 'allocated_once']) assert.equal(await failures(assertion), 0)
})

test('the manager of an object may write the same size as its scale, which gives it a second entry as in kube-apiserver', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments'
  const labels = { app: 'a' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const body = { metadata: { name: 'scaled' }, spec: { replicas: 1, selector: { matchLabels: labels }, template } }
  assert.equal((await ask(server, deployments, { method: 'POST', body })).status, 201)
  for (const replicas of [1, 1, 2]) assert.equal((await merge(`${deployments}/scaled/scale`, { spec: { replicas } })).status, 200)
  assert.equal((await merge(`${deployments}/scaled`, { spec: { replicas: 4 } })).status, 200)
  assert.equal(await failures('owned_once'), 0)
})

test('a write that gets no later revision than the object it replaces is answered with 500', async () => {
  await create('low')
  store.answer = (key, change, swap) => (key === keyOf('low') && swap.ok ? { ok: true, revision: change.expect } : swap)
  const { answer, more } = await counted('revision_order', () => merge(`${CONFIG_MAPS}/low`, { data: { a: '1' } }))
  store.honest()
  assert.equal(answer.status, 500)
  assert.match(answer.json.message, /assertion revision_order failed: \/core\/configmaps\/default\/low was at (\d+) and is written at \1/)
  assert.equal(more, 1)
  assert.equal((await merge(`${CONFIG_MAPS}/low`, { data: { a: '2' } })).status, 200)
})

test('events that go back end the watches with an error, and everything is read again', async t => {
  await create('back')
  const watch = await Watching.open(t, server, `${CONFIG_MAPS}?watch=true`)
  store.events = ({ revision, events }) => ({
    revision,
    events: events.map(event => (event.key === keyOf('back') ? { ...event, revision: event.revision - 3 } : event)),
  })
  const { more } = await counted('revision_order', () => merge(`${CONFIG_MAPS}/back`, { data: { a: '1' } }))
  store.honest()
  assert.equal(more, 1)
  const error = (await watch.until(({ type }) => type === 'ERROR')).at(-1)!
  assert.equal((error.object as any).code, 500)
  assert.match((error.object as any).message, /assertion revision_order failed/)
  assert.deepEqual((await read('back')).json.data, { a: '1' })
  assert.equal((await create('afterwards')).status, 201)
})

test('an event that is missing is noticed, and everything is read again', async () => {
  store.events = ({ revision, events }) => ({ revision, events: events.filter(({ key }) => key !== keyOf('missing')) })
  const { more } = await counted('history_complete', () => create('missing'))
  store.honest()
  assert.equal(more, 1)
  assert.equal((await read('missing')).status, 200)
})

test('an object in which a field manager has two entries is shown and deleted, but not changed', async () => {
  await create('twice')
  const { entry } = await store.get(keyOf('twice'))
  const object = JSON.parse(Buffer.from(entry!.value).toString())
  const { managedFields } = object.metadata
  object.metadata.managedFields = [...managedFields, ...managedFields]
  await store.swap(keyOf('twice'), { expect: entry!.modified, value: Buffer.from(JSON.stringify(object)) })
  assert.equal((await read('twice')).json.metadata.managedFields.length, 2)
  const { answer, more } = await counted('owned_once', () => merge(`${CONFIG_MAPS}/twice`, { data: { a: '1' } }))
  assert.equal(answer.status, 500)
  assert.match(answer.json.message, /assertion owned_once failed: the field manager ".*" has two entries in configmaps "twice"/)
  assert.equal(more, 1)
  assert.equal((await ask(server, `${CONFIG_MAPS}/twice`, { method: 'DELETE' })).status, 200)
})

test('a service whose address is recorded for another cannot be changed', async () => {
  const path = '/api/v1/namespaces/default/services'
  const body = { metadata: { name: 'robbed' }, spec: { ports: [{ port: 80 }] } }
  const { spec } = (await ask(server, path, { method: 'POST', body })).json
  const key = `/networking.k8s.io/ipaddresses/${spec.clusterIP}`
  const { entry } = await store.get(key)
  const record = JSON.parse(Buffer.from(entry!.value).toString())
  record.spec.parentRef.name = 'thief'
  await store.swap(key, { expect: entry!.modified, value: Buffer.from(JSON.stringify(record)) })
  const { answer, more } = await counted('allocated_once', () => merge(`${path}/robbed`, { metadata: { labels: { a: 'b' } } }))
  assert.equal(answer.status, 500)
  assert.match(answer.json.message, /assertion allocated_once failed: .* is given to another object and to services "default\/robbed"/)
  assert.equal(more, 1)
  assert.equal((await ask(server, `${path}/robbed`)).status, 200)
})
