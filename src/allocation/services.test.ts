import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openServiceBench, type ServiceBench } from '../../test/kits/services.ts'
import { NODE_PORTS_KEY, readPorts } from './node-ports.ts'

const using = async (bench: ServiceBench, run: (bench: ServiceBench) => Promise<void>) => {
  try {
    await run(bench)
  } finally {
    await bench.close()
  }
}
const dual = ['10.0.0.0/24', 'fd00::/112']
const upperBand = /^10\.0\.0\.(1[7-9]|[2-9]\d|1\d\d|2[0-4]\d|25[0-4])$/

test('a service gets an address of the upper band, recorded under its name', async () =>
  using(await openServiceBench(), async ({ serve, send, addresses }) => {
    const { code, body } = await serve('a')
    assert.equal(code, 201)
    assert.match(body.spec.clusterIP, upperBand)
    assert.deepEqual(
      [body.spec.clusterIPs, body.spec.ipFamilies, body.spec.ipFamilyPolicy],
      [[body.spec.clusterIP], ['IPv4'], 'SingleStack'],
    )
    assert.deepEqual(await addresses(), { [body.spec.clusterIP]: 'a' })
    const record = (await send(`GET ipaddresses/${body.spec.clusterIP}`)).body
    assert.deepEqual(record.metadata.labels, {
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    })
    assert.deepEqual(record.spec.parentRef, { resource: 'services', namespace: 'default', name: 'a' })
    const deleted = await send('DELETE services/a')
    assert.equal(deleted.body.kind, 'Service')
    assert.deepEqual(await addresses(), {})
  }))

test('an address that is asked for is given once', async () =>
  using(await openServiceBench(), async ({ serve, send, addresses }) => {
    assert.equal((await serve('a', { clusterIP: '10.0.0.5' })).body.spec.clusterIP, '10.0.0.5')
    const again = await serve('b', { clusterIP: '10.0.0.5' })
    assert.equal(again.code, 422)
    assert.equal(
      again.body.message,
      'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to allocate IP 10.0.0.5: provided IP is already allocated',
    )
    for (const ip of ['10.0.1.5', '10.0.0.0', '10.0.0.255'])
      assert.match((await serve('b', { clusterIP: ip })).body.message, /the provided network does not match the current range$/)
    await send('DELETE services/a')
    assert.equal((await serve('b', { clusterIP: '10.0.0.5' })).code, 201)
    assert.deepEqual(await addresses(), { '10.0.0.5': 'b' })
  }))

test('a service that is refused or only tried takes nothing', async () =>
  using(await openServiceBench(), async ({ serve, addresses, send, store }) => {
    assert.equal((await serve('Bad_Name')).code, 422)
    assert.equal((await serve('a', { type: 'NodePort', sessionAffinity: 'Odd' })).code, 422)
    const tried = await serve('a', { type: 'NodePort' }, '?dryRun=All')
    assert.deepEqual([tried.code, tried.body.spec.clusterIP, tried.body.spec.ports[0].nodePort], [201, '10.0.0.0', 32769])
    assert.match(
      (await serve('a', { clusterIP: '10.1.0.1' }, '?dryRun=All')).body.message,
      /is not in the valid range. The range of valid IPs is 10.0.0.0\/24$/,
    )
    assert.deepEqual(await addresses(), {})
    assert.deepEqual((await store.list('/allocation/')).entries, [])
    assert.equal((await serve('a')).code, 201)
    assert.equal((await serve('a')).body.reason, 'AlreadyExists')
    assert.equal((await send('POST services', { metadata: {}, spec: { ports: [{ port: 1 }] } })).code, 422)
    assert.equal(Object.keys(await addresses()).length, 1)
  }))

test('headless services and external names have no address', async () =>
  using(await openServiceBench(), async ({ serve, addresses }) => {
    const open = (await serve('open', { clusterIP: 'None' })).body.spec
    assert.deepEqual([open.clusterIPs, open.ipFamilies, open.ipFamilyPolicy], [['None'], ['IPv4', 'IPv6'], 'RequireDualStack'])
    const headless = (await serve('headless', { clusterIP: 'None', selector: { a: 'b' } })).body.spec
    assert.deepEqual([headless.ipFamilies, headless.ipFamilyPolicy], [['IPv4'], 'SingleStack'])
    const external = (await serve('external', { type: 'ExternalName', externalName: 'a.com' })).body.spec
    assert.deepEqual([external.clusterIP, external.ipFamilies, external.internalTrafficPolicy], [undefined, undefined, undefined])
    assert.deepEqual(await addresses(), {})
  }))

