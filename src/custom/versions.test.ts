import assert from 'node:assert/strict'
import test from 'node:test'
import { Recorder } from '../../test/kits/cache/widgets.ts'
import { definitions, openCustomBench, type Version, widget, widgetDefinition, widgets } from '../../test/kits/custom-kinds.ts'
import type { WatchStream } from '../cache/watch-stream.ts'

const color = { type: 'string' }
const NAME = '/widgets.stable.example.com'

async function redefine(send: any, change: (definition: any) => void): Promise<void> {
  const { body } = await send(`GET ${definitions(NAME)}`)
  change(body)
  const { code, body: answer } = await send(`PUT ${definitions(NAME)}`, body)
  assert.equal(code, 200, answer.message)
}

const schemaOf = (definition: any, index = 0) => definition.spec.versions[index].schema.openAPIV3Schema.properties.spec.properties

test('objects are served in every served version, without the fields that it does not know', async t => {
  const { send, define } = await openCustomBench(t)
  const old: Version = { name: 'v1beta1', storage: false, spec: { color }, deprecated: true }
  await define(widgetDefinition([old, { name: 'v1', spec: { color, size: { type: 'integer', default: 1 } } }]))
  const created = await send(`POST ${widgets('', 'v1beta1')}`, widget('a', { color: 'red' }, { version: 'v1beta1' }))
  assert.deepEqual([created.body.apiVersion, created.body.spec], ['stable.example.com/v1beta1', { color: 'red' }])
  const read = await send(`GET ${widgets('/a')}`)
  assert.deepEqual([read.body.apiVersion, read.body.spec], ['stable.example.com/v1', { color: 'red', size: 1 }])
  const [item] = (await send(`GET ${widgets('', 'v1beta1')}`)).body.items
  assert.deepEqual([item.apiVersion, item.spec], ['stable.example.com/v1beta1', { color: 'red' }])
  assert.equal(item.metadata.resourceVersion, read.body.metadata.resourceVersion)
})

test('rules are those of the version that is written', async t => {
  const { send, define } = await openCustomBench(t)
  const loose: Version = { name: 'v1beta1', storage: false, spec: { color } }
  await define(widgetDefinition([loose, { name: 'v1', spec: { color: { ...color, enum: ['red', 'blue'] } } }]))
  assert.equal((await send(`POST ${widgets('', 'v1beta1')}`, widget('a', { color: 'pink' }, { version: 'v1beta1' }))).code, 201)
  assert.equal((await send(`POST ${widgets()}`, widget('b', { color: 'pink' }))).code, 422)
  assert.equal((await send(`GET ${widgets('/a')}`)).body.spec.color, 'pink')
  assert.equal((await send(`PATCH ${widgets('/a')}`, { metadata: { labels: { a: 'b' } } })).code, 200)
})

test('owners of fields in one version own them in others', async t => {
  const { send, define } = await openCustomBench(t)
  await define(widgetDefinition([{ name: 'v1beta1', storage: false }, { name: 'v1' }]))
  const apply = (version: string, manager: string, spec: object) =>
    send(`PATCH ${widgets(`/a?fieldManager=${manager}`, version)}`, widget('a', spec, { version }), {
      type: 'application/apply-patch+yaml',
    })
  assert.equal((await apply('v1beta1', 'one', { color: 'red' })).code, 201)
  const conflict = await apply('v1', 'two', { color: 'blue' })
  assert.equal(conflict.body.message, 'Apply failed with 1 conflict: conflict with "one": .spec.color')
  assert.deepEqual((await apply('v1', 'one', { size: 3 })).body.spec, { size: 3 })
})

test('a new default applies at once and a removed field is pruned, without a write', async t => {
  const { send, define, until } = await openCustomBench(t)
  await define(widgetDefinition([{ spec: { color, shape: { type: 'string' } } }]))
  const { body } = await send(`POST ${widgets()}`, widget('a', { shape: 'round' }))
  await redefine(send, d => {
    schemaOf(d).color.default = 'white'
    delete schemaOf(d).shape
  })
  await until(async () => (await send(`GET ${widgets('/a')}`)).body.spec.color === 'white')
  const read = (await send(`GET ${widgets('/a')}`)).body
  assert.deepEqual([read.spec, read.metadata.resourceVersion], [{ color: 'white' }, body.metadata.resourceVersion])
  // A record of an older schema is rewritten by a write that changes nothing else.
  const renewed = await send(`PUT ${widgets('/a')}`, read)
  assert.notEqual(renewed.body.metadata.resourceVersion, read.metadata.resourceVersion)
  const again = await send(`PUT ${widgets('/a')}`, renewed.body)
  assert.equal(again.body.metadata.resourceVersion, renewed.body.metadata.resourceVersion)
})

