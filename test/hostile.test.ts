// Clients that mean harm or know no better: after each of them the server still answers, holds what it held, and is no larger.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectHttp2, constants } from 'node:http2'
import { type Socket, connect as tcpConnect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { type Answer, ask, CONFIG_MAPS, configMap, patient, type ServerProcess, startProcess, temporaryDirectory, Watching } from './kit.ts'

const TOKEN = 'token-that-must-stay-unseen'
const PASSWORD = 'password-that-must-stay-unseen'
const MIB = 1024 * 1024
const LIMIT = 3 * MIB
const MEMORY_BOUND = 450 * MIB

const attacks: [name: string, attack: (server: ServerProcess, t: TestContext) => Promise<void>][] = []
function attack(name: string, work: (server: ServerProcess, t: TestContext) => Promise<void>): void {
  attacks.push([name, work])
}

test('no client breaks the server, grows it or reads its secrets in the log', { timeout: 2 * patient.timeout }, async t => {
  const tokens = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokens, `${TOKEN},jane,u1\n`)
  const server = await startProcess(t, { flags: ['--token-auth-file', tokens, '--log-level', 'debug'] })
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'secret' }, stringData: { password: PASSWORD } }
  assert.equal((await ask(server, '/api/v1/namespaces/default/secrets', { method: 'POST', body: secret })).status, 201)
  const held = await contents(server)
  for (const [name, work] of attacks)
    await t.test(name, async inner => {
      await work(server, inner)
      assert.equal((await ask(server, '/readyz')).text, 'ok')
      assert.deepEqual(await contents(server), held, 'something was stored or lost')
      const memory = await residentMemory(server)
      assert.ok(memory < MEMORY_BOUND, `the server holds ${Math.round(memory / MIB)} MiB`)
    })
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
  const log = server.stderr()
  assert.match(log, /"path":"\/readyz"/, 'there is a log to look at')
  for (const hidden of [TOKEN, PASSWORD, Buffer.from(PASSWORD).toString('base64'), 'wrong-token-of-somebody', 'authorization'])
    assert.equal(log.includes(hidden), false, `the log holds ${hidden}`)
  const failures = log.split('\n').filter(line => /"level":"error"/.test(line) || /"status":5/.test(line))
  assert.deepEqual(failures, [], 'client mistakes are not errors of the server')
})

/** Everything a bad request could have left behind. */
async function contents(server: ServerProcess): Promise<string[]> {
  const held: string[] = []
  for (const path of ['/api/v1/configmaps', '/api/v1/secrets', '/api/v1/namespaces', '/apis/apps/v1/deployments'])
    for (const { metadata } of (await ask(server, path)).json.items) held.push(`${path}: ${metadata.name} at ${metadata.resourceVersion}`)
  return held
}

async function residentMemory(server: ServerProcess): Promise<number> {
  const { text } = await ask(server, '/metrics')
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}

/** A TLS connection that speaks HTTP/1.1 by hand. */
async function open({ port, credentials }: ServerProcess, t: TestContext): Promise<TLSSocket> {
  const socket = tlsConnect({ host: '127.0.0.1', port, ...credentials, ALPNProtocols: ['http/1.1'] })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** Sends bytes and returns all that comes back until the server closes. */
async function exchange(server: ServerProcess, t: TestContext, bytes: string | Buffer): Promise<string> {
  const socket = await open(server, t)
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => (text += chunk))
  socket.write(bytes)
  await new Promise(resolve => socket.once('close', resolve))
  return text
}

const lines = (...parts: string[]) => `${[...parts, 'host: localhost', 'connection: close'].join('\r\n')}\r\n\r\n`
const post = (server: ServerProcess, body: unknown, more: { query?: string; type?: string; headers?: Record<string, string> } = {}) =>
  ask(server, `${CONFIG_MAPS}${more.query ?? ''}`, {
    method: 'POST',
    body,
    headers: { 'content-type': more.type ?? 'application/json', ...more.headers },
  })

