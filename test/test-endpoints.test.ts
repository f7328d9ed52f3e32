// The state of a server over HTTP, as tests in other languages use it, and the commands for it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FRAME, jsonFrame, MAGIC } from '../src/storage/snapshot/format.ts'
import { anonymous, ask, CONFIG_MAPS, configMap, freshServer, keelson, patient, serveHere, targetOf, Watching } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'

const V1 = '/keelson/v1'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'

const start = (t: Parameters<typeof freshServer>[0]) => freshServer(t, { testEndpoints: true })
type Server = Awaited<ReturnType<typeof start>>

const post = (server: Server, path: string, body?: unknown) => ask(server, `${V1}/${path}`, { method: 'POST', body })
const names = async (server: Server) => (await ask(server, CONFIG_MAPS)).json.items.map(({ metadata }: any) => metadata.name).sort()

test('a snapshot is kept, restored and deleted; watches receive the difference', patient, async t => {
  const server = await start(t)
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('kept', { a: '1' }) })
  const made = await post(server, 'snapshots', { name: 'before' })
  assert.equal(made.status, 201)
  assert.equal(made.json.name, 'before')
  assert.ok(made.json.objects > 0 && made.json.bytes > 0)
  assert.deepEqual((await ask(server, `${V1}/snapshots`)).json, { snapshots: [made.json] })

  const { json: list } = await ask(server, CONFIG_MAPS)
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('added') })
  await ask(server, `${CONFIG_MAPS}/kept`, { method: 'DELETE' })
  const watch = await Watching.open(t, server, `${CONFIG_MAPS}?watch=1&resourceVersion=${list.metadata.resourceVersion}`)
  assert.equal((await post(server, 'snapshots/before/restore')).status, 200)
  const events = await watch.until(({ type, object }) => type === 'ADDED' && object.metadata.name === 'kept')
  assert.deepEqual(
    events.map(({ type, object }) => `${type} ${object.metadata.name}`),
    ['ADDED added', 'DELETED kept', 'DELETED added', 'ADDED kept'],
  )
  assert.deepEqual((await ask(server, `${CONFIG_MAPS}/kept`)).json.data, { a: '1' })

  assert.equal((await ask(server, `${V1}/snapshots/before`, { method: 'DELETE' })).status, 200)
  const gone = await post(server, 'snapshots/before/restore')
  assert.deepEqual([gone.status, gone.json.message], [404, 'there is no snapshot "before"'])
})

test('a snapshot is a file that another server restores; a damaged one changes nothing', patient, async t => {
  const [server, other] = [await start(t), await start(t)]
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('from-elsewhere') })
  await post(server, 'snapshots', { name: 'a' })
  const file = Buffer.from(await (await server.fetch(`${V1}/snapshots/a/file`)).arrayBuffer())
  const put = (body: Uint8Array) =>
    ask(other, `${V1}/snapshots/a/file`, { method: 'PUT', body, headers: { 'content-type': 'application/octet-stream' } })
  const header = { revision: 1, time: '2026-01-01T00:00:00Z', writtenBy: 'keelson 9.9.9', cluster: '', groupDomain: '', records: 0 }
  const later = Buffer.concat([MAGIC, jsonFrame(FRAME.header, { ...header, format: 2 })])
  await ask(other, CONFIG_MAPS, { method: 'POST', body: configMap('here') })
  const before = (await ask(other, `${CONFIG_MAPS}/here`)).json
  const damaged = Buffer.from(file)
  damaged[damaged.length >> 1]! ^= 1
  for (const [body, message] of [
    [damaged, /^the file is damaged/],
    [file.subarray(0, -10), /^the file is (cut short|damaged)/],
    [Buffer.from('something'), /^the file is not a snapshot of Keelson/],
    [later, /^the file has format 2, this release reads up to 1/],
  ] as const) {
    const refused = await put(body)
    assert.equal(refused.status, 400)
    assert.match(refused.json.message, message)
  }
  assert.deepEqual((await ask(other, `${V1}/snapshots`)).json, { snapshots: [] })
  assert.equal((await post(other, 'snapshots/a/restore')).status, 404)
  assert.deepEqual((await ask(other, `${CONFIG_MAPS}/here`)).json, before)
  assert.equal((await put(file)).status, 201)
  assert.equal((await post(other, 'snapshots/a/restore')).status, 200)
  assert.ok((await names(other)).includes('from-elsewhere'))
})