test('a full range says so, and a deletion makes room', async () =>
  using(await openServiceBench({ ranges: ['10.0.0.0/29'] }), async ({ serve, send }) => {
    for (let i = 0; i < 6; i++) assert.equal((await serve(`s${i}`)).code, 201)
    const { code, body } = await serve('more')
    assert.deepEqual(
      [code, body.message],
      [500, 'Internal error occurred: failed to allocate a serviceIP for Service "more": range is full'],
    )
    await send('DELETE services/s3')
    assert.equal((await serve('more')).code, 201)
    await send('POST servicecidrs', { metadata: { name: 'extra' }, spec: { cidrs: ['10.1.0.0/29'] } })
    assert.match((await serve('extra')).body.spec.clusterIP, /^10\.1\.0\./)
  }))

test('a terminating range, or one that is not ready, gives out no addresses', async () =>
  using(await openServiceBench(), async ({ serve, send }) => {
    await send('PATCH servicecidrs/kubernetes', { metadata: { finalizers: ['a.com/hold'] } })
    await send('DELETE servicecidrs/kubernetes')
    assert.match((await serve('a')).body.message, /range is full$/)
    await send('POST servicecidrs', { metadata: { name: 'extra' }, spec: { cidrs: ['10.1.0.0/29'] } })
    const condition = { type: 'Ready', status: 'False', reason: 'x', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
    await send('PATCH servicecidrs/extra/status', { status: { conditions: [condition] } })
    assert.match((await serve('a', { clusterIP: '10.1.0.1' })).body.message, /does not match the current range$/)
    await send('PATCH servicecidrs/extra/status', { status: { conditions: [{ ...condition, status: 'True' }] } })
    assert.equal((await serve('a', { clusterIP: '10.1.0.1' })).code, 201)
  }))

test('services have two families where they ask for them and the server has them', async () =>
  using(await openServiceBench({ ranges: dual }), async ({ serve, send, addresses }) => {
    const required = (await serve('r', { ipFamilyPolicy: 'RequireDualStack' })).body.spec
    assert.deepEqual(required.ipFamilies, ['IPv4', 'IPv6'])
    assert.match(required.clusterIPs[1], /^fd00::/)
    const six = (await serve('six', { ipFamilies: ['IPv6'] })).body.spec
    assert.match(six.clusterIP, /^fd00::/)
    const asked = (await serve('asked', { clusterIP: 'fd00::5', ipFamilyPolicy: 'PreferDualStack' })).body.spec
    assert.deepEqual([asked.ipFamilies, asked.clusterIPs[0]], [['IPv6', 'IPv4'], 'fd00::5'])
    assert.equal(Object.keys(await addresses()).length, 5)
    assert.match(
      (await serve('x', { ipFamilies: ['IPv4', 'IPv6'] })).body.message,
      /must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified$/,
    )
    for (const name of ['r', 'six', 'asked']) await send(`DELETE services/${name}`)
    assert.deepEqual(await addresses(), {})
  }))

test('a server of one family refuses the other', async () =>
  using(await openServiceBench(), async ({ serve }) => {
    const message = async (spec: object) => (await serve('a', spec)).body.message.replace('Service "a" is invalid: spec.', '')
    assert.equal(
      await message({ ipFamilyPolicy: 'RequireDualStack' }),
      'ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    )
    assert.equal(await message({ ipFamilies: ['IPv6'] }), 'ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster')
    assert.equal(
      await message({ clusterIP: 'fd00::1' }),
      'clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    )
    assert.equal((await serve('a', { ipFamilyPolicy: 'PreferDualStack' })).body.spec.clusterIPs.length, 1)
  }))

test('a second IP family is added and removed', async () =>
  using(await openServiceBench({ ranges: dual }), async ({ serve, send, addresses }) => {
    const first = (await serve('a')).body.spec.clusterIP
    const up = (await send('PATCH services/a', { spec: { ipFamilyPolicy: 'PreferDualStack' } })).body.spec
    assert.deepEqual([up.clusterIPs[0], up.ipFamilies], [first, ['IPv4', 'IPv6']])
    assert.equal(Object.keys(await addresses()).length, 2)
    const again = (await send('PATCH services/a', { metadata: { labels: { a: 'b' } } })).body.spec
    assert.deepEqual(again.clusterIPs, up.clusterIPs)
    const refused = await send('PATCH services/a', { spec: { clusterIPs: [first] } })
    assert.match(refused.body.message, /must be 'SingleStack' to release the secondary cluster IP$/)
    const down = (await send('PATCH services/a', { spec: { ipFamilyPolicy: 'SingleStack' } })).body.spec
    assert.deepEqual([down.clusterIPs, down.ipFamilies], [[first], ['IPv4']])
    assert.deepEqual(await addresses(), { [first]: 'a' })
  }))

test('a change of type allocates and releases', async () =>
  using(await openServiceBench(), async ({ serve, send, addresses, store }) => {
    const ports = async () => readPorts((await store.get(NODE_PORTS_KEY)).entry).size
    await serve('a', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
    const balancer = (await send('GET services/a')).body.spec
    assert.ok(balancer.healthCheckNodePort >= 30000 && balancer.ports[0].nodePort >= 30000)
    assert.equal(await ports(), 2)
    const rewritten = await send('PUT services/a', {
      metadata: { name: 'a' },
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ port: 81 }] },
    })
    assert.deepEqual(
      [rewritten.body.spec.clusterIP, rewritten.body.spec.ports[0].nodePort, rewritten.body.spec.healthCheckNodePort],
      [balancer.clusterIP, balancer.ports[0].nodePort, balancer.healthCheckNodePort],
    )
    await send('PATCH services/a', { spec: { type: 'NodePort', externalTrafficPolicy: 'Cluster' } })
    assert.equal(await ports(), 1)
    const inside = (await send('PATCH services/a', { spec: { type: 'ClusterIP' } })).body.spec
    assert.deepEqual([inside.ports[0].nodePort, inside.clusterIP, await ports()], [undefined, balancer.clusterIP, 0])
    const external = await send('PATCH services/a', { spec: { type: 'ExternalName', externalName: 'a.com' } })
    assert.deepEqual([external.code, external.body.spec.clusterIP, external.body.spec.ipFamilies], [200, undefined, undefined])
    assert.deepEqual(await addresses(), {})
    const back = (await send('PATCH services/a', { spec: { type: 'ClusterIP', externalName: null } })).body.spec
    assert.deepEqual(await addresses(), { [back.clusterIP]: 'a' })
  }))

test('ports of nodes are given once, in their range, and shared by the protocols of one port', async () =>
  using(await openServiceBench({ nodePorts: { from: 30000, to: 30003 } }), async ({ serve, send, store }) => {
    const dns = [
      { name: 'tcp', port: 53 },
      { name: 'udp', port: 53, protocol: 'UDP' },
    ]
    const both = (await serve('dns', { type: 'NodePort', ports: dns })).body.spec.ports
    assert.equal(both[0].nodePort, both[1].nodePort)
    await send('DELETE services/dns')
    const node = (port: number) => ({ type: 'NodePort', ports: [{ port: 80, nodePort: port }] })
    assert.equal((await serve('a', node(30001))).code, 201)
    assert.equal(
      (await serve('b', node(30001))).body.message,
      'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated',
    )
    assert.equal(
      (await serve('b', node(80))).body.message,
      'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-30003',
    )
    for (const name of ['c', 'd', 'e']) assert.equal((await serve(name, { type: 'NodePort' })).code, 201)
    assert.equal(
      (await serve('f', { type: 'NodePort' })).body.message,
      'Internal error occurred: failed to allocate a nodePort: range is full',
    )
    assert.equal((await send('PATCH services/d', { spec: { ports: [{ port: 80, nodePort: 30001 }] } })).code, 422)
    assert.equal(readPorts((await store.get(NODE_PORTS_KEY)).entry).size, 4)
    await send('DELETE services')
    assert.equal(readPorts((await store.get(NODE_PORTS_KEY)).entry).size, 0)
    const bare = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }
    assert.equal((await serve('bare', bare)).body.spec.ports[0].nodePort, undefined)
  }))

test('a number in an external name is no port until the service becomes one that has ports', async () =>
  using(await openServiceBench(), async ({ serve, send }) => {
    const ports = [{ port: 80, nodePort: 30001 }]
    assert.equal((await serve('name', { type: 'ExternalName', externalName: 'a.com', ports })).code, 201)
    assert.equal((await serve('a', { type: 'NodePort', ports })).code, 201)
    const turned = await send('PATCH services/name', { spec: { type: 'NodePort' } })
    assert.match(turned.body.message, /nodePort: Invalid value: 30001: provided port is already allocated$/)
    await send('DELETE services/name')
    assert.match((await serve('b', { type: 'NodePort', ports })).body.message, /provided port is already allocated$/)
  }))

test('a service that a finalizer holds keeps its address until it goes', async () =>
  using(await openServiceBench(), async ({ serve, send, addresses }) => {
    await serve('a')
    await send('PATCH services/a', { metadata: { finalizers: ['a.com/hold'] } })
    await send('DELETE services/a')
    assert.equal(Object.keys(await addresses()).length, 1)
    await send('PATCH services/a/status', { metadata: { finalizers: null } })
    assert.equal((await send('GET services/a')).code, 404)
    assert.deepEqual(await addresses(), {})
  }))
