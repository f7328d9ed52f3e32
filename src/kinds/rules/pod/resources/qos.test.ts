import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '../spec.ts'
import { qosClassOf } from './qos.ts'
import type { ResourceRequirements } from './resources.ts'

const pod = (containers: ResourceRequirements[], more: object = {}) =>
  ({ containers: containers.map((resources, i) => ({ name: `c${i}`, resources })), ...more }) as unknown as PodSpec
const all = (cpu: string, memory: string): ResourceRequirements => ({ requests: { cpu, memory }, limits: { cpu, memory } })

test('a pod without requests is best effort', () => {
  assert.equal(qosClassOf(pod([{}, {}])), 'BestEffort')
  assert.equal(qosClassOf(pod([{ limits: { 'example.com/gpu': '1' } }])), 'BestEffort')
  assert.equal(qosClassOf(pod([{ requests: { cpu: '0' } }])), 'BestEffort')
  assert.equal(qosClassOf(pod([])), 'BestEffort')
})

test('a pod whose containers all have equal requests and limits is guaranteed', () => {
  assert.equal(qosClassOf(pod([all('1', '1Gi'), all('500m', '64Mi')])), 'Guaranteed')
  assert.equal(qosClassOf(pod([{ requests: { cpu: '1', memory: '1024Mi' }, limits: { cpu: '1000m', memory: '1Gi' } }])), 'Guaranteed')
})

test('every other pod is burstable', () => {
  assert.equal(qosClassOf(pod([{ requests: { cpu: '1' } }])), 'Burstable')
  assert.equal(qosClassOf(pod([{ requests: { cpu: '1' }, limits: { cpu: '1' } }])), 'Burstable')
  assert.equal(qosClassOf(pod([all('1', '1Gi'), {}])), 'Burstable')
  assert.equal(qosClassOf(pod([all('1', '1Gi')], { initContainers: [{ name: 'i', resources: {} }] })), 'Burstable')
})

test('pod-level resources alone decide', () => {
  assert.equal(qosClassOf(pod([{}], { resources: all('1', '1Gi') })), 'Guaranteed')
  assert.equal(qosClassOf(pod([all('1', '1Gi')], { resources: {} })), 'Guaranteed')
  assert.equal(qosClassOf(pod([all('1', '1Gi')], { resources: { limits: { cpu: '2' } } })), 'Burstable')
})