test('reset restores the state after the start, clears faults and lets time go on', patient, async t => {
  const server = await start(t)
  const before = await names(server)
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a') })
  await post(server, 'faults', { verb: 'create', resource: 'configmaps', status: 503 })
  await post(server, 'clock', { frozen: true })
  assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('b') })).status, 503)
  assert.equal((await post(server, 'reset')).status, 200)
  assert.deepEqual(await names(server), before)
  assert.deepEqual((await ask(server, `${V1}/faults`)).json.faults, [])
  assert.equal((await ask(server, `${V1}/clock`)).json.frozen, false)
  assert.deepEqual((await ask(server, `${V1}/changes`)).json, { changes: [], remaining: 0 })
  assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('b') })).status, 201)
})

test('the clock is read, frozen, advanced and set', patient, async t => {
  const server = await start(t)
  const frozen = (await post(server, 'clock', { frozen: true })).json
  assert.deepEqual((await ask(server, `${V1}/clock`)).json, frozen)
  const ttl = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'hourly' } }
  const spec = {
    schedule: '0 * * * *',
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } } } },
  }
  assert.equal((await ask(server, '/apis/batch/v1/namespaces/default/cronjobs', { method: 'POST', body: { ...ttl, spec } })).status, 201)
  const later = (await post(server, 'clock', { advance: '2h' })).json
  assert.equal(Date.parse(later.time) - Date.parse(frozen.time), 2 * 3_600_000)
  await ask(server, `${V1}/settled`)
  assert.equal((await ask(server, '/apis/batch/v1/namespaces/default/jobs')).json.items.length, 2)
  const set = new Date(Date.parse(later.time) + 60_000).toISOString()
  assert.deepEqual((await post(server, 'clock', { set })).json, { time: set, frozen: true })
  assert.equal((await post(server, 'clock', { frozen: false })).json.frozen, false)
  for (const [body, message] of [
    [{ advance: '-1h' }, /^advance must be a duration such as "24h"/],
    [{ advance: 'soon' }, /^advance must be a duration such as "24h"/],
    [{ set: '2001-01-01T00:00:00Z' }, /^set must not be before the server's time, .*: time cannot go back/],
    [{ set: 'tomorrow' }, /^set must be a time in RFC 3339/],
    [{ frozen: 1 }, /^frozen must be true or false/],
    [{ advance: '1h', set }, /exclude each other/],
    [{ forward: '1h' }, /^unknown field "forward"; there are: frozen, advance, set/],
    [[], /^the body must be a JSON object/],
  ] as const) {
    const refused = await post(server, 'clock', body)
    assert.equal(refused.status, 400, JSON.stringify(body))
    assert.match(refused.json.message, message)
  }
})

test('settled waits for controllers, and changes say what they did', patient, async t => {
  const server = await start(t)
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  const web = { metadata: { name: 'web' }, spec: { replicas: 2, selector: { matchLabels: labels }, template } }
  assert.equal((await ask(server, DEPLOYMENTS, { method: 'POST', body: web })).status, 201)
  assert.deepEqual((await ask(server, `${V1}/settled`)).json, { settled: true })
  const { changes } = (await ask(server, `${V1}/changes`)).json
  const added = changes.filter(({ type }: any) => type === 'added').map(({ kind }: any) => kind)
  for (const kind of ['Deployment', 'ReplicaSet', 'Pod']) assert.ok(added.includes(kind), kind)
  const { revision } = changes[0]
  const rest = (await ask(server, `${V1}/changes?after=${revision}&limit=1`)).json
  assert.deepEqual([rest.changes[0].revision, rest.remaining], [changes[1].revision, changes.length - 2])
  assert.equal((await ask(server, `${V1}/changes?limit=x`)).json.message, 'limit must be a whole number between 0 and 10000')
})

