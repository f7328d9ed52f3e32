import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  averageReplicas,
  dividedReplicas,
  MetricError,
  type PodMetrics,
  type Situation,
  utilizationReplicas,
  valueReplicas,
} from './replicas.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString().replace('.000', '')

type Like = {
  phase?: string
  ready?: boolean
  startedAgo?: number
  changedAgo?: number
  cpu?: string | undefined
  isDeleted?: boolean
  sidecar?: string
}

const pod = (
  name: string,
  { phase = 'Running', ready = true, startedAgo = 3600, changedAgo = 3590, cpu = '1', isDeleted = false, sidecar }: Like = {},
): any => ({
  metadata: { name, ...(isDeleted && { deletionTimestamp: ago(1) }) },
  spec: {
    containers: [{ name: 'main', resources: { requests: cpu === '' ? {} : { cpu } } }],
    ...(sidecar && { initContainers: [{ name: 'side', restartPolicy: 'Always', resources: { requests: { cpu: sidecar } } }] }),
  },
  status: {
    phase,
    startTime: ago(startedAgo),
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: ago(changedAgo) }],
  },
})
const situation = (pods: any[], more: Partial<Situation> = {}): Situation => ({
  pods,
  tolerances: { down: 0.1, up: 0.1 },
  nowMs: NOW,
  cpuInitializationMs: 300_000,
  initialReadinessMs: 30_000,
  usesPodLevel: true,
  ...more,
})
const metrics = (values: Record<string, number>, { timestampMs = NOW, windowMs = 60_000 } = {}): PodMetrics =>
  new Map(Object.entries(values).map(([name, value]) => [name, { value: BigInt(value), timestampMs, windowMs }]))
const named = (count: number, like: Like = {}) => Array.from({ length: count }, (_, i) => pod(`p${i}`, like))
const used = (...values: number[]) => metrics(Object.fromEntries(values.map((value, i) => [`p${i}`, value])))
const utilized = (current: number, measured: PodMetrics, pods: any[], target = 50, container = '') =>
  utilizationReplicas(current, measured, { ...situation(pods), target, resource: 'cpu', container })
const fails = (message: string, run: () => unknown) => assert.throws(run, new MetricError(message))

test('a percentage of requests asks for as many as bring the average to the target', () => {
  assert.deepEqual(utilized(3, used(1000, 1000, 1000), named(3)), { replicas: 6, utilization: 100, average: 1000n })
  assert.deepEqual(utilized(3, used(100, 300, 500), named(3)), { replicas: 2, utilization: 30, average: 300n })
  assert.equal(utilized(3, used(540, 540, 540), named(3)).replicas, 3, 'within tolerance')
  assert.equal(utilized(2, used(300, 300), named(2, { sidecar: '1' })).replicas, 1, 'sidecars request as well')
})

test('what cannot be computed says why', () => {
  fails('no pods returned by selector while calculating replica count', () => utilized(3, used(100), []))
  fails('did not receive metrics for targeted pods (pods might be unready)', () => utilized(1, metrics({}), named(1)))
  fails('missing request for cpu in container main of Pod p0', () => utilized(1, used(100), named(1, { cpu: '' })))
  fails('container other not found in Pod p0', () => utilized(1, used(100), named(1), 50, 'other'))
  fails('no metrics returned matched known pods', () => utilized(1, metrics({ stranger: 100 }), named(1)))
})

test('pods without metrics dampen a change, and never reverse it', () => {
  const missing = [...named(2), pod('p2')]
  assert.equal(utilized(3, used(1000, 1000), missing).replicas, 4, 'growing, they are taken to use nothing')
  assert.equal(utilized(3, used(100, 100), missing).replicas, 3, 'shrinking, they are taken to use all')
  assert.equal(utilized(3, used(600, 600), missing).replicas, 3, 'a change of direction is none')
})

test('pods that are starting, failed or terminating do not count', () => {
  const pods = [pod('p0'), pod('p1', { phase: 'Pending' }), pod('p2', { isDeleted: true }), pod('p3', { phase: 'Failed' })]
  assert.equal(utilized(4, used(400, 5000, 5000, 5000), pods).replicas, 1)
  const starting = [pod('p0'), pod('p1', { ready: false, startedAgo: 60, changedAgo: 60 })]
  assert.equal(utilized(2, used(1000, 3000), starting).utilization, 100, 'what a start costs does not count')
  assert.equal(utilized(2, used(1000, 3000), starting).replicas, 2, 'growing, they count as using nothing')
  const fresh = [pod('p0'), pod('p1', { startedAgo: 60, changedAgo: 30 })]
  assert.equal(utilized(2, used(400, 3000), fresh).utilization, 40, 'measured before it was ready')
  const neverReady = [pod('p0'), pod('p1', { ready: false, startedAgo: 600, changedAgo: 590 })]
  assert.equal(utilized(2, used(400, 3000), neverReady).utilization, 40)
  const wasReady = [pod('p0'), pod('p1', { ready: false, startedAgo: 600, changedAgo: 100 })]
  assert.equal(utilized(2, used(400, 3000), wasReady).utilization, 170)
})

test('averages, values and shares of a value', () => {
  const average = (current: number, measured: PodMetrics, target: bigint) =>
    averageReplicas(current, measured, { ...situation(named(current)), target, resource: '' })
  assert.deepEqual(average(2, used(20_000, 30_000), 10_000n), { replicas: 5, usage: 25_000n })
  assert.deepEqual(average(2, used(10_500, 10_500), 10_000n), { replicas: 2, usage: 10_500n })
  assert.deepEqual(valueReplicas(2, [30n], 10n, situation(named(2))), { replicas: 6, usage: 30n })
  assert.deepEqual(valueReplicas(2, [30n], 10n, situation([pod('p0'), pod('p1', { ready: false })])), { replicas: 3, usage: 30n })
  assert.deepEqual(valueReplicas(0, [25n], 10n, situation([])), { replicas: 3, usage: 25n }, 'from none the value alone decides')
  assert.deepEqual(valueReplicas(0, [0n], 10n, situation([])), { replicas: 0, usage: 0n })
  fails('unable to calculate ready pods: no pods returned by selector while calculating replica count', () =>
    valueReplicas(1, [30n], 10n, situation([])),
  )
  assert.deepEqual(dividedReplicas(2, [30n, 15n], 10n, situation([])), { replicas: 5, usage: 23n })
  assert.deepEqual(dividedReplicas(4, [42n], 10n, situation([])), { replicas: 4, usage: 11n })
  assert.equal(dividedReplicas(1, [2n ** 62n, 2n ** 62n], 1n, situation([])).replicas, 2 ** 31 - 1)
})

test('more use never asks for fewer replicas', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 0, max: 5000 }),
      (values, target, more) => {
        const pods = named(values.length)
        const before = utilized(values.length, used(...values), pods, target)
        const after = utilized(values.length, used(...values.map(value => value + more)), pods, target)
        assert.ok(after.replicas >= before.replicas)
        assert.ok(Number.isInteger(before.replicas) && before.replicas >= 0)
      },
    ),
  )
})
