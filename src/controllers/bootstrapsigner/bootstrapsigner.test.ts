import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { tokenCleaner } from '../tokencleaner/controller.ts'
import { bootstrapSigner } from './controller.ts'
import { firstExpiry, signature, signedData } from './reconcile.ts'

const NOW = Date.parse('2026-07-01T12:00:00Z')
const base64 = (data: Record<string, string>) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
const token = (id: string, data: Record<string, string> = {}, more: object = {}) =>
  ({
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    data: base64({ 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true', ...data }),
    ...more,
  }) as never

test('a signature is that of RFC 7515 without its content', () => {
  assert.equal(
    signature('hello', { id: 'abcdef', secret: '0123456789abcdef' }).split('..')[0],
    Buffer.from('{"alg":"HS256","kid":"abcdef"}').toString('base64url'),
  )
})

test('the map is signed by every token that may, and by no others', () => {
  const names = (tokens: readonly never[], data: Record<string, string> = {}) =>
    Object.keys(signedData({ kubeconfig: 'x', ...data }, tokens, NOW) ?? {}).sort()
  assert.deepEqual(names([token('aaaaaa'), token('bbbbbb')]), ['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb', 'kubeconfig'])
  const bad = [
    token('aaaaaa', { 'usage-bootstrap-signing': 'yes' }),
    token('aaaaaa', { expiration: '2026-07-01T11:00:00Z' }),
    token('aaaaaa', { expiration: 'soon' }),
    token('aaaaaa', { 'token-id': 'bbbbbb' }),
    token('aaaaaa', { 'token-secret': '' }),
    token('aaaaaa', {}, { type: 'Opaque' }),
    token('AAAAAA'),
  ]
  for (const each of bad) assert.deepEqual(names([each]), [])
  assert.deepEqual(names([], { 'jws-kubeconfig-aaaaaa': 'old', other: 'stays' }), ['kubeconfig', 'other'])
  assert.equal(signedData({ other: 'x' }, [token('aaaaaa')], NOW), undefined)
})

test('a map that is signed stays as it is', () => {
  const signed = signedData({ kubeconfig: 'x' }, [token('aaaaaa')], NOW)!
  assert.equal(signedData(signed, [token('aaaaaa')], NOW), undefined)
  assert.ok(signedData({ ...signed, kubeconfig: 'y' }, [token('aaaaaa')], NOW))
  assert.equal(firstExpiry([token('aaaaaa'), token('bbbbbb', { expiration: '2026-07-01T12:00:05Z' })], NOW), NOW + 5000)
  assert.equal(firstExpiry([token('aaaaaa')], NOW), undefined)
})

test('signatures follow the tokens, and expired tokens are deleted', async t => {
  let now = NOW
  const bench = await openControllerBench(t, [ConfigMap, Secret], { now: () => new Date(now) })
  bench.run(bootstrapSigner)
  bench.run(tokenCleaner)
  const system = { namespace: 'kube-system' }
  await bench.send('POST configmaps', { metadata: { name: 'cluster-info' }, data: { kubeconfig: 'x' } }, { namespace: 'kube-public' })
  const keys = async () =>
    Object.keys((await bench.send('GET configmaps/cluster-info', undefined, { namespace: 'kube-public' })).body.data)
      .sort()
      .join()
  await bench.send('POST secrets', token('aaaaaa', { expiration: '2026-07-01T13:00:00Z' }), system)
  await bench.send('POST secrets', token('bbbbbb'), system)
  await becomes(keys, found => found === 'jws-kubeconfig-aaaaaa,jws-kubeconfig-bbbbbb,kubeconfig')
  await bench.send('DELETE secrets/bootstrap-token-bbbbbb', undefined, system)
  await becomes(keys, found => found === 'jws-kubeconfig-aaaaaa,kubeconfig')
  now += 3600_000
  await bench.send('PATCH secrets/bootstrap-token-aaaaaa', { metadata: { labels: { a: 'b' } } }, system)
  await becomes(
    async () => (await bench.send('GET secrets/bootstrap-token-aaaaaa', undefined, system)).code,
    code => code === 404,
  )
  await becomes(keys, found => found === 'kubeconfig')
})
