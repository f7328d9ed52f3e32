import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { issueAuthority, issueServer } from '../../lib/x509/issue.ts'
import { clusterTrustBundlePublisher } from './controller.ts'
import { bundleName, SIGNER, trustAnchors } from './reconcile.ts'

const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2036-01-01') }
const [first, second] = [issueAuthority('first', validity), issueAuthority('second', validity)]

test('the bundle is named by its content, and is restored when it is changed or deleted', async t => {
  const bench = await openControllerBench(t, [ClusterTrustBundle])
  const other = { metadata: { name: 'example.com:x:y' }, spec: { signerName: 'example.com/x', trustBundle: second.cert } }
  const old = { metadata: { name: bundleName(second.cert) }, spec: { signerName: SIGNER, trustBundle: second.cert } }
  for (const bundle of [other, old]) assert.equal((await bench.send('POST clustertrustbundles', bundle)).code, 201)
  await bench.run(clusterTrustBundlePublisher(first.cert)).idle()
  const all = async () => (await bench.send('GET clustertrustbundles')).body.items
  const [foreign, own, ...more] = await all()
  assert.deepEqual([foreign.metadata.name, more], ['example.com:x:y', []])
  assert.match(own.metadata.name, /^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/)
  assert.deepEqual(own.spec, { signerName: SIGNER, trustBundle: first.cert })

  await bench.send(`DELETE clustertrustbundles/${own.metadata.name}`)
  const again = await becomes(all, items => items.length === 2)
  assert.equal(again[1].metadata.name, own.metadata.name)
  await bench.send(`PATCH clustertrustbundles/${own.metadata.name}`, { spec: { trustBundle: second.cert } })
  await becomes(all, items => items[1].spec.trustBundle === first.cert)
})

test('certificates that are no authorities are not published', async t => {
  const server = issueServer(first, 'x', { names: ['localhost'], ...validity })
  assert.equal(trustAnchors(`${server.cert}text\n${first.cert}${first.cert}`), first.cert)
  const bench = await openControllerBench(t, [ClusterTrustBundle])
  await bench.run(clusterTrustBundlePublisher(server.cert)).idle()
  assert.deepEqual((await bench.send('GET clustertrustbundles')).body.items, [])
})
