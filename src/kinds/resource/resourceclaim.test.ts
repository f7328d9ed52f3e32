import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withGates, withLabels, withoutGates } from '../../../test/kits/kinds/devices.ts'
import { cells, check, created } from '../../../test/kits/kinds/kinds.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { ResourceClaim } from './resourceclaim.ts'

const derived = withGates('DRADerivedAttributes')
const faults = (devices: object, ctx: RequestContext = withGates()) => check(ResourceClaim, { spec: { devices } }, { ctx })
const exactly = (more: object = {}, name = 'r') => ({ name, exactly: { deviceClassName: 'c', ...more } })
const first = (...subs: object[]) => ({
  name: 'r',
  firstAvailable: subs.map((sub, i) => ({ name: `s${i}`, deviceClassName: 'c', ...sub })),
})
const REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

test('an empty claim has no requests', () => {
  assert.deepEqual(faults({}), [])
})

test('a request is for one device by default', () => {
  const { spec } = created(
    ResourceClaim,
    { spec: { devices: { requests: [exactly(), first({ allocationMode: 'All' }, { count: 3 })] } } },
    withGates(),
  )
  const [one, several] = spec.devices.requests
  assert.deepEqual(one.exactly, { deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 })
  assert.deepEqual(several.firstAvailable, [
    { name: 's0', deviceClassName: 'c', allocationMode: 'All' },
    { name: 's1', deviceClassName: 'c', allocationMode: 'ExactCount', count: 3 },
  ])
})

test('a request has either exactly or firstAvailable', () => {
  assert.deepEqual(faults({ requests: [{ name: 'r' }] }), [
    'spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required',
  ])
  assert.deepEqual(faults({ requests: [{ ...exactly(), ...first({}) }] }), [
    'spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set',
  ])
  assert.deepEqual(faults({ requests: [{ ...exactly(), ...first({ deviceClassName: '' }) }] }).slice(1), [
    'spec.devices.requests[0].firstAvailable[0].deviceClassName: Required value',
  ])
})

