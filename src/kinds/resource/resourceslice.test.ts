import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withGates, withoutGates } from '../../../test/kits/kinds/devices.ts'
import { cells, check, created, warnings } from '../../../test/kits/kinds/kinds.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { ResourceSlice } from './resourceslice.ts'

const pool = { name: 'p', generation: 1, resourceSliceCount: 1 }
const base = { driver: 'gpu.example.com', pool, nodeName: 'n1' }
const lists = withGates('DRAListTypeAttributes')
const faults = (spec: object, ctx: RequestContext = withGates()) => check(ResourceSlice, { spec: { ...base, ...spec } }, { ctx })
/** The errors of one device, by its own paths. */
const wrong = (device: object, ctx?: RequestContext, spec: object = {}) =>
  faults({ ...spec, devices: [{ name: 'd', ...device }] }, ctx).map(fault => fault.replace(/^spec\.devices\[0\]\.?/, ''))
const attributes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, { int: i }]))

test('a slice is of a driver and a pool', () => {
  assert.deepEqual(faults({}), [])
  assert.deepEqual(faults({ driver: '', pool: { name: '', generation: -1, resourceSliceCount: 0 } }), [
    'spec.driver: Required value',
    'spec.pool.name: Required value',
    'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
    'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
  ])
  assert.deepEqual(faults({ pool: { ...pool, name: `${'x.'.repeat(127)}x` } }).slice(0, 1), [
    'spec.pool.name: Too long: may not be more than 253 bytes',
  ])
})

test('driver, pool and node are immutable', () => {
  const changed = { driver: 'other.example.com', pool: { ...pool, name: 'q' }, allNodes: true }
  assert.deepEqual(check(ResourceSlice, { spec: changed }, { old: { spec: base }, ctx: withGates() }), [
    'spec.pool.name: Invalid value: "q": field is immutable',
    'spec.driver: Invalid value: "other.example.com": field is immutable',
    'spec.nodeName: Invalid value: null: field is immutable',
  ])
})

test('exactly one field says which nodes can use the devices', () => {
  const one = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'
  assert.deepEqual(check(ResourceSlice, { spec: { driver: 'd', pool } }, { ctx: withGates() }), [`spec: Required value: ${one}`])
  assert.deepEqual(faults({ allNodes: true }), [`spec: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${one}, but multiple fields are set`])
  assert.deepEqual(faults({ allNodes: false, perDeviceNodeSelection: false }), [
    'spec.allNodes: Invalid value: false: must be either unset or set to true',
    'spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true',
  ])
  assert.deepEqual(faults({ nodeName: '' }), [
    'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
    `spec: Required value: ${one}`,
  ])
})

test('a selector of nodes has a single term', () => {
  const term = { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }
  const select = (...nodeSelectorTerms: object[]) =>
    check(ResourceSlice, { spec: { driver: 'd', pool, nodeSelector: { nodeSelectorTerms } } }, { ctx: withGates() })
  assert.deepEqual(select(term), [])
  const shown = '{"MatchExpressions":[{"Key":"a","Operator":"In","Values":["b"]}],"MatchFields":null}'
  assert.deepEqual(select(term, term), [
    `spec.nodeSelector.nodeSelectorTerms: Invalid value: [${shown},${shown}]: must have exactly one node selector term`,
  ])
})

test('devices are named by labels, each once', () => {
  assert.deepEqual(faults({ devices: [{ name: 'd' }, { name: 'd' }] }), ['spec.devices[1]: Duplicate value: "d"'])
  assert.match(wrong({ name: 'D' })[0] ?? '', /^name: Invalid value: "D": a lowercase RFC 1123 label/)
})

test('there are at most 128 devices, 64 when choosing among them takes more', () => {
  const many = (count: number, more: object = {}) => ({ devices: Array.from({ length: count }, (_, i) => ({ name: `d${i}`, ...more })) })
  const costly = { taints: [{ key: 'a', effect: 'None' }] }
  assert.deepEqual(faults(many(128)), [])
  assert.deepEqual(faults(many(129)), ['spec.devices: Too many: 129: must have at most 128 items'])
  assert.deepEqual(faults(many(64, costly)), [])
  assert.deepEqual(faults(many(65, costly)), ['spec.devices: Too many: 65: must have at most 64 items'])
  assert.deepEqual(faults(many(65, { attributes: { a: { ints: [1] } } }), lists), [
    'spec.devices: Too many: 65: must have at most 64 items',
  ])
})

