import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBench } from '../../test/kits/registry.ts'
import { Binding } from '../kinds/core/binding.ts'
import { ComponentStatus } from '../kinds/core/componentstatus.ts'
import { Pod } from '../kinds/core/pod/pod.ts'

const pod = { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const binding = (metadata: object) => ({ kind: 'Binding', apiVersion: 'v1', metadata, target: { kind: 'Node', name: 'n1' } })

test('a binding binds the pod that it names, once', async t => {
  const bench = await openBench([Pod, Binding])
  t.after(() => bench.close())
  await bench.send('POST pods', { kind: 'Pod', apiVersion: 'v1', ...pod })
  const { code, body } = await bench.send('POST bindings', binding({ name: 'a' }))
  assert.equal(code, 201)
  assert.equal(body.status, 'Success')
  assert.equal((await bench.send('GET pods/a')).body.spec.nodeName, 'n1')
  const again = await bench.send('POST bindings', binding({ name: 'a' }))
  assert.equal(again.code, 409)
  assert.match(again.body.message, /pod a is already assigned to node "n1"$/)
})

test('a binding names a pod that is there, in the namespace of the request', async t => {
  const bench = await openBench([Pod, Binding])
  t.after(() => bench.close())
  assert.equal((await bench.send('POST bindings', binding({ name: 'none' }))).code, 404)
  assert.equal((await bench.send('POST bindings', binding({}))).body.message, 'Name parameter required.')
  assert.equal((await bench.send('POST bindings', binding({ name: 'a', namespace: 'other' }))).code, 400)
})

test('component statuses show the health of the server, and can be selected by name and labels', async t => {
  let problem: string | undefined
  const bench = await openBench([ComponentStatus], { parts: () => [{ name: 'store', problem }, { name: 'other' }] })
  t.after(() => bench.close())
  const healthy = { type: 'Healthy', status: 'True', message: 'ok' }
  assert.deepEqual((await bench.send('GET componentstatuses/store')).body, {
    kind: 'ComponentStatus',
    apiVersion: 'v1',
    metadata: { name: 'store' },
    conditions: [healthy],
  })
  problem = 'the disk is full'
  const names = async (query = '') => (await bench.send(`GET componentstatuses${query}`)).body.items.map((o: any) => o.metadata.name)
  assert.deepEqual(await names(), ['store', 'other'])
  assert.deepEqual(await names('?fieldSelector=metadata.name=other'), ['other'])
  assert.deepEqual(await names('?labelSelector=a'), [])
  const { body } = await bench.send('GET componentstatuses/store')
  assert.deepEqual(body.conditions, [{ type: 'Healthy', status: 'False', error: 'the disk is full' }])
  const missing = await bench.send('GET componentstatuses/none')
  assert.equal(missing.body.message, 'componentstatus "none" not found')
})
