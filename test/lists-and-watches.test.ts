// Lists and watches of a whole server: versions of the future, shards in every representation, media types of watches, WebSocket, fairness.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, freshServer, patient, startInProcess, type Target, temporaryDirectory, Watching } from './kit.ts'
import { ACCEPT, openSession, type Representation, watchAlone, watchOver } from './watch-transcripts.ts'

const INITIAL = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

test('a resourceVersion that is never reached is 504 with Retry-After, and in a watch an ERROR event', patient, async t => {
  const server = await freshServer(t)
  const [list, exact, watch] = await Promise.all([
    ask(server, `${CONFIG_MAPS}?resourceVersion=999999`),
    ask(server, `${CONFIG_MAPS}?resourceVersion=999999&resourceVersionMatch=Exact`),
    ask(server, `${CONFIG_MAPS}?${INITIAL}&resourceVersion=999999`),
  ])
  for (const { status, headers, json } of [list, exact]) {
    assert.deepEqual([status, json.reason, headers['retry-after']], [504, 'Timeout', '1'])
    assert.equal(json.details.causes[0].reason, 'ResourceVersionTooLarge')
  }
  assert.equal(watch.status, 200)
  assert.deepEqual([watch.json.type, watch.json.object.code, watch.json.object.reason], ['ERROR', 504, 'Timeout'])
})

test('a failure of a watch is its last event, in every representation and over every protocol', patient, async t => {
  const server = await freshServer(t)
  const session = openSession(t, server)
  const future = `${CONFIG_MAPS}?${INITIAL}&resourceVersion=999999&timeoutSeconds=1`
  const transcripts = await Promise.all([
    ...(Object.keys(ACCEPT) as Representation[]).map(representation => watchOver(session, future, representation)),
    watchAlone(t, server, future),
    watchAlone(t, server, future, { webSocket: true }),
  ])
  for (const transcript of transcripts) assert.deepEqual(await transcript.end(), ['ERROR Timeout'])
})

test('pages go on after a restart, as of the first one', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const first = await startInProcess(t, { dataDir })
  for (const name of ['a', 'b', 'c']) await ask(first, CONFIG_MAPS, { method: 'POST', body: configMap(name) })
  const page = (await ask(first, `${CONFIG_MAPS}?limit=1`)).json
  await ask(first, `${CONFIG_MAPS}/b`, { method: 'DELETE' })
  await first.close()
  const second = await startInProcess(t, { dataDir })
  const rest = (await ask(second, `${CONFIG_MAPS}?continue=${encodeURIComponent(page.metadata.continue)}`)).json
  assert.deepEqual(
    [...page.items, ...rest.items].map(o => o.metadata.name),
    ['a', 'b', 'c'],
  )
  assert.equal(rest.metadata.resourceVersion, page.metadata.resourceVersion)
})

test('a watch of a resource that can only be listed is rejected with a clear error', patient, async t => {
  const server = await freshServer(t)
  const { status, json } = await ask(server, '/api/v1/componentstatuses?watch=true')
  assert.deepEqual([status, json.message], [405, 'watch is not supported on resources of kind "componentstatuses"'])
})

test('watches are JSON or protobuf; YAML is refused with what there is', patient, async t => {
  const server = await freshServer(t)
  const { status, json, text } = await ask(server, `${CONFIG_MAPS}?watch=true`, { headers: { accept: 'application/yaml' } })
  assert.equal(status, 406, text)
  assert.match(json?.message ?? text, /application\/json;stream=watch,\s+application\/vnd\.kubernetes\.protobuf;stream=watch/)
})

test('the watch paths of a namespace, of all and of one object send the same changes', patient, async t => {
  const server = await startInProcess(t)
  const watches = await Promise.all(
    ['namespaces/default/configmaps', 'configmaps', 'namespaces/default/configmaps/a'].map(path =>
      Watching.open(t, server, `/api/v1/watch/${path}?resourceVersion=1&timeoutSeconds=60`),
    ),
  )
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a') })
  for (const watch of watches) {
    const seen = await watch.until(e => e.object.metadata.name === 'a')
    assert.equal(seen.at(-1)!.type, 'ADDED')
  }
})

