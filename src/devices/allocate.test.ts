import assert from 'node:assert/strict'
import test from 'node:test'
import { claimOf, classNamed, DRIVER, found, look, nodeNamed, sliceOf, type WorldDraft, worldOf } from '../../test/kits/devices.ts'
import { LIMITS } from '../lib/limits.ts'
import { allocationResult } from './allocation-result.ts'
import { AllocationError, prepareClaim } from './claim-requests.ts'

const named = (...names: string[]) => names.map(name => ({ name }))
const selecting = (expression: string) => ({ selectors: [{ cel: { expression } }] })
const fails = (world: WorldDraft, claim: ReturnType<typeof claimOf>, message: string, classes = [classNamed('any')]) =>
  assert.throws(
    () => found(worldOf(world), [claim], { classes }),
    (error: Error) => {
      assert.equal(error.message, message)
      return error instanceof AllocationError
    },
  )

/** The allocation that is written for one claim. */
function resultOf(world: WorldDraft, claim: ReturnType<typeof claimOf>, classes = [classNamed('any')], node = nodeNamed('n')) {
  const parts = worldOf(world)
  const outcome = look(parts, [claim], { classes, node })
  assert.equal(outcome.type, 'found')
  const classOf = (name: string) => classes.find(({ metadata }) => metadata.name === name)
  const prepared = prepareClaim(claim as never, { classOf, ...parts })
  let made = 0
  return allocationResult(prepared, (outcome as any).choices[0], { node: node.name, uuid: () => `share-${made++}` })
}

test('only slices of the newest generation count, and only pools of which all slices are there', () => {
  const one = claimOf([{}])
  const old = sliceOf('a', { devices: named('old') })
  const next = (name: string, count: number, ...devices: string[]) => sliceOf(name, { generation: 2, count, devices: named(...devices) })
  assert.deepEqual(found(worldOf({ slices: [old, next('b', 1, 'new')] }), [one]), [['r:new']])
  assert.equal(found(worldOf({ slices: [old, next('b', 2, 'new')] }), [one]), 'none')
  assert.deepEqual(found(worldOf({ slices: [old, next('b', 2, 'new'), next('c', 2, 'more')] }), [one]), [['r:new']])
  const other = sliceOf('other', { pool: 'other', devices: named('whole') })
  assert.deepEqual(found(worldOf({ slices: [next('b', 2, 'new'), other] }), [one]), [['r:whole']])
  const all = claimOf([{ allocationMode: 'All' }])
  const prefix = 'claim default/claim, request r: asks for all devices, but resource pool d.example.com/pool is currently'
  fails({ slices: [next('b', 2, 'new'), other] }, all, `${prefix} being updated`)
  const twice = [sliceOf('a', { count: 2, devices: named('x') }), sliceOf('b', { count: 2, devices: named('x') })]
  assert.equal(found(worldOf({ slices: twice }), [one]), 'invalid pools')
  assert.deepEqual(found(worldOf({ slices: [...twice, other] }), [one]), [['r:whole']])
  fails({ slices: [...twice, other] }, all, `${prefix} invalid`)
})

test('pools follow the slices that are created, changed and deleted', () => {
  const world = worldOf({ slices: [] })
  const one = claimOf([{}])
  const [n, m] = [nodeNamed('n'), nodeNamed('m', { zone: 'z' })]
  const on = (node = n) => found(world, [one], { node })
  assert.equal(on(), 'none')
  world.pools.setSlice(sliceOf('a', { devices: named('x') }) as never)
  assert.deepEqual([on(), on(m)], [[['r:x']], 'none'])
  const nodeSelector = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['z'] }] }] }
  world.pools.setSlice(sliceOf('b', { pool: 'zone', nodeSelector, devices: named('y') }) as never)
  assert.deepEqual([on(), on(m)], [[['r:x']], [['r:y']]])
  assert.equal(on(nodeNamed('m')), 'none')
  world.pools.setSlice(sliceOf('c', { pool: 'all', allNodes: true, devices: named('w') }) as never)
  assert.deepEqual([on(), on(m)], [[['r:w']], [['r:w']]])
  world.pools.removeSlice('c')
  world.pools.setSlice(sliceOf('a', { generation: 2, devices: named('z') }) as never)
  assert.deepEqual([on(), on(m)], [[['r:z']], [['r:y']]])
  world.pools.removeSlice('a')
  assert.equal(on(), 'none')
})

