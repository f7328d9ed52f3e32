import assert from 'node:assert/strict'
import { test } from 'node:test'
import { find, secretJson, testApi, testCatalog, testRequest } from '../../../test/kits/http/test-server.ts'
import { exposition, Histogram } from './exposition.ts'
import { Metrics } from './metrics.ts'

const secrets = find(testCatalog(), 'secrets')

test('requests are counted under the stable names and labels', async () => {
  const { serve, metrics } = testApi({
    handle: () => ({ form: 'object', code: 201, resource: secrets, json: secretJson('a'), warnings: [] }),
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

test('objects are counted when asked', () => {
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