test('the storage version may change; what is stored in another is read, and written in the new one', async t => {
  const { send, define, until, store } = await openCustomBench(t)
  await define(widgetDefinition([{ name: 'v1' }, { name: 'v2', storage: false }]))
  await send(`POST ${widgets()}`, widget('a', { color: 'red' }))
  await redefine(send, d => {
    d.spec.versions[0].storage = false
    d.spec.versions[1].storage = true
  })
  assert.deepEqual((await send(`GET ${definitions(NAME)}`)).body.status.storedVersions, ['v1', 'v2'])
  const raw = async () => JSON.parse(Buffer.from((await store.get('/stable.example.com/widgets/default/a')).entry!.value).toString())
  assert.equal((await raw()).apiVersion, 'stable.example.com/v1')
  await until(async () => {
    const { body } = await send(`GET ${widgets('/a', 'v2')}`)
    await send(`PUT ${widgets('/a', 'v2')}`, body)
    return (await raw()).apiVersion === 'stable.example.com/v2'
  })
  for (const version of ['v1', 'v2']) assert.deepEqual((await send(`GET ${widgets('/a', version)}`)).body.spec, { color: 'red' })
})

test('a version that is not served is not there, stored in it or not', async t => {
  const { send, define, catalog, caches } = await openCustomBench(t)
  await define(
    widgetDefinition([
      { name: 'v1', served: false },
      { name: 'v2', storage: false },
    ]),
  )
  assert.equal((await send(`GET ${widgets()}`)).code, 404)
  assert.equal((await send(`POST ${widgets('', 'v2')}`, widget('a', { color: 'red' }, { version: 'v2' }))).code, 201)
  assert.deepEqual((await send(`GET ${widgets('/a', 'v2')}`)).body.spec, { color: 'red' })
  const stored = [...catalog.storedResources()].filter(({ def }) => def.custom)
  assert.deepEqual(
    stored.map(resource => [resource.apiVersion, caches.of(resource).count]),
    [['stable.example.com/v1', 1]],
  )
})

test('a watch of a kind that changes ends, and can be resumed without a gap', async t => {
  const { send, define, until } = await openCustomBench(t)
  await define(widgetDefinition([{ spec: { color } }]))
  const watch = async (from: string) => {
    const recorder = new Recorder()
    const { body } = await send(`GET ${widgets(`?watch=true&resourceVersion=${from}`)}`)
    ;(body as WatchStream).open(recorder)
    return recorder
  }
  const { metadata } = (await send(`GET ${widgets()}`)).body
  const before = await watch(metadata.resourceVersion)
  await send(`POST ${widgets()}`, widget('a', { color: 'red' }))
  await redefine(send, d => (schemaOf(d).color.default = 'white'))
  await until(() => before.ended !== undefined)
  assert.equal(before.ended!.error, undefined)
  await send(`POST ${widgets()}`, widget('b'))
  const after = await watch(String(before.events.at(-1)!.revision))
  await send(`DELETE ${widgets('/a')}`)
  const told = [...before.events, ...after.events].map(({ type, path, color: shown }) => [type, path, shown])
  assert.deepEqual(told, [
    ['ADDED', 'default/a', 'red'],
    ['ADDED', 'default/b', 'white'],
    ['DELETED', 'default/a', 'red'],
  ])
})

test('a watch of a kind that is removed ends', async t => {
  const { send, define, until } = await openCustomBench(t)
  await define(widgetDefinition())
  const recorder = new Recorder()
  const { body } = await send(`GET ${widgets('?watch=true')}`)
  ;(body as WatchStream).open(recorder)
  await send(`POST ${widgets()}`, widget('a', { color: 'red' }))
  await send(`DELETE ${definitions(NAME)}`)
  await until(() => recorder.ended !== undefined)
  assert.deepEqual([recorder.ended!.error, recorder.events.map(e => e.type)], [undefined, ['ADDED', 'DELETED']])
})

test('other kinds are not touched by a change of one', async t => {
  const { send, define, until, catalog } = await openCustomBench(t)
  await define(widgetDefinition())
  await define(widgetDefinition([{}], { names: { plural: 'gadgets', kind: 'Gadget' } }))
  const gadgets = catalog.find('stable.example.com', 'v1', 'gadgets')
  const recorder = new Recorder()
  const { body } = await send('GET /apis/stable.example.com/v1/gadgets?watch=true')
  ;(body as WatchStream).open(recorder)
  await redefine(send, d => (schemaOf(d).color.default = 'white'))
  await until(async () => (await send(`POST ${widgets('?dryRun=All')}`, widget('a'))).body.spec.color === 'white')
  assert.equal(catalog.find('stable.example.com', 'v1', 'gadgets'), gadgets)
  assert.equal(recorder.ended, undefined)
})
