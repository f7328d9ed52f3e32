import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { openServiceBench, type ServiceBench } from '../../test/kits/services.ts'
import { openEmbeddedStore } from '../storage/embedded/embedded.ts'
import { MemoryStore } from '../storage/memory.ts'
import { NODE_PORTS_KEY, readPorts } from './node-ports.ts'

const dual = ['10.0.0.0/24', 'fd00::/112']

/** Every allocation of a service is recorded once, and nothing else is. */
async function assertConsistent({ send, store }: Pick<ServiceBench, 'send' | 'store'>): Promise<number> {
  const { items } = (await send('GET services')).body
  const held = items.flatMap(({ metadata, spec }: any) => (spec.clusterIPs ?? []).map((ip: string) => `${ip} ${metadata.name}`)).sort()
  const records = (await send('GET ipaddresses')).body.items
  assert.deepEqual(records.map((r: any) => `${r.metadata.name} ${r.spec.parentRef.name}`).sort(), held)
  const reached = items.filter(({ spec }: any) => ['NodePort', 'LoadBalancer'].includes(spec.type))
  const ports = reached.flatMap(({ spec }: any) =>
    [...new Set([...spec.ports.map((p: any) => p.nodePort), spec.healthCheckNodePort])].filter(Boolean),
  )
  const recorded = [...readPorts((await store.get(NODE_PORTS_KEY)).entry)]
  assert.deepEqual(recorded.sort(), ports.sort())
  assert.equal(new Set(records.map((r: any) => r.metadata.name)).size, held.length)
  return items.length
}

test('hundreds of concurrent creates never share an address or a port', async () => {
  const bench = await openServiceBench({ ranges: dual, nodePorts: { from: 30000, to: 30999 } })
  const kinds = [
    {},
    { type: 'NodePort' },
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
    { ipFamilyPolicy: 'RequireDualStack', type: 'NodePort' },
    { ipFamilies: ['IPv6'] },
  ]
  const made = await Promise.all(Array.from({ length: 300 }, (_, i) => bench.serve(`s${i}`, kinds[i % kinds.length])))
  assert.deepEqual([...new Set(made.map(({ code }) => code))], [201])
  assert.equal(await assertConsistent(bench), 300)
  await bench.send('DELETE services')
  assert.equal(await assertConsistent(bench), 0)
  await bench.close()
})

test('of more concurrent creates than addresses, exactly as many succeed as there are addresses', async () => {
  const bench = await openServiceBench({ ranges: ['10.0.0.0/28'], nodePorts: { from: 30000, to: 30004 } })
  const crowd = await Promise.all(Array.from({ length: 40 }, (_, i) => bench.serve(`s${i}`)))
  assert.equal(crowd.filter(({ code }) => code === 201).length, 14)
  assert.deepEqual(
    [...new Set(crowd.filter(({ code }) => code !== 201).map(({ body }) => body.message.replace(/s\d+/, '')))],
    ['Internal error occurred: failed to allocate a serviceIP for Service "": range is full'],
  )
  await bench.send('DELETE services')
  const ports = await Promise.all(Array.from({ length: 10 }, (_, i) => bench.serve(`p${i}`, { type: 'NodePort' })))
  assert.equal(ports.filter(({ code }) => code === 201).length, 5)
  assert.equal(await assertConsistent(bench), 5)
  await bench.close()
})

test('of concurrent requests for one address exactly one succeeds', async () => {
  const bench = await openServiceBench()
  const asked = { clusterIP: '10.0.0.7', type: 'NodePort', ports: [{ port: 80, nodePort: 30007 }] }
  const crowd = await Promise.all(Array.from({ length: 50 }, (_, i) => bench.serve(`s${i}`, asked)))
  assert.equal(crowd.filter(({ code }) => code === 201).length, 1)
  assert.equal(await assertConsistent(bench), 1)
  await bench.close()
})

const spec = fc.constantFrom<object>(
  { type: 'ClusterIP' },
  { type: 'NodePort' },
  { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
  { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false },
  { type: 'ExternalName', externalName: 'a.com' },
  { ipFamilyPolicy: 'RequireDualStack' },
  { ipFamilyPolicy: 'SingleStack' },
  { ports: [{ port: 80, nodePort: 30001 }] },
  { clusterIP: '10.0.0.3' },
)
const operation = fc.record({
  verb: fc.constantFrom('POST', 'POST', 'PATCH', 'DELETE', 'DRY'),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  spec,
})

test('property: the addresses of services are exactly those recorded, whatever runs concurrently', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(operation, { maxLength: 6 }), { maxLength: 6 }), async rounds => {
      const bench = await openServiceBench({ ranges: ['10.0.0.0/29', 'fd00::/125'], nodePorts: { from: 30000, to: 30004 } })
      for (const round of rounds) {
        await Promise.all(
          round.map(({ verb, name, spec }) => {
            if (verb === 'PATCH') return bench.send(`PATCH services/${name}`, { spec })
            if (verb === 'DELETE') return bench.send(`DELETE services/${name}`)
            return bench.serve(name, spec, verb === 'DRY' ? '?dryRun=All' : '')
          }),
        )
        await assertConsistent(bench)
      }
      await bench.close()
    }),
    { numRuns: 100 },
  )
})

