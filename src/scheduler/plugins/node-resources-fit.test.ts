import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf, scoreResults } from '../../../test/kits/scheduler.ts'
import { podInfoOf } from '../pod-info.ts'
import { requestsOf } from '../resources.ts'
import { balancedAllocation } from './balanced-allocation.ts'
import { nodeResourcesFit, nodeResourcesFitWith } from './node-resources-fit.ts'

const container = (requests: object, more: object = {}) => ({ name: 'c', resources: { requests }, ...more })
const amounts = (spec: object, status: object = {}) => {
  const { requests, nonZero } = requestsOf(podOf({ spec, status }))
  return { cpu: requests.cpu, memory: requests.memory, nonZero: nonZero.cpu }
}

test('what a pod asks for is the most that its containers use at one time', () => {
  const cases: [what: string, spec: object, cpu: number, memory: number][] = [
    ['nothing', { containers: [container({})] }, 0, 0],
    ['containers together', { containers: [container({ cpu: '2', memory: '1' }), container({ cpu: '1', memory: '1' })] }, 3000, 2],
    [
      'init containers one after another',
      {
        containers: [container({ cpu: '3', memory: '2' })],
        initContainers: [container({ cpu: '2', memory: '1' }), container({ cpu: '2', memory: '3' })],
      },
      3000,
      3,
    ],
    [
      'a sidecar beside all that comes after it',
      {
        containers: [container({ cpu: '1' })],
        initContainers: [container({ cpu: '5' }), container({ cpu: '1' }, { restartPolicy: 'Always' }), container({ cpu: '5' })],
      },
      6000,
      0,
    ],
    ['overhead', { containers: [container({ cpu: '1', memory: '1' })], overhead: { cpu: '500m', memory: '1' } }, 1500, 2],
    [
      'what the pod says as a whole',
      { containers: [container({ cpu: '1', memory: '1' })], resources: { requests: { cpu: '3' } }, overhead: { cpu: '1' } },
      4000,
      1,
    ],
  ]
  for (const [what, spec, cpu, memory] of cases) assert.deepEqual({ ...amounts(spec), nonZero: 0 }, { cpu, memory, nonZero: 0 }, what)
})

test('a pod that is being resized takes what it has or what it wants, whichever is more', () => {
  const spec = { containers: [container({ cpu: '2' })] }
  const given = (cpu: string, more: object = {}) => ({
    containerStatuses: [{ name: 'c', allocatedResources: { cpu }, resources: { requests: { cpu } } }],
    ...more,
  })
  assert.equal(amounts(spec, given('3')).cpu, 3000)
  assert.equal(amounts(spec, given('1')).cpu, 2000)
  const refused = { conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] }
  assert.equal(amounts(spec, given('1', refused)).cpu, 1000)
})

test('containers that ask for nothing count a little when nodes are compared', () => {
  assert.equal(amounts({ containers: [container({}), container({ cpu: '50m' })] }).nonZero, 150)
  assert.equal(amounts({ containers: [container({})], resources: { requests: { cpu: '1' } } }).nonZero, 1000)
})

const used = (cpu: string, memory = '0', more: object = {}) => podOf({ name: 'there', node: 'n', cpu, memory, ...more })

test('a node has room when everything that is asked for is free', () => {
  const allocatable = { cpu: '10m', memory: '20', pods: '32', 'example.com/aaa': '5', 'ephemeral-storage': '20', 'hugepages-2Mi': '5' }
  const gpu = (amount: string) => ({ spec: { containers: [container({ 'example.com/aaa': amount })] } })
  const cases: [what: string, pod: object, there: object[], expected: string][] = [
    ['no room needed', {}, [used('10m', '20')], 'ok'],
    ['too much of both', { cpu: '1m', memory: '1' }, [used('10m', '20')], 'Insufficient cpu, Insufficient memory'],
    ['an exact fit', { cpu: '5m', memory: '1' }, [used('5m', '19')], 'ok'],
    ['memory', { cpu: '2m', memory: '2' }, [used('5m', '19')], 'Insufficient memory'],
    ['more than there ever is', { cpu: '11m' }, [], 'unresolvable: Insufficient cpu'],
    ['more of one than there is', { cpu: '11m', memory: '2' }, [used('5m', '19')], 'unresolvable: Insufficient cpu, Insufficient memory'],
    ['a device', gpu('5'), [], 'ok'],
    ['too many devices', gpu('6'), [], 'unresolvable: Insufficient example.com/aaa'],
    ['devices in use', gpu('3'), [podOf({ name: 'there', node: 'n', ...gpu('3') })], 'Insufficient example.com/aaa'],
    [
      'an unknown device',
      { spec: { containers: [container({ 'example.com/bbb': '1' })] } },
      [],
      'unresolvable: Insufficient example.com/bbb',
    ],
    ['huge pages', { spec: { containers: [container({ 'hugepages-2Mi': '6' })] } }, [], 'unresolvable: Insufficient hugepages-2Mi'],
    ['storage', { spec: { containers: [container({ 'ephemeral-storage': '25' })] } }, [], 'unresolvable: Insufficient ephemeral-storage'],
  ]
  for (const [what, draft, there, expected] of cases) {
    const cluster = clusterOf([nodeOf('n', { allocatable })], there as never)
    assert.deepEqual(filterResults(nodeResourcesFit, cycleOf(podOf(draft), cluster)), { n: expected }, what)
  }
})