/** Refused as the client's mistake, with a Status where the request got that far. */
function assertRefused({ status, json, text }: Answer, what: string, ...codes: number[]): void {
  assert.ok(codes.length === 0 ? status >= 400 && status < 500 : codes.includes(status), `${what}: ${status} ${text.slice(0, 300)}`)
  assert.equal(json?.kind, 'Status', `${what}: ${text.slice(0, 300)}`)
}

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

const REFUSED_OR_CUT = /^(HTTP\/1\.1 431 |$)/

attack('headers without measure are refused', async (server, t) => {
  const huge = await exchange(server, t, lines('GET /readyz HTTP/1.1', `x-filler: ${'a'.repeat(200_000)}`))
  // The connection may close before the answer is read, since the rest of the request is not.
  assert.match(huge, REFUSED_OR_CUT)
  const many = Array.from({ length: 20_000 }, (_, i) => `x-${i}: ${i}`)
  assert.match(await exchange(server, t, lines('GET /readyz HTTP/1.1', ...many)), REFUSED_OR_CUT)
  const session = http2(server, t)
  const stream = session.request({ ':path': '/readyz', 'x-filler': 'a'.repeat(200_000) })
  let status = 0
  stream.on('response', headers => (status = headers[':status'] ?? 0))
  stream.on('error', () => {}).resume()
  await new Promise(resolve => stream.once('close', resolve))
  assert.notEqual(status, 200)
})

