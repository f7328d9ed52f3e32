import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, created, updated, warnings, withDefaults } from '../../../../test/kits/kinds/kinds.ts'
import { Service } from './service.ts'

const port = { port: 80 }
const service = (more: object = {}) => ({ spec: { ports: [port], ...more } })
const errors = (more: object, old?: object) =>
  check(Service, service(more), old ? { old: service(old) } : {}).map(e => e.replace('spec.', ''))
const balancer = (more: object = {}) => ({ type: 'LoadBalancer', ...more })

test('a service gets its defaults', () => {
  const { spec } = withDefaults(Service, service())
  assert.deepEqual(spec.ports, [{ protocol: 'TCP', port: 80, targetPort: 80 }])
  assert.deepEqual([spec.type, spec.sessionAffinity, spec.internalTrafficPolicy], ['ClusterIP', 'None', 'Cluster'])
  assert.equal(spec.externalTrafficPolicy, undefined)
  const external = withDefaults(Service, service(balancer())).spec
  assert.deepEqual([external.externalTrafficPolicy, external.allocateLoadBalancerNodePorts], ['Cluster', true])
  assert.deepEqual(withDefaults(Service, service({ sessionAffinity: 'ClientIP' })).spec.sessionAffinityConfig, {
    clientIP: { timeoutSeconds: 10800 },
  })
})

