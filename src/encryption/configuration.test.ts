// Configurations that kube-apiserver refuses, recorded with its errors, and the precedence of those that it takes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { loadEncryption } from './load-encryption.ts'
import { TransformationMetrics } from './metrics.ts'
import { RecordEncryption } from './record-encryption.ts'

type Case = { readonly file: string; readonly text: string; readonly error: string }
const cases = readFileSync(new URL('../../test/recorded/encryption-errors.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Case)

const load = (text: string, file = 'config.yaml', reload = false) =>
  loadEncryption(text, { file, groupDomain: 'k8s.io', reload, gate: () => false, metrics: new TransformationMetrics(), onReadable() {} })

/** Errors of Go's decoder that differ here: in which scheme of kube-apiserver a kind is missing, and how values are called in Go. */
const DIFFERENT: Readonly<Record<string, RegExp>> = {
  'other-version.yaml': /no kind "EncryptionConfiguration" is registered for version "apiserver.config.k8s.io\/v1alpha1"/,
  'not-yaml.yaml': /error decoding encryption provider configuration file "not-yaml.yaml": /,
  'dup-field.yaml': /error decoding encryption provider configuration file "dup-field.yaml": .*"resources"/s,
  'wrong-type.yaml': /error decoding encryption provider configuration file "wrong-type.yaml": .*resources/,
}

for (const { file, text, error } of cases)
  test(`${file} is refused as by kube-apiserver`, async () => {
    // kube-apiserver prints secrets here.
    const expected = DIFFERENT[file] ?? { message: error.replace(/"Secret":"[^"]+"/g, '"Secret":"REDACTED"') }
    await assert.rejects(load(text, file), expected)
  })

const keyed = (name: string) => `{aesgcm: {keys: [{name: ${name}, secret: MDEyMzQ1Njc4OWFiY2RlZg==}]}}`
const document = (...rules: readonly (readonly [resources: string, provider: string])[]) =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n${rules.map(([resources, provider]) => `- {resources: [${resources}], providers: [${provider}]}\n`).join('')}`

test('a resource is encrypted by its own rule, or by that of its group, or by that of all', async () => {
  const text = document(
    ['events', '{identity: {}}'],
    ['secrets', keyed('own')],
    ["'*.apps'", keyed('group')],
    ["'*.'", keyed('core')],
    ["'*.*'", keyed('all')],
  )
  const { transformers } = await load(text)
  const encryption = new RecordEncryption(transformers)
  const keyOf = (key: string) =>
    /^k8s:enc:aesgcm:v1:(\w+):/.exec(Buffer.from(encryption.toStorage({ key, place: key }, Buffer.from('{}'))).toString('latin1'))?.[1]
  assert.equal(keyOf('/core/events/default/a'), undefined)
  assert.equal(keyOf('/core/secrets/default/a'), 'own')
  assert.equal(keyOf('/core/configmaps/default/a'), 'core')
  assert.equal(keyOf('/apps/deployments/default/a'), 'group')
  assert.equal(keyOf('/batch/jobs/default/a'), 'all')
  assert.equal(keyOf('/x.example.org/widgets/default/a'), 'all')
  // Records without an API, which kube-apiserver does not encrypt either, and those that only this server has.
  for (const key of ['/ranges/servicenodeports', '/masterleases/10.0.0.1', '/keelson/identity', '/allocation/nodeports/30001'])
    assert.equal(keyOf(key), undefined, key)
})

test('rules of one resource in several lists are one list of providers', async () => {
  const { transformers } = await load(document(['secrets', keyed('first')], ['secrets', keyed('second')]))
  const encryption = new RecordEncryption(transformers)
  const [name, before] = [
    { key: '/core/secrets/a', place: '/core/secrets/a' },
    new RecordEncryption((await load(document(['secrets', keyed('second')]))).transformers),
  ]
  const read = encryption.fromStorage(name, before.toStorage(name, Buffer.from('x')))
  assert.deepEqual(read, { value: Buffer.from('x'), isStale: true })
})
