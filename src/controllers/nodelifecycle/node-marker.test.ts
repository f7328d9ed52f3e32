import assert from 'node:assert/strict'
import test from 'node:test'
import { listRecorder, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { NodeMarker } from './node-marker.ts'

const NOW = '2030-01-01T00:00:00Z'
const AT = { namespace: 'default', name: 'p' }

/** A node with a status of Ready, if any, and a ready pod on it. */
async function open(t: Scope, ready?: string) {
  const { client } = await openControllerBench(t, [Node, Pod], { now: () => new Date(NOW) })
  const [nodes, pods, recorder] = [client.of(Node), client.of(Pod), listRecorder()]
  const node = (await nodes.create({ metadata: { name: 'n' } }))!.object
  if (ready !== undefined) await nodes.updateStatus({ ...node, status: { conditions: [{ type: 'Ready', status: ready }] } } as Node)
  const pod = (await pods.create({ metadata: AT, spec: { nodeName: 'n', containers: [{ name: 'main', image: 'i' }] } }))!.object
  await pods.updateStatus({ ...pod, status: { ...pod.status, conditions: [{ type: 'Ready', status: 'True' }] } } as Pod)
  const marker = new NodeMarker({ client, recorder })
  return {
    marker,
    events: recorder.events,
    node: () => nodes.get({ name: 'n' })!,
    readyOfNode: () => conditionOf(nodes.get({ name: 'n' })?.status?.conditions, 'Ready'),
    readyOfPod: () => conditionOf(pods.get(AT)?.status.conditions, 'Ready'),
  }
}

test('a silent node gets unknown conditions; its pods are marked if it was ready', async t => {
  for (const [before, pod, events] of [
    ['True', 'False', ['n Normal NodeNotReady: Node n status is now: NodeNotReady', 'p Warning NodeNotReady: Node is not ready']],
    ['False', 'True', []],
    [undefined, 'True', []],
  ] as const) {
    const parts = await open(t, before)
    assert.equal(await parts.marker.markSilent(parts.node()), true)
    assert.deepEqual([parts.readyOfNode()?.status, parts.readyOfNode()?.lastTransitionTime], ['Unknown', NOW])
    assert.equal(parts.readyOfPod()?.status, pod)
    assert.deepEqual(parts.events, events)
    assert.equal(await parts.marker.markSilent(parts.node()), false)
    assert.deepEqual(parts.events, events)
  }
})

test('a node is down when it is there and not ready', async t => {
  for (const [ready, isDown] of [
    ['True', false],
    ['False', true],
    ['Unknown', true],
    [undefined, false],
  ] as const)
    assert.equal((await open(t, ready)).marker.isDown('n'), isDown)
  assert.equal((await open(t)).marker.isDown('other'), false)
})
