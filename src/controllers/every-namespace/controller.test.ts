import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { NOW, openBench } from '../../../test/kits/registry.ts'
import { namespaceLifecycle } from '../../admission/namespace-lifecycle.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { LocalClient } from '../../registry/local-client.ts'
import { resourceOf } from '../../schema/resource.ts'
import { nextStep as nextForAuthority } from '../root-ca-cert-publisher/reconcile.ts'
import { nextStep as nextForAccount } from '../serviceaccount/reconcile.ts'
import { startEveryNamespace } from './controller.ts'

const [namespaces, accounts, maps] = [Namespace, ServiceAccount, ConfigMap].map(kind => resourceOf(kind, 'k8s.io')) as [any, any, any]

async function open(t: TestContext) {
  const bench = await openBench([Namespace, ServiceAccount, ConfigMap], {
    plugins: [namespaceLifecycle(name => client?.get(namespaces, { name }))],
  })
  const user = { name: 'controller', groups: [] }
  const more = { groupDomain: 'k8s.io', gate: () => false, now: () => NOW }
  const client: LocalClient = new LocalClient({ registry: bench.registry, caches: bench.caches, user, manager: 'test', ...more })
  const ending = new AbortController()
  t.after(() => {
    ending.abort()
    return bench.close()
  })
  await bench.send('POST namespaces', { metadata: { name: 'one' } })
  const parts = { api: client, namespaces, onError: assert.ifError, signal: ending.signal }
  await startEveryNamespace({ ...parts, resource: accounts, name: 'default', nextStep: nextForAccount })
  await startEveryNamespace({ ...parts, resource: maps, name: 'kube-root-ca.crt', nextStep: stored => nextForAuthority('PEM', stored) })
  return bench
}

/** Waits for a state that must come. */
async function becomes<T>(read: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  for (let turn = 0; turn < 100_000; turn++) {
    const value = await read()
    if (isThere(value)) return value
    await new Promise(setImmediate)
  }
  throw new Error('it never came')
}

test('what is there at the start has them when it has begun', async t => {
  const { send } = await open(t)
  const { body } = await send('GET serviceaccounts/default', undefined, { namespace: 'one' })
  assert.equal(body.metadata.namespace, 'one')
  const map = await send('GET configmaps/kube-root-ca.crt', undefined, { namespace: 'one' })
  assert.deepEqual(map.body.data, { 'ca.crt': 'PEM' })
  assert.match(map.body.metadata.annotations['kubernetes.io/description'], /^Contains a CA bundle /)
})

test('new namespaces get them, and what is deleted or changed comes back', async t => {
  const { send } = await open(t)
  await send('POST namespaces', { metadata: { name: 'two' } })
  const inTwo = { namespace: 'two' }
  const account = await becomes(
    () => send('GET serviceaccounts/default', undefined, inTwo),
    ({ code }) => code === 200,
  )
  await send('DELETE serviceaccounts/default', undefined, inTwo)
  await becomes(
    () => send('GET serviceaccounts/default', undefined, inTwo),
    ({ code, body }) => code === 200 && body.metadata.uid !== account.body.metadata.uid,
  )
  const map = () => send('GET configmaps/kube-root-ca.crt', undefined, inTwo)
  await becomes(map, ({ code }) => code === 200)
  await send('PATCH configmaps/kube-root-ca.crt', { data: { 'ca.crt': 'evil', more: 'x' }, metadata: { labels: { a: 'b' } } }, inTwo)
  const { body } = await becomes(map, ({ body }) => body.data['ca.crt'] === 'PEM')
  assert.deepEqual([body.data, body.metadata.labels], [{ 'ca.crt': 'PEM' }, { a: 'b' }])
})

test('a namespace on its way out is left alone', async t => {
  const { send } = await open(t)
  await send('DELETE namespaces/one')
  await send('DELETE serviceaccounts/default', undefined, { namespace: 'one' })
  await send('POST namespaces', { metadata: { name: 'three' } })
  await becomes(
    () => send('GET serviceaccounts/default', undefined, { namespace: 'three' }),
    ({ code }) => code === 200,
  )
  assert.equal((await send('GET serviceaccounts/default', undefined, { namespace: 'one' })).code, 404)
})

test('the authority is written once and then left alone', () => {
  const first = nextForAuthority('PEM', undefined)
  assert.ok(first?.step === 'create')
  assert.equal(nextForAuthority('PEM', { kind: '', apiVersion: '', metadata: {}, ...first.object } as never), undefined)
  assert.equal(nextForAccount({ kind: '', apiVersion: '', metadata: {} }), undefined)
})