test('a claim without requests needs nothing; one with too many has too many', () => {
  const slices = [sliceOf('a', { devices: Array.from({ length: 40 }, (_, i) => ({ name: `d-${i}` })) })]
  assert.deepEqual(found(worldOf({ slices }), [claimOf([])]), [[]])
  assert.equal((found(worldOf({ slices }), [claimOf([{ count: 32 }])]) as string[][])[0]!.length, 32)
  const limit = 'exceeds the claim limit of 32'
  fails({ slices }, claimOf([{ count: 33 }]), `claim default/claim: number of requested devices 33 ${limit}`)
  fails({ slices }, claimOf([{ allocationMode: 'All' }]), `claim default/claim: number of requested devices 40 ${limit}`)
  const either = claimOf([{ firstAvailable: [{ name: 'all', allocationMode: 'All' }, { name: 'one' }] }])
  assert.deepEqual(found(worldOf({ slices }), [either]), [['r/one:d-0']])
})

test('expressions see the device; anything but true or false ends the allocation', () => {
  const attributes = { model: { string: 'a' }, 'other.org/cores': { int: 8 }, driver: { version: '1.2.3' }, fast: { bool: true } }
  const slices = [
    sliceOf('s', { devices: [{ name: 'x', attributes, capacity: { memory: { value: '80Gi' } }, allowMultipleAllocations: true }] }),
  ]
  const fits = (expression: string) => found(worldOf({ slices }), [claimOf([selecting(expression)])]) !== 'none'
  const own = `device.attributes["${DRIVER}"]`
  for (const expression of [
    `device.driver == "${DRIVER}"`,
    `${own}.model == "a" && ${own}.fast`,
    `device.attributes["other.org"].cores > 4`,
    `${own}.driver.isGreaterThan(semver("1.2.0"))`,
    `device.capacity["${DRIVER}"].memory.compareTo(quantity("80Gi")) == 0`,
    'device.allowMultipleAllocations',
    `!has(device.attributes["unknown.org"].x) && !("unknown.org" in device.attributes) && ("other.org" in device.attributes)`,
    `cel.bind(it, ${own}, it.model == "a")`,
    `${own}.model.includes("a")`,
    `${own}.?none.orValue(true)`,
  ])
    assert(fits(expression), expression)
  assert(!fits(`${own}.model == "b"`))
  const hint = 'consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields'
  const at = 'claim default/claim: selector #0 on device d.example.com/pool/x: CEL runtime error:'
  fails({ slices }, claimOf([selecting(`${own}.none == 1`)]), `${at} no such key: none. ${hint}`)
  assert.throws(() => fits(`${own}.model`), /could not be converted to bool/)
  const broken = classNamed('any', selecting('device.nothing'))
  assert.throws(
    () => found(worldOf({ slices }), [claimOf([{}])], { classes: [broken] }),
    /^Error: class any: selector #0: CEL compile error: /,
  )
  fails(
    { slices },
    claimOf([{}]),
    'claim default/claim, request r: could not retrieve device class any: deviceclass.resource.k8s.io "any" not found',
    [],
  )
})