test('two servers over one store never give the same thing twice', async () => {
  const store = new MemoryStore()
  const options = { store, ranges: ['10.0.0.0/25'], nodePorts: { from: 30000, to: 30099 } }
  const servers = [await openServiceBench(options), await openServiceBench(options)]
  const made = await Promise.all(Array.from({ length: 90 }, (_, i) => servers[i % 2]!.serve(`s${i}`, { type: 'NodePort' })))
  assert.deepEqual([...new Set(made.map(({ code }) => code))], [201])
  const { revision } = await store.list('/')
  for (const server of servers) await server.caches.reached(revision)
  assert.equal(await assertConsistent(servers[0]!), 90)
  // An allocation that one releases can be made by the other.
  for (let i = 0; i < 90; i += 2) await servers[0]!.send(`DELETE services/s${i}`)
  await servers[1]!.caches.reached((await store.list('/')).revision)
  const again = await Promise.all(Array.from({ length: 45 }, (_, i) => servers[1]!.serve(`t${i}`, { type: 'NodePort' })))
  assert.deepEqual([...new Set(again.map(({ code }) => code))], [201])
  assert.equal(await assertConsistent(servers[1]!), 90)
  await servers[1]!.caches[Symbol.asyncDispose]()
  await servers[0]!.close()
})

test('a restart keeps all allocations, and releases those that a crash left behind', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'keelson-services-'))
  try {
    const open = async () => openServiceBench({ store: await openEmbeddedStore({ dir }), ranges: dual })
    let bench = await open()
    for (let i = 0; i < 20; i++) await bench.serve(`s${i}`, { type: 'NodePort', ipFamilyPolicy: 'RequireDualStack' })
    const before = (await bench.send('GET services')).body.items
    // As a crash leaves them between a record and its service.
    const orphan = { labels: (await bench.send(`GET ipaddresses/${before[0].spec.clusterIP}`)).body.metadata.labels }
    const parentRef = { resource: 'services', namespace: 'default', name: 'never' }
    await bench.send('POST ipaddresses', { metadata: { name: '10.0.0.2', ...orphan }, spec: { parentRef } })
    const record = (await bench.store.get(NODE_PORTS_KEY)).entry!
    const range = JSON.parse(Buffer.from(record.value).toString())
    const bits = Buffer.from(range.data, 'base64')
    bits[bits.length - 1]! |= 1 << 2
    const value = Buffer.from(JSON.stringify({ ...range, data: bits.toString('base64') }))
    await bench.store.swap(NODE_PORTS_KEY, { expect: record.modified, value })
    // And as an earlier version kept them.
    await bench.store.swap('/allocation/nodeports/30003', { expect: 0, value: Buffer.from('{"uid":"never"}') })
    // And one whose record somebody took away.
    await bench.send(`DELETE ipaddresses/${before[1].spec.clusterIP}`)
    await bench.close()
    bench = await open()
    assert.deepEqual((await bench.send('GET services')).body.items, before)
    assert.equal(await assertConsistent(bench), 20)
    const free = await bench.serve('free', { clusterIP: '10.0.0.2', type: 'NodePort', ports: [{ port: 80, nodePort: 30002 }] })
    assert.equal(free.code, 201)
    await bench.close()
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('a repair during writes keeps recent allocations, and those being written', async () => {
  const bench = await openServiceBench()
  const labels = { 'ipaddress.kubernetes.io/ip-family': 'IPv4', 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' }
  const parentRef = { resource: 'services', namespace: 'default', name: 'elsewhere' }
  await bench.send('POST ipaddresses', { metadata: { name: '10.0.0.2', labels }, spec: { parentRef } })
  await bench.send('POST ipaddresses', { metadata: { name: '10.0.0.3' }, spec: { parentRef } })
  const { creationTimestamp } = (await bench.send('GET ipaddresses/10.0.0.2')).body.metadata
  const later = (ms: number) => new Date(Date.parse(creationTimestamp) + ms)
  await bench.allocation.repair(later(-1))
  assert.deepEqual(Object.keys(await bench.addresses()), ['10.0.0.2', '10.0.0.3'])
  const writing = bench.serve('a')
  await bench.allocation.repair(later(1))
  assert.equal((await writing).code, 201)
  assert.deepEqual(Object.values(await bench.addresses()).sort(), ['a', 'elsewhere'])
  await bench.close()
})

test('an address whose record is deleted while it is held is recorded again', async () => {
  const bench = await openServiceBench()
  const ending = new AbortController()
  await bench.allocation.start({ isAlone: true, onError: assert.ifError, signal: ending.signal })
  const { clusterIP } = (await bench.serve('a')).body.spec
  await bench.send(`DELETE ipaddresses/${clusterIP}`)
  while (!(await bench.addresses())[clusterIP]) await new Promise(setImmediate)
  await bench.send('DELETE services/a')
  assert.deepEqual(await bench.addresses(), {})
  ending.abort()
  await bench.close()
})
