import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created, type Draft, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { HorizontalPodAutoscaler as Autoscaler } from './horizontalpodautoscaler.ts'

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const autoscaler = (spec: object = {}): Draft => ({ spec: { scaleTargetRef, maxReplicas: 10, ...spec } })
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }
const external = (target: object) => ({ type: 'External', external: { metric: { name: 'queue' }, target } })

test('it aims at four fifths of processors unless it says otherwise', () => {
  const { spec, status } = withDefaults(Autoscaler, autoscaler())
  assert.deepEqual([spec.minReplicas, spec.metrics, status.currentMetrics], [1, [cpu], null])
  assert.deepEqual(check(Autoscaler, autoscaler()), [])
})

test('unset behavior fields are defaulted', () => {
  const { behavior } = withDefaults(Autoscaler, autoscaler({ behavior: { scaleDown: { selectPolicy: 'Disabled' } } })).spec
  assert.deepEqual(behavior.scaleDown, { selectPolicy: 'Disabled', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] })
  assert.equal(behavior.scaleUp.policies.length, 2)
  assert.equal(behavior.scaleUp.stabilizationWindowSeconds, 0)
})

test('sizes have bounds', () => {
  assert.deepEqual(check(Autoscaler, autoscaler({ maxReplicas: 0 })), [
    'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    'spec.maxReplicas: Required value',
  ])
  assert.deepEqual(check(Autoscaler, autoscaler({ minReplicas: 11 })), [
    'spec.maxReplicas: Invalid value: 10: must be greater than or equal to `minReplicas`',
  ])
  const toZero = { ctx: contextWith({ gates: ['HPAScaleToZero'] }) }
  assert.deepEqual(check(Autoscaler, autoscaler({ minReplicas: 0 }), toZero), [
    'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
  ])
  assert.deepEqual(check(Autoscaler, autoscaler({ minReplicas: 0, metrics: [external({ type: 'Value', value: '1' })] }), toZero), [])
  assert.deepEqual(check(Autoscaler, autoscaler({ minReplicas: 0, metrics: [external({ type: 'Value', value: '1' })] })), [
    'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
  ])
})

test('the scale target has an API group, except ReplicationController', () => {
  const of = (ref: object) => check(Autoscaler, autoscaler({ scaleTargetRef: ref }))
  assert.deepEqual(of({ kind: 'ReplicationController', name: 'a' }), [])
  assert.deepEqual(of({ kind: 'Deployment', apiVersion: 'v1' }), [
    'spec.scaleTargetRef.name: Required value',
    'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
  ])
  assert.deepEqual(of({ kind: 'Deployment', name: 'a', apiVersion: 'a/b/c' }), [
    'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
  ])
})

test('a metric has the source that its type names', () => {
  const metrics = (...list: object[]) => check(Autoscaler, autoscaler({ metrics: list }))
  assert.deepEqual(metrics(cpu, external({ type: 'AverageValue', averageValue: '30' })), [])
  assert.deepEqual(metrics({ type: 'Pods', resource: cpu.resource }), [
    'spec.metrics[0].pods: Required value: must populate information for the given metric source',
  ])
  const TYPES = '"ContainerResource", "External", "Object", "Pods", "Resource"'
  assert.deepEqual(metrics({ type: 'Moon' }), [
    `spec.metrics[0].type: Unsupported value: "Moon": supported values: ${TYPES}`,
    `spec.metrics[0].type: Unsupported value: "Moon": supported values: ${TYPES}`,
  ])
  assert.deepEqual(metrics({ ...cpu, ...external({ type: 'Value', value: '1' }), type: 'Resource' }), [
    'spec.metrics[0].external: Forbidden: must populate the given metric source only',
  ])
})

test('each source has its own target types', () => {
  const metric = (m: object) => check(Autoscaler, autoscaler({ metrics: [m] }))
  assert.deepEqual(metric(external({ type: 'Value', value: '0', averageValue: '1' })), [
    'spec.metrics[0].external.target.value: Invalid value: "0": must be positive',
    'spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target',
  ])
  assert.deepEqual(metric({ type: 'ContainerResource', containerResource: { name: 'disk', target: {} } }), [
    'spec.metrics[0].containerResource.name: Invalid value: "disk": must be a standard resource type or fully qualified',
    'spec.metrics[0].containerResource.name: Invalid value: "disk": must be a standard resource for containers',
    'spec.metrics[0].containerResource.container: Required value: must specify a container',
    'spec.metrics[0].containerResource.target.type: Required value: must specify a metric target type',
    'spec.metrics[0].containerResource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
    'spec.metrics[0].containerResource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
  ])
})

test('behavior is bounded', () => {
  const scaleUp = { stabilizationWindowSeconds: 3601, selectPolicy: 'Most', policies: [{ type: 'Pod', value: 0, periodSeconds: 1801 }] }
  assert.deepEqual(check(Autoscaler, autoscaler({ behavior: { scaleUp } })), [
    'spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
    'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Most": supported values: "Disabled", "Max", "Min"',
    'spec.behavior.scaleUp.policies[0].type: Unsupported value: "Pod": supported values: "Percent", "Pods"',
    'spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero',
    'spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
  ])
})

test('tolerance is dropped where the feature is off', () => {
  const draft = autoscaler({ behavior: { scaleUp: { tolerance: '100m' } } })
  assert.equal(created(Autoscaler, draft, contextWith({ gate: () => false })).spec.behavior.scaleUp.tolerance, undefined)
  assert.equal(created(Autoscaler, draft).spec.behavior.scaleUp.tolerance, '100m')
})

test('a status counts from 0', () => {
  assert.deepEqual(
    checkSubresource(Autoscaler, 'status', { ...autoscaler(), status: { currentReplicas: -1, desiredReplicas: -1 } }, autoscaler()),
    [
      'status.currentReplicas: Invalid value: -1: must be greater than or equal to 0',
      'status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0',
    ],
  )
})

test('its table shows what is measured', () => {
  const metrics = [cpu, external({ type: 'AverageValue', averageValue: '30' }), cpu]
  const currentMetrics = [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 55 } } }]
  const { Age: _, ...shown } = cells(Autoscaler, { ...autoscaler({ metrics }), status: { currentMetrics, currentReplicas: 3 } })
  assert.deepEqual(shown, {
    Reference: 'Deployment/web',
    Targets: 'cpu: 55%/80%, <unknown>/30 (avg) + 1 more...',
    MinPods: '1',
    MaxPods: 10,
    Replicas: 3,
  })
})
