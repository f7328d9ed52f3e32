// Requests that mean harm or know no better: paths, queries, bodies and credentials.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { ask, CONFIG_MAPS, configMap, type ServerProcess } from '../kit.ts'
import { type Attack, assertRefused, exchange, http2, lines, MIB, post, TOKEN, withstands } from './attacks.ts'

const LIMIT = 3 * MIB
const attacks: Attack[] = []
const attack = (...one: Attack) => attacks.push(one)

attack('paths that say one thing and mean another lead nowhere', async (server, t) => {
  const targets = [
    '/api/v1/namespaces/default/configmaps/%2e%2e',
    '/api/v1/namespaces/default/configmaps/%2e%2e/secrets',
    '/api/v1/namespaces/default/configmaps/..%2fsecrets%2fsecret',
    '/api/v1/namespaces/%2e%2e/configmaps/x',
    '/api/v1/namespaces/default/configmaps/%00',
    '/api/v1/namespaces/default/configmaps/a%00b',
    '/api/v1/namespaces/default/configmaps/%c0%ae%c0%ae',
    '/api/v1/namespaces/default/configmaps/%ff',
    '/api/v1/namespaces/default/configmaps/%',
    '/api/v1/namespaces/default/configmaps/%zz',
    '/api/v1/namespaces/default/configmaps/__proto__',
    '/api/v1/__proto__',
    '/apis/__proto__/v1/constructor',
    '/apis/constructor',
    '/constructor',
    '/__proto__',
    '/api/v1//secrets/../../../metrics',
    `/api/v1/namespaces/default/configmaps/${'a'.repeat(20_000)}`,
    `/${'a/'.repeat(10_000)}`,
    '/etc/passwd',
    '/openapi/v3/../../etc/passwd',
    '/openapi/v3/__proto__',
    '/readyz/__proto__',
    '/healthz/constructor',
    '*',
    'http://elsewhere/api/v1/secrets/x/y/z',
  ]
  for (const target of targets) {
    const answer = await exchange(server, t, lines(`GET ${target} HTTP/1.1`, `authorization: Bearer ${TOKEN}`))
    assert.match(answer, /^HTTP\/1\.1 [34]\d\d /, `${target.slice(0, 100)}: ${answer.slice(0, 300)}`)
    assert.doesNotMatch(answer, /"data":|root:/, target)
  }
  for (const name of ['..', '../x', 'a/b', 'a%2fb', '.', '', '__proto__', 'a\u0000b', 'a'.repeat(300)])
    assertRefused(await post(server, configMap(name)), JSON.stringify(name), 422)
})

attack('queries of any shape are answered or refused', async server => {
  const queries = [
    'labelSelector=%00',
    `labelSelector=${'a,'.repeat(5000)}a`,
    'labelSelector=((((',
    'fieldSelector=__proto__=x',
    'fieldSelector=metadata.name%3D%3D%3D',
    'limit=99999999999999999999',
    'limit=-1',
    'limit=NaN',
    'continue=AAAA',
    `continue=${'A'.repeat(10_000)}`,
    'resourceVersion=-1',
    'resourceVersion=1e9',
    'resourceVersion=99999999999999999999999',
    'resourceVersionMatch=__proto__',
    'watch=true&resourceVersion=x',
    'timeoutSeconds=x',
    '__proto__=1&constructor=2&hasOwnProperty=3',
    `${'x=1&'.repeat(5000)}`,
    '%',
    '%ff=%fe',
  ]
  for (const query of queries) {
    const { status, text } = await ask(server, `${CONFIG_MAPS}?${query}`)
    assert.ok(status === 200 || (status >= 400 && status < 500) || status === 504, `${query.slice(0, 80)}: ${status} ${text.slice(0, 200)}`)
  }
})

