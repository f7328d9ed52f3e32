// OpenTelemetry traces of requests, as kube-apiserver makes them.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { anonymous, ask, CONFIG_MAPS, configMap, patient, type Scope, startInProcess, startProcess, temporaryDirectory } from './kit.ts'
import { availability, FLUNDERS, register, startAggregatedApi } from './kits/aggregated-api.ts'
import { type ReceivedSpan, startCollector } from './kits/collector.ts'
import { keelsonHere } from './kits/command-here.ts'
import { startEtcd } from './kits/etcd.ts'
import { allow, webhook } from './kits/webhooks.ts'
import { testWith } from './programs.ts'

function tracingFile(t: Scope, fields: object): string {
  const file = join(temporaryDirectory(t), 'tracing.yaml')
  writeFileSync(file, JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration', ...fields }))
  return file
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const EVERY = 1_000_000

/** The span of a request, and all of its trace. */
function traceOf(spans: readonly ReceivedSpan[], name: string) {
  const root = spans.findLast(span => span.name === name && span.kind === 2) ?? assert.fail(`${name} of ${spans.map(span => span.name)}`)
  return { root, names: spans.filter(({ traceId }) => traceId === root.traceId).map(span => span.name) }
}

test('a request has a span with those of its steps below', patient, async t => {
  const collector = await startCollector(t, 'grpc')
  const tracingConfigFile = tracingFile(t, { endpoint: `127.0.0.1:${collector.port}`, samplingRatePerMillion: EVERY })
  const server = await startInProcess(t, { tracingConfigFile })
  const made = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a') })
  await ask(server, `${CONFIG_MAPS}/a`, { headers: { 'user-agent': 'someone' } })
  await ask(server, `${CONFIG_MAPS}/none`)
  await ask(server, '/version')
  assert.equal((await ask(server, CONFIG_MAPS, { headers: { authorization: 'Bearer x' }, ...anonymous })).status, 401)
  await server.close()
  const { spans } = collector
  const path = '/api/v1/namespaces/{:namespace}/configmaps'
  const { root, names } = traceOf(spans, `POST ${path}`)
  for (const name of ['authorization', 'Create', 'decode', 'admission', 'store', 'SerializeObject'])
    assert.ok(names.includes(name), `${name} of ${names}`)
  assert.equal(root.service, 'apiserver')
  assert.equal(root.parentId, '')
  assert.equal(root.attributes['audit-id'], made.headers['audit-id'])
  assert.equal(root.attributes['http.response.status_code'], 201)
  assert.equal(root.attributes['http.target'], CONFIG_MAPS)
  const handling = spans.find(({ traceId, name }) => traceId === root.traceId && name === 'Create')!
  const store = spans.find(({ traceId, name }) => traceId === root.traceId && name === 'store')!
  assert.deepEqual([handling.parentId, store.parentId], [root.spanId, handling.spanId])
  for (const span of spans) assert.ok(span.start <= span.end)
  assert.ok(root.start <= handling.start && handling.start <= store.start && store.end <= handling.end && handling.end <= root.end)
  const reads = spans.filter(({ name }) => name === `GET ${path}/{:name}`).map(({ attributes }) => attributes)
  assert.deepEqual(reads.map(each => each['http.response.status_code']).sort(), [200, 404])
  assert.ok(reads.some(each => each['user_agent.original'] === 'someone'))
  assert.ok(spans.some(({ name, attributes }) => name === 'GET' && attributes['url.path'] === '/version'))
  // Whoever is not authenticated makes no spans.
  assert.equal(spans.filter(({ name }) => name === `GET ${path}`).length, 0)
})

test(
  'administrators and monitoring continue a trace and decide whether it is recorded; the traces of others are linked to',
  patient,
  async t => {
    const collector = await startCollector(t, 'grpc')
    const endpoint = `127.0.0.1:${collector.port}`
    const server = await startInProcess(t, { tracingConfigFile: tracingFile(t, { endpoint }) })
    const path = `${CONFIG_MAPS}/none`
    const sampled = { traceparent: `00-${TRACE}-${PARENT}-01` }
    await ask(server, path, { headers: sampled })
    await ask(server, path, { headers: { traceparent: `00-${TRACE}-${PARENT}-00` } })
    await ask(server, path)
    const { json } = await ask(server, '/api/v1/namespaces/default/serviceaccounts/default/token', {
      method: 'POST',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    const user = { authorization: `Bearer ${json.status.token}` }
    await ask(server, path, { headers: { ...sampled, ...user }, ...anonymous })
    await server.close()
    const roots = collector.spans.filter(({ kind }) => kind === 2)
    assert.deepEqual(
      roots.map(({ traceId, parentId, link }) => ({ traceId, parentId, link })),
      [{ traceId: TRACE, parentId: PARENT, link: undefined }],
    )
    const all = await startInProcess(t, { tracingConfigFile: tracingFile(t, { endpoint, samplingRatePerMillion: EVERY }) })
    const token = await ask(all, '/api/v1/namespaces/default/serviceaccounts/default/token', {
      method: 'POST',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    collector.spans.length = 0
    await ask(all, path, { headers: { ...sampled, authorization: `Bearer ${token.json.status.token}` }, ...anonymous })
    await all.close()
    const linked = collector.spans.find(({ link }) => link !== undefined)!
    assert.equal(linked.link, TRACE)
    assert.notEqual(linked.traceId, TRACE)
    assert.equal(linked.parentId, '')
  },
)

test('webhooks get the trace, with a span for each call', patient, async t => {
  const collector = await startCollector(t, 'grpc')
  const server = await startInProcess(t, {
    tracingConfigFile: tracingFile(t, { endpoint: `127.0.0.1:${collector.port}`, samplingRatePerMillion: EVERY }),
  })
  const hook = await webhook(t, allow)
  const { status } = await ask(server, '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    method: 'POST',
    body: {
      metadata: { name: 'hooks' },
      webhooks: [
        {
          name: 'hook.example.com',
          clientConfig: hook.clientConfig,
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    },
  })
  assert.equal(status, 201)
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=b', baggage: 'c=d' }
  assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a'), headers })).status, 201)
  await server.close()
  const call = collector.spans.find(({ name }) => name === 'Call validating webhook')!
  const [, handling] = [call, collector.spans.find(({ spanId }) => spanId === call.parentId)!]
  assert.deepEqual([call.traceId, call.kind, handling.name], [TRACE, 3, 'Create'])
  assert.deepEqual(call.attributes, {
    configuration: 'hooks',
    webhook: 'hook.example.com',
    resource: 'configmaps',
    subresource: '',
    operation: 'CREATE',
  })
  const { traceparent, tracestate, baggage } = hook.calls[0]!.headers
  assert.deepEqual(
    { traceparent, tracestate, baggage },
    { traceparent: `00-${TRACE}-${call.spanId}-01`, tracestate: 'a=b', baggage: 'c=d' },
  )
})

testWith('own address', 'aggregated API servers get the trace', patient, async t => {
  const collector = await startCollector(t, 'grpc')
  const [server, api] = await Promise.all([
    startInProcess(t, { tracingConfigFile: tracingFile(t, { endpoint: `127.0.0.1:${collector.port}` }) }),
    startAggregatedApi(t),
  ])
  await register(server, api.port)
  await availability(server, 'Passed')
  await ask(server, FLUNDERS, { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } })
  await server.close()
  const call = collector.spans.find(({ name, kind }) => name === 'HTTP GET' && kind === 3)!
  assert.equal(api.seen.findLast(({ url }) => url === FLUNDERS)!.headers['traceparent'], `00-${TRACE}-${call.spanId}-01`)
})

testWith('etcd', 'calls of etcd are spans of the request that needs them', patient, async (t, program) => {
  const [collector, etcd] = await Promise.all([startCollector(t, 'grpc'), startEtcd({ program })])
  t.after(() => etcd[Symbol.asyncDispose]())
  const server = await startInProcess(t, {
    store: 'etcd',
    etcdServers: etcd.endpoints,
    tracingConfigFile: tracingFile(t, { endpoint: `127.0.0.1:${collector.port}` }),
  })
  const headers = { traceparent: `00-${TRACE}-${PARENT}-01` }
  const { json } = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a'), headers })
  const at = json.metadata.resourceVersion
  await ask(server, `${CONFIG_MAPS}/a`, { method: 'DELETE', headers })
  const past = `${CONFIG_MAPS}/a?resourceVersion=${at}&resourceVersionMatch=Exact`
  assert.equal((await ask(server, past, { headers })).status, 200)
  await ask(server, `${CONFIG_MAPS}/a`, { headers })
  await server.close()
  const { spans } = collector
  const callsOf = (handler: string) => {
    const { spanId } = spans.find(({ name }) => name === handler)!
    return spans.filter(({ parentId, kind }) => parentId === spanId && kind === 3).map(({ name, traceId }) => [name, traceId])
  }
  assert.deepEqual(callsOf('Create'), [['etcdserverpb.KV/Txn', TRACE]])
  assert.deepEqual(callsOf('Delete').at(-1), ['etcdserverpb.KV/Txn', TRACE])
  assert.deepEqual(callsOf('Get'), [['etcdserverpb.KV/Range', TRACE]])
  const txn = spans.find(({ name }) => name === 'etcdserverpb.KV/Txn')!
  assert.equal(txn.attributes['server.port'], Number(new URL(etcd.endpoints[0]!).port))
  // A read that waits until the cache is as new as etcd shares that question with all others.
  assert.ok(spans.some(({ name, parentId }) => name === 'freshness' && spans.some(({ spanId, kind }) => spanId === parentId && kind === 2)))
})

test('spans are sent over HTTP where the variable of OpenTelemetry says so, and over sockets', patient, async t => {
  const [http, socket] = [await startCollector(t, 'http'), join(temporaryDirectory(t), 'otlp.sock')]
  const unix = await startCollector(t, 'grpc', socket)
  for (const [collector, endpoint, env] of [
    [http, `localhost:${http.port}`, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }],
    [unix, `unix://${socket}`, {}],
  ] as const) {
    const file = tracingFile(t, { endpoint, samplingRatePerMillion: EVERY })
    const server = await startProcess(t, { flags: ['--tracing-config-file', file], env: { ...process.env, ...env } })
    await ask(server, '/version')
    await server.stop()
    assert.ok(
      collector.spans.some(({ attributes }) => attributes['url.path'] === '/version'),
      endpoint,
    )
  }
})

test('a collector that is away costs spans, which are counted, and no request', patient, async t => {
  const server = await startInProcess(t, {
    tracingConfigFile: tracingFile(t, { endpoint: '127.0.0.1:1', samplingRatePerMillion: EVERY }),
    logLevel: 'silent',
  })
  const dropped = async () =>
    Number(/^keelson_trace_spans_dropped_total (\d+)$/m.exec((await ask(server, '/metrics')).text)?.[1] ?? assert.fail('not counted'))
  assert.equal(await dropped(), 0)
  while ((await dropped()) === 0) await Promise.all(Array.from({ length: 100 }, () => ask(server, '/version')))
})

test("the configuration is checked with kube-apiserver's errors", patient, async t => {
  for (const [fields, message] of [
    [
      { endpoint: 'http://localhost:4317', samplingRatePerMillion: -1 },
      'failed to validate tracing configuration: [samplingRatePerMillion: Invalid value: -1: sampling rate must be positive, endpoint: Invalid value: "http://localhost:4317": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md]',
    ],
    [
      { endpoint: 'dn%2s://x', samplingRatePerMillion: 1_000_001 },
      'failed to validate tracing configuration: [samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million, endpoint: Invalid value: "dn%2s://x": parse "dn%2s://x": first path segment in URL cannot contain colon]',
    ],
    [{ foo: 1 }, 'failed to read tracing config: unable to decode tracing configuration data: strict decoding error: unknown field "foo"'],
  ] as const)
    await assert.rejects(startInProcess(t, { tracingConfigFile: tracingFile(t, fields) }), { message })
  const other = tracingFile(t, { apiVersion: 'apiserver.config.k8s.io/v2' })
  const refusal =
    /^keelson: failed to read tracing config: unable to decode tracing configuration data: no kind "TracingConfiguration" is registered for version "apiserver.config.k8s.io\/v2"/
  assert.match((await keelsonHere('serve', '--store=memory', '--secure-port=0', '--tracing-config-file', other)).stderr, refusal)
  await assert.rejects(startInProcess(t, { tracingConfigFile: '/none' }), {
    message: 'failed to read tracing config: unable to read tracing configuration from "/none": open /none: no such file or directory',
  })
})
