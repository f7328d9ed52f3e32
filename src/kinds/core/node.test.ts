import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, created, updated, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { openBench } from '../../../test/kits/registry.ts'
import { Node } from './node.ts'

test('what pods may have is everything unless the node says otherwise', () => {
  assert.deepEqual(withDefaults(Node, { status: { capacity: { cpu: '4' } } }).status.allocatable, { cpu: '4' })
  assert.deepEqual(withDefaults(Node, { status: { capacity: { cpu: '4' }, allocatable: { cpu: '3' } } }).status.allocatable, { cpu: '3' })
})

test('the two fields for blocks of addresses agree', () => {
  const spec = (draft: object) => withDefaults(Node, { spec: draft }).spec
  assert.deepEqual(spec({ podCIDR: '10.0.0.0/24' }), { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] })
  assert.deepEqual(spec({ podCIDRs: ['10.0.0.0/24', 'fd00::/64'] }), { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24', 'fd00::/64'] })
  assert.deepEqual(spec({ podCIDR: '10.1.0.0/24', podCIDRs: ['10.0.0.0/24'] }), { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] })
})

test('fields of removed or disabled features are dropped', () => {
  const configSource = { configMap: { namespace: 'a', name: 'b', kubeletConfigKey: 'c' } }
  assert.deepEqual(created(Node, { spec: { configSource, podPreemptionPolicy: {} } }).spec, {})
  assert.deepEqual(updated(Node, { spec: { configSource } }, {}).spec, {})
})

test('taints are label keys and values with a supported effect, unique by key and effect', () => {
  const taint = { key: 'k', effect: 'NoSchedule' }
  const errors = check(Node, { spec: { taints: [taint, { key: 'a b', value: 'x y', effect: 'Never' }, { key: 'e' }, taint] } })
  assert.match(errors[0]!, /^metadata\.taints\[1\]\.key: Invalid value: "a b": name part/)
  assert.match(errors[1]!, /^metadata\.taints\[1\]\.value: Invalid value: "x y": a valid label/)
  assert.deepEqual(errors.slice(2), [
    'metadata.taints[1].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    'metadata.taints[2].effect: Required value',
    'metadata.taints[3]: Duplicate value: {"Key":"k","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
  ])
})

test('blocks of addresses are at most one of each family', () => {
  const blocks = (...podCIDRs: string[]) => check(Node, { spec: { podCIDRs } })
  assert.deepEqual(blocks('10.0.0.0/24', 'fd00::/64'), [])
  assert.deepEqual(blocks('10.0.0.0/24', '10.1.0.0/24'), [
    'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one CIDR for each IP family',
  ])
  assert.deepEqual(blocks('10.0.0.0'), [
    'spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
  ])
})

test('amounts are not negative, and integers for countable resources', () => {
  assert.deepEqual(checkSubresource(Node, 'status', { status: { capacity: { cpu: '-1', pods: '1500m' } } }, {}).sort(), [
    'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
    'status.allocatable.pods: Invalid value: "1500m": must be an integer',
    'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
    'status.capacity.pods: Invalid value: "1500m": must be an integer',
  ])
})

test('declared features are named in CamelCase and sorted', () => {
  const [odd, order, twice] = checkSubresource(Node, 'status', { status: { declaredFeatures: ['b', 'A', 'A'] } }, {})
  assert.match(odd!, /^status\.declaredFeatures\[0\]: Invalid value: "b": invalid feature name "b": must start with an UpperCamelCase/)
  assert.equal(order, 'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically')
  assert.equal(twice, 'status.declaredFeatures[2]: Duplicate value: "A"')
})

test('what the cloud and the network gave a node does not change', () => {
  const old = { spec: { providerID: 'cloud://1', podCIDRs: ['10.0.0.0/24'], externalID: 'a' } }
  assert.deepEqual(check(Node, { spec: { providerID: 'cloud://2', podCIDRs: ['10.1.0.0/24'], externalID: 'b' } }, { old }), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Invalid value: null: field cannot be modified once set',
    'spec.externalID: Forbidden: may not be updated',
  ])
  assert.deepEqual(check(Node, { spec: { ...old.spec, providerID: '' } }, { old }), [
    'spec.providerID: Invalid value: null: field cannot be cleared once set',
  ])
  assert.deepEqual(check(Node, old, { old: { spec: { externalID: 'a' } } }), [])
})

test('an address is listed once', () => {
  const address = { type: 'InternalIP', address: '10.0.0.1' }
  assert.deepEqual(checkSubresource(Node, 'status', { status: { addresses: [address, address] } }, {}), [
    'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}',
  ])
})

test('annotations that used to be fields still make sense', () => {
  const annotated = (key: string, text: string) =>
    check(Node, { metadata: { annotations: { [`scheduler.alpha.kubernetes.io/${key}`]: text } } })
  assert.match(
    annotated('taints', '[')[0]!,
    /^metadata\.annotations: Invalid value: "scheduler\.alpha\.kubernetes\.io\/taints": unexpected end/,
  )
  assert.deepEqual(annotated('taints', '[{"key":"k"}]'), [
    'metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Required value',
  ])
  assert.deepEqual(annotated('preferAvoidPods', '{"preferAvoidPods":[{}]}'), [
    'metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value',
  ])
})

test('a deprecated field and odd blocks are warned about', () => {
  assert.deepEqual(warnings(Node, { spec: { externalID: 'a' } }), [
    'spec.externalID: this field is deprecated, and is unused by Kubernetes',
  ])
})

test('the table shows status, roles and system information', () => {
  const shown = cells(Node, {
    metadata: { labels: { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/role': 'edge' } },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: 'Ready', status: 'False' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      nodeInfo: { kubeletVersion: 'v1', kernelVersion: '6.1', architecture: 'arm64' },
    },
  })
  assert.deepEqual(Object.values(shown), [
    'NotReady,SchedulingDisabled',
    'edge,worker',
    '<unknown>',
    'v1',
    '10.0.0.1',
    '<none>',
    '<unknown>',
    '6.1 (arm64)',
    '<unknown>',
  ])
  assert.equal(cells(Node, {})['Status'], 'Unknown')
})

test('a change of the status does not repeat the warnings about the spec', async t => {
  const { send, close } = await openBench([Node])
  t.after(close)
  const made = await send('POST nodes', { metadata: { name: 'a' }, spec: { externalID: 'x' } })
  const deprecated = ['spec.externalID: this field is deprecated, and is unused by Kubernetes']
  assert.deepEqual(made.warnings, deprecated)
  const conditions = [{ type: 'Ready', status: 'True' }]
  assert.deepEqual((await send('PUT nodes/a/status', { ...made.body, status: { conditions } })).warnings, [])
  const changed = { ...made.body, metadata: { name: 'a', labels: { a: 'b' } } }
  assert.deepEqual((await send('PUT nodes/a', changed)).warnings, deprecated)
})
