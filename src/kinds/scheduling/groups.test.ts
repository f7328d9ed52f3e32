// Workload, PodGroup and CompositePodGroup: defaults, rules in kube-apiserver's words, and fields of disabled features.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created } from '../../../test/kits/kinds/kinds.ts'
import { CompositePodGroup } from './compositepodgroup.ts'
import { PodGroup } from './podgroup.ts'
import { Workload } from './workload.ts'

const ctx = contextWith({
  gates: [
    'GenericWorkload',
    'CompositePodGroup',
    'TopologyAwareWorkloadScheduling',
    'DRAWorkloadResourceClaims',
    'PodGroupPreemptionPolicy',
  ],
})
const basic = { basic: {} }
const gang = (minCount: number) => ({ gang: { minCount } })
const template = (name: string, more: object = {}) => ({ name, schedulingPolicy: basic, ...more })
const composite = (name: string, more: object = {}) => ({ name, schedulingPolicy: { gang: { minGroupCount: 1 } }, ...more })

test('a pod group is disrupted pod by pod unless it says otherwise', () => {
  const { spec, status } = created(PodGroup, { spec: { schedulingPolicy: basic }, status: { conditions: [{ type: 'X' }] } }, ctx)
  assert.deepEqual(spec, { schedulingPolicy: basic, disruptionMode: { single: {} }, preemptionPolicy: 'PreemptLowerPriority' })
  assert.deepEqual(status, {})
})

test('fields of disabled features are dropped', () => {
  const spec = {
    parentCompositePodGroupName: 'p',
    schedulingPolicy: basic,
    schedulingConstraints: { topology: [{ key: 'zone' }] },
    resourceClaims: [{ name: 'r', resourceClaimName: 'c' }],
    preemptionPolicy: 'Never',
  }
  assert.deepEqual(created(PodGroup, { spec }).spec, { schedulingPolicy: basic, disruptionMode: { single: {} } })
  const workload = created(Workload, { spec: { podGroupTemplates: [template('a', spec)], compositePodGroupTemplates: [composite('c')] } })
  assert.deepEqual(workload.spec, { podGroupTemplates: [template('a', { schedulingConstraints: null })] })
})

test('exactly one policy is set, and only the size of a gang can change', () => {
  assert.deepEqual(check(PodGroup, { spec: {} }, { ctx }), [
    'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
  ])
  assert.deepEqual(check(PodGroup, { spec: { schedulingPolicy: { ...basic, ...gang(0) } } }, { ctx }), [
    'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
    'spec.schedulingPolicy.gang.minCount: Required value',
  ])
  const old = { spec: { schedulingPolicy: gang(2) } }
  assert.deepEqual(check(PodGroup, { spec: { schedulingPolicy: gang(3) } }, { old, ctx }), [])
  assert.deepEqual(check(PodGroup, { spec: { schedulingPolicy: basic, disruptionMode: { all: {} } } }, { old, ctx }), [
    'spec.schedulingPolicy.basic: Invalid value: null: field is immutable',
    'spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set',
    'spec.disruptionMode: Invalid value: null: field is immutable',
  ])
})

test('a group inside another names its template', () => {
  assert.deepEqual(check(PodGroup, { spec: { schedulingPolicy: basic, parentCompositePodGroupName: 'p' } }, { ctx }), [
    'spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set',
  ])
  assert.deepEqual(check(CompositePodGroup, { spec: { schedulingPolicy: { basic: {} } } }, { ctx }), ['spec.workloadRef: Required value'])
})

test('the status names claims of the spec', () => {
  const old = { spec: { schedulingPolicy: basic, resourceClaims: [{ name: 'r', resourceClaimTemplateName: 't' }] } }
  const status = { resourceClaimStatuses: [{ name: 'r', resourceClaimName: 'a' }, { name: 's' }] }
  assert.deepEqual(checkSubresource(PodGroup, 'status', { ...old, status }, old, ctx), [
    'status.resourceClaimStatuses[1].name: Invalid value: "s": must match the name of an entry in `spec.resourceClaims`',
  ])
})

test('templates have one kind, unique names, one priority, children, and at most four levels', () => {
  const faults = (spec: object) => check(Workload, { spec }, { ctx })
  assert.deepEqual(faults({}), ['spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`'])
  assert.deepEqual(faults({ podGroupTemplates: [template('a', { priority: 1 }), template('b', { priority: 2 })] }), [
    'spec: Invalid value: null: detected multiple priority configurations',
  ])
  assert.deepEqual(faults({ compositePodGroupTemplates: [composite('a')] }), [
    'spec.compositePodGroupTemplates[0]: Invalid value: "a": must have at least one child PodGroupTemplate or CompositePodGroupTemplate',
  ])
  assert.deepEqual(faults({ compositePodGroupTemplates: [composite('a', { podGroupTemplates: [template('a')] })] }), [
    'spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: "a"',
  ])
  const nested = (depth: number): object =>
    composite(`c${depth}`, depth > 1 ? { compositePodGroupTemplates: [nested(depth - 1)] } : { podGroupTemplates: [template('p')] })
  assert.deepEqual(faults({ compositePodGroupTemplates: [nested(3)] }), [])
  assert.match(faults({ compositePodGroupTemplates: [nested(4)] }).join(), /maximum template hierarchy depth is 4$/)
})

test('templates can be neither added nor removed', () => {
  const old = { spec: { podGroupTemplates: [template('a')] } }
  assert.deepEqual(check(Workload, { spec: { podGroupTemplates: [template('b')] } }, { old, ctx }), [
    'spec.podGroupTemplates[0]: Forbidden: item may not be added',
    'spec.podGroupTemplates: Forbidden: item may not be removed',
  ])
})

test('a table shows policy, workload and state', () => {
  const condition = (type: string, status: string, reason = 'R') => ({
    type,
    status,
    reason,
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  })
  const row = (...conditions: object[]) => cells(PodGroup, { spec: { schedulingPolicy: gang(1) }, status: { conditions } })
  assert.deepEqual(row(), { Policy: 'Gang', Workload: '<none>', Status: 'Pending', Age: '<unknown>' })
  assert.equal(row(condition('PodGroupInitiallyScheduled', 'True'))['Status'], 'Scheduled')
  assert.equal(row(condition('PodGroupInitiallyScheduled', 'False'))['Status'], 'Unschedulable')
  assert.equal(row(condition('DisruptionTarget', 'True', 'PreemptionByScheduler'))['Status'], 'PreemptionByScheduler')
})