test('taints of slices and of rules keep claims away that do not tolerate them', () => {
  const taint = { key: 'broken', value: 'yes', effect: 'NoSchedule' }
  const slices = [
    sliceOf('s', {
      devices: [
        { name: 'tainted', taints: [taint] },
        { name: 'noted', taints: [{ ...taint, effect: 'None' }] },
      ],
    }),
  ]
  const rule = { metadata: { name: 'rule' }, spec: { deviceSelector: { device: 'noted' }, taint: { key: 'soft', effect: 'NoExecute' } } }
  const both = claimOf([{ count: 2, tolerations: [{ operator: 'Exists' }] }])
  const wanting = (...tolerations: object[]) => claimOf([{ tolerations }])
  assert.deepEqual(found(worldOf({ slices }), [wanting()]), [['r:noted']])
  const world = worldOf({ slices, rules: [rule] })
  assert.equal(found(world, [wanting()]), 'none')
  assert.deepEqual(found(world, [wanting({ key: 'broken', value: 'yes' })]), [['r:tainted']])
  assert.equal(found(world, [wanting({ key: 'broken', value: 'no' })]), 'none')
  assert.deepEqual(found(world, [wanting({ key: 'soft', operator: 'Exists', effect: 'NoExecute' })]), [['r:noted']])
  assert.deepEqual(found(world, [both]), [['r:tainted', 'r:noted']])
  world.pools.removeRule('rule')
  assert.deepEqual(found(world, [wanting()]), [['r:noted']])
})

test('a request with adminAccess ignores existing allocations and takes nothing from others', () => {
  const slices = [sliceOf('s', { devices: named('x') })]
  const used = { other: [{ device: 'x' }] }
  const admin = claimOf([{ adminAccess: true }])
  assert.equal(found(worldOf({ slices, used }), [claimOf([{}])]), 'none')
  assert.deepEqual(found(worldOf({ slices, used }), [admin]), [['r:x']])
  assert.deepEqual(found(worldOf({ slices, used: { other: [{ device: 'x', adminAccess: true }] } }), [claimOf([{}])]), [['r:x']])
  assert.deepEqual(resultOf({ slices }, admin).devices.results, [
    { request: 'r', driver: DRIVER, pool: 'pool', device: 'x', adminAccess: true },
  ])
})

test('what a request takes of a shared device is rounded up, and no more is given than there is', () => {
  const requestPolicy = { default: '1Gi', validRange: { min: '1Gi', max: '6Gi', step: '2Gi' } }
  const capacity = { memory: { value: '10Gi', requestPolicy } }
  const slices = [sliceOf('s', { devices: [{ name: 'x', allowMultipleAllocations: true, capacity }] })]
  const asking = (memory?: string) => claimOf([memory === undefined ? {} : { capacity: { requests: { memory } } }])
  const given = (memory?: string) => resultOf({ slices }, asking(memory)).devices.results![0]
  assert.deepEqual(given(), {
    request: 'r',
    driver: DRIVER,
    pool: 'pool',
    device: 'x',
    shareID: 'share-0',
    consumedCapacity: { memory: '1Gi' },
  })
  assert.deepEqual(given('100Mi')!.consumedCapacity, { memory: '1Gi' })
  assert.deepEqual(given('2Gi')!.consumedCapacity, { memory: '3Gi' })
  assert.equal(found(worldOf({ slices }), [asking('7Gi')]), 'none')
  assert.equal(found(worldOf({ slices }), [claimOf([{ capacity: { requests: { bandwidth: '1' } } }])]), 'none')
  const share = (amount: string) => ({ device: 'x', shareID: amount, consumedCapacity: { memory: amount } })
  assert.deepEqual(found(worldOf({ slices, used: { a: [share('3Gi')], b: [share('5Gi')] } }), [asking('1Gi')]), [['r:x']])
  assert.equal(found(worldOf({ slices, used: { a: [share('3Gi')], b: [share('5Gi')] } }), [asking('2Gi')]), 'none')
  const used = worldOf({ slices, used: { a: [share('9Gi')] } })
  assert.equal(found(used, [asking('2Gi')]), 'none')
  used.usage.store('a', undefined, 2)
  assert.deepEqual(found(used, [asking('2Gi')]), [['r:x']])
  const fractional = { value: '2', requestPolicy: { default: '500m', validRange: { min: '500m', step: '250m' } } }
  const halves = [sliceOf('s', { devices: [{ name: 'x', allowMultipleAllocations: true, capacity: { cores: fractional } }] })]
  assert.deepEqual(
    resultOf({ slices: halves }, claimOf([{ capacity: { requests: { cores: '600m' } } }])).devices.results![0]!.consumedCapacity,
    {
      cores: '750m',
    },
  )
})

