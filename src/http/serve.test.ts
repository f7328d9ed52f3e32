import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { find, type Handle, secretJson, testApi, testCatalog, testRequest } from '../../test/kits/http/test-server.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { Result } from '../registry/api.ts'
import { StatusError, tooManyRequests } from '../schema/status-error.ts'
import type { Request, Response } from './message.ts'
import type { Log } from './observability/log.ts'

const SECRET = '/api/v1/namespaces/default/secrets/a'
const secrets = find(testCatalog(), 'secrets')
const objectOf = (json: Uint8Array, warnings: string[] = []): Result => ({ type: 'object', code: 200, resource: secrets, json, warnings })
const listOf = (items: Uint8Array[], meta = {}): Result => ({
  type: 'list',
  resource: secrets,
  items,
  meta: { resourceVersion: '9', ...meta },
})

async function bytesOf({ body }: Response): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const pieces: Uint8Array[] = []
  if (body.type === 'pieces') for await (const piece of body.pieces) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}
const jsonOf = async (response: Response) => JSON.parse((await bytesOf(response)).toString())
const answerTo = async (request: Request, handle?: Handle) => testApi(handle ? { handle } : {}).serve(request)

test('an object is sent as it is stored', async () => {
  const json = secretJson('a')
  const response = await answerTo(testRequest(SECRET), () => objectOf(json))
  assert.equal(response.status, 200)
  assert.equal(response.body, json)
  assert.equal(response.headers['content-type'], 'application/json')
  assert.equal(response.headers['cache-control'], 'no-cache, private')
  assert.match(String(response.headers['audit-id']), /^[0-9a-f-]{36}$/)
})

test('the registry gets user and call', async () => {
  let seen: unknown
  await answerTo(testRequest(SECRET, { method: 'PUT', body: '{}', headers: { 'user-agent': 'tool/1' } }), (call, ctx, body) => {
    seen = [call.verb, call.name, ctx.user, ctx.userAgent, body?.mediaType, body?.bytes.toString()]
    return objectOf(secretJson('a'))
  })
  assert.deepEqual(seen, [
    'update',
    'a',
    { name: 'jane', uid: 'u1', groups: ['devs', 'ops', 'system:authenticated'] },
    'tool/1',
    'application/json',
    '{}',
  ])
})

test('a list is made of stored bytes, its items without kind and version', async () => {
  const response = await answerTo(testRequest('/api/v1/secrets'), () =>
    listOf([secretJson('a'), secretJson('b')], { continue: 'next', remainingItemCount: 3 }),
  )
  const text = (await bytesOf(response)).toString()
  assert.ok(
    text.startsWith(
      '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"next","remainingItemCount":3},"items":[{"metadata":{"name":"a"',
    ),
  )
  const list = JSON.parse(text)
  assert.deepEqual(
    list.items.map((i: { metadata: { name: string } }) => i.metadata.name),
    ['a', 'b'],
  )
  assert.deepEqual(Object.keys(list.items[0]), ['metadata', 'data', 'type'])
})

test('an empty list has empty items', async () => {
  const response = await answerTo(testRequest('/api/v1/secrets'), () => listOf([]))
  assert.equal(
    (await bytesOf(response)).toString(),
    '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}',
  )
})

test('a very large list is made piece by piece, and is the same list', async () => {
  const items = Array.from({ length: 600 }, (_, i) => secretJson(`s${i}`, { k: 'x'.repeat(10_000) }))
  const response = await answerTo(testRequest('/api/v1/secrets'), () => listOf(items))
  assert.ok(!(response.body instanceof Uint8Array) && response.body.type === 'pieces')
  const bytes = await bytesOf(response)
  assert.equal(bytes.length, response.body.length)
  assert.deepEqual(JSON.parse(bytes.toString()).items.length, 600)
})

test('large answers are compressed for those who accept it, small ones are not', async () => {
  const big = secretJson('a', { k: 'x'.repeat(200_000) })
  const headers = { 'accept-encoding': 'gzip' }
  const response = await answerTo(testRequest(SECRET, { headers }), () => objectOf(big))
  assert.equal(response.headers['content-encoding'], 'gzip')
  assert.deepEqual(gunzipSync(await bytesOf(response)), big)
  assert.equal((await answerTo(testRequest(SECRET), () => objectOf(big))).headers['content-encoding'], undefined)
  assert.equal((await answerTo(testRequest(SECRET, { headers }), () => objectOf(secretJson('a')))).headers['content-encoding'], undefined)
  const items = Array.from({ length: 600 }, (_, i) => secretJson(`s${i}`, { k: 'x'.repeat(10_000) }))
  const list = await answerTo(testRequest('/api/v1/secrets', { headers }), () => listOf(items))
  assert.equal(JSON.parse(gunzipSync(await bytesOf(list)).toString()).items.length, 600)
})

