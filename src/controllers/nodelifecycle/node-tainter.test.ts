import assert from 'node:assert/strict'
import test from 'node:test'
import { openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { Node } from '../../kinds/core/node.ts'
import { NodeTainter } from './node-tainter.ts'

async function open(t: Scope) {
  let nowMs = Date.parse('2030-01-01T00:00:00Z')
  const { client } = await openControllerBench(t, [Node], { now: () => new Date(nowMs) })
  const nodes = client.of(Node)
  const tainter = new NodeTainter(client)
  return {
    tainter,
    pass: (ms: number) => (nowMs += ms),
    node: (name: string) => nodes.get({ name })!,
    taints: (name: string) => (nodes.get({ name })!.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`),
    add: (name: string, ready: string, labels: Record<string, string> = {}) =>
      nodes.create({
        metadata: { name, labels },
        status: { conditions: [{ type: 'Ready', status: ready }], nodeInfo: {}, daemonEndpoints: {} },
      } as never),
    setReady: (name: string, status: string) =>
      nodes.patch({ name }, { status: { conditions: [{ type: 'Ready', status }] } }, { subresource: 'status' }),
  }
}

const UNREACHABLE = 'node.kubernetes.io/unreachable:NoExecute'

test('conditions become taints that keep pods away, and labels get their older names', async t => {
  const { tainter, add, node, taints } = await open(t)
  await add('a', 'False', { 'kubernetes.io/os': 'linux' })
  assert.equal(await tainter.adjust(node('a')), true)
  assert.deepEqual(taints('a'), ['node.kubernetes.io/not-ready:NoSchedule'])
  assert.equal(node('a').metadata.labels?.['beta.kubernetes.io/os'], 'linux')
  assert.equal(await tainter.adjust(node('a')), false)
})

test('the nodes of a zone are evicted one after another', async t => {
  const { tainter, add, node, taints, pass } = await open(t)
  for (const [name, ready] of Object.entries({ a: 'Unknown', b: 'Unknown', c: 'True' })) await add(name, ready)
  assert.equal(await tainter.evict(node('a')), undefined)
  assert.equal(await tainter.evict(node('b')), 10_000)
  assert.deepEqual([taints('a'), taints('b')], [[UNREACHABLE], []])
  pass(10_000)
  await tainter.evict(node('b'))
  assert.deepEqual(taints('b'), [UNREACHABLE])
})

test('a node that is ready again loses the taint', async t => {
  const { tainter, add, node, taints, setReady } = await open(t)
  for (const [name, ready] of Object.entries({ a: 'Unknown', b: 'True' })) await add(name, ready)
  await tainter.evict(node('a'))
  await setReady('a', 'True')
  await tainter.evict(node('a'))
  assert.deepEqual(taints('a'), [])
})

test('evictions are suspended in a small zone where most nodes are down, and taken back where all are', async t => {
  const { tainter, add, node, taints, setReady } = await open(t)
  for (const [name, ready] of Object.entries({ a: 'Unknown', b: 'Unknown', c: 'Unknown', d: 'True' })) await add(name, ready)
  assert.deepEqual(await tainter.evict(node('a')), { ms: 5000, isRoutine: true })
  for (const name of ['b', 'c']) await setReady(name, 'True')
  await tainter.evict(node('a'))
  assert.deepEqual(taints('a'), [UNREACHABLE])
  for (const name of ['b', 'c', 'd']) await setReady(name, 'Unknown')
  await tainter.evict(node('a'))
  assert.deepEqual(taints('a'), [])
})
