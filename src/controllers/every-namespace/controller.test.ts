import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { namespaceLifecycle } from '../../admission/plugins/namespace-lifecycle.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { rootCaPublisher } from '../root-ca-cert-publisher/controller.ts'
import { nextStep as nextForAuthority } from '../root-ca-cert-publisher/reconcile.ts'
import { serviceAccountController } from '../serviceaccount/controller.ts'
import { nextStep as nextForAccount } from '../serviceaccount/reconcile.ts'

async function open(t: TestContext) {
  const kinds = [Namespace, ServiceAccount, ConfigMap]
  const bench = await openControllerBench(t, kinds, {
    plugins: [namespaceLifecycle(name => bench.client.of(Namespace).get({ name }))],
  })
  await bench.send('POST namespaces', { metadata: { name: 'one' } })
  await Promise.all([serviceAccountController, rootCaPublisher('PEM')].map(controller => bench.run(controller).idle()))
  return bench
}

test('what is there at the start has them when it has begun', async t => {
  const { send } = await open(t)
  const { body } = await send('GET serviceaccounts/default', undefined, { namespace: 'one' })
  assert.equal(body.metadata.namespace, 'one')
  const map = await send('GET configmaps/kube-root-ca.crt', undefined, { namespace: 'one' })
  assert.deepEqual(map.body.data, { 'ca.crt': 'PEM' })
  assert.match(map.body.metadata.annotations['kubernetes.io/description'], /^Contains a CA bundle /)
})

test('every new namespace gets the objects, and deleted or changed ones are restored', async t => {
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

test('a terminating namespace is ignored', async t => {
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

test('the CA is written once and then not changed', () => {
  const first = nextForAuthority('PEM', undefined)
  assert.ok(first?.step === 'create')
  assert.equal(nextForAuthority('PEM', { kind: '', apiVersion: '', metadata: {}, ...first.object } as never), undefined)
  assert.equal(nextForAccount({ kind: '', apiVersion: '', metadata: {} } as never), undefined)
})
