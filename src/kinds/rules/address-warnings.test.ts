// Addresses in the status of objects that are written in odd ways.
import assert from 'node:assert/strict'
import test from 'node:test'
import { openBench } from '../../../test/kits/registry.ts'
import { Pod } from '../core/pod/pod.ts'
import { Service } from '../core/service/service.ts'
import { Ingress } from '../networking/ingress.ts'

const non = (path: string, value: string, canonical: string) => `${path}: non-standard IP address "${value}" is invalid: use "${canonical}"`
const IPV6 = 'IPv6 address "2001:DB8:0:0::1" should be in RFC 5952 canonical format ("2001:db8::1")'

test('addresses of load balancers, pods and nodes that are written in odd ways are warned about', async t => {
  const bench = await openBench([Service, Ingress, Pod], { gates: [] })
  t.after(() => bench.close())
  const externalIPs = ['8.8.8.8']
  const service = { spec: { type: 'LoadBalancer', clusterIP: '10.0.0.9', ports: [{ port: 80 }], externalIPs } }
  const created = await bench.send('POST services', { metadata: { name: 's' }, ...service })
  assert.equal(created.code, 201, created.body.message)
  assert.ok(created.warnings.includes('spec.externalIPs is deprecated and may no longer be implemented in some clusters'))
  const backend = { service: { name: 's', port: { number: 80 } } }
  await bench.send('POST ingresses', { metadata: { name: 'i' }, spec: { defaultBackend: backend } })
  const containers = [{ name: 'c', image: 'i' }]
  await bench.send('POST pods', { metadata: { name: 'p' }, spec: { containers, nodeName: 'n' } })
  const change = async (path: string, status: object) => {
    const { code, warnings, body } = await bench.send(`PATCH ${path}/status`, { status })
    assert.equal(code, 200, body.message)
    return warnings
  }
  const points = { loadBalancer: { ingress: [{ ip: '10.0.0.1' }, { ip: '010.0.0.2' }, { hostname: 'a.com' }, { ip: '2001:DB8:0:0::1' }] } }
  const at = 'status.loadBalancer.ingress'
  // Warnings about the spec are not repeated when the status changes.
  for (const path of ['services/s', 'ingresses/i'])
    assert.deepEqual(await change(path, points), [non(`${at}[1]`, '010.0.0.2', '10.0.0.2'), `${at}[3]: ${IPV6}`], path)
  const addresses = {
    podIP: '::ffff:10.0.0.3',
    podIPs: [{ ip: '::ffff:10.0.0.3' }],
    hostIP: '10.0.0.4',
    hostIPs: [{ ip: '10.0.0.4' }, { ip: '2001:DB8:0:0::1' }],
  }
  assert.deepEqual(await change('pods/p', addresses), [
    non('status.podIPs[0].ip', '::ffff:10.0.0.3', '10.0.0.3'),
    `status.hostIPs[1].ip: ${IPV6}`,
  ])
})