test('a device has at most 32 attributes and capacities and 48 values', () => {
  assert.deepEqual(wrong({ attributes: attributes(31), capacity: { c: { value: '1' } } }), [])
  assert.deepEqual(wrong({ attributes: attributes(32), capacity: { c: { value: '1' } } }), [
    ': Invalid value: 33: the total number of attributes and capacities must not exceed 32',
  ])
  assert.deepEqual(wrong({ attributes: { a: { ints: new Array(48).fill(1) }, b: { int: 1 } } }, lists), [
    ': Invalid value: 49: the total number of attribute values must not exceed 48',
  ])
})

test('an attribute has one value of one type', () => {
  const all = '`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`'
  assert.deepEqual(wrong({ attributes: { a: { int: 0 }, b: { bool: false }, c: { string: '' }, d: { version: '1.2.3-rc.1+b' } } }), [])
  assert.deepEqual(wrong({ attributes: { a: {} } }), [`attributes[a]: Invalid value: "": must specify one of: ${all}`])
  assert.deepEqual(wrong({ attributes: { a: { int: 1, string: 'x' } } }), [
    `attributes[a]: Invalid value: "{int, string}": must specify exactly one of: ${all}`,
  ])
  assert.deepEqual(wrong({ attributes: { a: { string: 'x'.repeat(65) }, b: { version: '1.2' } } }), [
    'attributes[a].string: Too long: may not be more than 64 bytes',
    'attributes[b].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0',
  ])
})

test('lists of values need their gate, and are not empty', () => {
  const all = '`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`'
  assert.deepEqual(wrong({ attributes: { a: { ints: [1, 2] }, b: { versions: ['1.0.0'] } } }, lists), [])
  assert.deepEqual(wrong({ attributes: { a: { ints: [] } } }, lists), [
    'attributes[a].ints: Invalid value: []: must not be empty if specified',
    `attributes[a]: Invalid value: "": must specify one of: ${all}`,
  ])
  assert.deepEqual(wrong({ attributes: { a: { strings: ['x'.repeat(65)] }, b: { versions: ['x'] } } }, lists), [
    'attributes[a].strings[0]: Too long: may not be more than 64 bytes',
    'attributes[b].versions[0]: Invalid value: "x": must be a string compatible with semver.org spec 2.0.0',
  ])
  const { spec } = created(ResourceSlice, { spec: { ...base, devices: [{ name: 'd', attributes: { a: { ints: [1] } } }] } }, withGates())
  assert.deepEqual(spec.devices[0].attributes, { a: {} })
})

test('names of attributes and capacities are identifiers, optionally with a domain', () => {
  const named = (name: string) => wrong({ attributes: JSON.parse(`{${JSON.stringify(name)}: {"int": 1}}`) })
  for (const name of ['a', 'gpu.example.com/a', 'GPU.example.com/a_1', '__proto__', 'constructor']) assert.deepEqual(named(name), [])
  assert.match(named('a-b')[0] ?? '', /^attributes: Invalid value: "a-b": a valid C identifier must start/)
  assert.deepEqual(named('/a'), ['attributes: Invalid value: "": the domain must not be empty'])
  assert.deepEqual(named('a.b/'), ['attributes: Invalid value: "": the name must not be empty'])
  assert.deepEqual(named('x'.repeat(33)), ['attributes: Too long: may not be more than 32 bytes'])
  assert.deepEqual(wrong({ attributes: { ['x'.repeat(97)]: { version: '1' } } }).slice(-1), [
    `attributes[${'x'.repeat(47)}...${'x'.repeat(46)}].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0`,
  ])
})

test('taints of devices are at most 16, stamped, and passed once stored', () => {
  const taint = { key: 'a', effect: 'NoExecute' }
  const { spec } = created(ResourceSlice, { spec: { ...base, devices: [{ name: 'd', taints: [taint] }] } }, withGates())
  assert.equal(spec.devices[0].taints[0].timeAdded, '2026-07-01T12:00:00Z')
  assert.deepEqual(wrong({ taints: new Array(17).fill(taint) }), ['taints: Too many: 17: must have at most 16 items'])
  assert.deepEqual(wrong({ taints: [{ key: 'a' }] }), ['taints[0].effect: Required value'])
  const odd = { ...base, devices: [{ name: 'd', taints: [{ key: 'a b', effect: 'Odd', timeAdded: '2026-01-01T00:00:00Z' }] }] }
  const grown = { ...odd, devices: [...odd.devices, { name: 'e' }] }
  assert.deepEqual(check(ResourceSlice, { spec: grown }, { old: { spec: odd }, ctx: withGates() }), [])
})