test('partitions take from what they share, also when they are given out elsewhere', () => {
  const takes = (parts: number) => [{ counterSet: 'card', counters: { parts: { value: String(parts) } } }]
  const devices = [
    { name: 'whole', consumesCounters: takes(4) },
    ...[1, 2, 3, 4].map(i => ({ name: `part-${i}`, consumesCounters: takes(1) })),
  ]
  const slices = [
    sliceOf('a', { count: 2, devices }),
    sliceOf('b', { count: 2, sharedCounters: [{ name: 'card', counters: { parts: { value: '4' } } }] }),
  ]
  const some = (count: number) => claimOf([{ count }])
  assert.deepEqual(found(worldOf({ slices }), [some(1)]), [['r:whole']])
  assert.deepEqual(found(worldOf({ slices }), [some(2)]), [['r:part-1', 'r:part-2']])
  assert.equal(found(worldOf({ slices }), [some(5)]), 'none')
  assert.deepEqual(found(worldOf({ slices, used: { other: [{ device: 'part-4' }] } }), [some(1)]), [['r:part-1']])
  assert.equal(found(worldOf({ slices, used: { other: [{ device: 'whole' }] } }), [some(1)]), 'none')
  const missing = [sliceOf('a', { devices })]
  assert.equal(found(worldOf({ slices: missing }), [some(1)]), 'invalid pools')
})

test('attributes must be the same, or all different; lists and derived attributes where they are on', () => {
  const zone = (value: object) => ({ 'x.org/zone': value })
  const devices = [
    { name: 'a', attributes: zone({ string: '1' }) },
    { name: 'b', attributes: zone({ int: 1 }) },
    { name: 'c', attributes: {} },
    { name: 'd', attributes: zone({ string: '1' }) },
    { name: 'e', attributes: zone({ strings: ['1', '2'] }) },
    { name: 'f', attributes: zone({ strings: ['2', '3'] }) },
  ]
  const slices = [sliceOf('s', { devices })]
  const two = (constraint: object, features: WorldDraft['features'] = {}, more: object = {}) =>
    found(worldOf({ slices, features }), [claimOf([{ count: 2, ...more }], { constraints: [constraint] })])
  const match = { matchAttribute: 'x.org/zone' }
  assert.deepEqual(two(match), [['r:a', 'r:d']])
  assert.deepEqual(two({ distinctAttribute: 'x.org/zone' }), [['r:a', 'r:b']])
  const three = (constraint: object) => found(worldOf({ slices }), [claimOf([{ count: 3 }], { constraints: [constraint] })])
  assert.deepEqual(three(match), [['r:a', 'r:d', 'r:e']])
  assert.deepEqual(three({ distinctAttribute: 'x.org/zone' }), [['r:a', 'r:b', 'r:f']])
  const onlyLists = selecting(
    'device.attributes["x.org"].?zone.orValue(0) == ["1", "2"] || device.attributes["x.org"].?zone.orValue(0) == ["2", "3"]',
  )
  assert.deepEqual(two(match, {}, onlyLists), [['r:e', 'r:f']])
  assert.equal(two({ distinctAttribute: 'x.org/zone' }, {}, onlyLists), 'none')
  // Derived attributes hide published ones.
  const derived = { derivedAttributes: [{ name: 'x.org/zone', expression: 'has(device.attributes["x.org"].zone)' }] }
  assert.deepEqual(two({ distinctAttribute: 'x.org/zone' }, {}, derived), [['r:a', 'r:c']])
  assert.throws(
    () => two(match, { derivedAttributes: false }, derived),
    /cannot handle request with derived attributes, the feature is disabled/,
  )
  const wrong = { derivedAttributes: [{ name: 'x.org/zone', expression: 'device.attributes["x.org"].none' }] }
  assert.throws(
    () => two(match, {}, wrong),
    /^Error: evaluate derived attribute x\.org\/zone on device d\.example\.com\/pool\/a failed: no such key: none/,
  )
  const own = [
    sliceOf('s', {
      devices: [
        { name: 'a', attributes: { numa: { int: 0 } } },
        { name: 'b', attributes: { numa: { int: 0 } } },
      ],
    }),
  ]
  const numa = claimOf([{ count: 2 }], { constraints: [{ matchAttribute: `${DRIVER}/numa` }] })
  assert.deepEqual(found(worldOf({ slices: own }), [numa]), [['r:a', 'r:b']])
  fails(
    { slices },
    claimOf([{ allocationMode: 'All' }], { constraints: [match] }),
    'claim default/claim, request r: cannot add device d.example.com/pool/b because a claim constraint would not be satisfied',
  )
})