attack('bodies past 3 MiB are refused, declared or not; one of 3 MiB is read', async (server, t) => {
  const object = JSON.stringify(configMap('large'))
  const padded = (size: number) => object + ' '.repeat(size - object.length)
  const declared = await post(server, padded(LIMIT + 1))
  assertRefused(declared, 'declared', 413)
  assert.equal(declared.json.message, `Request entity too large: limit is ${LIMIT}`)
  assert.equal(declared.json.reason, 'RequestEntityTooLarge')
  const chunk = `${(64 * 1024).toString(16)}\r\n${' '.repeat(64 * 1024)}\r\n`
  const head = lines(`POST ${CONFIG_MAPS} HTTP/1.1`, 'content-type: application/json', 'transfer-encoding: chunked')
  assert.match(await exchange(server, t, head + chunk.repeat(64)), /^HTTP\/1\.1 413 /)
  assert.match(
    await exchange(server, t, lines(`POST ${CONFIG_MAPS} HTTP/1.1`, 'content-type: application/json', 'content-length: 99999999999')),
    /^HTTP\/1\.1 413 /,
  )
  const session = http2(server, t)
  const stream = session.request({ ':method': 'POST', ':path': CONFIG_MAPS, 'content-type': 'application/json' })
  stream.on('error', () => {}).end(padded(LIMIT + MIB))
  const [headers] = await once(stream, 'response')
  assert.equal(headers[':status'], 413)
  assert.equal((await post(server, padded(LIMIT), { query: '?dryRun=All' })).status, 201)
})

