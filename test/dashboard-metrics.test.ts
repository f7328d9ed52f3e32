// The metrics that the dashboards and alerts of kubernetes-mixin use, with the names, labels and bounds of Kubernetes 1.37.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { anonymous, ask, CONFIG_MAPS, configMap, patient, startInProcess, type Target, Watching } from './kit.ts'

type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

/** Samples by the name of their line. */
async function scrape(server: Target): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const { text } = await ask(server, '/metrics')
  const samples = new Map<string, Sample[]>()
  for (const line of text.split('\n').filter(line => line !== '' && !line.startsWith('#'))) {
    const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? assert.fail(line)
    const parsed = Object.fromEntries([...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text]))
    samples.set(name, [...(samples.get(name) ?? []), { labels: parsed, value: Number(value) }])
  }
  return samples
}

const REQUEST = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component']
const RESOURCE = ['group', 'version', 'resource']

/** Labels of each metric, without those of buckets. At 6256f0f1 none of these was there. */
const LABELS: Readonly<Record<string, readonly string[]>> = {
  apiserver_request_sli_duration_seconds_bucket: REQUEST,
  apiserver_client_certificate_expiration_seconds_bucket: [],
  apiserver_watch_events_total: RESOURCE,
  apiserver_watch_events_sizes_bucket: RESOURCE,
  apiserver_requested_deprecated_apis: [...RESOURCE, 'subresource', 'removed_release'],
  apiserver_authorization_decisions_total: ['type', 'name', 'decision'],
  apiserver_tls_handshake_errors_total: [],
  authentication_attempts: ['result'],
  authenticated_user_requests: ['username'],
  kubernetes_build_info: [
    ...['major', 'minor', 'git_version', 'git_commit', 'git_tree_state', 'build_date', 'go_version', 'compiler', 'platform'],
  ],
  kubernetes_feature_enabled: ['name', 'stage'],
  scheduler_schedule_attempts_total: ['result', 'profile'],
  scheduler_scheduling_attempt_duration_seconds_bucket: ['result', 'profile'],
  scheduler_scheduling_algorithm_duration_seconds_bucket: [],
  scheduler_pending_pods: ['queue'],
  scheduler_pod_scheduling_attempts_bucket: [],
  scheduler_pod_scheduling_sli_duration_seconds_bucket: ['attempts'],
  scheduler_preemption_attempts_total: [],
  scheduler_preemption_victims_bucket: [],
  rest_client_requests_total: ['code', 'method', 'host'],
  rest_client_request_duration_seconds_bucket: ['verb', 'host'],
  process_max_fds: [],
}

const doubling = (first: number, count: number) => Array.from({ length: count }, (_, i) => first * 2 ** i)
const BOUNDS: Readonly<Record<string, readonly number[]>> = {
  apiserver_request_sli_duration_seconds: [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60],
  apiserver_watch_events_sizes: doubling(1024, 8),
  apiserver_client_certificate_expiration_seconds: [
    ...[0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000],
  ],
  scheduler_scheduling_attempt_duration_seconds: doubling(0.001, 15),
  scheduler_scheduling_algorithm_duration_seconds: doubling(0.001, 15),
  scheduler_pod_scheduling_attempts: doubling(1, 5),
  scheduler_pod_scheduling_sli_duration_seconds: doubling(0.01, 20),
  scheduler_preemption_victims: doubling(1, 7),
  rest_client_request_duration_seconds: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
}

test('the metrics of dashboards and alerts are there, as Kubernetes has them', patient, async t => {
  const server = await startInProcess(t, { nodes: 1 })
  const pod = (name: string, cpu: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'a', image: 'b', resources: { requests: { cpu } } }], automountServiceAccountToken: false },
  })
  const pods = '/api/v1/namespaces/default/pods'
  for (const each of [pod('fits', '1m'), pod('does-not', '1M')])
    assert.equal((await ask(server, pods, { method: 'POST', body: each })).status, 201)
  const watching = await Watching.open(t, server, `${CONFIG_MAPS}?watch=true`)
  assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('seen') })).status, 201)
  await watching.until(({ object }) => object.metadata.name === 'seen')
  assert.equal((await ask(server, '/api/v1/endpoints')).status, 200)
  assert.equal((await ask(server, CONFIG_MAPS, { headers: { authorization: 'Bearer wrong' }, ...anonymous })).status, 401)
  // The administrator is above authorizers; readiness is for everybody.
  assert.equal((await ask(server, '/readyz', anonymous)).status, 200)
  const rude = connect({ host: '127.0.0.1', port: server.port, maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' })
  await once(rude, 'error')
  const isTried = (samples: ReadonlyMap<string, readonly Sample[]>) =>
    new Set(samples.get('scheduler_schedule_attempts_total')?.map(({ labels }) => labels['result'])).size >= 2
  let samples = await scrape(server)
  while (!isTried(samples)) {
    await new Promise(resolve => setTimeout(resolve, 50))
    samples = await scrape(server)
  }
  for (const [name, labels] of Object.entries(LABELS)) {
    const found = samples.get(name)
    assert.ok(found, name)
    for (const sample of found)
      assert.deepEqual(
        Object.keys(sample.labels)
          .filter(label => label !== 'le')
          .sort(),
        [...labels].sort(),
        name,
      )
  }
  for (const [name, bounds] of Object.entries(BOUNDS)) {
    const [first] = samples.get(`${name}_count`) ?? assert.fail(name)
    const own = samples
      .get(`${name}_bucket`)!
      .filter(({ labels: { le: _, ...rest } }) => JSON.stringify(rest) === JSON.stringify(first!.labels))
    assert.deepEqual(
      own.map(({ labels }) => Number(labels['le']?.replace('+Inf', 'Infinity'))),
      [...bounds, Number.POSITIVE_INFINITY],
      name,
    )
  }
  const counted = (name: string, wanted: Readonly<Record<string, string>>) =>
    samples.get(name)?.find(({ labels }) => Object.entries(wanted).every(([label, value]) => labels[label] === value))?.value
  assert.ok(counted('apiserver_watch_events_total', { resource: 'configmaps' })! >= 1)
  assert.equal(counted('apiserver_requested_deprecated_apis', { resource: 'endpoints', removed_release: '' }), 1)
  assert.equal(counted('authentication_attempts', { result: 'error' }), 1)
  assert.ok(counted('apiserver_authorization_decisions_total', { type: 'RBAC', name: 'rbac', decision: 'allowed' })! > 0)
  assert.equal(counted('kubernetes_build_info', { major: '1', minor: '37' }), 1)
  assert.equal(counted('kubernetes_feature_enabled', { name: 'AllAlpha', stage: 'ALPHA' }), 0)
  assert.equal(counted('scheduler_schedule_attempts_total', { result: 'scheduled', profile: 'default-scheduler' }), 1)
  assert.equal(counted('scheduler_pending_pods', { queue: 'unschedulable' }), 1)
  assert.ok(counted('apiserver_tls_handshake_errors_total', {})! >= 1)
  assert.ok(counted('process_max_fds', {})! > 0)
  assert.ok(counted('rest_client_requests_total', { code: '201', method: 'POST' })! > 0)
})
