import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, nodeOf, podOf, scoreResults } from '../../test/kits/scheduler.ts'
import { balancedAllocationWith } from './plugins/balanced-allocation.ts'
import { nodeResourcesFitWith } from './plugins/node-resources-fit.ts'
import { brokenLine, type ScoringStrategy } from './resource-scoring.ts'

const GPU = 'example.com/gpu'
const nodes = [
  nodeOf('a', { allocatable: { cpu: '4', memory: '8Gi', [GPU]: '4' } }),
  nodeOf('b', { allocatable: { cpu: '8', memory: '8Gi' } }),
]
const asking = (resources: Record<string, string>) =>
  podOf({ spec: { containers: [{ name: 'main', image: 'i', resources: { requests: resources } }] } })

/** The scores of a strategy for a pod, on node `a` with a pod that uses half of its CPU, and on `b` without pods. */
function scores(scoringStrategy: ScoringStrategy, resources: Record<string, string>) {
  const cluster = clusterOf(nodes, [podOf({ name: 'there', node: 'a', cpu: '2', memory: '2Gi' })])
  return scoreResults(nodeResourcesFitWith({ scoringStrategy }), cycleOf(asking(resources), cluster))
}

test('the least and the most allocated node score higher, by the weights of resources', () => {
  const resources = [
    { name: 'cpu', weight: 3 },
    { name: 'memory', weight: 1 },
  ]
  // CPU 3 of 4 and 1 of 8, memory 4 of 8 and 2 of 8.
  const pod = { cpu: '1', memory: '2Gi' }
  assert.deepEqual(scores({ type: 'LeastAllocated', resources }, pod), {
    a: Math.floor((25 * 3 + 50) / 4),
    b: Math.floor((87 * 3 + 75) / 4),
  })
  assert.deepEqual(scores({ type: 'MostAllocated', resources }, pod), {
    a: Math.floor((75 * 3 + 50) / 4),
    b: Math.floor((12 * 3 + 25) / 4),
  })
})

test('an extended resource counts only for pods that ask for it, on nodes that have it', () => {
  const resources = [{ name: GPU, weight: 1 }]
  assert.deepEqual(scores({ type: 'MostAllocated', resources }, { cpu: '1' }), { a: 0, b: 0 })
  assert.deepEqual(scores({ type: 'MostAllocated', resources }, { [GPU]: '1' }), { a: 25, b: 0 })
})

test('the ratio of requests to capacity follows a broken line, and resources that score nothing do not count', () => {
  const shape = [
    { utilization: 50, score: 0 },
    { utilization: 100, score: 10 },
  ]
  const resources = [
    { name: 'cpu', weight: 1 },
    { name: 'memory', weight: 1 },
  ]
  const strategy = { type: 'RequestedToCapacityRatio', resources, shape } as const
  assert.deepEqual(scores(strategy, { cpu: '1', memory: '1Gi' }), { a: 50, b: 0 })
  const line = brokenLine(shape)
  assert.deepEqual([0, 50, 60, 75, 100].map(line), [0, 0, 20, 50, 100])
})

test('the balance can be about any resources', () => {
  const cluster = clusterOf([nodeOf('a', { allocatable: { [GPU]: '4' } }), nodeOf('b', { allocatable: { [GPU]: '8' } })])
  const pod = asking({ cpu: '2', [GPU]: '2' })
  const plugin = balancedAllocationWith({
    resources: [
      { name: 'cpu', weight: 1 },
      { name: GPU, weight: 1 },
    ],
  })
  // Shares of one half and one half, and of one half and one quarter.
  assert.deepEqual(scoreResults(plugin, cycleOf(pod, cluster)), { a: 75, b: 68 })
  assert.equal(scoreResults(plugin, cycleOf(podOf(), cluster)), undefined)
})
