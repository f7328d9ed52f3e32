import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Bench, openBench } from '../../../test/kits/registry.ts'
import { HorizontalPodAutoscaler } from './horizontalpodautoscaler.ts'
import { HorizontalPodAutoscalerV1 } from './horizontalpodautoscaler-v1.ts'

let bench: Bench
before(async () => {
  bench = await openBench([HorizontalPodAutoscaler, HorizontalPodAutoscalerV1])
})
after(() => bench.close())

const send = (version: 'v1' | 'v2', request: string, body?: unknown) =>
  bench.send(request.replace('hpa', 'horizontalpodautoscalers'), body, { apiVersion: `autoscaling/${version}` })
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const cpu = (averageUtilization: number) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
})
const METRICS = 'autoscaling.alpha.kubernetes.io/metrics'

test('a target for processors is a metric of today', async () => {
  const made = await send('v1', 'POST hpa', {
    metadata: { name: 'a' },
    spec: { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 60 },
  })
  assert.equal(made.code, 201)
  assert.equal(made.body.spec.targetCPUUtilizationPercentage, 60)
  assert.deepEqual((await send('v2', 'GET hpa/a')).body.spec.metrics, [cpu(60)])
  const plain = await send('v1', 'POST hpa', { metadata: { name: 'b' }, spec: { scaleTargetRef, maxReplicas: 5 } })
  assert.equal(plain.body.spec.targetCPUUtilizationPercentage, 80)
})

const metrics = [
  { type: 'Object', object: { describedObject: scaleTargetRef, target: { type: 'Value', value: '2k' }, metric: { name: 'hits' } } },
  { type: 'Pods', pods: { metric: { name: 'rate' }, target: { type: 'AverageValue', averageValue: '1' } } },
  { type: 'ContainerResource', containerResource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 5 }, container: 'c' } },
  { type: 'External', external: { metric: { name: 'q', selector: { matchLabels: { a: 'b' } } }, target: { type: 'Value', value: '3' } } },
  cpu(70),
]

test('all other fields are kept in annotations and restored', async () => {
  const behavior = {
    scaleDown: { stabilizationWindowSeconds: 30, selectPolicy: 'Min', policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }] },
  }
  await send('v2', 'POST hpa', {
    metadata: { name: 'c', annotations: { mine: 'x' } },
    spec: { scaleTargetRef, maxReplicas: 5, metrics, behavior },
  })
  const { body: before } = await send('v2', 'GET hpa/c')
  const { body: old } = await send('v1', 'GET hpa/c')
  assert.equal(old.spec.targetCPUUtilizationPercentage, 70)
  assert.deepEqual(JSON.parse(old.metadata.annotations[METRICS])[0], {
    type: 'Object',
    object: { target: scaleTargetRef, metricName: 'hits', targetValue: '2k' },
  })
  assert.match(old.metadata.annotations['autoscaling.alpha.kubernetes.io/behavior'], /^\{"ScaleUp":\{"StabilizationWindowSeconds":0,/)
  const written = await send('v1', 'PUT hpa/c', { ...old, spec: { ...old.spec, maxReplicas: 6 } })
  assert.equal(written.code, 200)
  const { body: now } = await send('v2', 'GET hpa/c')
  assert.deepEqual(now.spec, { ...before.spec, maxReplicas: 6 })
  assert.deepEqual(now.metadata.annotations, { mine: 'x' })
})

test('measurements and conditions are seen and written through the old status', async () => {
  const { body } = await send('v2', 'GET hpa/c')
  const currentMetrics = [{ type: 'Resource', resource: { name: 'cpu', current: { averageValue: '10m', averageUtilization: 12 } } }]
  const conditions = [{ type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-07-01T12:00:00Z' }]
  const status = { currentReplicas: 2, desiredReplicas: 3, currentMetrics, conditions }
  await send('v2', 'PUT hpa/c/status', { ...body, status })
  const { body: old } = await send('v1', 'GET hpa/c')
  assert.equal(old.status.currentCPUUtilizationPercentage, 12)
  const { body: written } = await send('v1', 'PUT hpa/c/status', { ...old, status: { ...old.status, desiredReplicas: 4 } })
  assert.equal(written.status.desiredReplicas, 4)
  assert.deepEqual((await send('v2', 'GET hpa/c')).body.status, { ...status, desiredReplicas: 4 })
})

test('an unchanged object written through v1 keeps its resourceVersion', async () => {
  await send('v2', 'POST hpa', { metadata: { name: 'same' }, spec: { scaleTargetRef, maxReplicas: 5 } })
  for (const path of ['hpa/same', 'hpa/same/status']) {
    const { body } = await send('v1', `GET ${path}`)
    assert.equal((await send('v1', `PUT ${path}`, body)).body.metadata.resourceVersion, body.metadata.resourceVersion)
  }
})

test('annotations that hold nothing sensible are dropped', async () => {
  const annotations = { [METRICS]: '[{"type":5}]', 'autoscaling.alpha.kubernetes.io/behavior': 'x' }
  const { code } = await send('v1', 'POST hpa', { metadata: { name: 'd', annotations }, spec: { scaleTargetRef, maxReplicas: 5 } })
  assert.equal(code, 201)
  const { body } = await send('v2', 'GET hpa/d')
  assert.deepEqual([body.metadata.annotations, body.spec.metrics], [undefined, [cpu(80)]])
})

test('errors name the fields of today', async () => {
  const { code, body } = await send('v1', 'POST hpa', {
    metadata: { name: 'e' },
    spec: { scaleTargetRef, maxReplicas: 5, targetCPUUtilizationPercentage: 0 },
  })
  assert.deepEqual([code, body.details.causes.map((c: any) => c.field)], [422, ['spec.metrics[0].resource.target.averageUtilization']])
})
