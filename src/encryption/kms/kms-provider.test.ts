// A KMS provider with a real plugin on a socket: seeds, key ids, an absent plugin, and the end of the time in which it writes.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { eventually, patient, type Scope, temporaryDirectory } from '../../../test/kit.ts'
import { KmsPlugin } from '../../../test/kits/kms-plugin.ts'
import { TransformationMetrics } from '../metrics.ts'
import type { Transformed } from '../transformer.ts'
import { encodeEncryptedObject, SEED } from './encrypted-object.ts'
import { KmsProvider } from './kms-provider.ts'
import { GrpcKmsService } from './kms-service.ts'
import { KMS_TIMES, type KmsTimes } from './plugin-health.ts'

const AT = { resource: 'secrets', place: '/registry/secrets/default/a' }
/** Answers count for no time, so that every check asks. */
const NOW: KmsTimes = { ...KMS_TIMES, goodForMs: 0, badForMs: 0 }

async function bench(t: Scope, { times = NOW, timeoutMs = 3000, isRunning = true } = {}) {
  const path = join(temporaryDirectory(t), 'kms.sock')
  let plugin = isRunning ? await KmsPlugin.start(path) : undefined
  const clock = { ms: Date.parse('2026-01-01T00:00:00Z') }
  const metrics = new TransformationMetrics()
  let readable = 0
  const open = () => {
    const service = new GrpcKmsService({ name: 'vault', endpoint: `unix://${path}`, timeoutMs, metrics })
    const provider = new KmsProvider({ name: 'vault', service, metrics, now: () => clock.ms, times, onReadable: () => readable++ })
    t.after(() => provider.close())
    return provider
  }
  t.after(() => plugin?.stop())
  return {
    clock,
    open,
    metrics,
    get plugin() {
      return plugin!
    },
    get readable() {
      return readable
    },
    start: async () => (plugin = await KmsPlugin.start(path)),
    path,
  }
}
const text = (transformed: Transformed) => Buffer.from(transformed.data).toString()

test('one seed serves many records, and another server asks for it once', patient, async t => {
  const { open, plugin, metrics } = await bench(t)
  const first = open()
  await first.start()
  const records = Array.from({ length: 20 }, (_, i) => first.toStorage(Buffer.from(`value ${i}`), AT))
  assert.deepEqual(plugin.calls, { Status: 1, Encrypt: 1, Decrypt: 0 })
  assert.equal(text(first.fromStorage(records[3]!, AT) as Transformed), 'value 3', 'what it wrote itself is read without the plugin')
  const second = open()
  await second.start()
  const read = await Promise.all(records.map(record => second.fromStorage(record, AT)))
  assert.deepEqual(
    read.map(text),
    Array.from({ length: 20 }, (_, i) => `value ${i}`),
  )
  assert.equal(plugin.calls.Decrypt, 1)
  assert.ok(
    read.every(({ isStale }) => !isStale),
    'a seed of another server with the same key is as good',
  )
  await assert.rejects(
    async () => second.fromStorage(records[0]!, { ...AT, place: '/registry/secrets/default/b' }),
    /authentication failed/,
  )
  const families = metrics.families().map(({ name }) => name)
  for (const name of ['key_id_hash_total', 'kms_operations_latency_seconds', 'dek_source_cache_size'])
    assert.ok(families.includes(`apiserver_envelope_encryption_${name}`), name)
})

test('records of a former key id are stale, and are read', patient, async t => {
  const { open, plugin } = await bench(t)
  const provider = open()
  await provider.start()
  const before = provider.toStorage(Buffer.from('x'), AT)
  plugin.keyId = '2'
  assert.equal(await provider.check(), undefined)
  const after = provider.toStorage(Buffer.from('x'), AT)
  assert.deepEqual(provider.fromStorage(before, AT), { data: Buffer.from('x'), isStale: true })
  assert.deepEqual(provider.fromStorage(after, AT), { data: Buffer.from('x'), isStale: false })
})

test('a plugin that fails is reported; writes go on for three minutes, reads for ever', patient, async t => {
  const { open, plugin, clock } = await bench(t)
  const provider = open()
  await provider.start()
  const record = provider.toStorage(Buffer.from('x'), AT)
  plugin.isFailing = true
  assert.equal(
    await provider.check(),
    'failed to perform status section of the healthz check for KMS Provider vault, error: rpc error: code = FailedPrecondition desc = failed precondition - key disabled',
  )
  clock.ms += 180_000
  provider.toStorage(Buffer.from('x'), AT)
  clock.ms += 1000
  assert.throws(() => provider.toStorage(Buffer.from('x'), AT), {
    message:
      'encryptedDEKSource with keyID hash "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" expired at 2026-01-01T00:03:00Z (current time is 2026-01-01T00:03:01Z)',
  })
  assert.equal(text(provider.fromStorage(record, AT) as Transformed), 'x')
  plugin.isFailing = false
  assert.equal(await provider.check(), undefined)
  provider.toStorage(Buffer.from('x'), AT)
})

test('what a plugin says of itself is checked', patient, async t => {
  const { open, plugin, metrics } = await bench(t)
  const provider = open()
  await provider.start()
  const says = async (change: Partial<KmsPlugin>, problem: RegExp) => {
    const before = { healthz: plugin.healthz, version: plugin.version, keyId: plugin.keyId }
    Object.assign(plugin, change)
    assert.match((await provider.check())!, problem)
    Object.assign(plugin, before)
  }
  await says({ healthz: 'tired' }, /^kmsv2 Provider vault is not healthy, error: got unexpected healthz status: tired$/)
  await says({ version: 'v9' }, /expected KMSv2 API version v2, got v9/)
  await says({ version: 'v2beta1' }, /KMSv2 API version should not change after the initial status response version v2, got v2beta1/)
  await says({ keyId: '' }, /got invalid KMSv2 KeyID hash "": keyID is empty/)
  await says({ keyId: 'x'.repeat(1025) }, /keyID is 1025 bytes, which exceeds the max size of 1024/)
  const invalid = metrics.families().find(({ name }) => name.endsWith('invalid_key_id_from_status_total'))!
  assert.deepEqual(
    invalid.samples.map(([labels]) => labels['error']),
    ['empty', 'too_long'],
  )
})

test('a plugin that is not there yet is waited for in the background, and reads that failed are announced', patient, async t => {
  const times = { ...NOW, unhealthyMs: 20 }
  const parts = await bench(t, { times, timeoutMs: 200, isRunning: false })
  const provider = parts.open()
  await provider.start()
  assert.match(
    (await provider.check())!,
    new RegExp(
      `error: rpc error: code = DeadlineExceeded desc = latest balancer error: connection error: desc = "transport: Error while dialing: dial unix ${parts.path}: connect: no such file or directory"$`,
    ),
  )
  assert.throws(() => provider.toStorage(Buffer.from('x'), AT), { message: 'got unexpected nil transformer' })
  const source = { keyId: '1', encryptedDekSource: Buffer.from('y'), annotations: {}, type: SEED }
  const stored = encodeEncryptedObject({ ...source, data: Buffer.from('x') })
  assert.throws(() => provider.fromStorage(stored, AT), { message: 'got unexpected nil transformer' })
  await parts.start()
  await eventually('the plugin is used', async () => (parts.readable > 0 ? true : undefined))
  provider.toStorage(Buffer.from('x'), AT)
  await assert.rejects(
    async () => provider.fromStorage(stored, AT),
    /^Error: failed to decrypt DEK, error: rpc error: code = InvalidArgument/,
  )
})
