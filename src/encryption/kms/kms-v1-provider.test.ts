import assert from 'node:assert/strict'
import { createCipheriv, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually, temporaryDirectory } from '../../../test/kit.ts'
import { KmsPlugin } from '../../../test/kits/kms-plugin.ts'
import { TransformationMetrics } from '../metrics.ts'
import { KmsV1Provider, type KmsV1ProviderOptions } from './kms-v1-provider.ts'
import { GrpcKmsV1Service, type KmsV1Service } from './kms-v1-service.ts'
import { KMS_TIMES } from './plugin-health.ts'

const CONTEXT = { resource: 'secrets', place: '/registry/secrets/default/a' }
const PLAIN = Buffer.from('a record')

async function started(t: TestContext, more: Partial<KmsV1ProviderOptions> = {}) {
  const plugin = await KmsPlugin.start(join(temporaryDirectory(t), 'kms.sock'))
  t.after(() => plugin.stop())
  const service = new GrpcKmsV1Service({ endpoint: plugin.endpoint, timeoutMs: 2000 })
  const provider = providerOf(t, service, more)
  await provider.start()
  return { plugin, service, provider }
}

function providerOf(t: TestContext, service: KmsV1Service, more: Partial<KmsV1ProviderOptions> = {}): KmsV1Provider {
  const metrics = new TransformationMetrics()
  const times = { ...KMS_TIMES, goodForMs: 0, badForMs: 0 }
  const provider = new KmsV1Provider({ name: 'vault', service, metrics, cacheSize: 1000, times, onReadable: () => {}, ...more })
  t.after(() => provider.close())
  return provider
}

test('a record carries its key, encrypted by the plugin, and another server reads it', async t => {
  const { plugin, service, provider } = await started(t)
  assert.equal(plugin.calls.Version, 1)
  const stored = Buffer.from(provider.toStorage(PLAIN, CONTEXT))
  const length = stored.readUInt16BE(0)
  assert.equal(stored.subarray(2, 4).toString(), '1:')
  assert.equal(stored.length, 2 + length + 12 + PLAIN.length + 16)
  assert.deepEqual(await provider.fromStorage(stored, CONTEXT), { data: PLAIN, isStale: false })
  const calls = plugin.calls.Decrypt
  const other = providerOf(t, service)
  const [first, second] = await Promise.all([other.fromStorage(stored, CONTEXT), other.fromStorage(stored, CONTEXT)])
  assert.deepEqual(
    [first, second],
    [
      { data: PLAIN, isStale: false },
      { data: PLAIN, isStale: false },
    ],
  )
  assert.equal(plugin.calls.Decrypt, calls + 1)
  // The place is authenticated.
  assert.throws(() => provider.fromStorage(stored, { ...CONTEXT, place: '/registry/secrets/default/b' }))
})

test('writes get new keys; they fail while the plugin fails, and go on when it is back', async t => {
  const { plugin, provider } = await started(t)
  const keyOf = (stored: Uint8Array) =>
    Buffer.from(stored)
      .subarray(0, 2 + Buffer.from(stored).readUInt16BE(0))
      .toString('hex')
  const keys = new Set<string>()
  await eventually('keys of their own', () => {
    keys.add(keyOf(provider.toStorage(PLAIN, CONTEXT)))
    return keys.size > 2 ? true : undefined
  })
  plugin.isFailing = true
  const failure = await eventually('a write that fails', () => {
    try {
      provider.toStorage(PLAIN, CONTEXT)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  })
  assert.equal(failure, 'rpc error: code = FailedPrecondition desc = failed precondition - key disabled')
  assert.equal(
    await provider.check(),
    'failed to perform encrypt section of the healthz check for KMS Provider vault, error: rpc error: code = FailedPrecondition desc = failed precondition - key disabled',
  )
  plugin.isFailing = false
  assert.equal(await provider.check(), undefined)
  provider.toStorage(PLAIN, CONTEXT)
})

test('records of AES-CBC are read and stale, and others that are damaged are refused', async t => {
  const { service, provider } = await started(t)
  const key = randomBytes(32)
  const cipher = await service.encrypt(key)
  const head = Buffer.alloc(2)
  head.writeUInt16BE(cipher.length)
  const iv = randomBytes(16)
  const cbc = createCipheriv('aes-256-cbc', key, iv)
  const stored = Buffer.concat([head, cipher, iv, cbc.update(PLAIN), cbc.final()])
  assert.deepEqual(await provider.fromStorage(stored, CONTEXT), { data: PLAIN, isStale: true })
  for (const short of [Buffer.alloc(0), Buffer.alloc(1), stored.subarray(0, 10)])
    assert.throws(() => provider.fromStorage(short, CONTEXT), {
      message: 'invalid data encountered by envelope transformer: failed to read uint16 length prefixed data',
    })
})

test('a plugin of another version is refused, and asked again', async t => {
  const plugin = await KmsPlugin.start(join(temporaryDirectory(t), 'kms.sock'))
  t.after(() => plugin.stop())
  plugin.firstVersion = 'v9'
  const provider = providerOf(t, new GrpcKmsV1Service({ endpoint: plugin.endpoint, timeoutMs: 2000 }))
  await provider.start()
  const message = 'KMS provider api version v9 is not supported, only v1beta1 is supported now'
  assert.throws(() => provider.toStorage(PLAIN, CONTEXT), { message })
  plugin.firstVersion = 'v1beta1'
  assert.equal(await provider.check(), undefined)
  provider.toStorage(PLAIN, CONTEXT)
})

test('records that could not be read are announced when the plugin is back', async t => {
  let announced = 0
  const { plugin, service, provider } = await started(t, { cacheSize: -1, onReadable: () => announced++ })
  const stored = providerOf(t, service)
  await stored.start()
  const record = stored.toStorage(PLAIN, CONTEXT)
  plugin.isFailing = true
  await assert.rejects(async () => provider.fromStorage(record, CONTEXT))
  await provider.check()
  assert.equal(announced, 0)
  plugin.isFailing = false
  await provider.check()
  assert.equal(announced, 1)
  assert.deepEqual(await provider.fromStorage(record, CONTEXT), { data: PLAIN, isStale: false })
})
