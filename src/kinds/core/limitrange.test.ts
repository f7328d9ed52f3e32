import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { LimitRange } from './limitrange.ts'

const limits = (...items: object[]) => ({ spec: { limits: items } })
const container = (parts: object) => limits({ type: 'Container', ...parts })

test('defaults of containers follow from each other', () => {
  const { spec } = withDefaults(LimitRange, container({ max: { cpu: '2' }, min: { memory: '1Mi' }, default: { cpu: '1' } }))
  assert.deepEqual(spec.limits[0].default, { cpu: '1' })
  assert.deepEqual(spec.limits[0].defaultRequest, { cpu: '1', memory: '1Mi' })
  assert.equal(withDefaults(LimitRange, limits({ type: 'Pod', max: { cpu: '2' } })).spec.limits[0].default, undefined)
})

test('amounts of one resource agree', () => {
  assert.deepEqual(check(LimitRange, container({ max: { cpu: '2' }, min: { cpu: '1' }, maxLimitRequestRatio: { cpu: '2' } })), [])
  assert.deepEqual(check(LimitRange, container({ max: { cpu: '1' }, min: { cpu: '2' } })), [
    'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1',
    'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
  ])
  assert.deepEqual(check(LimitRange, container({ default: { cpu: '1' }, defaultRequest: { cpu: '2' } })), [
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1',
  ])
})

test('a ratio is at least 1 and within the bounds', () => {
  const ratio = (value: string) => limits({ type: 'Pod', min: { cpu: '2' }, max: { cpu: '3' }, maxLimitRequestRatio: { cpu: value } })
  assert.deepEqual(check(LimitRange, ratio('1500m')), [])
  assert.deepEqual(check(LimitRange, ratio('500m')), [
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
  ])
  assert.deepEqual(check(LimitRange, ratio('2')), [
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "2": ratio 2 is greater than max/min = 1.500000',
  ])
})

test('resources that cannot be overcommitted need equal requests and limits', () => {
  const parts = { default: { 'example.com/gpu': '2' }, defaultRequest: { 'example.com/gpu': '1' } }
  assert.deepEqual(check(LimitRange, container(parts)), [
    'spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in example.com/gpu',
  ])
})

test('types are valid and unique; pods have no defaults, claims have storage', () => {
  assert.deepEqual(check(LimitRange, limits({ type: 'Pod' }, { type: 'Pod', default: { cpu: '1' } }, { type: 'Disk' })), [
    'spec.limits[1].type: Duplicate value: "Pod"',
    "spec.limits[1].default: Forbidden: may not be specified when `type` is 'Pod'",
    'spec.limits[2].type: Invalid value: "Disk": must be a standard limit type or fully qualified',
  ])
  assert.deepEqual(check(LimitRange, limits({ type: 'PersistentVolumeClaim' })), [
    'spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided',
  ])
  assert.deepEqual(check(LimitRange, limits({ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } })), [])
})

test('resource names are valid for the type that they limit', () => {
  assert.equal(check(LimitRange, limits({ type: 'Pod', max: { disk: '1' } })).length, 2)
  assert.deepEqual(check(LimitRange, limits({ type: 'Pod', max: { storage: '1' } })), [
    'spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers',
  ])
})
