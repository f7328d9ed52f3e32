// Encrypted records: those of a real kube-apiserver, and those of every provider, whole, damaged and in the wrong place.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import fc from 'fast-check'
import { temporaryDirectory } from '../../test/kit.ts'
import { KmsPlugin } from '../../test/kits/kms-plugin.ts'
import { fromProtobuf } from '../codec/protobuf-decode.ts'
import { openEnvelope } from '../codec/protobuf-envelope.ts'
import { builtinKinds } from '../kinds/all.ts'
import { resourcesOf } from '../schema/resource.ts'
import { AesCbc, AesGcm, ExtendedNonceGcm } from './aes.ts'
import { loadEncryption } from './load-encryption.ts'
import { TransformationMetrics } from './metrics.ts'
import { RecordEncryption } from './record-encryption.ts'
import { Secretbox } from './secretbox.ts'
import type { Transformed, Transformer } from './transformer.ts'

type Recorded = { readonly provider: object; readonly key: string; readonly value: string; readonly served: any }
const recorded = readFileSync(new URL('../../test/recorded/etcd/encrypted.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Recorded)

async function encryptionWith(provider: object, resource: string) {
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: [resource], providers: [provider] }],
  }
  const options = { file: 'x', groupDomain: 'k8s.io', reload: false, gate: () => false, onReadable() {} }
  const loaded = await loadEncryption(JSON.stringify(configuration), { ...options, metrics: new TransformationMetrics() })
  return { encryption: new RecordEncryption(loaded.transformers), close: () => loaded.close() }
}

for (const { provider, key, value, served } of recorded)
  test(`a record that kube-apiserver encrypted with ${Object.keys(provider)[0]} is read`, async t => {
    const socket = join(temporaryDirectory(t), 'kms.sock')
    const plugin = await KmsPlugin.start(socket)
    t.after(() => plugin.stop())
    const [, , resource = ''] = key.split('/')
    const named = JSON.parse(JSON.stringify(provider).replace('/PLUGIN', socket))
    const { encryption, close } = await encryptionWith(named, resource)
    t.after(close)
    const record = { key: key.replace('/registry', '/core'), place: key }
    const read = await encryption.fromStorage(record, Buffer.from(value, 'base64'))
    assert.equal(read.fault, undefined)
    const { type } = resourcesOf(builtinKinds, 'k8s.io').find(({ plural, group }) => plural === resource && group === '')!
    const object: any = fromProtobuf(type, openEnvelope(read.value).raw, {})
    assert.deepEqual([object.metadata.name, object.metadata.uid, object.data], [served.metadata.name, served.metadata.uid, served.data])
    assert.equal(read.isStale, false)
    // Records that this server writes have the same prefix, and are read again.
    const written = encryption.toStorage(record, read.value)
    const prefixOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1').split(':').slice(0, 5).join(':')
    assert.equal(prefixOf(written), prefixOf(Buffer.from(value, 'base64')))
    assert.deepEqual(await encryption.fromStorage(record, written), { value: read.value, isStale: false })
  })

const bytes = (length: number, first: number) => Uint8Array.from({ length }, (_, i) => (first + i) & 0xff)
const at = (place: string) => ({ resource: 'secrets', place })

const PROVIDERS: readonly { name: string; make: (key: Uint8Array) => Transformer; isBound: boolean; isAuthentic: boolean }[] = [
  { name: 'aescbc', make: key => new AesCbc(key), isBound: false, isAuthentic: false },
  { name: 'aesgcm', make: key => new AesGcm(key), isBound: true, isAuthentic: true },
  { name: 'secretbox', make: key => new Secretbox(key), isBound: false, isAuthentic: true },
  { name: 'a seed of KMS', make: key => new ExtendedNonceGcm(key), isBound: true, isAuthentic: true },
]

for (const { name, make, isBound, isAuthentic } of PROVIDERS) {
  const first = make(bytes(32, 1))
  const open = (transformer: Transformer, data: Uint8Array, place = '/a') => transformer.fromStorage(data, at(place)) as Transformed

  test(`${name}: whatever is written is read, and never looks alike`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), data => {
        const [one, other] = [first.toStorage(data, at('/a')), first.toStorage(data, at('/a'))]
        assert.deepEqual(Buffer.from(open(first, one).data), Buffer.from(data))
        assert.notDeepEqual(one, other)
      }),
      { numRuns: 100 },
    )
  })

  test(`${name}: another key, a changed byte and a missing end are noticed`, () => {
    const second = make(bytes(32, 2))
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), fc.nat(), fc.integer({ min: 1, max: 255 }), (data, where, flip) => {
        const stored = first.toStorage(data, at('/a'))
        const changed = Buffer.from(stored)
        changed[where % changed.length]! ^= flip
        for (const [transformer, record] of [
          [second, stored],
          [first, changed],
          [first, stored.subarray(0, where % stored.length)],
        ] as const)
          if (isAuthentic) assert.throws(() => open(transformer, record))
          else
            try {
              // CBC has no checksum: what it reads may be wrong, but it never fails in another way.
              open(transformer, record)
            } catch (error) {
              assert.match((error as Error).message, /^(invalid|the stored data)/)
            }
      }),
      { numRuns: 100 },
    )
  })

  test(`${name}: a record in another place is ${isBound ? 'refused' : 'read'}`, () => {
    const stored = first.toStorage(Buffer.from('x'), at('/a'))
    if (isBound) assert.throws(() => open(first, stored, '/b'), { message: 'cipher: message authentication failed' })
    else assert.equal(Buffer.from(open(first, stored, '/b').data).toString(), 'x')
  })
}

test('XSalsa20-Poly1305 of the paper of NaCl', () => {
  const key = Buffer.from('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389', 'hex')
  const nonce = Buffer.from('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37', 'hex')
  const plain = Buffer.from(
    'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
    'hex',
  )
  const boxed = Buffer.from(
    'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
    'hex',
  )
  assert.deepEqual(Buffer.from((new Secretbox(key).fromStorage(Buffer.concat([nonce, boxed])) as Transformed).data), plain)
})

test('plain records are read where identity is among the providers, and refused otherwise', async t => {
  const key = { aescbc: { keys: [{ name: 'a', secret: Buffer.from(bytes(16, 0)).toString('base64') }] } }
  const record = { key: '/core/secrets/a', place: '/core/secrets/a' }
  const { encryption, close } = await encryptionWith(key, 'secrets')
  t.after(close)
  const fault = (why: string) => ({ fault: `data from the storage is not transformable revision=0: ${why}` })
  assert.deepEqual(encryption.fromStorage(record, Buffer.from('{}')), fault('no matching prefix found'))
  const other = { key: '/core/configmaps/a', place: '/core/configmaps/a' }
  assert.deepEqual(
    encryption.fromStorage(other, Buffer.from('k8s:enc:aescbc:v1:a:')),
    fault('identity transformer tried to read encrypted data'),
  )
  assert.deepEqual(
    encryption.fromStorage(record, Buffer.from('k8s:enc:aescbc:v1:b:')),
    fault('no matching key was found for the provided AES transformer'),
  )
})
