// HorizontalPodAutoscalers, and the metrics they go by: of simulated nodes, and of servers behind APIServices.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, eventually, freshServer, patient, run, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { APISERVICES, apiService, availability, create, slice, startAggregatedApi } from './kits/aggregated-api.ts'
import { testWith } from './programs.ts'

const QUICK = { horizontalPodAutoscalerSyncMs: 200, horizontalPodAutoscalerDownscaleStabilizationMs: 500 }
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const AUTOSCALERS = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
const METRICS = '/apis/metrics.k8s.io/v1beta1'

const deployment = (replicas: number, annotations: Record<string, string> = {}) => ({
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' }, annotations },
      spec: { containers: [{ name: 'main', image: 'nginx', resources: { requests: { cpu: '200m', memory: '64Mi' } } }] },
    },
  },
})
const autoscaler = (spec: object) => ({
  metadata: { name: 'auto' },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, minReplicas: 1, maxReplicas: 5, ...spec },
})
const cpu = (averageUtilization: number) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
})

const read = async (server: Target, path: string) => (await ask(server, path)).json
const patch = (server: Target, path: string, body: object) =>
  ask(server, path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })
const replicas = (server: Target, wanted: number) =>
  eventually(`${wanted} replicas`, async () => ((await read(server, `${DEPLOYMENTS}/web`)).spec.replicas === wanted ? true : undefined))
/** The autoscaler, once it fits. */
const settled = (server: Target, fits: (hpa: any) => boolean) =>
  eventually('the autoscaler', async () => {
    const hpa = await read(server, `${AUTOSCALERS}/auto`)
    return fits(hpa) ? hpa : undefined
  })
const condition = (hpa: any, type: string) => hpa.status.conditions?.find((each: any) => each.type === type)

test('a deployment grows and shrinks with the processor time that its pods use', patient, async t => {
  const server = await startInProcess(t, { nodes: 1, ...QUICK })
  await create(server, DEPLOYMENTS, deployment(1, { 'sim.keelson.dev/cpu-usage': '100%' }))
  await create(server, AUTOSCALERS, autoscaler({ metrics: [cpu(50)] }))
  await replicas(server, 5)
  const full = await settled(server, hpa => condition(hpa, 'ScalingLimited')?.reason === 'TooManyReplicas')
  assert.equal(
    condition(full, 'ScalingActive').message,
    'the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)',
  )
  assert.deepEqual(full.status.currentMetrics, [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 100, averageValue: '200m' } } },
  ])
  assert.equal(full.status.observedGeneration, 1)
  const { items } = await read(server, '/api/v1/namespaces/default/pods?labelSelector=app%3Dweb')
  for (const { metadata } of items)
    await patch(server, `/api/v1/namespaces/default/pods/${metadata.name}`, {
      metadata: { annotations: { 'sim.keelson.dev/cpu-usage': '5%' } },
    })
  // New pods of the template would use much again, so that it is changed as well.
  await replicas(server, 1)
  const { items: events } = await read(server, '/api/v1/namespaces/default/events?fieldSelector=reason%3DSuccessfulRescale')
  const messages = events.map((event: any) => event.message)
  assert.ok(
    messages.some((message: string) =>
      /^New size: \d; reason: cpu resource utilization \(percentage of request\) above target$/.test(message),
    ),
    messages,
  )
  assert.ok(
    messages.some((message: string) => /^New size: \d; reason: All metrics below target$/.test(message)),
    messages,
  )
})

