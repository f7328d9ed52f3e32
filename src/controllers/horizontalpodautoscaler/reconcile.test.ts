import assert from 'node:assert/strict'
import test from 'node:test'
import { NOTHING_REMEMBERED } from './behavior.ts'
import type { Measured } from './measure.ts'
import {
  type Circumstances,
  decide,
  needsMetrics,
  type Question,
  selectedPods,
  settle,
  type TargetScale,
  withoutScale,
} from './reconcile.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const circumstances = (off: readonly string[] = []): Circumstances => ({
  settings: { syncMs: 15_000, downscaleStabilizationMs: 300_000, cpuInitializationMs: 300_000, initialReadinessMs: 30_000, tolerance: 0.1 },
  gate: name => !off.includes(name),
  nowMs: NOW,
  now: '2026-05-01T12:00:00Z',
})
const external = (target: object, selector?: object) => ({
  type: 'External',
  external: { metric: { name: 'queue', ...(selector && { selector }) }, target },
})
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }
const hpa = (spec: object = {}, status: object = {}): any => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'auto', namespace: 'default', generation: 3 },
  spec: {
    scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' },
    minReplicas: 1,
    maxReplicas: 10,
    metrics: [cpu],
    ...spec,
  },
  status: { desiredReplicas: 0, ...status },
})
const scaled = (replicas: number): TargetScale => ({ replicas, observed: replicas, selector: 'app=web' })
const values = (...found: bigint[]): Measured => ({ type: 'values', values: found })
const failed = (message: string): Measured => ({ type: 'failed', message })

function run(question: Omit<Question, 'memory'>, { off = [], failed: why }: { off?: readonly string[]; failed?: string } = {}) {
  const whole = { memory: NOTHING_REMEMBERED, ...question }
  const given = circumstances(off)
  const decision = decide(whole, given)
  const settled = settle(whole, decision, { ...given, failed: why })
  const conditions = Object.fromEntries((settled.status.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]))
  return {
    decision,
    ...settled,
    conditions,
    told: [...decision.notices, ...settled.notices].map(({ reason, message }) => `${reason}: ${message}`),
  }
}

test('the size alone decides when it is out of bounds, or none', () => {
  const gate = circumstances().gate
  assert.equal(needsMetrics(hpa(), 4, gate), true)
  assert.equal(needsMetrics(hpa(), 11, gate), false)
  assert.equal(needsMetrics(hpa({ minReplicas: 2 }), 1, gate), false)
  assert.equal(needsMetrics(hpa(), 0, gate), false)
  const { decision, status, conditions, told } = run({ hpa: hpa({ maxReplicas: 2 }), scale: scaled(4) })
  assert.deepEqual(decision.resize, { replicas: 2, reason: 'Current number of replicas above Spec.MaxReplicas' })
  assert.deepEqual(conditions, { AbleToScale: 'True SucceededRescale', ScaledToZero: 'False NotScaledToZero' })
  assert.deepEqual(
    [status.currentReplicas, status.desiredReplicas, status.lastScaleTime, status.observedGeneration],
    [4, 2, '2026-05-01T12:00:00Z', 3],
  )
  assert.deepEqual(told, ['SuccessfulRescale: New size: 2; reason: Current number of replicas above Spec.MaxReplicas'])
  assert.deepEqual(run({ hpa: hpa(), scale: scaled(0) }).conditions, {
    AbleToScale: 'True SucceededGetScale',
    ScalingActive: 'False ScalingDisabled',
  })
})

test('a target that cannot be read or scaled is reported', () => {
  const { status, notices } = withoutScale(hpa().status, 'deployments.apps "web" not found', 'now')
  assert.deepEqual(notices, [{ type: 'Warning', reason: 'FailedGetScale', message: 'deployments.apps "web" not found' }])
  assert.equal(status.observedGeneration, undefined)
  const { conditions, told, status: after } = run({ hpa: hpa({ maxReplicas: 2 }), scale: scaled(4) }, { failed: 'no way' })
  assert.deepEqual(conditions, { AbleToScale: 'False FailedUpdateScale' })
  assert.deepEqual(told, ['FailedRescale: New size: 2; reason: Current number of replicas above Spec.MaxReplicas; error: no way'])
  assert.equal(after.lastScaleTime, undefined)
})