test('devices take from counters of their pool', () => {
  const counters = { memory: { value: '1Gi' } }
  assert.deepEqual(wrong({ consumesCounters: [{ counterSet: 'set', counters }] }), [])
  assert.deepEqual(wrong({ consumesCounters: [{}] }), [
    'consumesCounters[0].counterSet: Required value',
    'consumesCounters[0].counters: Required value',
  ])
  assert.deepEqual(
    wrong({
      consumesCounters: [
        { counterSet: 's', counters },
        { counterSet: 's', counters },
      ],
    }),
    ['consumesCounters[1]: Duplicate value: {"counterSet":"s","counters":{"memory":{"value":"1Gi"}}}'],
  )
  const sets = Array.from({ length: 3 }, (_, i) => ({ counterSet: `s${i}`, counters }))
  assert.deepEqual(wrong({ consumesCounters: sets }), ['consumesCounters: Too many: 3: must have at most 2 items'])
  assert.match(
    wrong({ consumesCounters: [{ counterSet: 's', counters: { M: { value: '1' } } }] })[0] ?? '',
    /counters: Invalid value: "M": a lowercase RFC 1123 label/,
  )
})

test('a slice has either devices or counters', () => {
  const set = { name: 's', counters: { m: { value: '1' } } }
  assert.deepEqual(faults({ sharedCounters: [set] }), [])
  assert.deepEqual(faults({ sharedCounters: [set], devices: [{ name: 'd' }] }), [
    'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
  ])
  assert.deepEqual(faults({ sharedCounters: [set, set] }), [
    'spec.sharedCounters[1]: Duplicate value: {"name":"s","counters":{"m":{"value":"1"}}}',
  ])
  assert.deepEqual(faults({ sharedCounters: Array.from({ length: 9 }, (_, i) => ({ ...set, name: `s${i}` })) }), [
    'spec.sharedCounters: Too many: 9: must have at most 8 items',
  ])
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`c${i}`, { value: '1' }]))
  assert.deepEqual(faults({ sharedCounters: [{ name: 's', counters: many }] }), [
    'spec.sharedCounters[0].counters: Too many: 33: must have at most 32 items',
  ])
})

test('devices name nodes when the slice leaves that to them', () => {
  const perDevice = { nodeName: null, perDeviceNodeSelection: true }
  assert.deepEqual(wrong({ allNodes: true }, undefined, perDevice), [])
  assert.match(
    wrong({}, undefined, perDevice)[0] ?? '',
    /^: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when/,
  )
  assert.match(
    wrong({ allNodes: true, nodeName: 'n' }, undefined, perDevice)[0] ?? '',
    /^: Invalid value: "\{`nodeName`, `allNodes`\}": exactly one of/,
  )
  assert.deepEqual(wrong({ nodeName: '', allNodes: false }, undefined, perDevice).slice(0, 2), [
    'nodeName: Invalid value: "": must not be empty',
    'allNodes: Invalid value: false: must be either unset or set to true',
  ])
  assert.deepEqual(wrong({ nodeName: 'n' }), [
    ': Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
  ])
})

test('groups that may use counters together are few and named by labels', () => {
  const ctx = withGates('DRADeviceCompatibilityGroups')
  const group = (...compatibilityGroups: string[]) =>
    wrong({ consumesCounters: [{ counterSet: 's', counters: { m: { value: '1' } }, compatibilityGroups }] }, ctx)
  assert.deepEqual(group('a', 'b'), [])
  assert.deepEqual(group('a', 'a'), ['consumesCounters[0].compatibilityGroups[1]: Duplicate value: "a"'])
  assert.deepEqual(group('a', 'b', 'c'), ['consumesCounters[0].compatibilityGroups: Too many: 3: must have at most 2 items'])
})