test('simulated nodes tell what they and their pods use', patient, async t => {
  const server = await freshServer(t, { nodes: 2 })
  await create(server, DEPLOYMENTS, deployment(2, { 'sim.keelson.dev/cpu-usage': '250m', 'main.sim.keelson.dev/memory-usage': '10Mi' }))
  const list = await eventually('the metrics', async () => {
    const json = await read(server, `${METRICS}/namespaces/default/pods?labelSelector=app%3Dweb`)
    return json.items.length === 2 ? json : undefined
  })
  assert.equal(list.kind, 'PodMetricsList')
  const [{ metadata, containers, window }] = list.items
  assert.deepEqual(containers, [{ name: 'main', usage: { cpu: '250m', memory: '10Mi' } }])
  assert.equal(window, '1s')
  assert.equal((await read(server, `${METRICS}/namespaces/default/pods/${metadata.name}`)).kind, 'PodMetrics')
  assert.equal(
    (await read(server, `${METRICS}/namespaces/default/pods/none`)).message,
    'podmetrics.metrics.k8s.io "default/none" not found',
  )
  const nodes = await read(server, `${METRICS}/nodes`)
  assert.deepEqual(nodes.items.map((node: any) => node.metadata.name).sort(), ['simulated-1', 'simulated-2'])
  assert.equal((await ask(server, `${METRICS}/nodes?watch=1`)).status, 405)
  const table = await ask(server, `${METRICS}/nodes`, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } })
  assert.deepEqual(
    table.json.columnDefinitions.map((column: any) => column.name),
    ['Name', 'cpu', 'memory', 'Window', 'Age'],
  )
  const protobuf = await ask(server, `${METRICS}/nodes`, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })
  assert.equal(protobuf.status, 200)
  await patch(server, '/api/v1/nodes/simulated-1', { metadata: { annotations: { 'sim.keelson.dev/failure': 'true' } } })
  assert.equal((await read(server, `${METRICS}/nodes`)).items.length, 1)
  const own = await read(server, `${APISERVICES}/v1beta1.metrics.k8s.io`)
  assert.equal(own.status.conditions[0].reason, 'Local')
  // A kube-apiserver on the same etcd deletes managed objects that it does not serve.
  assert.equal(own.metadata.labels['kube-aggregator.kubernetes.io/automanaged'], 'onstart')
})

test('the role view may read metrics', patient, async t => {
  const server = await freshServer(t, { nodes: 1 })
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'viewers' },
    subjects: [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { kind: 'ClusterRole', name: 'view', apiGroup: 'rbac.authorization.k8s.io' },
  })
  await eventually('the right', async () =>
    (await ask(server, `${METRICS}/nodes`, { headers: { 'impersonate-user': 'jane' } })).status === 200 ? true : undefined,
  )
})

test('after a restart the size stays, and goes on from there', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const first = await startInProcess(t, { store: 'embedded', dataDir, port: 0, nodes: 1, ...QUICK })
  await create(first, DEPLOYMENTS, deployment(1, { 'sim.keelson.dev/cpu-usage': '100%' }))
  await create(first, AUTOSCALERS, autoscaler({ metrics: [cpu(50)] }))
  await replicas(first, 5)
  const before = await settled(
    first,
    hpa => hpa.status.currentReplicas === 5 && condition(hpa, 'ScalingLimited')?.reason === 'TooManyReplicas',
  )
  await first.close()
  const second = await startInProcess(t, { store: 'embedded', dataDir, port: 0, nodes: 1, ...QUICK })
  await patch(second, `${AUTOSCALERS}/auto`, { spec: { maxReplicas: 6 } })
  await replicas(second, 6)
  const after = await settled(second, hpa => hpa.status.observedGeneration === 2)
  assert.equal(condition(after, 'ScalingActive').lastTransitionTime, condition(before, 'ScalingActive').lastTransitionTime)
})

test('without simulated nodes there are no metrics, which an autoscaler tells', patient, async t => {
  const server = await startInProcess(t, QUICK)
  assert.equal((await ask(server, `${METRICS}/nodes`)).status, 404)
  assert.equal((await ask(server, `${APISERVICES}/v1beta1.metrics.k8s.io`)).status, 404)
  await create(server, DEPLOYMENTS, deployment(2))
  await create(
    server,
    AUTOSCALERS,
    autoscaler({
      metrics: [
        cpu(50),
        { type: 'Pods', pods: { metric: { name: 'rate' }, target: { type: 'AverageValue', averageValue: '10' } } },
        external('queue'),
      ],
    }),
  )
  const told = await eventually('the events', async () => {
    const { items } = await read(server, '/api/v1/namespaces/default/events')
    const messages = items
      .filter((event: any) => event.involvedObject.name === 'auto')
      .map((event: any) => `${event.reason}: ${event.message}`)
    return messages.length >= 4 ? (messages as string[]) : undefined
  })
  assert.ok(
    told.includes(
      'FailedGetPodsMetric: unable to get metric rate: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
    ),
    told.join('\n'),
  )
  assert.ok(
    told.includes(
      'FailedGetExternalMetric: unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)',
    ),
    told.join('\n'),
  )
})
const external = (name: string) => ({
  type: 'External',
  external: { metric: { name }, target: { type: 'AverageValue', averageValue: '10' } },
})