attack('documents nested without end are refused', async server => {
  const depth = 200_000
  const json = [`${'['.repeat(depth)}${']'.repeat(depth)}`, `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`, '['.repeat(LIMIT)]
  for (const body of json) {
    assertRefused(await post(server, body), 'JSON', 400)
    assertRefused(await post(server, body, { type: 'application/yaml' }), 'JSON as YAML', 400)
    assertRefused(await post(server, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":${body}}`), 'JSON inside')
  }
  const block = Array.from({ length: 1200 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')
  assertRefused(await post(server, block, { type: 'application/yaml' }), 'YAML', 400)
  for (const type of [
    'application/merge-patch+json',
    'application/json-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
  ])
    for (const body of json) {
      const path = `/api/v1/namespaces/default?fieldManager=x&force=true`
      assertRefused(await ask(server, path, { method: 'PATCH', body, headers: { 'content-type': type } }), type)
    }
})

attack('numbers past all bounds are refused, not rounded', async server => {
  const deployment = (replicas: string) =>
    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"n"},"spec":{"replicas":${replicas},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
  const path = '/apis/apps/v1/namespaces/default/deployments'
  for (const number of [
    '99999999999999999999',
    '2147483648',
    '-1',
    '1e400',
    '1.5',
    '9'.repeat(MIB),
    `1e${'9'.repeat(1000)}`,
    '01',
    '0x10',
    'NaN',
  ])
    assertRefused(await ask(server, path, { method: 'POST', body: deployment(number) }), number.slice(0, 40))
})

attack('keys given twice and keys of prototypes are data, or refused', async server => {
  const twice = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}'
  const strict = await post(server, twice, { query: '?fieldValidation=Strict' })
  assertRefused(strict, 'twice', 400)
  assert.match(strict.json.message, /duplicate field "data\.a"/)
  const unknown =
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p"},"__proto__":{"data":{"polluted":"1"}},"constructor":{"prototype":{"polluted":"1"}}}'
  assertRefused(await post(server, unknown, { query: '?fieldValidation=Strict' }), 'unknown', 400)
  const lenient = await post(server, unknown, { query: '?dryRun=All' })
  assert.equal(lenient.status, 201)
  assert.equal(lenient.text.includes('polluted'), false, lenient.text)

  const data = '{"__proto__":"1","constructor":"2","hasOwnProperty":"3","toString":"4"}'
  const made = await post(server, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"data":${data}}`)
  assert.equal(made.status, 201, made.text)
  const path = `${CONFIG_MAPS}/proto`
  const patch = (type: string, body: string) =>
    ask(server, path, { method: 'PATCH', body, headers: { 'content-type': `application/${type}` } })
  const merged = await patch('merge-patch+json', '{"data":{"__proto__":"5","toString":null},"__proto__":{"polluted":"1"}}')
  assert.ok(merged.text.includes('"__proto__":"5"') && !merged.text.includes('toString') && !merged.text.includes('polluted'), merged.text)
  const pointed = await patch(
    'json-patch+json',
    '[{"op":"replace","path":"/data/__proto__","value":"6"},{"op":"remove","path":"/data/constructor"}]',
  )
  assert.ok(pointed.text.includes('"__proto__":"6"'), pointed.text)
  for (const pointer of ['/__proto__/polluted', '/constructor/prototype/polluted', '/metadata/__proto__/polluted'])
    assertRefused(await patch('json-patch+json', `[{"op":"add","path":"${pointer}","value":"1"}]`), pointer)
  assertRefused(await patch('merge-patch+json', '{"metadata":{"labels":{"__proto__":"x"}}}'), 'a label of that name', 422)
  const fresh = await post(server, configMap('fresh'), { query: '?dryRun=All' })
  assert.deepEqual(
    Object.keys(fresh.json).sort(),
    ['apiVersion', 'data', 'kind', 'metadata'].filter(key => key in fresh.json),
  )
  assert.equal(fresh.text.includes('polluted'), false)
  assert.equal((await ask(server, path, { method: 'DELETE' })).status, 200)
})

attack('bombs of aliases and of gzip are refused before they go off', async server => {
  const bomb = Array.from(
    { length: 12 },
    (_, i) =>
      `l${i}: &l${i} [${Array(12)
        .fill(i === 0 ? 'x' : `*l${i - 1}`)
        .join(',')}]`,
  ).join('\n')
  assertRefused(await post(server, bomb, { type: 'application/yaml' }), 'aliases', 400)
  const maps = Array.from({ length: 24 }, (_, i) => `m${i}: &m${i} {${i === 0 ? 'a: 1' : `a: *m${i - 1}, b: *m${i - 1}`}}`).join('\n')
  assertRefused(
    await post(server, `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n${maps}`, {
      type: 'application/yaml',
      query: '?fieldValidation=Strict',
    }),
    'maps of aliases',
    400,
  )
  assertRefused(await post(server, 'a: &a [*a]', { type: 'application/yaml' }), 'itself', 400)
  assertRefused(await post(server, '!!js/function "x"', { type: 'application/yaml' }), 'tags', 400)
  const gzip = gzipSync(Buffer.alloc(64 * MIB, ' '))
  assertRefused(await post(server, gzip, { headers: { 'content-encoding': 'gzip' } }), 'gzip')
})

attack('bytes that are no text are refused or mended, never stored as they are', async server => {
  const body = Buffer.concat([
    Buffer.from('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bytes"},"data":{"a":"'),
    Buffer.from([0xff, 0xfe, 0xc0, 0x80]),
    Buffer.from('"}}'),
  ])
  const answer = await post(server, body, { query: '?dryRun=All' })
  assert.ok(answer.status === 201 ? answer.json.data.a.includes('\ufffd') : answer.status === 400, answer.text)
  for (const text of ['', '\u0000', '{', '{"a"', '[]', '"x"', 'null', '1', '\ufeff{}', '{}{}', '{"kind":"ConfigMap"}x', 'undefined'])
    assertRefused(await post(server, text), JSON.stringify(text), 400, 422)
  for (const type of [
    'text/plain',
    'application/xml',
    'application/vnd.kubernetes.protobuf',
    '__proto__',
    'application/json;charset=utf-7',
    ';;;',
    '/',
  ])
    assertRefused(await post(server, 'k8s\u0000\u00ff\u00ff\u00ff\u00ff', { type }), type, 400, 415, 422)
})

attack('a wrong token, tried often, is refused each time', async server => {
  const { ca } = server.credentials
  for (let i = 0; i < 50; i++) {
    const headers = { authorization: `Bearer wrong-token-of-somebody-${i}` }
    const stranger = { url: server.url, credentials: { ca } as ServerProcess['credentials'] }
    assert.equal((await ask(stranger, `/readyz?access_token=${TOKEN}`, { headers })).status, 401)
  }
  const good = { headers: { authorization: `Bearer ${TOKEN}` } }
  assert.equal((await ask(server, '/api/v1/namespaces/default/secrets', good)).status, 200)
})

withstands('no request breaks the server, grows it or leaves a secret in its log', attacks)