test('administrators alone may use the endpoints, and without the option there are none', patient, async t => {
  const server = await start(t)
  const jane = targetOf(server.kubeconfigFor('jane', ['devs']))
  for (const [method, path] of [
    ['POST', 'reset'],
    ['GET', 'snapshots'],
    ['POST', 'snapshots'],
    ['POST', 'snapshots/a/restore'],
    ['GET', 'clock'],
    ['POST', 'clock'],
    ['GET', 'changes'],
    ['GET', 'settled'],
    ['PUT', 'faults'],
    ['GET', 'openapi.json'],
  ] as const) {
    assert.equal((await ask(jane, `${V1}/${path}`, { method })).status, 403, path)
    assert.ok([401, 403].includes((await ask(server, `${V1}/${path}`, { method, ...anonymous })).status), path)
  }
  assert.equal((await ask(server, `${V1}/reset`)).status, 405)
  assert.equal((await ask(server, `${V1}/snapshots/a/b`)).status, 404)
  const plain = await freshServer(t)
  for (const path of ['reset', 'snapshots', 'clock', 'changes', 'settled', 'faults', 'access-usage'])
    assert.equal((await ask(plain, `${V1}/${path}`)).status, 404, path)
})

test('requests are those since the start or the last reset, whatever the clock does in between', patient, async t => {
  const server = await start(t)
  const seen = async (query = '') => {
    const { requests } = (await ask(server, `${V1}/requests${query}`)).json
    return requests.map(({ verb, resource, status }: any) => `${verb} ${resource?.name || resource?.resource} ${status}`)
  }
  const sent = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a'), headers: { 'user-agent': 'mine/1' } })
  assert.equal(sent.status, 201)
  await ask(server, `${CONFIG_MAPS}/none`)
  assert.deepEqual(await seen(), ['create configmaps 201', 'get none 404'])
  await post(server, 'clock', { advance: '24h' })
  await post(server, 'clock', { frozen: true })
  await ask(server, `${CONFIG_MAPS}/a`)
  assert.deepEqual(await seen(), ['create configmaps 201', 'get none 404', 'get a 200'])
  assert.deepEqual(await seen('?userAgent=mine'), ['create configmaps 201'])
  const [{ number, auditID }] = (await ask(server, `${V1}/requests?verb=create`)).json.requests
  const { request } = (await ask(server, `${V1}/requests/bodies?number=${number}&auditID=${auditID}`)).json
  assert.equal(JSON.parse(request.text).metadata.name, 'a')
  await post(server, 'reset')
  assert.deepEqual(await seen(), [])
  await ask(server, `${CONFIG_MAPS}/b`)
  assert.deepEqual(await seen(), ['get b 404'])
  await ask(server, `${V1}/changes`, { method: 'DELETE' })
  assert.deepEqual(await seen(), [])
})

