import assert from 'node:assert/strict'
import test from 'node:test'
import { Recorder } from '../../test/kits/cache/widgets.ts'
import { openCustomBench, type Scope, widget, widgetDefinition, widgets } from '../../test/kits/custom-kinds.ts'
import type { WatchStream } from '../cache/watch-stream.ts'
import type { Post } from './https-post.ts'

const V1 = { name: 'v1', spec: { color: { type: 'string' } } }
const V2 = { name: 'v2', storage: false, spec: { paint: { type: 'string' } } }
const conversion = {
  strategy: 'Webhook',
  webhook: { clientConfig: { url: 'https://webhook.example:8443/convert' }, conversionReviewVersions: ['v1'] },
}

/** The color of v1 is the paint of v2. */
function answer(body: string, change: (response: any) => void = () => {}): string {
  const { request, ...review } = JSON.parse(body)
  const convertedObjects = request.objects.map((object: any) => {
    const { color, paint = color } = object.spec ?? {}
    const spec = request.desiredAPIVersion.endsWith('/v1') ? { color: paint } : { paint }
    return { ...object, apiVersion: request.desiredAPIVersion, ...(object.spec && { spec }) }
  })
  const response = { uid: request.uid, result: { status: 'Success' }, convertedObjects }
  change(response)
  return JSON.stringify({ ...review, response })
}

async function openConverted(t: Scope, change?: (response: any) => void) {
  const calls: Post[] = []
  const post = async (request: Post) => {
    calls.push(request)
    return answer(request.body, change)
  }
  const bench = await openCustomBench(t, { post })
  await bench.define(widgetDefinition([V1, V2], { conversion }))
  return { ...bench, calls }
}

test('objects are converted by the webhook, many in one call, and not at all where they need not be', async t => {
  const { send, calls } = await openConverted(t)
  await send(`POST ${widgets()}`, widget('a', { color: 'red' }))
  await send(`GET ${widgets('/a')}`)
  assert.equal(calls.length, 0)
  const { body } = await send(`GET ${widgets('/a', 'v2')}`)
  assert.deepEqual([body.apiVersion, body.spec], ['stable.example.com/v2', { paint: 'red' }])
  const [{ host, port, path }] = calls as [Post]
  assert.deepEqual({ host, port, path }, { host: 'webhook.example', port: 8443, path: '/convert?timeout=30s' })
  await send(`POST ${widgets()}`, widget('b', { color: 'blue' }))
  calls.length = 0
  const { items } = (await send(`GET ${widgets('', 'v2')}`)).body
  assert.deepEqual(
    items.map((item: any) => item.spec.paint),
    ['red', 'blue'],
  )
  assert.equal(calls.length, 1)
})

test('writes in any version are stored in one', async t => {
  const { send, store } = await openConverted(t)
  const created = await send(`POST ${widgets('', 'v2')}`, widget('a', { paint: 'red' }, { version: 'v2' }))
  assert.deepEqual([created.code, created.body.spec], [201, { paint: 'red' }])
  const stored = JSON.parse(Buffer.from((await store.get('/stable.example.com/widgets/default/a')).entry!.value).toString())
  assert.deepEqual([stored.apiVersion, stored.spec], ['stable.example.com/v1', { color: 'red' }])
  const patched = await send(`PATCH ${widgets('/a', 'v2')}`, { spec: { paint: 'blue' } })
  assert.deepEqual([patched.body.spec, patched.body.metadata.generation], [{ paint: 'blue' }, 2])
  assert.deepEqual((await send(`GET ${widgets('/a')}`)).body.spec, { color: 'blue' })
  assert.equal((await send(`DELETE ${widgets('/a', 'v2')}`)).code, 200)
})

test('owners are found across versions', async t => {
  const { send } = await openConverted(t)
  const apply = (version: string, manager: string, spec: object) =>
    send(`PATCH ${widgets(`/a?fieldManager=${manager}`, version)}`, widget('a', spec, { version }), {
      type: 'application/apply-patch+yaml',
    })
  assert.equal((await apply('v1', 'one', { color: 'red' })).code, 201)
  const conflict = await apply('v2', 'two', { paint: 'blue' })
  assert.deepEqual([conflict.code, conflict.body.message], [409, 'Apply failed with 1 conflict: conflict with "one": .spec.color'])
  assert.deepEqual((await apply('v2', 'one', { paint: 'green' })).body.spec, { paint: 'green' })
  assert.deepEqual((await send(`GET ${widgets('/a')}`)).body.spec, { color: 'green' })
})

test('a watch sends objects in its version, in order', async t => {
  const { send, until } = await openConverted(t)
  const recorder = new (class extends Recorder {
    override event(event: Parameters<Recorder['event']>[0]): void {
      const { spec, apiVersion } = JSON.parse(Buffer.from(event.json).toString())
      this.seen.push([event.type, apiVersion, spec.paint])
    }
    seen: unknown[] = []
  })()
  const { body } = await send(`GET ${widgets('?watch=true', 'v2')}`)
  ;(body as WatchStream).open(recorder)
  await send(`POST ${widgets()}`, widget('a', { color: 'red' }))
  await send(`PATCH ${widgets('/a')}`, { spec: { color: 'blue' } })
  await send(`DELETE ${widgets('/a')}`)
  await until(() => recorder.seen.length === 3)
  const v2 = 'stable.example.com/v2'
  assert.deepEqual(recorder.seen, [
    ['ADDED', v2, 'red'],
    ['MODIFIED', v2, 'blue'],
    ['DELETED', v2, 'blue'],
  ])
})

test('answers of a conversion webhook are checked', async t => {
  const cases: [(response: any) => void, RegExp][] = [
    [r => (r.uid = 'x'), /failed: expected response\.uid="[^"]+", got "x"$/],
    [r => (r.result = { status: 'Failure', message: 'no paint' }), /Kind=Widget failed: no paint$/],
    [r => r.convertedObjects.pop(), /returned 0 objects, expected 1$/],
    [r => (r.convertedObjects[0].kind = 'Gadget'), /at index 0: invalid kind \(expected Widget, received Gadget\)$/],
    [r => (r.convertedObjects[0].apiVersion = 'v9'), /invalid groupVersion \(expected stable\.example\.com\/v2, received v9\)$/],
    [r => (r.convertedObjects[0].metadata.name = 'b'), /must have the same name: a != b$/],
    [r => (r.convertedObjects[0].metadata.labels = { 'a b': 'c' }), /invalid metadata in object at index 0: metadata\.labels/],
    [r => delete r.convertedObjects[0].metadata, /must have the same name: a != $/],
  ]
  let change: (response: any) => void = () => {}
  const { send } = await openConverted(t, response => change(response))
  await send(`POST ${widgets()}`, widget('a', { color: 'red' }))
  for (const [spoil, expected] of cases) {
    change = spoil
    const { code, body } = await send(`GET ${widgets('/a', 'v2')}`)
    assert.equal(code, 500)
    assert.match(body.message, expected)
  }
  change = r => {
    r.convertedObjects[0].metadata.uid += ''
    r.convertedObjects[0].metadata.generation = 99
    r.convertedObjects[0].metadata.labels = { a: 'b' }
  }
  const { metadata } = (await send(`GET ${widgets('/a', 'v2')}`)).body
  assert.deepEqual([metadata.generation, metadata.labels], [1, { a: 'b' }])
})
