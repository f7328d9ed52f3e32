import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '../spec.ts'
import { containerTotals, fillPodLevelResources } from './level-resources.ts'
import type { ResourceRequirements } from './resources.ts'

const named = (resources: ResourceRequirements, more: object = {}) => ({ name: 'c', resources, ...more })
const pod = (spec: object) => spec as unknown as PodSpec
const totals = (spec: object) => Object.fromEntries([...containerTotals(pod(spec), 'requests')].map(([name, { text }]) => [name, text]))
const filled = (spec: object) => {
  const copy = structuredClone(spec)
  fillPodLevelResources(pod(copy))
  return (copy as PodSpec).resources
}

test('containers and sidecars count together, and an init container beside the sidecars before it', () => {
  const always = { restartPolicy: 'Always' }
  const spec = {
    containers: [named({ requests: { cpu: '1' } }), named({ requests: { cpu: '500m', memory: '1Gi' } })],
    initContainers: [
      named({ requests: { cpu: '200m' } }, always),
      named({ requests: { cpu: '3' } }),
      named({ requests: { cpu: '1' } }, always),
    ],
  }
  assert.deepEqual(totals(spec), { cpu: '3200m', memory: '1Gi' })
  assert.deepEqual(totals({ ...spec, initContainers: [] }), { cpu: '1500m', memory: '1Gi' })
})

test('a pod without pod-level resources is not changed', () => {
  assert.equal(filled({ containers: [named({ requests: { cpu: '1' } })] }), undefined)
  assert.deepEqual(filled({ containers: [], resources: {} }), {})
})

test('pod-level requests default to those of the containers, or to the limits if no container has requests', () => {
  const spec = { containers: [named({ requests: { cpu: '1' } })], resources: { limits: { cpu: '2', memory: '1Gi' } } }
  assert.deepEqual(filled(spec), { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } })
})

test('pod-level limits default to those of the containers when each has one, and never fall below requests', () => {
  const limited = (cpu: string) => named({ limits: { cpu }, requests: { cpu } })
  assert.deepEqual(filled({ containers: [limited('1'), limited('1')], resources: { requests: { cpu: '1' } } }), {
    requests: { cpu: '1' },
    limits: { cpu: '2' },
  })
  assert.deepEqual(filled({ containers: [limited('1')], resources: { requests: { cpu: '4' } } }), {
    requests: { cpu: '4' },
    limits: { cpu: '4' },
  })
  assert.deepEqual(filled({ containers: [limited('1'), named({})], resources: { requests: { cpu: '1' } } }), { requests: { cpu: '1' } })
})

test('huge pages of containers limit the pod, and resources that are not supported at pod level are left out', () => {
  const spec = {
    containers: [named({ limits: { 'hugepages-2Mi': '4Mi', 'example.com/gpu': '1' }, requests: { 'hugepages-2Mi': '4Mi' } })],
    resources: { requests: { cpu: '1' } },
  }
  assert.deepEqual(filled(spec), { requests: { cpu: '1', 'hugepages-2Mi': '4Mi' }, limits: { 'hugepages-2Mi': '4Mi' } })
})
