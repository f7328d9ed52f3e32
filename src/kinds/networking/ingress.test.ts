import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, warnings } from '../../../test/kits/kinds/kinds.ts'
import { Ingress } from './ingress.ts'

const backend = { service: { name: 'web', port: { number: 80 } } }
const path = (more: object = {}) => ({ path: '/', pathType: 'Prefix', backend, ...more })
const withRule = (rule: object) => ({ spec: { rules: [rule] } })
const withPath = (more: object) => withRule({ http: { paths: [path(more)] } })
const withBackend = (defaultBackend: object) => ({ spec: { defaultBackend } })

test('without RelaxedServiceNameValidation services begin with a letter, unless the stored Ingress has one that does not', () => {
  const off = contextWith({ gate: name => name !== 'RelaxedServiceNameValidation' })
  const digits = { spec: { defaultBackend: { service: { name: '1a', port: { number: 80 } } } } }
  assert.deepEqual(check(Ingress, digits), [])
  assert.match(check(Ingress, digits, { ctx: off })[0]!, /^spec.defaultBackend.service.name: Invalid value: "1a": a DNS-1035 label must/)
  assert.deepEqual(check(Ingress, digits, { old: digits, ctx: off }), [])
})

test('an ingress has a rule or a default backend', () => {
  assert.deepEqual(check(Ingress, withBackend(backend)), [])
  assert.deepEqual(check(Ingress, {}), ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'])
})

test('hosts are domains, or a star and a domain', () => {
  assert.deepEqual(check(Ingress, withRule({ host: '*.example.com' })), [])
  assert.deepEqual(check(Ingress, withRule({ host: '10.0.0.1' })), [
    'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
  ])
  assert.match(check(Ingress, withRule({ host: '*' }))[0]!, /^spec\.rules\[0\]\.host: Invalid value: "\*": a wildcard DNS-1123 subdomain/)
  assert.match(check(Ingress, withRule({ host: 'a.*.com' }))[0]!, /a wildcard DNS-1123 subdomain/)
  assert.match(check(Ingress, withRule({ host: 'a.com:80' }))[0]!, /a lowercase RFC 1123 subdomain/)
})

test('paths are absolute and plain', () => {
  const at = 'spec.rules[0].http.paths[0]'
  assert.deepEqual(check(Ingress, withRule({ http: { paths: [] } })), ['spec.rules[0].http.paths: Required value'])
  assert.deepEqual(check(Ingress, withPath({ path: 'x' })), [`${at}.path: Invalid value: "x": must be an absolute path`])
  assert.deepEqual(check(Ingress, withPath({ path: '', pathType: 'Exact' })), [`${at}.path: Invalid value: "": must be an absolute path`])
  assert.deepEqual(check(Ingress, withPath({ path: '', pathType: 'ImplementationSpecific' })), [])
  assert.deepEqual(check(Ingress, withPath({ path: 'x', pathType: 'ImplementationSpecific' })), [
    `${at}.path: Invalid value: "x": must be an absolute path`,
  ])
  assert.deepEqual(check(Ingress, withPath({ path: '/a//b/./c/../d%2f%2F/..' })), [
    ...['//', '/./', '/../', '%2f', '%2F'].map(part => `${at}.path: Invalid value: "/a//b/./c/../d%2f%2F/..": must not contain '${part}'`),
    `${at}.path: Invalid value: "/a//b/./c/../d%2f%2F/..": cannot end with '/..'`,
  ])
  assert.deepEqual(check(Ingress, withPath({ pathType: '' })), [`${at}.pathType: Required value: pathType must be specified`])
  assert.deepEqual(check(Ingress, withPath({ pathType: 'Regex' })), [
    `${at}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
  ])
})

test('a backend is a service with one port, or a resource', () => {
  const at = 'spec.defaultBackend'
  assert.deepEqual(check(Ingress, withBackend({})), [`${at}: Invalid value: "": resource or service backend is required`])
  assert.deepEqual(check(Ingress, withBackend({ ...backend, resource: { kind: 'K', name: 'n' } })), [
    `${at}: Invalid value: "": cannot set both resource and service backends`,
  ])
  assert.deepEqual(check(Ingress, withBackend({ service: { name: 'a', port: { name: 'x', number: 80 } } })), [
    `${at}: Invalid value: "": cannot set both port name & port number`,
  ])
  assert.deepEqual(check(Ingress, withBackend({ service: { name: 'a' } })), [`${at}: Required value: port name or number is required`])
  assert.deepEqual(check(Ingress, withBackend({ service: { port: { number: 70000 } } })), [
    `${at}.service.name: Required value`,
    `${at}.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive`,
  ])
  assert.deepEqual(check(Ingress, withBackend({ resource: {} })), [
    `${at}.resource.kind: Required value`,
    `${at}.resource.name: Required value`,
  ])
})

test('certificates name hosts and a secret', () => {
  const [host, secret] = check(Ingress, { spec: { defaultBackend: backend, tls: [{ hosts: ['Bad_Host', '*.a.com'], secretName: 'A' }] } })
  assert.match(host!, /^spec\.tls\[0\]\.hosts\[0\]: Invalid value: "Bad_Host": a lowercase RFC 1123 subdomain/)
  assert.match(secret!, /^spec\.tls\[0\]\.secretName: Invalid value: "A": a lowercase RFC 1123 subdomain/)
})

test('the annotation for a class agrees with the field, and is warned about without it', () => {
  const metadata = { annotations: { 'kubernetes.io/ingress.class': 'a' } }
  const both = { metadata, spec: { defaultBackend: backend, ingressClassName: 'b' } }
  assert.deepEqual(check(Ingress, both), [
    'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified',
  ])
  assert.deepEqual(check(Ingress, both, { old: both }), [])
  assert.deepEqual(warnings(Ingress, { metadata }), [
    'annotation "kubernetes.io/ingress.class" is deprecated, please use \'spec.ingressClassName\' instead',
  ])
})

test('points of the load balancer are addresses or host names', () => {
  const status = (point: object) =>
    checkSubresource(Ingress, 'status', { status: { loadBalancer: { ingress: [point] } } }, withBackend(backend))
  const at = 'status.loadBalancer.ingress[0]'
  assert.deepEqual(status({ ip: '10.0.0.1', hostname: 'a.com' }), [])
  assert.deepEqual(status({ ip: 'x' }), [`${at}.ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`])
  assert.deepEqual(status({ hostname: '10.0.0.1' }), [`${at}.hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`])
})

test('its table shows class, hosts, addresses and ports', () => {
  const rules = ['a.com', 'b.com', 'c.com', 'd.com'].map(host => ({ host }))
  const status = { loadBalancer: { ingress: [{ ip: '10.0.0.2' }, { ip: '10.0.0.1' }] } }
  assert.deepEqual(cells(Ingress, { spec: { rules, tls: [{}] }, status }), {
    Class: '<none>',
    Hosts: 'a.com,b.com,c.com + 1 more...',
    Address: '10.0.0.1,10.0.0.2',
    Ports: '80, 443',
    Age: '<unknown>',
  })
  assert.deepEqual(Object.values(cells(Ingress, withBackend(backend))).slice(1, 4), ['*', '', '80'])
})
