import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { Event } from '../../kinds/core/event.ts'
import { Node } from '../../kinds/core/node.ts'
import { cidrsOverlap, formatCIDR, parseCIDR } from '../../lib/ip.ts'
import { NodeBlocks } from './allocator.ts'
import { CidrSet } from './cidr-set.ts'
import { nodeIpamController } from './controller.ts'

const cidr = (text: string) => parseCIDR(text)!
const ranges = (...list: [range: string, maskSize: number][]) => list.map(([range, maskSize]) => ({ range: cidr(range), maskSize }))
const taken = (set: CidrSet, count: number) => Array.from({ length: count }, () => set.take()).map(block => block && formatCIDR(block))

test('blocks are given out one after the other, and those that were given back last', () => {
  const set = new CidrSet(cidr('10.244.0.0/22'), 24)
  assert.deepEqual(taken(set, 2), ['10.244.0.0/24', '10.244.1.0/24'])
  set.release(cidr('10.244.0.0/24'))
  assert.deepEqual(taken(set, 4), ['10.244.2.0/24', '10.244.3.0/24', '10.244.0.0/24', undefined])
})

test('what is occupied is not given out, be it larger or smaller than a block, or given to two', () => {
  const set = new CidrSet(cidr('10.244.0.0/21'), 24)
  assert.ok(set.occupy(cidr('10.244.0.0/23')) && set.occupy(cidr('10.244.3.128/25')) && set.occupy(cidr('10.244.0.0/24')))
  assert.equal(set.occupy(cidr('10.0.0.0/24')), false)
  assert.equal(set.occupy(cidr('fd00::/64')), false)
  set.release(cidr('10.244.0.0/24'))
  assert.deepEqual(taken(set, 6), ['10.244.2.0/24', '10.244.4.0/24', '10.244.5.0/24', '10.244.6.0/24', '10.244.7.0/24', undefined])
  assert.ok(new CidrSet(cidr('10.244.0.0/24'), 24).occupy(cidr('10.0.0.0/8')))
})

test('a node has a block of each range', () => {
  const blocks = new NodeBlocks(ranges(['10.244.0.0/16', 24], ['fd00:10:244::/48', 64]), [cidr('10.244.0.0/24')])
  assert.deepEqual(blocks.allocate('a'), ['10.244.1.0/24', 'fd00:10:244::/64'])
  assert.deepEqual(blocks.allocate('b'), ['10.244.2.0/24', 'fd00:10:244:1::/64'])
  assert.deepEqual(blocks.allocate('a'), ['10.244.1.0/24', 'fd00:10:244::/64'])
})

test('a range that is used up leaves nothing half given', () => {
  const blocks = new NodeBlocks(ranges(['10.244.0.0/23', 24], ['fd00::/64', 64]), [])
  assert.ok(blocks.allocate('a'))
  assert.equal(blocks.allocate('b'), undefined)
  blocks.release('a')
  assert.ok(blocks.allocate('b'))
})

test('nodes with invalid or occupied blocks are reported', () => {
  const blocks = new NodeBlocks(ranges(['10.244.0.0/16', 24]), [])
  assert.equal(blocks.note('a', ['10.244.0.0/24']), undefined)
  assert.match(blocks.note('b', ['192.168.0.0/24'])!, /^cidr 192\.168\.0\.0\/24 is out the range of cluster cidr 10\.244\.0\.0\/16$/)
  assert.match(blocks.note('c', ['10.244.1.0/24', 'fd00::/64'])!, /at index:1 that does not exist in cluster cidrs configuration$/)
  assert.match(blocks.note('d', ['x'])!, /^failed to parse node d, CIDR x$/)
})

test('property: blocks of nodes never overlap', () => {
  const step = fc.record({ node: fc.nat(30), op: fc.constantFrom('take' as const, 'release' as const) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const blocks = new NodeBlocks(ranges(['10.244.0.0/20', 24], ['fd00::/58', 64]), [cidr('10.244.3.0/24')])
      const held = new Map<number, readonly string[]>()
      for (const { node, op } of steps) {
        if (op === 'release') {
          blocks.release(String(node))
          held.delete(node)
          continue
        }
        const given = blocks.allocate(String(node))
        if (!given) assert.ok(held.size >= 15)
        else held.set(node, given)
      }
      const all = [...held.values()].flat().concat('10.244.3.0/24')
      for (const [i, a] of all.entries()) for (const b of all.slice(i + 1)) assert.ok(!cidrsOverlap(cidr(a), cidr(b)), `${a} ${b}`)
    }),
  )
})

test('every node gets a block, keeps it, and released blocks are given to waiting nodes', async t => {
  const bench = await openControllerBench(t, [Node, Event])
  const create = async (name: string, spec: object = {}) =>
    assert.equal((await bench.send('POST nodes', { metadata: { name }, spec })).code, 201)
  await create('had', { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] })
  await create('early')
  const running = bench.run(nodeIpamController({ ranges: ranges(['10.244.0.0/23', 24]), services: [] }))
  await running.idle()
  await create('late')
  const read = async (name: string) => (await bench.send(`GET nodes/${name}`)).body.spec
  assert.deepEqual(await read('had'), { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] })
  assert.deepEqual(await read('early'), { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] })
  const [event] = await becomes(
    async () => (await bench.send('GET events')).body.items,
    items => items.length > 0,
  )
  assert.deepEqual(
    [event.type, event.reason, event.message, event.source.component, event.involvedObject.name],
    ['Normal', 'CIDRNotAvailable', 'Node late status is now: CIDRNotAvailable', 'cidrAllocator', 'late'],
  )
  await bench.send('DELETE nodes/had')
  await becomes(
    () => read('late'),
    spec => spec.podCIDR === '10.244.0.0/24',
  )
})