test('devices that look the same are not tried again, and a search that takes too long is given up', () => {
  const devices = Array.from({ length: 30 }, (_, i) => ({ name: `d-${i}`, attributes: { half: { int: Math.floor(i / 15) } } }))
  const sixteen = claimOf([{ count: 16 }], { constraints: [{ matchAttribute: `${DRIVER}/half` }] })
  assert.equal(found(worldOf({ slices: [sliceOf('s', { devices })] }), [sixteen]), 'none')
  // All different, so that no two are the same to the search.
  const unlike = devices.map((device, i) => ({ ...device, attributes: { ...device.attributes, index: { int: i } } }))
  const outcome = look(worldOf({ slices: [sliceOf('s', { devices: unlike })] }), [sixteen])
  assert.deepEqual(outcome, { type: 'given up', steps: LIMITS.allocationStepsPerNode + 1 })
})

test('the result says where the devices can be used, and how they are set up', () => {
  const opaque = (driver: string) => ({ opaque: { driver, parameters: { kind: 'x' } } })
  const classes = [classNamed('any', { config: [opaque('a.org')] }), classNamed('more', { config: [opaque('b.org')] })]
  const claim = claimOf(
    [{ name: 'one' }, { name: 'two', deviceClassName: 'more', tolerations: [{ operator: 'Exists' }] }, { name: 'three' }],
    { config: [opaque('c.org'), { requests: ['two'], ...opaque('d.org') }] },
  )
  const slices = [sliceOf('s', { devices: named('x', 'y', 'z') })]
  const { devices, nodeSelector } = resultOf({ slices }, claim, classes)
  assert.deepEqual(nodeSelector, { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }] })
  assert.deepEqual(devices.results![1], {
    request: 'two',
    driver: DRIVER,
    pool: 'pool',
    device: 'y',
    tolerations: [{ operator: 'Exists' }],
  })
  assert.deepEqual(devices.config, [
    { source: 'FromClass', ...opaque('a.org'), requests: ['one', 'three'] },
    { source: 'FromClass', ...opaque('b.org'), requests: ['two'] },
    { source: 'FromClaim', ...opaque('c.org') },
    { source: 'FromClaim', ...opaque('d.org'), requests: ['two'] },
  ])
  const everywhere = resultOf({ slices: [sliceOf('s', { allNodes: true, devices: named('x') })] }, claimOf([{}]))
  assert.equal(everywhere.nodeSelector, undefined)
  const term = { matchExpressions: [{ key: 'zone', operator: 'Exists' }] }
  const zone = resultOf(
    { slices: [sliceOf('s', { nodeSelector: { nodeSelectorTerms: [term] }, devices: named('x', 'y') })] },
    claimOf([{ count: 2 }]),
    undefined,
    nodeNamed('n', { zone: 'z' }),
  )
  assert.deepEqual(zone.nodeSelector, { nodeSelectorTerms: [term] })
  const binding = { bindsToNode: true, bindingConditions: ['Attached'], bindingFailureConditions: ['Failed'] }
  const bound = resultOf({ slices: [sliceOf('s', { allNodes: true, devices: [{ name: 'x', ...binding }] })] }, claimOf([{}]))
  assert.deepEqual(bound.nodeSelector, nodeSelector)
  assert.deepEqual(bound.devices.results![0]!.bindingConditions, ['Attached'])
})