test('a node takes only so many pods', () => {
  const cluster = clusterOf([nodeOf('n', { allocatable: { pods: '1' } })], [used('0')])
  assert.deepEqual(filterResults(nodeResourcesFit, cycleOf(podOf(), cluster)), { n: 'Too many pods' })
})

test('the more is left of a node, the higher its score', () => {
  const nodes = [nodeOf('1', { allocatable: { cpu: '4', memory: '10000' } }), nodeOf('2', { allocatable: { cpu: '6', memory: '10000' } })]
  const pod = podOf({ cpu: '3', memory: '5000' })
  assert.deepEqual(scoreResults(nodeResourcesFit, cycleOf(pod, clusterOf(nodes))), { 1: 37, 2: 50 })
  const full = [podOf({ name: 'a', node: '1', cpu: '3', memory: '0' }), podOf({ name: 'b', node: '2', cpu: '6', memory: '5000' })]
  assert.deepEqual(scoreResults(nodeResourcesFit, cycleOf(pod, clusterOf(nodes, full))), { 1: 25, 2: 0 })
})

test('nodes on which a pod evens out the use of CPU and memory are better', () => {
  const nodes = [nodeOf('1', { allocatable: { cpu: '4', memory: '10000' } }), nodeOf('2', { allocatable: { cpu: '6', memory: '10000' } })]
  assert.equal(scoreResults(balancedAllocation, cycleOf(podOf(), clusterOf(nodes))), undefined)
  // 3/4 and 1/2 against 1/2 and 1/2, from a balance of 100 before.
  const pod = podOf({ cpu: '3', memory: '5000' })
  assert.deepEqual(scoreResults(balancedAllocation, cycleOf(pod, clusterOf(nodes))), { 1: 68, 2: 75 })
  const there = [podOf({ name: 'a', node: '1', cpu: '2', memory: '0' })]
  assert.deepEqual(scoreResults(balancedAllocation, cycleOf(podOf({ cpu: '0', memory: '5000' }), clusterOf(nodes, there))), {
    1: 87,
    2: 62,
  })
})

test('a pod waits for nodes that are large enough by themselves, and for pods that go or shrink', () => {
  const { queueingHints } = nodeResourcesFit
  const pod = podOf({ cpu: '2' })
  const grown = (before: string, after: string) =>
    queueingHints!['node allocatable']!(
      pod,
      {
        about: 'node',
        name: 'node allocatable',
        before: nodeOf('n', { allocatable: { cpu: before } }),
        after: nodeOf('n', { allocatable: { cpu: after } }),
      },
      {} as never,
    )
  assert.equal(grown('1', '4'), true)
  assert.equal(grown('1', '1500m'), false)
  assert.equal(grown('4', '3'), false)
  const added = (cpu: string) =>
    queueingHints!['node added']!(pod, { about: 'node', name: 'node added', after: nodeOf('n', { allocatable: { cpu } }) }, {} as never)
  assert.deepEqual([added('2'), added('1')], [true, false])
  const shrunk = (before: object, after: object) =>
    queueingHints!['pod scaled down']!(
      pod,
      { about: 'pod', name: 'pod scaled down', before: podInfoOf(podOf(before)), after: podInfoOf(podOf(after)) },
      {} as never,
    )
  assert.deepEqual([shrunk({ cpu: '2' }, { cpu: '1' }), shrunk({ memory: '2' }, { memory: '1' })], [true, false])
})

test('ignored resources and groups of such are not compared', () => {
  const scoringStrategy = { type: 'LeastAllocated', resources: [{ name: 'cpu', weight: 1 }] } as const
  const pod = podOf({ spec: { containers: [container({ 'example.com/a': '1', 'example.org/b': '1', 'example.org/c': '1' })] } })
  const resultsOf = (args: object) =>
    filterResults(nodeResourcesFitWith({ scoringStrategy, ...args }), cycleOf(pod, clusterOf([nodeOf('n')])))
  assert.deepEqual(resultsOf({ ignoredResources: ['example.com/a', 'example.org/b'] }), { n: 'unresolvable: Insufficient example.org/c' })
  assert.deepEqual(resultsOf({ ignoredResources: ['example.com/a'], ignoredResourceGroups: ['example.org'] }), { n: 'ok' })
})
