import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { find, type Handle, secretJson, testApi, testCatalog, testRequest } from '../../test/kits/http/test-server.ts'
import { WatchEvent, type WatchSink } from '../cache/watch-stream.ts'
import { protobufOf } from '../codec/protobuf-cache.ts'
import { fromProtobuf } from '../codec/protobuf-decode.ts'
import { openEnvelope, PROTOBUF, PROTOBUF_STREAM } from '../codec/protobuf-envelope.ts'
import type { Json } from '../lib/json-value.ts'
import type { Result } from '../registry/api.ts'
import { conform } from '../schema/conform.ts'
import { ObjectMeta } from '../schema/object-meta.ts'
import { expired, notFound } from '../schema/status-error.ts'
import { type AnyType, atomic, bytes, message, string } from '../schema/types.ts'
import { ListMeta, Status } from './common-messages.ts'
import type { Outlet, Response } from './message.ts'

const secrets = find(testCatalog(), 'secrets')
const SECRET = '/api/v1/namespaces/default/secrets/a'
const SecretList = message('SecretList', { metadata: [1, ListMeta], items: [2, atomic(secrets.type)] })
const Partial = message('PartialObjectMetadata', { metadata: [1, ObjectMeta] })
const PartialList = message('PartialObjectMetadataList', { metadata: [1, ListMeta], items: [2, atomic(Partial)] })
const Event = message('WatchEvent', { type: [1, string], object: [2, message('RawExtension', { raw: [1, bytes] })] })

const ask = async (path: string, handle: Handle, headers: Record<string, string> = {}): Promise<Response> =>
  testApi({ handle }).serve(testRequest(path, { headers: { accept: `${PROTOBUF},application/json`, ...headers } }))
const withoutKind = (json: Uint8Array) => {
  const { kind: _, apiVersion: __, ...rest } = conform(secrets.type, JSON.parse(Buffer.from(json).toString()) as Json).value
  return rest
}

async function bytesOf({ body }: Response): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const pieces: Uint8Array[] = []
  if (body.type === 'pieces') for await (const piece of body.pieces) pieces.push(piece)
  return Buffer.concat(pieces)
}
/** Kind, version and content of an enveloped message. */
function opened(type: AnyType, bytes: Uint8Array): [string, string, any] {
  const { kind, apiVersion, raw } = openEnvelope(bytes)
  return [apiVersion, kind, conform(type, fromProtobuf(type, raw)).value]
}

test('an object is sent in its envelope, and encoded once', async () => {
  const json = secretJson('a', { k: 'dg==' })
  const handle: Handle = () => ({ type: 'object', code: 200, resource: secrets, json, warnings: ['careful'] })
  const response = await ask(SECRET, handle)
  assert.equal(response.headers['content-type'], PROTOBUF)
  assert.deepEqual(response.headers['warning'], ['299 - "careful"'])
  assert.deepEqual(opened(secrets.type, await bytesOf(response)), ['v1', 'Secret', withoutKind(json)])
  assert.equal(protobufOf(secrets.type, json), protobufOf(secrets.type, json))
})

test('a list of any size is one message, compressed when that is worth it', async () => {
  for (const count of [0, 3, 40]) {
    const items = Array.from({ length: count }, (_, i) => secretJson(`s${i}`, { k: Buffer.alloc(150_000, i).toString('base64') }))
    const meta = { resourceVersion: '9', continue: 'next', remainingItemCount: 3 }
    const handle: Handle = () => ({ type: 'list', resource: secrets, items, meta })
    const response = await ask('/api/v1/secrets', handle)
    const whole = await bytesOf(response)
    if (count === 40) assert.ok('type' in response.body && response.body.type === 'pieces' && response.body.length === whole.length)
    const [apiVersion, kind, list] = opened(SecretList, whole)
    assert.deepEqual([apiVersion, kind, list.metadata], ['v1', 'SecretList', meta])
    assert.deepEqual(list.items ?? [], items.map(withoutKind))
    const zipped = await ask('/api/v1/secrets', handle, { 'accept-encoding': 'gzip' })
    assert.deepEqual(count === 0 ? await bytesOf(zipped) : gunzipSync(await bytesOf(zipped)), whole)
  }
})

