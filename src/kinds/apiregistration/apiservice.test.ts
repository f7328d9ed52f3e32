import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, created } from '../../../test/kits/kinds/kinds.ts'
import { APIService } from './apiservice.ts'

const priorities = { groupPriorityMinimum: 100, versionPriority: 10 }
const local = { metadata: { name: 'v1.example.com' }, spec: { group: 'example.com', version: 'v1', ...priorities } }
const remote = (more: object = {}) => ({ ...local, spec: { ...local.spec, service: { namespace: 'ns', name: 'api' }, ...more } })

test('it is named after the version and the group', () => {
  assert.deepEqual(check(APIService, local), [])
  assert.deepEqual(check(APIService, { ...local, metadata: { name: 'mine' } }), [
    'metadata.name: Invalid value: "mine": must be `spec.version+"."+spec.group`: "v1.example.com"',
  ])
  assert.deepEqual(check(APIService, { metadata: { name: 'v1.' }, spec: { version: 'v1', ...priorities } }), [])
  assert.deepEqual(check(APIService, { metadata: { name: 'v2.' }, spec: { version: 'v2' } }), [
    'spec.group: Required value: only v1 may have an empty group and it better be legacy kube',
    'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
    'spec.versionPriority: Invalid value: 0: must be positive and less than 1000',
  ])
})

test('what this server answers itself is available at once and needs no trust', () => {
  const [condition] = created(APIService, local).status.conditions
  assert.deepEqual([condition.type, condition.status, condition.reason], ['Available', 'True', 'Local'])
  assert.equal(created(APIService, remote()).status.conditions, undefined)
  assert.deepEqual(check(APIService, { ...local, spec: { ...local.spec, caBundle: 'AAAA', insecureSkipTLSVerify: true } }), [
    'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
    'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
  ])
})

test('a service is named whole', () => {
  assert.deepEqual(check(APIService, remote()), [])
  assert.equal(created(APIService, remote()).spec.service.port, 443)
  assert.deepEqual(check(APIService, remote({ service: { port: 0 }, caBundle: 'AAAA', insecureSkipTLSVerify: true })), [
    'spec.service.namespace: Required value',
    'spec.service.name: Required value',
    'spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
    'spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present',
  ])
})

test('conditions are True, False or Unknown', () => {
  assert.deepEqual(
    checkSubresource(APIService, 'status', { ...local, status: { conditions: [{ type: 'Available', status: 'Maybe' }] } }, local),
    ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"'],
  )
})

test('its table shows the service that responds', () => {
  assert.equal(cells(APIService, local)['Service'], 'Local')
  const conditions = [{ type: 'Available', status: 'False', reason: 'ServiceNotFound' }]
  const shown = cells(APIService, { ...remote(), status: { conditions } })
  assert.deepEqual([shown['Service'], shown['Available']], ['ns/api', 'False (ServiceNotFound)'])
})