test('ports are numbers or names, with unique names', () => {
  assert.deepEqual(errors({}), [])
  assert.deepEqual(errors({ ports: [] }), ['ports: Required value'])
  assert.deepEqual(errors({ ports: [], clusterIP: 'None' }), [])
  assert.deepEqual(errors({ ports: [{ port: 0, protocol: 'ICMP', targetPort: 'Web', appProtocol: '-' }] }).slice(0, 3), [
    'ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
    'ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
    'ports[0].targetPort: Invalid value: "Web": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
  ])
  assert.deepEqual(errors({ ports: [{ port: 1, name: 'a' }, { port: 2, name: 'a' }, { port: 3 }] }), [
    'ports[1].name: Duplicate value: "a"',
    'ports[2].name: Required value',
  ])
  assert.deepEqual(
    errors({
      ports: [
        { port: 1, name: 'a' },
        { port: 1, name: 'b' },
      ],
    }),
    ['ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}'],
  )
  assert.deepEqual(errors({ ports: [{ port: 1, nodePort: 30000 }] }), [
    "ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  ])
  const twice = [1, 2].map(port => ({ port, name: `p${port}`, nodePort: 30000 }))
  assert.deepEqual(errors({ type: 'NodePort', ports: twice }), ['ports[1].nodePort: Duplicate value: 30000'])
})

test('types are supported, and an external name is a DNS name', () => {
  assert.deepEqual(errors({ type: 'Odd' }), [
    'type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
  ])
  assert.deepEqual(errors({ type: 'ExternalName', externalName: 'a.com.' }), [])
  assert.deepEqual(errors({ type: 'ExternalName', clusterIP: '10.0.0.1', ipFamilyPolicy: 'SingleStack' }), [
    'clusterIPs: Forbidden: may not be set for ExternalName services',
    'ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
    'externalName: Required value',
  ])
  assert.deepEqual(errors({ type: 'NodePort', clusterIP: 'None' }), [
    'clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
  ])
})

test('addresses agree with each other and with their families', () => {
  assert.deepEqual(errors({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'], ipFamilies: ['IPv4', 'IPv6'] }), [])
  assert.deepEqual(errors({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] }), [
    'clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`',
  ])
  assert.deepEqual(errors({ clusterIPs: ['10.0.0.2'] }), [
    'clusterIPs: Invalid value: ["10.0.0.2"]: must be empty when `clusterIP` is not specified',
  ])
  assert.deepEqual(errors({ clusterIP: 'x' }), [
    'clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ])
  assert.deepEqual(errors({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '10.0.0.2'] }), [
    'clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family',
  ])
  assert.deepEqual(errors({ clusterIP: '10.0.0.1', ipFamilies: ['IPv6', 'IPv6', 'IPv5'], ipFamilyPolicy: 'Odd' }), [
    'ipFamilies[1]: Duplicate value: "IPv6"',
    'ipFamilies[2]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
    'ipFamilyPolicy: Unsupported value: "Odd": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    'clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
  ])
  assert.deepEqual(errors({ externalIPs: ['127.0.0.1', '0.0.0.0'] }), [
    'externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    'externalIPs[1]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
  ])
})

test('affinity, traffic and load balancers have supported values', () => {
  assert.deepEqual(errors({ sessionAffinity: 'Sticky' }), [
    'sessionAffinity: Unsupported value: "Sticky": supported values: "ClientIP", "None"',
  ])
  assert.deepEqual(errors({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } } }), [
    'sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400',
  ])
  assert.deepEqual(errors({ externalTrafficPolicy: 'Local' }), [
    'externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  ])
  assert.deepEqual(errors(balancer({ externalTrafficPolicy: 'Local' })), ['healthCheckNodePort: Required value'])
  assert.deepEqual(errors({ healthCheckNodePort: 1, internalTrafficPolicy: 'Odd', trafficDistribution: 'Odd' }), [
    "healthCheckNodePort: Invalid value: 1: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    'internalTrafficPolicy: Unsupported value: "Odd": supported values: "Cluster", "Local"',
    'trafficDistribution: Unsupported value: "Odd": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
  ])
  assert.deepEqual(errors({ allocateLoadBalancerNodePorts: true, loadBalancerClass: 'a', loadBalancerSourceRanges: [' 10.0.0.0/8 '] }), [
    "LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
    "allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
    "loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ])
})

test('allocated values are kept when a manifest is applied again', () => {
  const old = service({ type: 'NodePort', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ports: [{ port: 80, nodePort: 30001 }] })
  const { spec } = updated(Service, service({ type: 'NodePort' }), old)
  assert.deepEqual([spec.clusterIP, spec.clusterIPs, spec.ports[0].nodePort], ['10.0.0.1', ['10.0.0.1'], 30001])
  assert.equal(created(Service, service({ clusterIP: 'None' })).spec.clusterIPs[0], 'None')
})

test('fields that a new type does not use are cleared if they are unchanged', () => {
  const old = { type: 'LoadBalancer', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ports: [{ port: 80, nodePort: 30001 }] }
  const { spec } = updated(Service, service({ ...withDefaults(Service, service(old)).spec, type: 'ClusterIP' }), service(old))
  assert.deepEqual(
    [spec.ports[0].nodePort, spec.externalTrafficPolicy, spec.allocateLoadBalancerNodePorts, spec.clusterIP],
    [undefined, undefined, undefined, '10.0.0.1'],
  )
  assert.equal(updated(Service, service({ ...old, type: 'ExternalName' }), service(old)).spec.clusterIPs, undefined)
})

test('addresses do not change once set; a second family can be added and removed', () => {
  const one = { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] }
  const two = { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'], ipFamilies: ['IPv4', 'IPv6'] }
  assert.deepEqual(errors(two, one), [])
  assert.deepEqual(errors({ clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] }, one).slice(0, 1), [
    'clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  ])
  assert.deepEqual(errors(one, two), [
    "ipFamilyPolicy: Invalid value: null: must be set to 'SingleStack' when releasing the secondary clusterIP",
    "ipFamilyPolicy: Invalid value: null: must be set to 'SingleStack' when releasing the secondary ipFamily",
  ])
  assert.deepEqual(errors({ ...one, ipFamilyPolicy: 'SingleStack' }, two), [])
  assert.deepEqual(errors(balancer({ loadBalancerClass: 'a/b' }), balancer()), [
    'loadBalancerClass: Invalid value: "a/b": may not change once set',
  ])
})

test('only load balancers are reached at points', () => {
  const status = (type: string, point: object) =>
    checkSubresource(Service, 'status', { ...service({ type }), status: { loadBalancer: { ingress: [point] } } }, service({ type }))
  const at = 'status.loadBalancer.ingress'
  assert.deepEqual(status('ClusterIP', { ip: '10.0.0.1' }), [`${at}: Forbidden: may only be used when \`spec.type\` is 'LoadBalancer'`])
  assert.deepEqual(status('LoadBalancer', { ip: '10.0.0.1' }), [])
  assert.deepEqual(status('LoadBalancer', { hostname: 'a.com', ipMode: 'VIP' }), [
    `${at}[0].ipMode: Forbidden: may not be specified when \`ip\` is not set`,
  ])
})

test('settings without effect are warned about', () => {
  assert.deepEqual(warnings(Service, service({ externalName: 'a.com', trafficDistribution: 'PreferClose', externalIPs: ['8.8.8.8'] })), [
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    'spec.externalName is ignored when spec.type is not "ExternalName"',
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
  ])
})

test('its table shows addresses and ports', () => {
  const shown = (spec: object, status = {}) => Object.values(cells(Service, { ...service(spec), status })).slice(0, 4)
  assert.deepEqual(shown({ clusterIPs: ['10.0.0.1'] }), ['ClusterIP', '10.0.0.1', '<none>', '80/TCP'])
  assert.deepEqual(shown(balancer({ ports: [{ port: 80, nodePort: 30001 }] })), ['LoadBalancer', '<none>', '<pending>', '80:30001/TCP'])
  assert.equal(shown(balancer(), { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } })[2], '1.2.3.4')
  assert.equal(shown({ type: 'ExternalName', externalName: 'a.com' })[2], 'a.com')
})
