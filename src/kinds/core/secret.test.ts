import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { cells, check, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Secret } from './secret.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('stringData is merged into data, overwrites existing keys, and is not kept', () => {
  const o = withDefaults(Secret, { data: { a: base64('old'), b: base64('keep') }, stringData: { a: 'new', ['__proto__']: 'plain' } })
  assert.equal(o.stringData, undefined)
  assert.deepEqual(Object.entries(o.data), [
    ['a', base64('new')],
    ['b', base64('keep')],
    ['__proto__', base64('plain')],
  ])
  assert.equal(o.type, 'Opaque')
})

test('keys are file names and values have a limit', () => {
  assert.match(check(Secret, { data: { 'a b': 'eA==' } })[0]!, /^data\[a b\]: Invalid value: "a b": a valid config key/)
  const big = (bytes: number) => ({ data: { big: Buffer.alloc(bytes).toString('base64') } })
  assert.deepEqual(check(Secret, big(1024 * 1024)), [])
  assert.deepEqual(check(Secret, big(1024 * 1024 + 1)), ['data: Too long: may not be more than 1048576 bytes'])
})

test('some types need certain keys', () => {
  const needs = (type: string, data = {}) => check(Secret, { type: `kubernetes.io/${type}`, data })
  assert.deepEqual(needs('tls'), ['data[tls.crt]: Required value', 'data[tls.key]: Required value'])
  assert.deepEqual(needs('basic-auth', { x: 'eQ==' }), ['data[username]: Required value', 'data[password]: Required value'])
  assert.deepEqual(needs('basic-auth', { username: '' }), [])
  assert.deepEqual(needs('ssh-auth'), ['data[ssh-privatekey]: Required value'])
  assert.deepEqual(needs('dockercfg'), ['data[.dockercfg]: Required value'])
  assert.deepEqual(needs('service-account-token'), ['metadata.annotations[kubernetes.io/service-account.name]: Required value'])
  assert.deepEqual(needs('anything'), [])
})

test('registry credentials are a JSON object, and are not shown', () => {
  const docker = (text: string) => check(Secret, { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64(text) } })
  assert.deepEqual(docker('{"auths":{}}'), [])
  assert.deepEqual(docker('nope'), [
    "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'o' in literal null (expecting 'u')",
  ])
  assert.deepEqual(docker('[]'), [
    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
  ])
})

test('the type never changes, and an immutable object cannot change', () => {
  const old = { type: 'a', immutable: true, data: { a: 'MQ==' } }
  assert.deepEqual(check(Secret, { ...old, type: 'b' }, { old }), ['type: Invalid value: "b": field is immutable'])
  assert.deepEqual(check(Secret, { type: 'a', stringData: { a: '2' } }, { old }), [
    'immutable: Forbidden: field is immutable when `immutable` is set',
    'data: Forbidden: field is immutable when `immutable` is set',
  ])
})

test('a pair that no TLS server could use is warned about', () => {
  const tls = (crt: string, key: string) =>
    warnings(Secret, { type: 'kubernetes.io/tls', data: { 'tls.crt': base64(crt), 'tls.key': base64(key) } })
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const block = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  assert.deepEqual(tls('', ''), ['tls: failed to find any PEM data in certificate input'])
  assert.match(tls(key, key)[0]!, /did find a private key; PEM inputs may have been switched$/)
  assert.deepEqual(tls(block, ''), ['tls: failed to find any PEM data in key input'])
  assert.deepEqual(tls(block, block), ['tls: found a certificate rather than a key in the PEM for the private key'])
  assert.deepEqual(tls(block, key), ['x509: malformed certificate'])
  assert.deepEqual(warnings(Secret, {}), [])
})

test('its table counts the keys', () => {
  assert.deepEqual(cells(Secret, { data: { a: '', b: '' } }), { Type: 'Opaque', Data: 2, Age: '<unknown>' })
})