test('requests and subrequests are named by labels, each once', () => {
  assert.deepEqual(faults({ requests: [exactly(), exactly()] }), [
    'spec.devices.requests[1]: Duplicate value: {"name":"r","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}',
  ])
  assert.match(
    faults({ requests: [exactly({}, 'R!')] })[0] ?? '',
    /^spec\.devices\.requests\[0\]\.name: Invalid value: "R!": a lowercase RFC 1123 label/,
  )
  assert.match(faults({ requests: [first({}, { name: 's0' })] })[0] ?? '', /firstAvailable\[1\]: Duplicate value: \{"name":"s0"/)
})

test('there are at most 32 requests of at most 8 subrequests', () => {
  const many = Array.from({ length: 33 }, (_, i) => exactly({}, `r${i}`))
  assert.deepEqual(faults({ requests: many.slice(1) }), [])
  assert.deepEqual(faults({ requests: many }), ['spec.devices.requests: Too many: 33: must have at most 32 items'])
  assert.deepEqual(faults({ requests: [first(...new Array(8).fill({}))] }), [])
  assert.deepEqual(faults({ requests: [first(...new Array(9).fill({}))] }), [
    'spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items',
  ])
})

test('counts are above zero and only for an exact count', () => {
  assert.deepEqual(faults({ requests: [exactly({ count: -1 })] }), [
    'spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero',
  ])
  assert.deepEqual(faults({ requests: [exactly({ allocationMode: 'All', count: 2 })] }), [
    "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
  ])
  assert.deepEqual(faults({ requests: [exactly({ allocationMode: 'Some' })] }), [
    'spec.devices.requests[0].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
  ])
})

test('a request names a class', () => {
  assert.deepEqual(faults({ requests: [exactly({ deviceClassName: '' })] }), [
    'spec.devices.requests[0].exactly.deviceClassName: Required value',
  ])
  assert.match(
    faults({ requests: [exactly({ deviceClassName: 'A' })] })[0] ?? '',
    /deviceClassName: Invalid value: "A": a lowercase RFC 1123 subdomain/,
  )
  const long = 'x'.repeat(254)
  assert.match(faults({ requests: [exactly({ deviceClassName: long })] })[0] ?? '', /must be no more than 253 characters$/)
  assert.match(faults({ requests: [first({ deviceClassName: long })] })[0] ?? '', /must be no more than 253 bytes$/)
})

test('tolerations have an operator, and no value with Exists', () => {
  const tolerate = (...tolerations: object[]) => faults({ requests: [exactly({ tolerations })] })
  assert.deepEqual(tolerate({ key: 'a', value: 'b' }, { operator: 'Exists', effect: 'None' }), [])
  assert.deepEqual(tolerate({ operator: 'Exists', value: 'b' }, { operator: 'Odd' }, { effect: 'Odd' }), [
    'spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "b": must be empty for operator `Exists`',
    'spec.devices.requests[0].exactly.tolerations[1].operator: Unsupported value: "Odd": supported values: "Equal", "Exists"',
    'spec.devices.requests[0].exactly.tolerations[2].effect: Unsupported value: "Odd": supported values: "NoExecute", "NoSchedule", "None"',
  ])
})

test('constraints and configuration refer to requests or to their subrequests', () => {
  const requests = [first({}), exactly({}, 'x')]
  const constrain = (...references: string[]) =>
    faults({ requests, constraints: [{ requests: references, matchAttribute: 'a.example.com/x' }] })
  assert.deepEqual(constrain('r', 'r/s0', 'x'), [])
  assert.deepEqual(constrain('x/s0', 'r/s9', 'a/b/c'), [
    `spec.devices.constraints[0].requests[0]: Invalid value: "x/s0": ${REFERENCE}`,
    `spec.devices.constraints[0].requests[1]: Invalid value: "r/s9": ${REFERENCE}`,
    `spec.devices.constraints[0].requests[2]: Invalid value: "a/b/c": ${REFERENCE}`,
  ])
  assert.deepEqual(constrain('r', 'r'), ['spec.devices.constraints[0].requests[1]: Duplicate value: "r"'])
  assert.deepEqual(faults({ requests, config: [{ requests: ['nobody'] }] }), [
    `spec.devices.config[0].requests[0]: Invalid value: "nobody": ${REFERENCE}`,
    'spec.devices.config[0].opaque: Required value',
  ])
})

test('a constraint compares an attribute with its domain', () => {
  const constrain = (constraint: object, ctx?: RequestContext) => faults({ requests: [exactly()], constraints: [constraint] }, ctx)
  assert.deepEqual(constrain({ distinctAttribute: 'a.example.com/x' }), [])
  assert.deepEqual(constrain({ matchAttribute: 'x' }), [
    'spec.devices.constraints[0].matchAttribute: Invalid value: "x": a fully qualified name must be a domain and a name separated by a slash',
  ])
  assert.deepEqual(constrain({ matchAttribute: '/' }), [
    'spec.devices.constraints[0].matchAttribute: Invalid value: "": prefix must not be empty',
    'spec.devices.constraints[0].matchAttribute: Invalid value: "": name must not be empty',
  ])
  assert.match(
    constrain({ matchAttribute: 'A.com/x' })[0] ?? '',
    /matchAttribute: Invalid value: "A\.com": prefix: a lowercase RFC 1123 subdomain/,
  )
  assert.deepEqual(constrain({ matchAttribute: `a.com/${'x'.repeat(33)}` }), [
    'spec.devices.constraints[0].matchAttribute: Too long: may not be more than 32 bytes',
  ])
  assert.deepEqual(constrain({}), [
    'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
  ])
  assert.deepEqual(constrain({}, withoutGates), ['spec.devices.constraints[0].matchAttribute: Required value'])
})

test('derived attributes are compared by a constraint on their request', () => {
  const attribute = { name: 'a.example.com/x', expression: '1' }
  const ask = (constraint: object, ...attributes: object[]) =>
    faults(
      { requests: [first({ derivedAttributes: attributes })], constraints: [{ matchAttribute: 'a.example.com/x', ...constraint }] },
      derived,
    )
  for (const requests of [[], ['r'], ['r/s0']]) assert.deepEqual(ask({ requests }, attribute), [])
  const at = 'spec.devices.requests[0].firstAvailable[0].derivedAttributes'
  assert.deepEqual(ask({ matchAttribute: 'a.example.com/y' }, attribute), [
    `${at}[0].name: Invalid value: "a.example.com/x": must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request`,
  ])
  assert.deepEqual(ask({}, attribute, attribute), [`${at}[1]: Duplicate value: "a.example.com/x"`])
  assert.deepEqual(ask({}, {}), [`${at}[0].name: Required value`, `${at}[0].expression: Required value`])
  assert.deepEqual(ask({}, { ...attribute, expression: 'x'.repeat(10241) }), [
    `${at}[0].expression: Too long: may not be more than 10240 bytes`,
  ])
  assert.deepEqual(ask({}, { ...attribute, expression: '1.5' }), [
    `${at}[0].expression: Invalid value: "1.5": must evaluate to a primitive scalar (string, integer, boolean, semver), not double`,
  ])
  const costly = ['a', 'b', 'c', 'd', 'e'].reduceRight((inner, name) => `device.attributes["x"].all(${name}, ${inner})`, 'true')
  assert.deepEqual(ask({}, { ...attribute, expression: costly }), [
    `${at}[0].expression: Forbidden: too complex, exceeds cost limit`,
    'spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit',
  ])
})

test('fields of disabled feature gates are dropped', () => {
  const asked = { tolerations: [{ key: 'a' }], capacity: { requests: { m: '1' } }, derivedAttributes: [{ name: 'a/b', expression: '1' }] }
  const { spec } = created(
    ResourceClaim,
    { spec: { devices: { requests: [exactly(asked)], constraints: [{ distinctAttribute: 'a.example.com/x' }] } } },
    withoutGates,
  )
  assert.deepEqual(spec.devices.requests[0].exactly, { deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 })
  assert.deepEqual(spec.devices.constraints, [{}])
})

test('administration needs a namespace that is marked for it', () => {
  const claim = { requests: [exactly({}, 'a'), exactly({ adminAccess: true }, 'b')] }
  assert.deepEqual(faults(claim, withLabels({ 'resource.kubernetes.io/admin-access': 'true' })), [])
  assert.deepEqual(faults(claim, withLabels({})), [
    'spec.devices.requests[1].adminAccess: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace',
  ])
})

test('the spec cannot change, and is not validated again', () => {
  const old = { spec: { devices: { requests: [exactly()] } } }
  assert.deepEqual(check(ResourceClaim, { ...old, metadata: { labels: { a: 'b' } } }, { old, ctx: withGates() }), [])
  assert.deepEqual(check(ResourceClaim, { spec: { devices: { requests: [{ name: 'R!' }] } } }, { old, ctx: withGates() }), [
    'spec: Invalid value: null: field is immutable',
  ])
})

test('the table shows the state', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z'
  const allocation = { devices: {} }
  const state = (metadata: object, status: object) => cells(ResourceClaim, { metadata, status })['State']
  assert.equal(state({}, {}), 'pending')
  assert.equal(state({}, { allocation }), 'allocated')
  assert.equal(state({}, { allocation, reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }] }), 'allocated,reserved')
  assert.equal(state({ deletionTimestamp }, {}), 'deleted')
  assert.equal(state({ deletionTimestamp }, { allocation }), 'deleted,allocated')
})
