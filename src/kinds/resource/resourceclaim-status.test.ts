import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withGates, withLabels, withoutGates } from '../../../test/kits/kinds/devices.ts'
import { checkSubresource, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { ResourceClaim } from './resourceclaim.ts'

const spec = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } }
const result = { request: 'r', driver: 'gpu.example.com', pool: 'p', device: 'd0' }
const { request: _, ...key } = result
const consumer = (uid: string) => ({ resource: 'pods', name: 'p', uid })
const allocated = (...results: object[]) => ({ devices: { results } })
const write = (status: object, old: object = {}, { metadata = {}, ctx = withGates() } = {}) =>
  checkSubresource(ResourceClaim, 'status', { spec, metadata, status }, { spec, metadata, status: old }, ctx)
const kept = (status: object, old: object, ctx = withGates()) => {
  const [sent, stored] = [withDefaults(ResourceClaim, { spec, status }), withDefaults(ResourceClaim, { spec, status: old })]
  ResourceClaim.def.subresources?.status?.prepareForUpdate?.(sent, stored, ctx)
  return sent.status
}

test('devices are given for requests of the claim, once', () => {
  const allocation = allocated(result)
  assert.deepEqual(write({ allocation }), [])
  assert.deepEqual(write({ allocation: allocated({ ...result, request: 'x' }) }), [
    'status.allocation.devices.results[0].request: Invalid value: "x": must be the name of a request in the claim or the name of a request and a subrequest separated by \'/\'',
  ])
  assert.deepEqual(write({ allocation: allocated({ ...result, device: 'd1' }) }, { allocation }), [
    'status.allocation: Invalid value: null: field cannot be modified once set',
  ])
  assert.deepEqual(write({}, { allocation }), [])
})

test('an allocated device has a driver, a pool and a name', () => {
  assert.deepEqual(write({ allocation: allocated({ request: 'r', device: 'd' }) }), [
    'status.allocation.devices.results[0].driver: Required value',
    'status.allocation.devices.results[0].pool: Required value',
  ])
  const faults = write({ allocation: allocated({ ...result, pool: 'a//B', device: 'a.b', shareID: 'X' }) })
  assert.deepEqual(faults.slice(0, 2), [
    'status.allocation.devices.results[0].device: Invalid value: "a.b": must not contain dots',
    'status.allocation.devices.results[0].pool: Invalid value: "a//B": segment 1: must not be empty',
  ])
  assert.match(faults[2] ?? '', /pool: Invalid value: "B": segment 2: a lowercase RFC 1123 subdomain/)
  assert.equal(faults[3], 'status.allocation.devices.results[0].shareID: Invalid value: "X": must be a lowercase UUID in 8-4-4-4-12 format')
})

test('binding conditions require binding failure conditions, at most 4 of each and none in both', () => {
  const bind = (wanted: string[], failures: string[]) =>
    write({ allocation: allocated({ ...result, bindingConditions: wanted, bindingFailureConditions: failures }) }).map(fault =>
      fault.replace('status.allocation.devices.results[0].', ''),
    )
  assert.deepEqual(bind(['a'], ['b']), [])
  assert.deepEqual(bind(['a'], []), [
    'bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions',
  ])
  assert.deepEqual(bind([], ['a']), [
    'bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions',
  ])
  assert.deepEqual(bind(['a', 'a'], ['a']), [
    'bindingConditions[1]: Duplicate value: "a"',
    'bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
  ])
  assert.deepEqual(bind(['a', 'b', 'c', 'd', 'e'], ['f']), ['bindingConditions: Too many: 5: must have at most 4 items'])
})

test('configuration has a source', () => {
  const configure = (more: object) =>
    write({ allocation: { devices: { config: [{ opaque: { driver: 'gpu.example.com', parameters: {} }, ...more }] } } })
  assert.deepEqual(configure({ source: 'FromClass', requests: ['r'] }), [])
  assert.deepEqual(configure({}), ['status.allocation.devices.config[0].source: Required value'])
  assert.deepEqual(configure({ source: 'FromAfar' }), [
    'status.allocation.devices.config[0].source: Unsupported value: "FromAfar": supported values: "FromClaim", "FromClass"',
  ])
})

