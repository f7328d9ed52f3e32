import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench } from '../../test/kits/controllers.ts'
import { ConfigMap } from '../kinds/core/configmap.ts'
import { Event } from '../kinds/core/event.ts'
import { Secret } from '../kinds/core/secret.ts'
import type { StatusError } from '../schema/status-error.ts'
import type { Change } from './change.ts'
import { eventRecorder } from './event-recorder.ts'
import { controllerIdentity } from './identity.ts'
import { type IndexDefinition, OWNER_INDEX } from './informer.ts'
import { storedEvents } from './stored-events.ts'

const named = (name: string) => ({ namespace: 'default', name })

test('objects are created, read, changed and deleted in the types of their kind', async t => {
  const { client, send } = await openControllerBench(t, [ConfigMap])
  const maps = client.of(ConfigMap)
  const created = await maps.create({ metadata: named('a'), data: { color: 'red' } })
  assert.equal(created!.object.data!['color'], 'red')
  assert.equal(await maps.create({ metadata: named('a') }), undefined)
  assert.equal(maps.get(named('a'))!.data!['color'], 'red')
  assert.equal(maps.get(named('a')), maps.get(named('a')), 'an object is decoded once')
  const stale = maps.get(named('a'))!
  await maps.update({ ...stale, data: { color: 'blue' } })
  await assert.rejects(maps.update({ ...stale, data: {} }), (error: StatusError) => error.reason === 'Conflict')
  await maps.patch(named('a'), { data: { size: 'small' } })
  await maps.apply({ metadata: named('a'), data: { shape: 'round' } })
  assert.deepEqual(maps.get(named('a'))!.data, { color: 'blue', size: 'small', shape: 'round' })
  const { metadata } = (await send('GET configmaps/a')).body
  assert.deepEqual(
    metadata.managedFields.map(({ manager, operation }: any) => [manager, operation]),
    [
      ['test', 'Apply'],
      ['test', 'Update'],
    ],
  )
  assert.equal(await maps.delete(maps.get(named('a'))!), true)
  assert.equal(await maps.delete(stale), false)
  assert.equal(await maps.update({ ...stale, data: {} }), undefined)
  await maps.create({ metadata: named('b') })
  await maps.deleteCollection('default')
  assert.deepEqual([...maps.list()], [])
})

test('objects are counted, all of them or those that are selected', async t => {
  const { client } = await openControllerBench(t, [ConfigMap])
  const maps = client.of(ConfigMap)
  assert.equal(maps.count(), 0)
  for (const name of ['a', 'b', 'c']) await maps.create({ metadata: named(name) })
  await maps.delete(maps.get(named('b'))!)
  assert.equal(maps.count(), 2)
  assert.equal(maps.count({ namespace: 'default' }), 2)
  assert.equal(maps.count({ name: 'c' }), 1)
  assert.equal(maps.count({ namespace: 'other' }), 0)
})

test('an informer delivers what is there and then every change in order, with what it replaced', async t => {
  const { client, send, signal } = await openControllerBench(t, [ConfigMap])
  await send('POST configmaps', { metadata: { name: 'a' }, data: { n: '1' } })
  const seen: string[] = []
  const numberOf = (revision: Change<any>['previous']) => revision?.object.data?.n
  const note = ({ type, current, previous }: Change<any>) => seen.push(`${type} ${current.name} ${numberOf(previous)} ${numberOf(current)}`)
  await client.of(ConfigMap).watch(note, signal)
  await send('PATCH configmaps/a', { data: { n: '2' } })
  await send('POST configmaps', { metadata: { name: 'b' }, data: { n: '3' } })
  await send('DELETE configmaps/a')
  assert.deepEqual(seen, ['added a undefined 1', 'updated a 1 2', 'added b undefined 3', 'deleted a 2 2'])
})

test('each object is delivered in its newest state, also when it changes during the start', async t => {
  const { client, signal } = await openControllerBench(t, [ConfigMap])
  const maps = client.of(ConfigMap)
  const count = 1200
  await Promise.all(Array.from({ length: count }, (_, i) => maps.create({ metadata: named(`m${i}`), data: { n: 'old' } })))
  const state = new Map<string, string | undefined>()
  const synced = maps.watch(
    ({ type, current }) => void state.set(current.name, type === 'deleted' ? undefined : current.object!.data!['n']),
    signal,
  )
  await Promise.all([maps.patch(named('m1100'), { data: { n: 'new' } }), maps.patch(named('m0'), { data: { n: 'new' } }), synced])
  assert.deepEqual([state.size, state.get('m1100'), state.get('m0'), state.get('m5')], [count, 'new', 'new', 'old'])
})

