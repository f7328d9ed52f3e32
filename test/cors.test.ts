// Pages of other origins in browsers: which may use the API, as kube-apiserver's --cors-allowed-origins has it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../src/index.ts'
import { anonymous, ask, CONFIG_MAPS, patient, startInProcess } from './kit.ts'

const ALLOWED = {
  'access-control-allow-origin': 'https://a.example.com',
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
}
const corsHeaders = (headers: NodeJS.Dict<string | string[]>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

test('pages of allowed origins may read responses and errors, and others may not', patient, async t => {
  const server = await startInProcess(t, { corsAllowedOrigins: ['^https://[a-z]+\\.example\\.com$', '//127\\.0\\.0\\.1(:|$)'] })
  const origin = 'https://a.example.com'
  const preflight = await ask(server, CONFIG_MAPS, { method: 'OPTIONS', headers: { origin }, ...anonymous })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.text, '')
  assert.ok(preflight.headers['audit-id'])
  assert.deepEqual(corsHeaders(preflight.headers), ALLOWED)
  for (const [path, status] of [
    [CONFIG_MAPS, 200],
    [`${CONFIG_MAPS}/none`, 404],
  ] as const) {
    // The certificate of the visitor counts, as credentials are allowed.
    const answer = await ask(server, path, { headers: { origin, 'sec-fetch-site': 'cross-site' } })
    assert.equal(answer.status, status)
    assert.deepEqual(corsHeaders(answer.headers), ALLOWED)
  }
  assert.equal((await ask(server, CONFIG_MAPS, { headers: { origin }, ...anonymous })).status, 403)
  for (const other of ['https://a.example.com.evil.org', 'http://a.example.com', 'null']) {
    const answer = await ask(server, CONFIG_MAPS, { headers: { origin: other, 'sec-fetch-site': 'cross-site' } })
    assert.equal(answer.status, 403, other)
    assert.deepEqual(corsHeaders(answer.headers), {})
    assert.equal((await ask(server, CONFIG_MAPS, { method: 'OPTIONS', headers: { origin: other, authorization: 'Bearer x' } })).status, 401)
  }
  assert.deepEqual(corsHeaders((await ask(server, CONFIG_MAPS)).headers), {})
})

test('without the flag no response has such headers', patient, async t => {
  const server = await startInProcess(t)
  const { headers } = await ask(server, '/version', { headers: { origin: 'https://a.example.com', 'sec-fetch-site': 'none' } })
  assert.deepEqual(corsHeaders(headers), {})
})

test("expressions are checked with kube-apiserver's errors", patient, async t => {
  for (const [patterns, message] of [
    [
      ['('],
      /^corsAllowedOrigins has an invalid regular expression: error parsing regexp: missing closing \): `\(`, help: List of allowed origins/,
    ],
    [['example.com'], /^corsAllowedOrigins has an invalid regular expression: regular expression does not pin to start\/end of host/],
    [['a', ''], /^\[corsAllowedOrigins has an invalid.*, empty value in corsAllowedOrigins, help: .*\]$/],
  ] as const)
    await assert.rejects(startInProcess(t, { corsAllowedOrigins: patterns }), (error: Error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, message)
      return true
    })
})
