import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, checkSubresource, contextWith } from '../../../test/kits/kinds/kinds.ts'
import { Endpoints } from '../core/endpoints.ts'
import { Node } from '../core/node.ts'
import { Pod } from '../core/pod/pod.ts'
import { Service } from '../core/service/service.ts'
import { EndpointSlice } from '../discovery/endpointslice.ts'
import { Ingress } from '../networking/ingress.ts'
import { NetworkPolicy } from '../networking/networkpolicy.ts'

const IP = '010.1.2.3'
const CIDR = '010.1.2.3/024'
const point = { loadBalancer: { ingress: [{ ip: IP, ipMode: 'VIP' }] } }
const container = { name: 'c', image: 'i' }
const pod = { spec: { containers: [container] } }
const service = { spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } }
const backend = { spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } } }

test('ambiguous addresses and blocks in old fields are refused by the gate StrictIPCIDRValidation alone', () => {
  const [lenient, strict] = [contextWith(), contextWith({ gates: ['StrictIPCIDRValidation'] })]
  for (const [field, errorsWith] of Object.entries(FIELDS)) {
    assert.match(errorsWith(strict)[0] ?? '', /must not have leading 0s/, field)
    assert.deepEqual(errorsWith(lenient), [], field)
  }
  const [other] = check(Endpoints, { subsets: [{ addresses: [{ ip: '10.1.2' }] }] }, { ctx: lenient })
  assert.match(other!, /must be a valid IP address/)
  const [block] = check(Node, { spec: { podCIDRs: ['10.1.2.3'] } }, { ctx: lenient })
  assert.match(block!, /must be a valid CIDR value/)
})

type Context = ReturnType<typeof contextWith>
const FIELDS: Readonly<Record<string, (ctx: Context) => readonly string[]>> = {
  endpoints: ctx => check(Endpoints, { subsets: [{ addresses: [{ ip: IP }] }] }, { ctx }),
  endpointSlice: ctx => check(EndpointSlice, { addressType: 'IPv4', endpoints: [{ addresses: [IP] }] }, { ctx }),
  podCIDR: ctx => check(Node, { spec: { podCIDRs: [CIDR] } }, { ctx }),
  nameserver: ctx => check(Pod, { spec: { containers: [container], dnsConfig: { nameservers: [IP] } } }, { ctx }),
  hostAlias: ctx => check(Pod, { spec: { containers: [container], hostAliases: [{ ip: IP, hostnames: ['a'] }] } }, { ctx }),
  podIP: ctx => checkSubresource(Pod, 'status', { ...pod, status: { podIP: IP, podIPs: [{ ip: IP }] } }, pod, ctx),
  externalIP: ctx => check(Service, { spec: { ...service.spec, externalIPs: [IP] } }, { ctx }),
  clusterIP: ctx => check(Service, { spec: { ...service.spec, clusterIP: IP, clusterIPs: [IP] } }, { ctx }),
  sourceRange: ctx => check(Service, { spec: { ...service.spec, loadBalancerSourceRanges: [CIDR] } }, { ctx }),
  loadBalancer: ctx => checkSubresource(Service, 'status', { ...service, status: point }, service, ctx),
  ingress: ctx => checkSubresource(Ingress, 'status', { ...backend, status: { loadBalancer: { ingress: [{ ip: IP }] } } }, backend, ctx),
  ipBlock: ctx => check(NetworkPolicy, { spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: CIDR } }] }] } }, { ctx }),
}