test('an allocation has at most 32 devices and 64 configurations', () => {
  const config = { source: 'FromClaim', opaque: { driver: 'gpu.example.com', parameters: {} } }
  assert.deepEqual(write({ allocation: { devices: { results: new Array(33).fill(result), config: new Array(65).fill(config) } } }), [
    'status.allocation.devices.results: Too many: 33: must have at most 32 items',
    'status.allocation.devices.config: Too many: 65: must have at most 64 items',
  ])
})

test('up to 256 consumers may use an allocated claim, each once', () => {
  const allocation = allocated(result)
  const reserve = (reservedFor: object[]) => write({ allocation, reservedFor }, { allocation })
  const many = Array.from({ length: 257 }, (_, i) => consumer(`u${i}`))
  assert.deepEqual(reserve(many.slice(1)), [])
  assert.deepEqual(reserve(many), ['status.reservedFor: Too many: 257: must have at most 256 items'])
  assert.deepEqual(reserve([consumer('u'), consumer('u')]), [
    'status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"p","uid":"u"}',
  ])
  assert.deepEqual(reserve([{}]), [
    'status.reservedFor[0].resource: Required value',
    'status.reservedFor[0].name: Required value',
    'status.reservedFor[0].uid: Required value',
  ])
  assert.deepEqual(write({ reservedFor: [consumer('u')] }), [
    'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
  ])
})

test('a claim that is being deallocated accepts no new consumers', () => {
  const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' }
  const allocation = allocated(result)
  const old = { allocation, reservedFor: [consumer('a'), consumer('b')] }
  assert.deepEqual(write({ allocation, reservedFor: [consumer('a')] }, old, { metadata }), [])
  assert.deepEqual(write({ allocation, reservedFor: [consumer('c')] }, old, { metadata }), [
    'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
  ])
})

test('only allocated devices are reported on', () => {
  const allocation = allocated(result)
  const report = (...devices: object[]) => write({ allocation, devices }, { allocation })
  assert.deepEqual(report(key), [])
  assert.deepEqual(report({ ...key, device: 'd1' }), [
    'status.devices[0]: Invalid value: {"Driver":{},"Pool":{},"Device":{},"ShareID":{}}: must be an allocated device in the claim',
  ])
  assert.deepEqual(report(key, key), [
    'status.devices[1]: Duplicate value: {"driver":"gpu.example.com","pool":"p","device":"d0","conditions":null}',
  ])
})

test('a share of a device is not the device', () => {
  const shareID = '01234567-89ab-cdef-0123-456789abcdef'
  const allocation = allocated({ ...result, shareID })
  assert.deepEqual(write({ allocation, devices: [{ ...key, shareID }] }, { allocation }), [])
  assert.equal(write({ allocation, devices: [key] }, { allocation }).length, 1)
})