test('the target needs a selector, and its pods belong to one autoscaler', () => {
  const pods: any[] = [{ metadata: { name: 'a', labels: { app: 'web', tier: 'x' } } }]
  const selected = (selector: string, others = new Map()) => selectedPods({ ...scaled(1), selector }, { own: 'default/auto', pods, others })
  assert.deepEqual(Object.keys(selected('app=web')), ['terms'])
  assert.deepEqual(selected(''), {
    error: 'selector is required',
    active: { status: 'False', reason: 'InvalidSelector', message: "the HPA target's scale is missing a selector" },
    notice: { type: 'Warning', reason: 'SelectorRequired', message: 'selector is required' },
  })
  assert.match((selected('a==b==c') as any).error, /^couldn't convert selector into a corresponding internal selector object: /)
  const rival = new Map([['default/other', [{ key: 'tier', operator: '=', values: ['x'] }]]])
  const ambiguous = 'pods by selector app=web are controlled by more than one HPA (e.g. [default/auto default/other])'
  assert.equal((selected('app=web', rival) as any).error, ambiguous)
  const { conditions, told, status } = run({ hpa: hpa(), scale: scaled(2), metrics: selected('app=web', rival) as never })
  assert.deepEqual(conditions, { AbleToScale: 'True SucceededGetScale', ScalingActive: 'False AmbiguousSelector' })
  assert.deepEqual(told, [`AmbiguousSelector: ${ambiguous}`, `FailedComputeMetricsReplicas: ${ambiguous}`])
  assert.equal(status.currentMetrics, undefined)
})

test('a metric that fails is reported in the condition, an event and the status', () => {
  const why =
    'unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)'
  const { status, told } = run({ hpa: hpa(), scale: scaled(2), metrics: { pods: [], measured: [failed(why)] } })
  const inner = `failed to get cpu utilization: unable to get metrics for resource cpu: ${why}`
  assert.deepEqual(told, [
    `FailedGetResourceMetric: ${inner}`,
    `FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${inner}`,
  ])
  assert.deepEqual(status.currentMetrics, [{ type: '' }])
  assert.equal(
    status.conditions?.find(({ type }) => type === 'ScalingActive')?.message,
    `the HPA was unable to compute the replica count: ${inner}`,
  )
})

test('metrics that fail stop a size from shrinking, not from growing', () => {
  const both = hpa({ metrics: [cpu, external({ type: 'AverageValue', averageValue: '10' })] })
  const growing = run({ hpa: both, scale: scaled(2), metrics: { pods: [], measured: [failed('gone'), values(40_000n)] } })
  assert.equal(growing.decision.resize?.replicas, 4)
  assert.equal(growing.decision.resize?.reason, 'external metric queue(nil) above target')
  assert.equal(growing.conditions['ScalingActive'], 'True ValidMetricFound')
  assert.deepEqual(growing.status.currentMetrics, [
    { type: '' },
    { type: 'External', external: { metric: { name: 'queue' }, current: { averageValue: '20' } } },
  ])
  const shrinking = run({ hpa: both, scale: scaled(5), metrics: { pods: [], measured: [failed('gone'), values(10_000n)] } })
  assert.match(
    shrinking.decision.failure ?? '',
    /^invalid metrics \(1 invalid out of 2\), first error is: failed to get cpu resource metric value/,
  )
})

test('from and to none, where metrics from outside decide', () => {
  const queue = hpa({ minReplicas: 0, metrics: [external({ type: 'AverageValue', averageValue: '10' }, { matchLabels: { a: 'b' } })] })
  const down = run({ hpa: queue, scale: scaled(1), metrics: { pods: [], measured: [values(0n)] } })
  assert.equal(down.decision.resize?.replicas, undefined, 'the size as it was is the first recommendation')
  const later = decide(
    {
      hpa: queue,
      scale: scaled(1),
      memory: { ...NOTHING_REMEMBERED, recommendations: [{ replicas: 1, atMs: NOW - 400_000 }] },
      metrics: { pods: [], measured: [values(0n)] },
    },
    circumstances(),
  )
  assert.deepEqual(later.resize, { replicas: 0, reason: 'All metrics below target' })
  const status = { conditions: [{ type: 'ScaledToZero', status: 'True', lastTransitionTime: 'then' }] }
  const asleep = hpa(queue.spec, status)
  assert.equal(needsMetrics(asleep, 0, circumstances().gate), true)
  assert.equal(needsMetrics(asleep, 0, circumstances(['HPAScaleToZero']).gate), false)
  const up = run({ hpa: asleep, scale: scaled(0), metrics: { pods: [], measured: [values(25_000n)] } })
  assert.deepEqual(up.decision.resize, {
    replicas: 3,
    reason:
      'external metric queue(&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}) above target',
  })
  assert.equal(up.conditions['ScaledToZero'], 'False NotScaledToZero')
  const raised = run({
    hpa: hpa({ ...queue.spec, minReplicas: 2 }, status),
    scale: scaled(0),
    metrics: { pods: [], measured: [values(0n)] },
  })
  assert.equal(raised.decision.resize?.replicas, 2)
})

test('tolerance is that of the rules, where they say one', () => {
  const spec = { metrics: [external({ type: 'AverageValue', averageValue: '10' })] }
  const rules = (tolerance: string) => ({ selectPolicy: 'Max', policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }], tolerance })
  const question = (behavior?: object) => ({
    hpa: hpa({ ...spec, ...(behavior && { behavior }) }),
    scale: scaled(2),
    metrics: { pods: [], measured: [values(21_500n)] },
  })
  assert.equal(run(question()).decision.resize, undefined)
  const tight = { scaleUp: rules('50m'), scaleDown: rules('50m') }
  assert.equal(run(question(tight)).decision.resize?.replicas, 3)
  assert.equal(run(question(tight), { off: ['HPAConfigurableTolerance'] }).decision.resize, undefined)
})