attack('bodies past 3 MiB are refused, declared or not; one of 3 MiB is read', async (server, t) => {
  const object = JSON.stringify(configMap('large'))
  const padded = (size: number) => object + ' '.repeat(size - object.length)
  const declared = await post(server, padded(LIMIT + 1))
  assertRefused(declared, 'declared', 413)
  assert.equal(declared.json.message, `Request entity is too large: limit is ${LIMIT}`)
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

attack('connections that never finish what they began cost others nothing', async (server, t) => {
  const begun: Socket[] = []
  const never = [
    'GET /readyz HT',
    'GET /readyz HTTP/1.1\r\nhost: x\r\nx-slow: ',
    `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"apiVersion":`,
    `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a`,
    `GET ${CONFIG_MAPS}?watch=true HTTP/1.1\r\nhost: x\r\n\r\n`,
    '',
  ]
  for (let i = 0; i < 48; i++) {
    const socket = await open(server, t)
    socket.write(never[i % never.length]!)
    begun.push(socket)
  }
  for (const opening of ['', '\u0016\u0003\u0001', 'GET / HTTP/1.1\r\n\r\n', '\u0000'.repeat(1000)])
    for (let i = 0; i < 8; i++) {
      const socket = tcpConnect({ host: '127.0.0.1', port: server.port }).on('error', () => {})
      await once(socket, 'connect')
      socket.write(opening)
      begun.push(socket)
    }
  for (let i = 0; i < 20; i++) assert.equal((await ask(server, CONFIG_MAPS)).status, 200)
  for (const socket of begun) socket.destroy()
})

attack('a request cut in the middle changes nothing', async (server, t) => {
  const body = JSON.stringify(configMap('cut', { a: '1' }))
  const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  for (let length = 0; length < body.length; length += 7) {
    const socket = await open(server, t)
    socket.write(head + body.slice(0, length))
    if (length % 2 === 0) socket.end()
    else socket.destroy()
    await new Promise(resolve => (socket.closed ? resolve(undefined) : socket.resume().once('close', resolve)))
  }
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

attack('methods nobody knows are refused', async (server, t) => {
  for (const method of ['BREW', 'get', 'G E T', 'PROPFIND', 'TRACE', 'OPTIONS', 'LOCK', 'MKCOL', 'QUERY', 'A'.repeat(5000)]) {
    const answer = await exchange(server, t, lines(`${method} ${CONFIG_MAPS} HTTP/1.1`))
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, `${method.slice(0, 20)}: ${answer.slice(0, 200)}`)
  }
  const tunnel = await exchange(server, t, 'CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere:443\r\n\r\n')
  assert.doesNotMatch(tunnel, /^HTTP\/1\.1 2/)
  const upgrade = await exchange(server, t, `GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n`)
  assert.doesNotMatch(upgrade, /^HTTP\/1\.1 101/)
})

attack('requests whose end can be read in two ways are refused', async (server, t) => {
  const smuggled = `GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n`
  const start = `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`
  const both = await exchange(server, t, `${start}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`)
  const two = await exchange(server, t, `${start}content-length: 4\r\ncontent-length: ${4 + smuggled.length}\r\n\r\n0000${smuggled}`)
  const odd = await exchange(server, t, `${start}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`)
  const negative = await exchange(server, t, `${start}content-length: -1\r\n\r\n${smuggled}`)
  const bare = await exchange(server, t, `GET /readyz HTTP/1.1\nhost: x\nx: \u0000\n\n${smuggled}`)
  for (const answer of [both, two, odd, negative, bare]) {
    assert.match(answer, /^HTTP\/1\.1 400 /, answer.slice(0, 200))
    assert.doesNotMatch(answer, /# TYPE/)
  }
})

attack('requests sent all at once are answered in their order', async (server, t) => {
  const names = Array.from({ length: 50 }, (_, i) => `none-${i}`)
  const requests = names.map(name => `GET ${CONFIG_MAPS}/${name} HTTP/1.1\r\nhost: x\r\n\r\n`).join('')
  const answer = await exchange(server, t, requests + lines('GET /readyz HTTP/1.1'))
  assert.deepEqual(
    [...answer.matchAll(/configmaps \\"(none-\d+)\\" not found/g)].map(([, name]) => name),
    names,
  )
})

attack('streams opened and reset without end wear nobody out', async (server, t) => {
  const session = http2(server, t)
  await once(session, 'remoteSettings')
  for (let i = 0; i < 3000 && !session.closed && !session.destroyed; i++) {
    const stream = session.request({ ':path': `${CONFIG_MAPS}?watch=true` })
    stream.on('error', () => {})
    stream.close(constants.NGHTTP2_CANCEL)
    if (i % 100 === 99) await new Promise(resolve => setImmediate(resolve))
  }
  session.destroy()
  const garbage = await open(server, t)
  garbage.end('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000')
  const raw = tlsConnect({ host: '127.0.0.1', port: server.port, ...server.credentials, ALPNProtocols: ['h2'] }).on('error', () => {})
  await once(raw, 'secureConnect')
  raw.resume().end(Buffer.alloc(100_000, 0xff))
  await once(raw, 'close')
})

attack('a watcher that reads nothing does not hold what it was sent, and others miss nothing', async (server, t) => {
  const { json } = await ask(server, CONFIG_MAPS)
  const watch = `${CONFIG_MAPS}?watch=true&resourceVersion=${json.metadata.resourceVersion}`
  const sleepers = await Promise.all(Array.from({ length: 10 }, () => open(server, t)))
  for (const socket of sleepers) socket.pause().write(`GET ${watch} HTTP/1.1\r\nhost: x\r\n\r\n`)
  const awake = await Watching.open(t, server, watch)
  const before = await residentMemory(server)
  const rounds = 80
  const filler = 'x'.repeat(MIB / 2)
  for (let i = 0; i <= rounds; i++) {
    const body = configMap('large', { filler, i: String(i) })
    const answer = i === 0 ? await post(server, body) : await ask(server, `${CONFIG_MAPS}/large`, { method: 'PUT', body })
    assert.ok(answer.status < 300, answer.text.slice(0, 300))
  }
  const seen = await awake.until(({ object }) => object.data.i === String(rounds))
  assert.deepEqual(
    seen.map(({ object }) => Number(object.data.i)),
    seen.map((_, i) => i),
  )
  // Without a bound, ten times forty MiB would now wait for them.
  const grown = (await residentMemory(server)) - before
  assert.ok(grown < 250 * MIB, `ten sleepers cost ${Math.round(grown / MIB)} MiB`)
  for (const socket of sleepers) socket.destroy()
  assert.equal((await ask(server, `${CONFIG_MAPS}/large`, { method: 'DELETE' })).status, 200)
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

function http2({ url, credentials }: ServerProcess, t: TestContext) {
  const session = connectHttp2(url, credentials)
  session.on('error', () => {})
  t.after(() => session.destroy())
  return session
}
