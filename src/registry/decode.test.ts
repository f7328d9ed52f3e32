import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toProtobuf } from '../codec/protobuf-encode.ts'
import { envelope, PROTOBUF } from '../codec/protobuf-envelope.ts'
import { type Transcoded, transcode } from '../codec/transcode.ts'
import { Secret } from '../kinds/core/secret.ts'
import { LIMITS } from '../lib/limits.ts'
import { finish } from '../lib/step.ts'
import { DeleteOptionsType } from '../schema/delete-options.ts'
import { resourceOf } from '../schema/resource.ts'
import { decodeObject } from './decode.ts'

const secrets = resourceOf(Secret, 'k8s.io')
const message = toProtobuf(secrets.type, { metadata: { name: 'a' }, data: { k: 'dg==' }, type: 'Opaque' })
const decode = (bytes: Uint8Array, mediaType = PROTOBUF) => finish(decodeObject(secrets, { mediaType, bytes }, 'Strict'))

test('an object in an envelope is read as if it had been JSON', () => {
  const json = Buffer.from('{"metadata":{"name":"a"},"data":{"k":"dg=="},"type":"Opaque"}')
  const expected = decode(json, 'application/json')
  assert.deepEqual(decode(envelope({ kind: 'Secret', apiVersion: 'v1' }, message)), expected)
  assert.deepEqual(decode(envelope({ kind: '', apiVersion: '' }, message)), expected)
})

test('an envelope of something else is refused as JSON of something else is', () => {
  assert.throws(() => decode(envelope({ kind: 'Pod', apiVersion: 'v1' }, message)), {
    code: 400,
    message: 'Pod in version "v1" cannot be handled as a Secret: converting (v1.Pod) to (core.Secret): unknown conversion',
  })
  assert.throws(() => decode(envelope({ kind: 'Secret', apiVersion: 'v9' }, message)), /no kind "Secret" is registered for version "v9"/)
})

test('broken protobuf is a bad request that says what is broken', () => {
  assert.throws(() => decode(envelope({ kind: 'Secret', apiVersion: 'v1' }, message.subarray(0, -1))), {
    code: 400,
    message: 'Secret in version "v1" cannot be handled as a Secret: unexpected EOF',
  })
  assert.throws(() => decode(Buffer.from('{}')), {
    code: 400,
    message:
      'the object provided is unrecognized (must be of type Secret): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})',
  })
  assert.throws(() => decode(Buffer.alloc(0)), { code: 400 })
})

test('a body may name any of several versions, in every media type', () => {
  const expected = { kind: 'DeleteOptions', apiVersion: 'v1', type: DeleteOptionsType, alsoVersions: ['apps/v1'], isOptions: true } as const
  const options = toProtobuf(DeleteOptionsType, { gracePeriodSeconds: 0, propagationPolicy: 'Orphan', preconditions: { uid: 'u' } })
  const bytes = envelope({ kind: 'DeleteOptions', apiVersion: 'apps/v1' }, options)
  const { object } = finish(decodeObject(expected, { mediaType: PROTOBUF, bytes }, 'Ignore'))
  assert.deepEqual({ ...object }, {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u' },
    propagationPolicy: 'Orphan',
  } as object)
  const json = (text: string) =>
    finish(decodeObject(expected, { mediaType: 'application/json', bytes: Buffer.from(text) }, 'Strict')).object
  for (const version of ['', 'v1', 'apps/v1', 'any/v2']) assert.equal(json(`{"apiVersion":"${version}"}`).apiVersion, 'v1')
  assert.throws(() => json('{"apiVersion":"apps/v2","kind":"Options"}'), {
    code: 400,
    message:
      'no kind "Options" is registered for version "apps/v2" in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"',
  })
})

test('duplicate fields in YAML are reported with their line, before unknown ones', () => {
  const bytes = Buffer.from('metadata:\n  name: a\n  name: b\ndata:\n  k: dg==\n  k: dg==\nextra: 1\n')
  const transcoded = transcode({ format: 'yaml', bytes, limit: LIMITS.values.other.decoded }) as Extract<Transcoded, { outcome: 'json' }>
  const read = (validation: 'Ignore' | 'Warn' | 'Strict') =>
    finish(decodeObject(secrets, { mediaType: 'application/yaml', bytes, transcoded }, validation))
  assert.deepEqual(read('Ignore').warnings, [])
  assert.deepEqual(read('Warn').warnings, [
    'line 3: key "name" already set in map',
    'line 6: key "k" already set in map',
    'unknown field "extra"',
  ])
  assert.throws(() => read('Strict'), {
    code: 400,
    message:
      'Secret in version "v1" cannot be handled as a Secret: strict decoding error: yaml: unmarshal errors:\n  line 3: key "name" already set in map\n  line 6: key "k" already set in map, unknown field "extra"',
  })
})