testWith('own address', 'custom and external metrics come from whoever serves them', patient, async t => {
  const now = () => new Date().toISOString().replace(/\.\d+/, '')
  const amounts = { rate: '5', depth: '3', queue: '0' }
  const seen: string[] = []
  const more = ({ url = '' }: IncomingMessage, response: ServerResponse): boolean => {
    const { pathname, searchParams } = new URL(url, 'https://x')
    const json = (value: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
      return true
    }
    if (/^\/apis\/(custom|external)\.metrics\.k8s\.io\/v1beta\d$/.test(pathname))
      return json({ kind: 'APIResourceList', groupVersion: pathname.slice('/apis/'.length), resources: [] })
    if (!pathname.includes('metrics.k8s.io/')) return false
    seen.push(`${pathname} ${searchParams}`)
    const value = (name: keyof typeof amounts, describedObject: object) => ({
      describedObject,
      metric: { name },
      metricName: name,
      timestamp: now(),
      value: amounts[name],
    })
    if (pathname.includes('/pods/*/rate')) return json({ items: ['a', 'b'].map(name => value('rate', { kind: 'Pod', name })) })
    if (pathname.includes('/services/front/depth')) return json({ items: [value('depth', { kind: 'Service', name: 'front' })] })
    if (pathname.endsWith('/queue')) return json({ items: [value('queue', {})] })
    return json({ kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message: 'there is no such metric' }, 404)
  }
  const [server, api] = await Promise.all([startInProcess(t, QUICK), startAggregatedApi(t, { more })])
  await create(server, '/api/v1/namespaces/default/services', {
    metadata: { name: 'wardle' },
    spec: { ports: [{ name: 'https', port: 443 }] },
  })
  await create(server, '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', slice(api.port))
  for (const [version, group] of [
    ['v1beta2', 'custom.metrics.k8s.io'],
    ['v1beta1', 'external.metrics.k8s.io'],
  ]) {
    await create(server, APISERVICES, { ...apiService({ group, version }), metadata: { name: `${version}.${group}` } })
    await availability(server, 'Passed', `${version}.${group}`)
  }
  await create(server, DEPLOYMENTS, deployment(2))
  const object = {
    type: 'Object',
    object: {
      metric: { name: 'depth', selector: { matchLabels: { kind: 'x' } } },
      describedObject: { kind: 'Service', name: 'front', apiVersion: 'v1' },
      target: { type: 'AverageValue', averageValue: '1' },
    },
  }
  await eventually('two replicas', async () => ((await read(server, `${DEPLOYMENTS}/web`)).status?.replicas === 2 ? true : undefined))
  await create(
    server,
    AUTOSCALERS,
    autoscaler({ minReplicas: 0, metrics: [object, external('queue')], behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } }),
  )
  await replicas(server, 3)
  const hpa = await settled(server, each => each.status.currentMetrics?.[0]?.object?.current?.averageValue === '1')
  assert.equal(hpa.status.currentMetrics[1].external.current.averageValue, '0')
  assert.equal(seen[0], '/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/services/front/depth metricLabelSelector=kind%3Dx')
  assert.ok(api.seen.some(({ headers }) => headers['x-remote-user'] === 'system:serviceaccount:kube-system:horizontal-pod-autoscaler'))
  // Nothing to do: none are left, until there is something again.
  amounts.depth = '0'
  await replicas(server, 0)
  await settled(server, each => condition(each, 'ScaledToZero')?.status === 'True')
  amounts.queue = '15'
  await replicas(server, 2)
  await settled(server, each => condition(each, 'ScaledToZero')?.status === 'False')

  const spec = {
    minReplicas: 1,
    metrics: [{ type: 'Pods', pods: { metric: { name: 'missing' }, target: { type: 'AverageValue', averageValue: '1' } } }],
  }
  await patch(server, `${AUTOSCALERS}/auto`, { spec })
  const failed = await settled(server, each => condition(each, 'ScalingActive')?.reason === 'FailedGetPodsMetric')
  assert.equal(
    condition(failed, 'ScalingActive').message,
    'the HPA was unable to compute the replica count: unable to get metric missing: unable to fetch metrics from custom metrics API: there is no such metric',
  )
})