test('devices may count as resources of their node', () => {
  const ctx = withGates('DRANodeAllocatableResources')
  const count = (name: string, resource: object) =>
    wrong({ capacity: { cores: { value: '8' } }, nodeAllocatableResources: { [name]: resource } }, ctx).map(fault =>
      fault.replace('nodeAllocatableResources', ''),
    )
  assert.deepEqual(count('cpu', { mapping: { capacityKey: 'cores', capacityMultiplier: '1' }, overhead: { perPod: '1' } }), [])
  assert.deepEqual(count('pods', {}), [
    '[pods]: Invalid value: "pods": must be a node allocatable resource name',
    '[pods]: Required value: at least one of mapping or overhead must be set',
  ])
  assert.deepEqual(count('cpu', { mapping: { capacityKey: 'threads' } }), [
    '[cpu].mapping.capacityKey: Not found: "threads"',
    '[cpu].mapping.capacityMultiplier: Required value: capacityMultiplier is required when capacityKey is set',
  ])
  assert.deepEqual(count('cpu', { mapping: { deviceMultiplier: '0', capacityMultiplier: '1' } }), [
    '[cpu].mapping.deviceMultiplier: Invalid value: "0": must be positive',
    '[cpu].mapping.capacityKey: Required value: capacityKey is required when capacityMultiplier is set',
  ])
  assert.deepEqual(count('cpu', { mapping: {} }), [
    '[cpu].mapping: Invalid value: "": must specify one of: `capacityKey`, `deviceMultiplier`',
  ])
  assert.deepEqual(count('memory', { overhead: {} }), [
    '[memory].overhead: Invalid value: "": at least one of perPod or perContainer must be set',
  ])
  assert.deepEqual(count('memory', { overhead: { perPod: '-1' } }), ['[memory].overhead.perPod: Invalid value: "-1": must be non-negative'])
})

test('partitions say what kind they are', () => {
  const ctx = withGates('DRAPartitionableDevicesType')
  const consumesCounters = [{ counterSet: 's', counters: { m: { value: '1' } } }]
  const part = (attributes: object, name = 'gpu.example.com/kind') =>
    wrong({ attributes, consumesCounters }, ctx, { partitionTypeAttribute: name })
  assert.deepEqual(part({ kind: { string: 'half' } }), [])
  assert.deepEqual(part({ 'gpu.example.com/kind': { string: 'half' } }), [])
  assert.deepEqual(part({}), [
    'attributes[gpu.example.com/kind]: Required value: device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set',
  ])
  assert.match(
    part({ kind: { int: 1 } })[0] ?? '',
    /^attributes\[gpu\.example\.com\/kind\]: Invalid value: \{"IntValue":1,"BoolValue":null,.*must be a string value/,
  )
  assert.deepEqual(faults({ partitionTypeAttribute: 'a.b/kind' }, ctx), [
    'spec.partitionTypeAttribute: Invalid value: "a.b/kind": may only be set on a slice which declares devices that consume counters',
  ])
  assert.equal(
    created(ResourceSlice, { spec: { ...base, partitionTypeAttribute: 'x' } }, withGates()).spec.partitionTypeAttribute,
    undefined,
  )
})

test('fields of disabled feature gates are dropped', () => {
  const device = {
    name: 'd',
    taints: [{ key: 'a', effect: 'None' }],
    consumesCounters: [{ counterSet: 's' }],
    allNodes: true,
    bindsToNode: true,
    bindingConditions: ['a'],
    bindingFailureConditions: ['b'],
    allowMultipleAllocations: true,
    capacity: { c: { value: '1', requestPolicy: { default: '1' } } },
    nodeAllocatableResources: { cpu: {} },
  }
  const draft = { spec: { ...base, devices: [device], perDeviceNodeSelection: true, skipNodeOperations: ['*'] } }
  const { spec } = created(ResourceSlice, draft, withoutGates)
  assert.deepEqual(spec, { ...base, devices: [{ name: 'd', capacity: { c: { value: '1' } } }] })
})

test('drivers in upper case are accepted with a warning', () => {
  assert.deepEqual(faults({ driver: 'GPU.example.com' }), [])
  assert.deepEqual(warnings(ResourceSlice, { spec: { ...base, driver: 'GPU.example.com' } }), [
    'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters',
  ])
})

test('its table shows node, driver and pool', () => {
  const { Node, Driver, Pool } = cells(ResourceSlice, { spec: base })
  assert.deepEqual([Node, Driver, Pool], ['n1', 'gpu.example.com', 'p'])
})