test('the shards of a list are marked in every representation', patient, async t => {
  const server = await startInProcess(t, { featureGates: 'ShardedListAndWatch=true' })
  for (let i = 0; i < 8; i++) await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(`c${i}`) })
  const halves = [
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
  ]
  const names: string[] = []
  for (const half of halves) {
    const path = `${CONFIG_MAPS}?shardSelector=${encodeURIComponent(half)}`
    const { json } = await ask(server, path)
    assert.deepEqual(json.metadata.shardInfo, { selector: half })
    names.push(...json.items.map((o: any) => o.metadata.name))
    const table = await ask(server, path, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } })
    assert.equal(table.json.rows.length, json.items.length)
    const protobuf = await ask(server, path, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })
    assert.ok(protobuf.text.includes(half))
    const events = await ask(server, `${path}&watch=true&timeoutSeconds=1`)
    // A half may be empty: the uids are random.
    assert.equal(events.text.split('\n').filter(line => line !== '').length, json.items.length)
  }
  const whole = await ask(server, CONFIG_MAPS)
  assert.deepEqual(names.sort(), whole.json.items.map((o: any) => o.metadata.name).sort())
  const { status, json } = await ask(server, `${CONFIG_MAPS}?shardSelector=object`)
  assert.deepEqual(
    [status, json.reason, json.message],
    [500, undefined, 'invalid shard selector: unexpected expression kind 3; expected shardRange() call or || operator'],
  )
})

test('a watch over WebSocket sends each change as a message', patient, async t => {
  const server = await freshServer(t)
  const socket = await openWebSocket(server, `${CONFIG_MAPS}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`)
  t.after(() => socket.destroy())
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('over-websocket', { a: '1' }) })
  let bytes = Buffer.alloc(0)
  while (!bytes.includes('}\n')) bytes = Buffer.concat([bytes, (await once(socket, 'data'))[0]])
  // One text message with a length of two bytes.
  assert.deepEqual([bytes[0], bytes[1]], [0x81, 126])
  const { type, object } = JSON.parse(bytes.subarray(4, 4 + bytes.readUInt16BE(2)).toString())
  assert.deepEqual([type, object.metadata.name], ['ADDED', 'over-websocket'])
  socket.destroy()
})

test('a list requested over WebSocket is answered as a list', patient, async t => {
  const server = await freshServer(t)
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const { status, json } = await ask(server, CONFIG_MAPS, { headers: upgrade })
  assert.deepEqual([status, json.kind], [200, 'ConfigMapList'])
})

test('many requests at once of one user are all answered, and counted while they wait', patient, async t => {
  const tokens = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokens, 'flood-token,flood,1,devs\n')
  const server = await startInProcess(t, { tokenAuthFile: tokens, maxRequestsInflight: 2, maxMutatingRequestsInflight: 1 })
  const nobody = { cert: undefined, key: undefined } as unknown as { cert: string; key: string }
  const headers = { authorization: 'Bearer flood-token' }
  const answers = await Promise.all(Array.from({ length: 60 }, () => ask(server, '/version', { ...nobody, headers })))
  assert.ok(answers.every(a => a.status === 200))
  const { text } = await ask(server, '/metrics')
  assert.match(text, /^apiserver_current_inqueue_requests\{request_kind="mutating"\} 0$/m)
  assert.match(text, /^apiserver_current_inflight_requests\{request_kind="readOnly"\} \d+$/m)
})

function openWebSocket({ url, credentials }: Target, path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    }
    const outgoing = request(new URL(path, url), { ...credentials, headers, agent: false })
    outgoing.on('upgrade', (_, socket) => resolve(socket))
    outgoing.on('response', answer => reject(new Error(`answered with ${answer.statusCode}`)))
    outgoing.on('error', reject)
    outgoing.end()
  })
}
