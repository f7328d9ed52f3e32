import assert from 'node:assert/strict'
import { test } from 'node:test'
import { find, secretJson, testApi, testCatalog, testRequest } from '../../../test/kits/http/test-server.ts'
import { exposition, Histogram, openMetricsExposition } from '../../lib/exposition.ts'
import { protobufExposition, sparse } from './exposition-protobuf.ts'
import { Metrics } from './metrics.ts'

const secrets = find(testCatalog(), 'secrets')

test('requests are counted under the stable names and labels', async () => {
  const { serve, metrics } = testApi({
    handle: () => ({ type: 'object', code: 201, resource: secrets, json: secretJson('a'), warnings: [] }),
  })
  await serve(testRequest('/api/v1/namespaces/default/secrets', { method: 'POST', body: '{}' }))
  await serve(testRequest('/api/v1/namespaces/default/secrets/a'))
  await serve(testRequest('/api/v1/namespaces/default/secrets/a?dryRun=All', { method: 'DELETE' }))
  const text = metrics.scrape()
  const labels = 'group="",version="v1",resource="secrets",subresource="",scope="resource",component="apiserver"'
  assert.ok(text.includes(`apiserver_request_total{code="201",verb="POST",${labels},dry_run=""} 1\n`))
  assert.ok(text.includes(`apiserver_request_total{code="201",verb="DELETE",${labels},dry_run="All"} 1\n`))
  assert.ok(text.includes(`apiserver_request_duration_seconds_count{verb="GET",${labels},dry_run=""} 1\n`))
  assert.ok(text.includes(`apiserver_response_sizes_sum{verb="GET",${labels}} ${secretJson('a').length}\n`))
  assert.ok(text.includes('apiserver_current_inflight_requests{request_kind="mutating"} 0\n'))
  assert.match(text, /^process_resident_memory_bytes \d+$/m)
})

test('a request that takes too long is counted as terminated, and one with a dry run among the others of its kind', async () => {
  const { serve, metrics } = testApi({
    handle: ({ query }) =>
      query.has('timeout') ? new Promise(() => {}) : { type: 'object', code: 200, resource: secrets, json: secretJson('a'), warnings: [] },
  })
  const path = '/api/v1/namespaces/default/secrets/a'
  await serve(testRequest(`${path}?timeout=5ms`))
  for (const query of ['', '?dryRun=All']) await serve(testRequest(`${path}${query}`, { method: 'DELETE' }))
  const text = metrics.scrape()
  const labels = 'group="",version="v1",resource="secrets",subresource="",scope="resource",component="apiserver"'
  assert.ok(text.includes(`apiserver_request_terminations_total{code="504",verb="GET",${labels}} 1\n`))
  assert.ok(text.includes(`apiserver_request_sli_duration_seconds_count{verb="DELETE",${labels}} 2\n`))
  assert.ok(text.includes('authentication_attempts{result="success"} 3\n'))
})

test('a wait in a queue or for a webhook is no part of the time that a server is held to', () => {
  const metrics = new Metrics({ paths: ['/a'], objects: () => [] })
  const route = { type: 'path', attributes: { verb: 'get', path: '/a' } } as unknown as Parameters<Metrics['begin']>[0]
  metrics.begin(route).answered(200, 0, { seconds: 0.01, elsewhere: 0 })
  metrics.begin(route).answered(200, 0, { seconds: 5, elsewhere: 4.5 })
  const text = metrics.scrape()
  const counted = (name: string, le: string) => Number(new RegExp(`^${name}_bucket\\{.*le="${le}"\\} (\\d+)$`, 'm').exec(text)?.[1])
  assert.deepEqual(
    ['0.05', '0.4', '0.6', '+Inf'].map(le => counted('apiserver_request_sli_duration_seconds', le.replace('+', '\\+'))),
    [1, 1, 2, 2],
  )
  assert.deepEqual(
    ['0.6', '5'].map(le => counted('apiserver_request_duration_seconds', le)),
    [1, 2],
  )
  assert.ok(Math.abs(Number(/^apiserver_request_sli_duration_seconds_sum\{.*\} (\S+)$/m.exec(text)?.[1]) - 0.51) < 1e-9)
})