test('the OpenAPI document has every endpoint below /keelson/v1 with its methods, and no other', patient, async t => {
  const server = await freshServer(t, { testEndpoints: true, workspaces: true })
  const { paths, components } = (await ask(server, `${V1}/openapi.json`)).json
  for (const known of ['requests', 'watches', 'access', 'doctor', 'store/snapshot', 'clock', 'workspaces/{name}'])
    assert.ok(paths[`${V1}/${known}`], known)
  await post(server, 'snapshots', { name: 'a' })
  await post(server, 'workspaces', { name: 'a' })
  const { json: fault } = await post(server, 'faults', { verb: 'create', status: 503 })
  for (const [path, described] of Object.entries<any>(paths)) {
    const at = path
      .replace('{name}', 'a')
      .replace('{id}', fault.id)
      .replace(/access$/, 'access?verb=get&path=/')
    const named = ['get', 'post', 'put', 'delete', 'patch'].filter(method => method in described)
    // The server names its endpoints itself, also those that nobody has described.
    assert.ok(named.length > 0, `${path} is not described`)
    if (named.includes('get')) assert.equal((await ask(server, at)).status, 200, path)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'])
      if (!named.includes(method.toLowerCase())) assert.equal((await ask(server, at, { method })).status, 405, `${method} ${path}`)
  }
  for (const [, name] of JSON.stringify(paths).matchAll(/#\/components\/schemas\/(\w+)/g)) assert.ok(components.schemas[name!], name)
})

test('commands save, restore and reset a server, and set its clock and faults', patient, async t => {
  const server = await serveHere(t, { flags: ['--test-endpoints', '--store=memory'] })
  const at = ['--kubeconfig', server.kubeconfig]
  const toldBy = async (command: typeof keelsonHere, args: readonly string[]) => {
    const { code, stdout, stderr } = await command(...args, ...at)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const told = (...args: string[]) => toldBy(keelsonHere, args)
  /** Each command runs once in a process of its own. */
  const printed = (...args: string[]) => toldBy(keelson, args)
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a') })
  assert.match(await told('snapshot', 'create', 'one'), /^one: \d+ objects at revision \d+\n$/)
  assert.match(await printed('snapshot', 'list'), /^NAME +REVISION +OBJECTS +SIZE +CREATED\none /)
  await ask(server, `${CONFIG_MAPS}/a`, { method: 'DELETE' })
  assert.match(await told('snapshot', 'revert', 'one'), /^the server is as it was at one: \d+ objects\n$/)
  assert.equal((await ask(server, `${CONFIG_MAPS}/a`)).status, 200)
  assert.equal(await told('snapshot', 'delete', 'one'), 'deleted one\n')
  assert.match(await told('clock', 'freeze'), /^\S+Z {2}frozen\n$/)
  assert.match(await told('clock', 'advance', '24h'), /frozen/)
  const later = new Date(Date.now() + 72 * 3_600_000).toISOString()
  assert.equal(await told('clock', 'set', later), `${later}  frozen\n`)
  assert.match((await keelsonHere('clock', 'set', '2026-01-01T00:00:00Z', ...at)).stderr, /time cannot go back/)
  assert.match(await told('clock', 'resume'), /^\S+Z\n$/)
  assert.match(await printed('requests', 'verb=delete'), /^TIME +USER +VERB +PATH +STATUS\n\S+ +\S+ +delete +\S+\/configmaps\/a +200\n$/)
  assert.equal(JSON.parse(await told('requests', '--output=json', 'verb=create')).resource.resource, 'configmaps')
  assert.match((await keelsonHere('requests', 'sort=time', ...at)).stderr, /requests are filtered by user, userAgent/)
  assert.equal((await keelsonHere('requests', 'all', ...at)).code, 2)
  const [, added = ''] = /^added (\S+)\n$/.exec(await told('faults', 'add', '{"verb": "delete", "status": 503}')) ?? []
  assert.equal(await told('faults', 'remove', added), `removed ${added}\n`)
  assert.equal(await told('faults'), 'there are no faults\n')
  assert.match((await keelsonHere('faults', 'remove', added, ...at)).stderr, /there is no fault/)
  assert.match(await told('faults', 'add', '{"verb": "create", "status": 503}'), /^added \S+\n$/)
  assert.match(await printed('faults'), /^ID +MATCHED +STRUCK +FAULT\n/)
  assert.match(await printed('reset'), /as it was after its start/)
  assert.equal((await ask(server, `${CONFIG_MAPS}/a`)).status, 404)
  assert.equal(await told('faults'), 'there are no faults\n')
  const wrong = await keelsonHere('clock', 'advance', 'soon', ...at)
  assert.deepEqual([wrong.code, /advance must be a duration/.test(wrong.stderr)], [1, true])
  assert.equal((await keelsonHere('clock', 'back', ...at)).code, 2)
})

test('keelson run has the endpoints, and its commands find the server by themselves', patient, async () => {
  const { code, stdout, stderr } = await keelson('run', '--', process.execPath, 'bin/keelson.js', 'clock')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^\d{4}-/)
  const off = await keelson('run', '--test-endpoints=false', '--', process.execPath, 'bin/keelson.js', 'clock')
  assert.match(off.stderr, /this server was started without --test-endpoints/)
})

test('they are refused on etcd and with several processes', patient, async () => {
  const onEtcd = await keelsonHere('serve', '--test-endpoints', '--store=etcd', '--etcd-servers=http://127.0.0.1:1')
  assert.match(onEtcd.stderr, /--test-endpoints could reset an etcd that others use/)
  const several = await keelson('serve', '--test-endpoints', '--processes=2')
  assert.match(several.stderr, /leave out --processes or --test-endpoints/)
})