test('whatever has a scale subresource is scaled, custom kinds among them', patient, async t => {
  const server = await startInProcess(t, QUICK)
  await create(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'shirts.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'shirts', kind: 'Shirt' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          subresources: { scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' } },
        },
      ],
    },
  })
  const shirts = '/apis/example.com/v1/namespaces/default/shirts'
  await eventually('the shirts', async () => ((await ask(server, shirts)).status === 200 ? true : undefined))
  await create(server, shirts, { apiVersion: 'example.com/v1', kind: 'Shirt', metadata: { name: 'web' }, spec: { count: 9 } })
  const target = (kind: string, apiVersion: string) => ({ scaleTargetRef: { apiVersion, kind, name: 'web' } })
  await create(server, AUTOSCALERS, autoscaler(target('Shirt', 'example.com/v1')))
  await eventually('five shirts', async () => ((await read(server, `${shirts}/web`)).spec.count === 5 ? true : undefined))
  await patch(server, `${AUTOSCALERS}/auto`, { spec: target('Trousers', 'example.com/v1') })
  const hpa = await settled(server, each => condition(each, 'AbleToScale')?.status === 'False')
  assert.equal(
    condition(hpa, 'AbleToScale').message,
    `the HPA controller was unable to get the target's current scale: no matches for kind "Trousers" in group "example.com"`,
  )
})

testWith('own address', 'a metrics server that is registered takes over from the simulated nodes, until it is gone', patient, async t => {
  const more = ({ url = '' }: IncomingMessage, response: ServerResponse): boolean => {
    if (!url.startsWith(METRICS)) return false
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ kind: 'NodeMetricsList', metadata: {}, items: [], theirs: true }))
    return true
  }
  const [server, api] = await Promise.all([startInProcess(t, { nodes: 1 }), startAggregatedApi(t, { more })])
  await create(server, '/api/v1/namespaces/default/services', {
    metadata: { name: 'wardle' },
    spec: { ports: [{ name: 'https', port: 443 }] },
  })
  await create(server, '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', slice(api.port))
  const name = 'v1beta1.metrics.k8s.io'
  const { service, caBundle } = apiService().spec as any
  assert.equal((await patch(server, `${APISERVICES}/${name}`, { spec: { service, caBundle } })).status, 200)
  await availability(server, 'Passed', name)
  assert.equal((await read(server, `${METRICS}/nodes`)).theirs, true)
  await ask(server, `${APISERVICES}/${name}`, { method: 'DELETE' })
  await availability(server, 'Local', name)
  const nodes = await eventually('the node', async () => (await read(server, `${METRICS}/nodes`)).items?.[0])
  assert.equal(nodes.metadata.name, 'simulated-1')
})

testWith('kubectl', 'kubectl top shows nodes and pods', patient, async (t, kubectl) => {
  const server = await freshServer(t, { nodes: 1 })
  const kubeconfig = join(temporaryDirectory(t), 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig)
  await create(server, DEPLOYMENTS, deployment(1, { 'sim.keelson.dev/cpu-usage': '250m', 'sim.keelson.dev/memory-usage': '10Mi' }))
  const top = async (...args: string[]) => (await run(kubectl, ['--kubeconfig', kubeconfig, 'top', ...args])).stdout
  const pods = await eventually('the pods', async () => ((await top('pods')).includes('web-') ? top('pods') : undefined))
  assert.match(pods, /^NAME +CPU\(cores\) +MEMORY\(bytes\) +\nweb-\S+ +250m +10Mi/)
  assert.match(await top('nodes'), /^NAME +CPU\(cores\) +CPU\S* +MEMORY\(bytes\) +MEMORY\S* *\nsimulated-1 +300m +1% +310Mi +0%/)
  assert.match(await top('pods', '--containers', '-l', 'app=web'), /main +250m +10Mi/)
})
