import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Kubelets } from './kubelets.ts'

const node = (uid: string) => ({ metadata: { name: 'n', uid }, spec: { podCIDRs: ['10.244.0.0/24'] } }) as unknown as Node
const recorder = { event: () => {}, flushed: async () => {} }

test('a new kubelet takes over the pods that were started before, and a new Node gets a new kubelet', async t => {
  const { client } = await openControllerBench(t, [Node, Pod])
  const pods = client.of(Pod)
  const create = async (name: string, status: object) => {
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'web:1' }] }
    const { object } = (await pods.create({ metadata: { namespace: 'ns', name }, spec } as never))!
    await pods.updateStatus({ ...object, status } as never)
  }
  const startTime = '2026-07-01T12:00:00Z'
  await create('running', { phase: 'Running', startTime, podIP: '10.244.0.2', podIPs: [{ ip: '10.244.0.2' }] })
  await create('ended', { phase: 'Failed', startTime, podIP: '10.244.0.3', podIPs: [{ ip: '10.244.0.3' }] })
  await create('new', { phase: 'Pending' })
  const kubelets = new Kubelets({ client, recorderFor: () => recorder, onError: assert.ifError, random: () => 0 })
  assert.equal(kubelets.has('n'), false)
  const first = kubelets.of(node('1'))
  assert.deepEqual([[...first.admitted], first.addresses.peek('ns/new')], [['ns/running'], ['10.244.0.3']])
  assert.equal(kubelets.of(node('1')), first)
  kubelets.release('n', 'ns/running')
  assert.equal(first.admitted.size, 0)
  assert.notEqual(kubelets.of(node('2')), first)
  kubelets.forget('n')
  assert.equal(kubelets.has('n'), false)
})