test('a report has at most 8 conditions and 10 Ki of data', () => {
  const allocation = allocated(result)
  const report = (more: object) => write({ allocation, devices: [{ ...key, ...more }] }, { allocation })
  const condition = (i: number) => ({ type: `T${i}`, status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' })
  assert.deepEqual(report({ conditions: Array.from({ length: 9 }, (_, i) => condition(i)) }), [
    'status.devices[0].conditions: Too many: 9: must have at most 8 items',
  ])
  assert.deepEqual(report({ conditions: [condition(0), condition(0)] }), ['status.devices[0].conditions[1]: Duplicate value: "T0"'])
  assert.deepEqual(report({ data: { x: 'y'.repeat(10240) } }), ['status.devices[0].data: Too long: may not be more than 10240 bytes'])
  assert.deepEqual(report({ data: [] }), ['status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSON object'])
})

test('network data has short names and canonical addresses with prefixes', () => {
  const allocation = allocated(result)
  const report = (networkData: object) =>
    write({ allocation, devices: [{ ...key, networkData }] }, { allocation }).map(fault =>
      fault.replace('status.devices[0].networkData.', ''),
    )
  assert.deepEqual(report({ interfaceName: 'eth0', hardwareAddress: 'ea:9f:cb:40:b1:7b', ips: ['10.9.8.7/24', '2001:db8::1/64'] }), [])
  assert.deepEqual(report({ interfaceName: 'x'.repeat(257), hardwareAddress: 'y'.repeat(129) }), [
    'interfaceName: Too long: may not be more than 256 bytes',
    'hardwareAddress: Too long: may not be more than 128 bytes',
  ])
  assert.deepEqual(report({ ips: ['10.9.8.7', '010.9.8.7/24', '10.0.0.1/8', '10.0.0.1/8'] }), [
    'ips[0]: Invalid value: "10.9.8.7": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
    'ips[1]: Invalid value: "010.9.8.7/24": must be in canonical form ("10.9.8.7/24")',
    'ips[3]: Duplicate value: "10.0.0.1/8"',
  ])
  assert.deepEqual(report({ ips: Array.from({ length: 17 }, (_, i) => `10.0.0.${i}/8`) }), [
    'ips: Too many: 17: must have at most 16 items',
  ])
})

test('reports on devices that were taken back are forgotten', () => {
  const two = allocated(result, { ...result, device: 'd1' })
  const devices = [key, { ...key, device: 'd1' }]
  assert.equal(kept({ devices }, { allocation: two, devices }).devices, undefined)
  assert.equal(kept({ allocation: two, devices }, { allocation: two, devices }).devices.length, 2)
})

test('administration needs a namespace that is marked for it', () => {
  const allocation = allocated({ ...result, adminAccess: true })
  const label = { 'resource.kubernetes.io/admin-access': 'true' }
  assert.deepEqual(write({ allocation }, {}, { ctx: withLabels(label) }), [])
  assert.match(
    write({ allocation }, {}, { ctx: withLabels({}) })[0] ?? '',
    /^status\.allocation\.devices\.results\[0\]\.adminAccess: Forbidden: admin access to devices requires/,
  )
  assert.deepEqual(write({ allocation, reservedFor: [consumer('u')] }, { allocation }, { ctx: withLabels({}) }), [])
})

test('fields of disabled feature gates are dropped, unless the stored object has them', () => {
  const more = { bindingConditions: ['a'], bindingFailureConditions: ['b'], consumedCapacity: { m: '1' }, skipNodeOperations: ['*'] }
  const allocation = allocated({ ...result, ...more })
  assert.deepEqual(kept({ allocation }, {}, withoutGates).allocation.devices.results, [result])
  assert.deepEqual(kept({ allocation }, { allocation }, withoutGates).allocation.devices.results, [{ ...result, ...more }])
})

test('what is prepared on a node is undone there', () => {
  const ctx = withGates('DRAOptionalNodeOperations')
  const skip = (...skipNodeOperations: string[]) =>
    write({ allocation: allocated({ ...result, skipNodeOperations }) }, {}, { ctx }).map(fault =>
      fault.replace(/^.*\.skipNode/, 'skipNode'),
    )
  assert.deepEqual(skip('NodePrepareResources', 'NodeUnprepareResources'), [])
  assert.deepEqual(skip('*'), [])
  assert.deepEqual(skip('NodePrepareResources'), [
    'skipNodeOperations: Invalid value: ["NodePrepareResources"]: NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped',
  ])
  assert.deepEqual(skip('*', '*', 'Sleep'), [
    'skipNodeOperations[1]: Duplicate value: "*"',
    'skipNodeOperations[2]: Unsupported value: "Sleep": supported values: "*", "NodePrepareResources", "NodeUnprepareResources"',
  ])
})