test('clients cannot make up label values', async () => {
  const { serve, metrics } = testApi()
  const before = metrics.scrape().length
  await serve(testRequest('/nope0', { method: 'BREW0' }))
  const once = metrics.scrape().length
  for (let i = 0; i < 200; i++) {
    await serve(testRequest(`/nope${i}`, { method: `BREW${i}` }))
    await serve(testRequest(`/api/v1/nope${i}?dryRun=${i}`))
  }
  assert.ok(metrics.scrape().length - once < 3 * (once - before) + 1000)
})

test('objects are counted when metrics are read', () => {
  const metrics = new Metrics({ paths: [], objects: () => [[secrets, 3]] })
  assert.ok(metrics.scrape().includes('apiserver_storage_objects{resource="secrets"} 3\n'))
})

test('histograms add up their buckets, and labels are escaped', () => {
  const histogram = new Histogram([1, 2])
  for (const value of [0.5, 1, 1.5, 9]) histogram.observe(value)
  assert.equal(
    exposition([{ name: 'h', help: 'x', type: 'histogram', samples: [[{ l: 'a"\\\n' }, histogram]] }]),
    [
      '# HELP h x',
      '# TYPE h histogram',
      'h_bucket{l="a\\"\\\\\\n",le="1"} 2',
      'h_bucket{l="a\\"\\\\\\n",le="2"} 3',
      'h_bucket{l="a\\"\\\\\\n",le="+Inf"} 4',
      'h_sum{l="a\\"\\\\\\n"} 12',
      'h_count{l="a\\"\\\\\\n"} 4',
      '',
    ].join('\n'),
  )
})

test('OpenMetrics names counters without their ending, writes bounds with a point, and marks its end', () => {
  const histogram = new Histogram([1, 2.5])
  histogram.observe(2)
  const text = openMetricsExposition([
    { name: 'requests_total', help: 'x', type: 'counter', samples: [[{ code: '200' }, 3]] },
    { name: 'seconds', help: 'y', type: 'histogram', samples: [[{}, histogram]] },
  ])
  assert.match(text, /^# TYPE requests counter\nrequests_total\{code="200"\} 3$/m)
  assert.match(text, /^seconds_bucket\{le="1\.0"\} 0\nseconds_bucket\{le="2\.5"\} 1$/m)
  assert.ok(text.endsWith('# EOF\n'))
})

test('native buckets are spans of neighbours and differences of counts', () => {
  const native = new Map([
    [4, 2],
    [3, 5],
    [9, 1],
    [-2, 7],
  ])
  assert.deepEqual(sparse(native), {
    spans: [
      { offset: -2, length: 1 },
      { offset: 4, length: 2 },
      { offset: 4, length: 1 },
    ],
    deltas: [7, -2, -3, -1],
  })
  const histogram = new Histogram([])
  for (const value of [0, 1, 2, 1.05]) histogram.observe(value)
  assert.deepEqual([...histogram.native].sort(), [
    [0, 1],
    [1, 1],
    [8, 1],
  ])
  assert.equal(histogram.zeros, 1)
})

test('protobuf has families after their length, with labels and both kinds of buckets', () => {
  const histogram = new Histogram([1])
  histogram.observe(1)
  const bytes = Buffer.from(protobufExposition([{ name: 'h', help: 'x', type: 'histogram', samples: [[{ a: 'b' }, histogram]] }]))
  assert.equal(bytes[0], bytes.length - 1)
  assert.equal(
    bytes.subarray(1).toString('hex'),
    [
      '0a0168',
      '120178',
      '1804',
      '2237',
      '0a060a0161120162',
      '3a2d',
      '0801',
      '11000000000000f03f',
      '1a0b080111000000000000f03f',
      '2806',
      '31000000000000f037',
      '3800',
      '620408001001',
      '6802',
    ].join(''),
  )
})

test('metrics are read in the format that the client likes best', async () => {
  const { serve } = testApi()
  const typeFor = async (accept: string) => {
    const { status, headers } = await serve(testRequest('/metrics', { headers: { accept, authorization: 'Bearer secret-token' } }))
    assert.equal(status, 200)
    return String(headers['content-type'])
  }
  const prometheus =
    'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  assert.match(await typeFor(prometheus), /^application\/vnd\.google\.protobuf; proto=io\.prometheus\.client\.MetricFamily/)
  assert.match(await typeFor('application/openmetrics-text;version=1.0.0,text/plain;q=0.5'), /^application\/openmetrics-text/)
  for (const text of ['', '*/*', 'text/plain', 'application/json']) assert.match(await typeFor(text), /^text\/plain; version=0\.0\.4/)
})