test('YAML and pretty JSON are the same object in other letters', async () => {
  const yaml = await answerTo(testRequest(SECRET, { headers: { accept: 'application/yaml' } }), () => objectOf(secretJson('a')))
  assert.equal(yaml.headers['content-type'], 'application/yaml')
  assert.match((await bytesOf(yaml)).toString(), /^apiVersion: v1\n.*kind: Secret\n/s)
  const pretty = await answerTo(testRequest(`${SECRET}?pretty=true`), () => objectOf(secretJson('a')))
  assert.match((await bytesOf(pretty)).toString(), /^\{\n {2}"kind": "Secret",\n/)
})

test('objects and lists can be requested as Table or metadata only', async () => {
  const as = (kind: string) => ({ headers: { accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` } })
  const table = await jsonOf(await answerTo(testRequest('/api/v1/secrets', as('Table')), () => listOf([secretJson('a')])))
  assert.deepEqual([table.kind, table.metadata, table.rows[0].cells], ['Table', { resourceVersion: '9' }, ['a', 'Opaque', 0, '5s']])
  assert.equal(table.rows[0].object.kind, 'PartialObjectMetadata')
  const one = await jsonOf(await answerTo(testRequest(`${SECRET}?includeObject=None`, as('Table')), () => objectOf(secretJson('a'))))
  assert.deepEqual([one.metadata, one.rows[0].object], [{ resourceVersion: '7' }, null])
  const partial = await jsonOf(await answerTo(testRequest(SECRET, as('PartialObjectMetadata')), () => objectOf(secretJson('a'))))
  assert.deepEqual(Object.keys(partial), ['kind', 'apiVersion', 'metadata'])
  const partials = await jsonOf(
    await answerTo(testRequest('/api/v1/secrets', as('PartialObjectMetadataList')), () => listOf([secretJson('a')])),
  )
  assert.deepEqual([partials.kind, partials.items[0].apiVersion], ['PartialObjectMetadataList', 'meta.k8s.io/v1'])
  const wrong = await answerTo(testRequest(SECRET, as('PartialObjectMetadataList')), () => objectOf(secretJson('a')))
  assert.equal(wrong.status, 406)
})

test('warnings become headers', async () => {
  const response = await answerTo(testRequest(SECRET), () => objectOf(secretJson('a'), ['unknown field "x"', 'second']))
  assert.deepEqual(response.headers['warning'], ['299 - "unknown field \\"x\\""', '299 - "second"'])
})

test('a failure is a Status, with the time to wait as a header', async () => {
  const response = await answerTo(testRequest(SECRET), () => {
    throw tooManyRequests('slow down', 7)
  })
  assert.equal(response.status, 429)
  assert.equal(response.headers['retry-after'], '7')
  assert.equal(
    (await bytesOf(response)).toString(),
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"slow down","reason":"TooManyRequests","details":{"retryAfterSeconds":7},"code":429}\n',
  )
})

test('an unexpected failure is logged under its id and keeps its secrets', async () => {
  const lines: unknown[] = []
  const log: Log = { enabled: () => true, debug: () => {}, info: () => {}, warn: () => {}, error: (...line) => lines.push(line) }
  const { serve } = testApi({
    log,
    handle: () => {
      throw new TypeError('password is hunter2')
    },
  })
  const response = await serve(testRequest(SECRET, { headers: { 'audit-id': 'my-id' } }))
  const text = (await bytesOf(response)).toString()
  assert.equal(response.status, 500)
  assert.equal(response.headers['audit-id'], 'my-id')
  assert.equal(JSON.parse(text).reason, 'InternalError')
  assert.ok(!text.includes('hunter2') && text.includes('my-id'))
  assert.match(JSON.stringify(lines), /hunter2/)
})

test('a continue token travels in the metadata of the failure', async () => {
  const response = await answerTo(testRequest('/api/v1/secrets'), () => {
    throw new StatusError(410, 'Expired', 'old', undefined, { continue: 'fresh' })
  })
  assert.deepEqual((await jsonOf(response)).metadata, { continue: 'fresh' })
})

test('a request beyond its deadline is answered 504 and cancelled', async () => {
  const signal = await new Promise<Cancellation>((resolve, reject) => {
    answerTo(testRequest(`${SECRET}?timeout=20ms`), (_, ctx) => {
      ctx.signal.addEventListener('abort', () => resolve(ctx.signal))
      return new Promise(() => {})
    }).then(async response => {
      if (response.status !== 504) reject(new Error(`answered ${response.status}`))
    }, reject)
  })
  assert.ok(signal.aborted)
})

test('a time to wait that is no duration is refused', async () => {
  const message = async (timeout: string) => {
    const response = await answerTo(testRequest(`${SECRET}?timeout=${timeout}`), () => {
      throw new StatusError(404, 'NotFound', 'in time')
    })
    return (await jsonOf(response)).message
  }
  assert.equal(await message('soon'), 'invalid timeout specified in the request URL - time: invalid duration "soon"')
  assert.equal(await message('5'), 'invalid timeout specified in the request URL - time: missing unit in duration "5"')
  for (const timeout of ['', '0', '0s', '-1s', '1h']) assert.equal(await message(timeout), 'in time')
})

test('too large a body is 413', async () => {
  const response = await answerTo(testRequest(SECRET, { method: 'PUT', body: 'x'.repeat(3 * 1024 * 1024 + 1) }))
  const status = await jsonOf(response)
  assert.deepEqual(
    [status.code, status.reason, status.message],
    [413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728'],
  )
  assert.equal(response.close, true)
})

test('a delete needs no body and no media type', async () => {
  let body: unknown = 'unset'
  await answerTo(testRequest(SECRET, { method: 'DELETE', headers: { 'content-type': 'text/plain' } }), (_, __, sent) => {
    body = sent
    return objectOf(secretJson('a'))
  })
  assert.equal(body, undefined)
})

test('a bad token is 401, no token is anonymous', async () => {
  const bad = await answerTo(testRequest(SECRET, { headers: { authorization: 'Bearer nope' } }))
  const status = await jsonOf(bad)
  assert.deepEqual([status.code, status.reason, status.message], [401, 'Unauthorized', 'Unauthorized'])
  const none = await jsonOf(await answerTo(testRequest('/api/v1/namespaces/default/secrets', { headers: { authorization: undefined } })))
  assert.equal(none.code, 403)
  assert.equal(
    none.message,
    'secrets is forbidden: User "system:anonymous" cannot list resource "secrets" in API group "" in the namespace "default"',
  )
  assert.deepEqual(none.details, { kind: 'secrets' })
})

test('anonymous users see health and version, and cannot learn what else exists', async () => {
  const status = async (target: string) => (await answerTo(testRequest(target, { headers: { authorization: undefined } }))).status
  for (const open of ['/healthz', '/livez', '/livez/ping', '/readyz?verbose', '/version']) assert.equal(await status(open), 200, open)
  for (const shut of ['/', '/metrics', '/api', '/apis/nope', '/nope', '/openapi/v2', '/api/v1/nopes', '/healthzz'])
    assert.equal(await status(shut), 403, shut)
  const path = await jsonOf(await answerTo(testRequest('/metrics', { headers: { authorization: undefined } })))
  assert.equal(path.message, 'forbidden: User "system:anonymous" cannot get path "/metrics"')
  assert.deepEqual(path.details, {})
})

test('404 responses are those of the router that handles the path', async () => {
  for (const target of ['/version/nope', '/apis/apps/v9', '/api/v2', '/apis/apps/v1/nopes']) {
    const response = await answerTo(testRequest(target))
    assert.deepEqual([response.status, (await jsonOf(response)).message], [404, 'the server could not find the requested resource'], target)
  }
  for (const target of [
    '/nope',
    '/apis/nope',
    '/healthz/nope',
    '/apis/nope/v1',
    '/apis/nope/v1/things',
    '/apis/nope/v1/namespaces/a/b/c',
  ]) {
    const response = await answerTo(testRequest(target))
    assert.deepEqual([response.status, (await bytesOf(response)).toString()], [404, '404 page not found\n'], target)
    assert.equal(response.headers['content-type'], 'text/plain; charset=utf-8')
  }
})

test('discovery and OpenAPI are served with tags', async () => {
  const { serve } = testApi()
  const list = await serve(testRequest('/apis/apps/v1'))
  assert.equal((await jsonOf(list)).kind, 'APIResourceList')
  const tag = String(list.headers['etag'])
  const again = await serve(testRequest('/apis/apps/v1', { headers: { 'if-none-match': tag } }))
  assert.deepEqual([again.status, (await bytesOf(again)).length], [304, 0])
  // In discovery, only the list of groups accepts every method.
  assert.equal((await serve(testRequest('/apis', { method: 'POST' }))).status, 200)
  assert.equal((await serve(testRequest('/apis/apps/v1', { method: 'POST' }))).status, 405)
  assert.equal((await serve(testRequest('/apis/apps', { method: 'POST' }))).status, 200)
  assert.equal((await serve(testRequest('/openapi/v3'))).status, 200)
  assert.ok((await jsonOf(await serve(testRequest('/')))).paths.includes('/apis/apps/v1'))
})

test('HEAD of a path of the server has no body', async () => {
  const response = await answerTo(testRequest('/healthz', { method: 'HEAD' }))
  assert.deepEqual([response.status, response.headers['content-length'], (await bytesOf(response)).length], [200, '2', 0])
})