test('metadata only is sent on request', async () => {
  const accept = (as: string) => ({ accept: `${PROTOBUF};as=${as};v=v1;g=meta.k8s.io` })
  const object: Result = { type: 'object', code: 200, resource: secrets, json: secretJson('a'), warnings: [] }
  const list: Result = { type: 'list', resource: secrets, items: [secretJson('a')], meta: { resourceVersion: '9' } }
  const { metadata } = withoutKind(secretJson('a'))
  const one = await ask(SECRET, () => object, accept('PartialObjectMetadata'))
  assert.deepEqual(opened(Partial, await bytesOf(one)), ['meta.k8s.io/v1', 'PartialObjectMetadata', { metadata }])
  const many = await ask('/api/v1/secrets', () => list, accept('PartialObjectMetadataList'))
  const [version, kind, { items }] = opened(PartialList, await bytesOf(many))
  assert.deepEqual([version, kind, items], ['meta.k8s.io/v1', 'PartialObjectMetadataList', [{ metadata }]])
  assert.equal((await ask(SECRET, () => object, accept('PartialObjectMetadataList'))).status, 406)
})

test('failures and plain successes are Status messages', async () => {
  const failed = await ask(SECRET, () => {
    throw notFound(secrets, 'a')
  })
  assert.deepEqual([failed.status, failed.headers['content-type']], [404, PROTOBUF])
  assert.deepEqual(opened(Status, await bytesOf(failed)), [
    'v1',
    'Status',
    {
      metadata: {},
      status: 'Failure',
      message: 'secrets "a" not found',
      reason: 'NotFound',
      details: { name: 'a', kind: 'secrets' },
      code: 404,
    },
  ])
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: { name: 'a', kind: 'secrets' } } as const
  const done = await ask(SECRET, () => ({ type: 'status', code: 200, status, warnings: [] }))
  assert.deepEqual(opened(Status, await bytesOf(done))[2], { metadata: {}, status: 'Success', details: { name: 'a', kind: 'secrets' } })
})

test('a watch is a stream of frames, encoded once for all, that ends with its error', async () => {
  const event = new WatchEvent('ADDED', secrets, secretJson('a'))
  const watch = async (accept: string) => {
    const response = await ask(
      '/api/v1/secrets?watch=1',
      () => ({ type: 'watch', resource: secrets, stream: { open: sink => deliver(sink), close: () => {} } }),
      { accept },
    )
    assert.equal(response.headers['content-type'], PROTOBUF_STREAM)
    return framesOf(await streamed(response))
  }
  const deliver = (sink: WatchSink) => {
    sink.event(event)
    sink.end(expired('too old'))
  }
  for (const accept of [`${PROTOBUF},application/json`, PROTOBUF_STREAM]) {
    const [added, error] = await watch(accept)
    assert.equal(added!.type, 'ADDED')
    assert.deepEqual(opened(secrets.type, added!.object), ['v1', 'Secret', withoutKind(secretJson('a'))])
    assert.equal(error!.type, 'ERROR')
    assert.equal(opened(Status, error!.object)[2].reason, 'Expired')
  }
  const [partial] = await watch(`${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`)
  assert.equal(opened(Partial, partial!.object)[1], 'PartialObjectMetadata')
  const frame = event.encoded('protobuf', () => assert.fail('encoded again'))
  assert.ok(frame.length > 0)
})

/** The whole body of a streamed response. */
function streamed({ body }: Response): Promise<Buffer> {
  const written: Uint8Array[] = []
  return new Promise(resolve => {
    const outlet: Outlet = Object.assign(new EventEmitter(), {
      write: (bytes: Uint8Array) => written.push(bytes) > 0,
      end: () => {
        outlet.destroy()
        resolve(Buffer.concat(written))
      },
      destroy: () => void (outlet as unknown as EventEmitter).emit('close'),
      writableLength: 0,
      writableNeedDrain: false,
    })
    if ('type' in body && body.type === 'stream') body.start(outlet)
  })
}

function framesOf(stream: Buffer): { type: string; object: Buffer }[] {
  const frames = []
  for (let at = 0; at < stream.length; ) {
    const length = stream.readUInt32BE(at)
    const { type, object } = fromProtobuf(Event, stream.subarray(at + 4, at + 4 + length)) as { type: string; object: { raw: string } }
    frames.push({ type, object: Buffer.from(object.raw, 'base64') })
    at += 4 + length
  }
  return frames
}