test('indexes by owner, by label and by any function follow every change', async t => {
  const { client } = await openControllerBench(t, [ConfigMap, Secret])
  const [maps, secrets] = [client.of(ConfigMap), client.of(Secret)]
  const owner = (await secrets.create({ metadata: named('owner') }))!.object
  const { uid, name } = owner.metadata
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name: name!, uid: uid! }]
  const COLOR: IndexDefinition<any> = { name: 'color', valuesOf: ({ object }) => (object?.data?.color ? [object.data.color] : []) }
  const names = (found: Iterable<{ metadata: { name?: string } }>) => Array.from(found, ({ metadata }) => metadata.name).sort()
  assert.deepEqual(names(maps.byIndex(OWNER_INDEX, uid!)), [])
  await maps.create({ metadata: { ...named('a'), ownerReferences, labels: { app: 'web' } }, data: { color: 'red' } })
  await maps.create({ metadata: { ...named('b'), ownerReferences }, data: { color: 'red' } })
  assert.deepEqual(names(maps.byIndex(OWNER_INDEX, uid!)), ['a', 'b'])
  assert.deepEqual(names(maps.byIndex(COLOR, 'red')), ['a', 'b'])
  assert.deepEqual(names(maps.list({ labels: [{ key: 'app', operator: '=', values: ['web'] }] })), ['a'])
  await maps.patch(named('a'), { metadata: { ownerReferences: null }, data: { color: 'blue' } })
  assert.deepEqual([names(maps.byIndex(OWNER_INDEX, uid!)), names(maps.byIndex(COLOR, 'blue'))], [['b'], ['a']])
  await maps.delete(maps.get(named('b'))!)
  assert.deepEqual([names(maps.byIndex(OWNER_INDEX, uid!)), names(maps.byIndex(COLOR, 'red'))], [[], []])
})

test('a client writes with the rights of its identity and no others', async t => {
  const authorizer = {
    authorize: ({ name }: { name: string }, { verb }: { verb: string }) =>
      name.endsWith(':reader') && verb !== 'get' ? ({ verdict: 'no-opinion' } as const) : ({ verdict: 'allow' } as const),
  }
  const { clientFor } = await openControllerBench(t, [ConfigMap], { authorizer })
  await clientFor(controllerIdentity('writer'))
    .of(ConfigMap)
    .create({ metadata: named('a') })
  const maps = clientFor(controllerIdentity('reader')).of(ConfigMap)
  assert.equal(maps.get(named('a'))!.metadata.name, 'a')
  await assert.rejects(maps.create({ metadata: named('b') }), (error: StatusError) => {
    assert.equal(error.code, 403)
    assert.match(error.message, /User "system:serviceaccount:kube-system:reader" cannot create resource "configmaps"/)
    return true
  })
})

test('the same event again counts up, and many that differ in their message are combined', async t => {
  const { client, send } = await openControllerBench(t, [ConfigMap, Event])
  const object = (await client.of(ConfigMap).create({ metadata: named('a') }))!.object
  const recorder = eventRecorder({ events: storedEvents(client), component: 'test-controller', onError: assert.ifError })
  for (let i = 0; i < 3; i++) recorder.event(object, 'Normal', 'Started', 'it runs')
  for (let i = 0; i < 12; i++) recorder.event(object, 'Warning', 'Failed', `attempt ${i}`)
  await recorder.flushed()
  const { items } = (await send('GET events')).body
  const of = (reason: string) => items.filter((item: any) => item.reason === reason)
  const [started] = of('Started')
  assert.deepEqual([of('Started').length, started.count, started.message], [1, 3, 'it runs'])
  assert.deepEqual([started.source, started.involvedObject.uid], [{ component: 'test-controller' }, object.metadata.uid])
  const combined = of('Failed').find((item: any) => item.message.startsWith('(combined from similar events): '))
  assert.deepEqual([of('Failed').length, combined.count], [10, 3])
  for (let i = 0; i < 40; i++) recorder.event(object, 'Warning', 'Failed', `attempt ${i}`)
  await recorder.flushed()
  const counts = () => send('GET events').then(({ body }) => body.items.filter((item: any) => item.type === 'Warning'))
  const warnings = await becomes(counts, () => true)
  assert.equal(
    warnings.reduce((sum: number, { count }: any) => sum + count, 0),
    25,
  )
})
