// Metrics and labels that the rules, alerts and dashboards of kube-prometheus and kubernetes-mixin use for API servers, controller managers
// and schedulers: each exists here, or is listed with the reason why not. Labels that Prometheus itself adds (job, instance, cluster,
// namespace) are left out, and so are recorded rules, which are made of these.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, patient, startInProcess, type Target } from './kit.ts'
import { webhook } from './kits/webhooks.ts'

type Use = {
  /** Labels that are selected or grouped by. */
  readonly labels: readonly string[]
  /** Values of labels that are selected, of which one at least is to be there. */
  readonly values?: Readonly<Record<string, readonly string[]>>
}

const READS_AND_WRITES = ['LIST', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Bounds of the objectives: writes and reads of one object, lists in a namespace, lists of a cluster; and of dashboards. */
const BOUNDS = ['1', '5', '30', '+Inf']

const USED: Readonly<Record<string, Use>> = {
  apiserver_request_total: { labels: ['code', 'verb', 'resource'], values: { verb: READS_AND_WRITES, code: ['200', '201', '404'] } },
  apiserver_request_sli_duration_seconds_bucket: {
    labels: ['verb', 'scope', 'subresource', 'le'],
    values: { verb: READS_AND_WRITES, scope: ['resource', 'namespace', 'cluster'], le: BOUNDS },
  },
  apiserver_request_sli_duration_seconds_count: { labels: ['verb', 'scope', 'subresource'] },
  apiserver_request_terminations_total: { labels: [] },
  apiserver_client_certificate_expiration_seconds_bucket: { labels: ['le'], values: { le: ['86400', '604800'] } },
  apiserver_client_certificate_expiration_seconds_count: { labels: [] },
  aggregator_unavailable_apiservice: { labels: ['name'], values: { name: ['v1.away.example.com'] } },
  aggregator_unavailable_apiservice_total: { labels: ['name'], values: { name: ['v1.away.example.com'] } },
  kubernetes_build_info: { labels: ['git_version'] },
  rest_client_requests_total: { labels: ['code', 'method', 'host'] },
  rest_client_request_duration_seconds_bucket: { labels: ['verb', 'le'], values: { verb: ['POST'] } },
  workqueue_adds_total: { labels: ['name'] },
  workqueue_depth: { labels: ['name'] },
  workqueue_queue_duration_seconds_bucket: { labels: ['name', 'le'] },
  process_resident_memory_bytes: { labels: [] },
  process_cpu_seconds_total: { labels: [] },
  scheduler_scheduling_attempt_duration_seconds_bucket: { labels: ['le'] },
  scheduler_scheduling_attempt_duration_seconds_count: { labels: [] },
  scheduler_scheduling_algorithm_duration_seconds_bucket: { labels: ['le'] },
  scheduler_scheduling_algorithm_duration_seconds_count: { labels: [] },
  scheduler_pod_scheduling_sli_duration_seconds_bucket: { labels: ['le'] },
  scheduler_pod_scheduling_sli_duration_seconds_count: { labels: [] },
}

const NOT_HERE: Readonly<Record<string, string>> = {
  go_goroutines: 'Node has no goroutines; nodejs_eventloop_utilization says how busy the process is',
  scheduler_volume_scheduling_duration_seconds_bucket: 'kube-scheduler 1.37 has it no more either',
  scheduler_volume_scheduling_duration_seconds_count: 'kube-scheduler 1.37 has it no more either',
  up: 'Prometheus makes it',
}

type Sample = Readonly<Record<string, string>>

async function scrape(server: Target): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map<string, Sample[]>()
  for (const line of (await ask(server, '/metrics')).text.split('\n')) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    if (name === undefined) continue
    const parsed = Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', value = '']) => [label, value]),
    )
    samples.set(name, [...(samples.get(name) ?? []), parsed])
  }
  return samples
}

test(
  'every metric that rules, alerts and dashboards for kube-apiserver use is there with its labels, or has a reason',
  patient,
  async t => {
    const server = await startInProcess(t, { nodes: 1 })
    await exercise(server, await webhook(t, () => {}))
    const isComplete = (samples: ReadonlyMap<string, readonly Sample[]>) => Object.keys(USED).every(name => samples.has(name))
    let samples = await scrape(server)
    for (let i = 0; !isComplete(samples) && i < 400; i++) {
      await new Promise(resolve => setTimeout(resolve, 50))
      samples = await scrape(server)
    }
    for (const [name, { labels, values = {} }] of Object.entries(USED)) {
      const found = samples.get(name) ?? assert.fail(`${name} is not there`)
      for (const label of labels)
        assert.ok(
          found.every(sample => Object.hasOwn(sample, label)),
          `${name} has the label ${label}`,
        )
      for (const [label, wanted] of Object.entries(values))
        for (const value of wanted)
          assert.ok(
            found.some(sample => sample[label] === value),
            `${name}{${label}="${value}"}`,
          )
    }
    for (const [name, reason] of Object.entries(NOT_HERE)) assert.ok(!samples.has(name) && reason !== '', name)
  },
)

/** Requests and failures that the metrics are about. */
async function exercise(server: Target, slow: { readonly clientConfig: object }): Promise<void> {
  const send = async (method: string, path: string, body?: object, headers = {}) =>
    (await ask(server, path, { method, ...(body && { body }), headers })).status
  assert.equal(await send('POST', CONFIG_MAPS, configMap('a')), 201)
  assert.equal(await send('PUT', `${CONFIG_MAPS}/a`, configMap('a', { b: 'c' })), 200)
  assert.equal(await send('PATCH', `${CONFIG_MAPS}/a`, { data: { b: 'd' } }, { 'content-type': 'application/merge-patch+json' }), 200)
  for (const path of [CONFIG_MAPS, `${CONFIG_MAPS}/a`, '/api/v1/configmaps']) assert.equal(await send('GET', path), 200)
  assert.equal(await send('DELETE', `${CONFIG_MAPS}/a`), 200)
  assert.equal(await send('GET', `${CONFIG_MAPS}/a`), 404)
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'b' }], automountServiceAccountToken: false } }
  assert.equal(await send('POST', '/api/v1/namespaces/default/pods', pod), 201)
  const spec = { group: 'away.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true }
  const apiService = { metadata: { name: 'v1.away.example.com' }, spec: { ...spec, service: { namespace: 'default', name: 'away' } } }
  assert.equal(await send('POST', '/apis/apiregistration.k8s.io/v1/apiservices', apiService), 201)
  // Only a loss of availability is counted: the controller finds out that this is not true.
  const available = { type: 'Available', status: 'True', reason: 'Passed', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const status = '/apis/apiregistration.k8s.io/v1/apiservices/v1.away.example.com/status'
  const merged = { 'content-type': 'application/merge-patch+json' }
  assert.equal(await send('PATCH', status, { status: { conditions: [available] } }, merged), 200)
  const hook = {
    name: 'slow.example.com',
    clientConfig: slow.clientConfig,
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    matchConditions: [{ name: 'named', expression: "object.metadata.name == 'late'" }],
  }
  const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  assert.equal(await send('POST', hooks, { metadata: { name: 'slow' }, webhooks: [hook] }), 201)
  assert.equal(await send('POST', `${CONFIG_MAPS}?timeout=100ms`, configMap('late')), 504)
}
