// The library for tests: manifests, states, users, records, time and faults.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { inspect } from 'node:util'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { type RunningServer, type StartOptions, start } from '../src/index.ts'
import { eventually, patient, temporaryDirectory } from './kit.ts'
import { WIDGETS } from './samples.ts'

async function serverFor(t: TestContext, options: StartOptions = {}): Promise<RunningServer> {
  const server = await start({ controllers: ['none'], ...options })
  t.after(() => server.close())
  return server
}

const configMap = (name: string, data: Record<string, string> = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
const deployment = (name: string, replicas = 2) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'example.com/app' }] } },
  },
})
const widget = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec: { size: 1 } })
const MAPS = '/api/v1/namespaces/default/configmaps'

const namesAt = async (server: RunningServer, path: string): Promise<string[]> => {
  const { items = [] } = (await (await server.fetch(path)).json()) as { items?: { metadata: { name: string } }[] }
  return items.map(({ metadata }) => metadata.name)
}
const post = (server: Pick<RunningServer, 'fetch'>, path: string, body: object) =>
  server.fetch(path, { method: 'POST', body: JSON.stringify(body) })

test('apply takes objects, files and folders, and custom kinds in any order', patient, async t => {
  const server = await serverFor(t)
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'a.yaml'), `${JSON.stringify(widget('from-folder'))}\n---\n# nothing\n---\n`)
  writeFileSync(join(folder, 'notes.txt'), 'not a manifest')
  const applied = await server.apply(widget('one'), folder, WIDGETS, configMap('plain'))
  assert.deepEqual(
    applied.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
    ['CustomResourceDefinition/widgets.example.com', 'Widget/one', 'Widget/from-folder', 'ConfigMap/plain'],
  )
  await server.apply(configMap('plain', { changed: 'yes' }))
  const { data } = (await (await server.fetch(`${MAPS}/plain`)).json()) as { data: object }
  assert.deepEqual(data, { changed: 'yes' })
  await assert.rejects(server.apply(configMap('Not valid')), /^ManifestError: an object: ConfigMap Not valid: .*is invalid/)
  await assert.rejects(server.apply({ kind: 'ConfigMap' }), /every object needs an apiVersion and a kind/)
  await assert.rejects(server.apply('/no/such/file.yaml'), /\/no\/such\/file\.yaml: ENOENT/)
})

for (const options of [{ controllers: ['none'] }, { controllers: ['*'], nodes: 1 }, { controllers: ['*'], nodes: 0, onDisk: true }])
  test(`reset goes back to the start: ${JSON.stringify(options)}`, patient, async t => {
    const { onDisk, ...rest } = { onDisk: false, ...options }
    const server = await serverFor(t, onDisk ? { ...rest, dataDir: temporaryDirectory(t) } : rest)
    const everything = async () => {
      await server.settled()
      const paths = ['/api/v1/pods', '/api/v1/services', '/apis/apps/v1/deployments', '/apis/apps/v1/replicasets', '/api/v1/namespaces']
      const more = ['/apis/networking.k8s.io/v1/ipaddresses', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', '/api/v1/nodes']
      return Promise.all([...paths, ...more, '/api/v1/configmaps', '/api/v1/serviceaccounts'].map(path => namesAt(server, path)))
    }
    const before = await everything()
    for (let round = 0; round < 3; round++) {
      const service = {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web' },
        spec: { clusterIP: '10.0.0.77', ports: [{ port: 80 }] },
      }
      const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }
      await server.apply(team, service, WIDGETS, widget('one'), deployment('web'), configMap('a'))
      const kept = { ...configMap('kept'), metadata: { name: 'kept', finalizers: ['example.com/never'] } }
      await server.apply(kept)
      await server.fetch(`${MAPS}/kept`, { method: 'DELETE' })
      if (options.nodes === 1) await server.waitFor(deployment('web'), 'Available')
      await server.reset()
      assert.deepEqual(await everything(), before)
      assert.equal((await server.fetch('/apis/example.com/v1/widgets')).status, 404)
      assert.deepEqual(
        server.requests().filter(({ verb }) => verb !== 'list' && verb !== 'get'),
        [],
      )
    }
  })

test('a snapshot can be restored repeatedly, and watches see it', patient, async t => {
  const server = await serverFor(t)
  await server.apply(WIDGETS, widget('one'), configMap('a', { v: '1' }), configMap('b'))
  const snapshot = await server.snapshot()
  assert.ok(snapshot.objects > 4)
  const { metadata } = (await (await server.fetch(MAPS)).json()) as { metadata: { resourceVersion: string } }
  for (const value of ['2', '3']) {
    await server.apply(configMap('a', { v: value }), configMap('c'))
    await server.fetch(`${MAPS}/b`, { method: 'DELETE' })
    await server.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com', { method: 'DELETE' })
    await server.restore(snapshot)
    assert.deepEqual(await namesAt(server, MAPS), ['a', 'b'])
    await eventually('the custom kind', async () =>
      (await namesAt(server, '/apis/example.com/v1/widgets'))[0] === 'one' ? true : undefined,
    )
  }
  const watch = await server.fetch(`${MAPS}?watch=true&resourceVersion=${metadata.resourceVersion}&timeoutSeconds=1`)
  const events = (await watch.text())
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.deepEqual(
    events.slice(0, 5).map(({ type, object }) => `${type} ${object.metadata.name} ${object.data?.v ?? ''}`.trim()),
    ['MODIFIED a 2', 'ADDED c', 'DELETED b', 'DELETED c', 'ADDED b'],
  )
  await assert.rejects(server.restore({ objects: 1, save: async () => {} }), /restore takes what snapshot has returned/)
})

test('clients for other users have their identity and permissions', patient, async t => {
  const server = await serverFor(t)
  const jane = server.as('jane', ['devs'])
  assert.equal((await jane.fetch(MAPS)).status, 403)
  const rights = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'devs' } }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
  await server.apply({ ...rights, roleRef, subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'devs' }] })
  assert.equal((await jane.fetch(MAPS)).status, 200)
  const config = new KubeConfig()
  config.loadFromString(server.kubeconfigFor('joe', ['devs']))
  await config.makeApiClient(CoreV1Api).createNamespacedConfigMap({ namespace: 'default', body: configMap('by-joe') })
  const [made] = server.requests().filter(({ verb }) => verb === 'create')
  assert.deepEqual([made?.user, made?.status, made?.resource, made?.namespace], ['joe', 201, 'configmaps', 'default'])
  assert.equal(JSON.parse(made?.body ?? '').metadata.name, 'by-joe')
})

test('waitFor names its condition and the last state', patient, async t => {
  const server = await serverFor(t, { controllers: ['*'], nodes: 1 })
  const waiting = server.waitFor(deployment('web'), 'Available')
  await server.apply(deployment('web'))
  assert.equal((await waiting).status.availableReplicas, 2)
  assert.equal((await server.waitFor(deployment('web'), ({ status }) => status.replicas === 2)).metadata.name, 'web')
  await assert.rejects(
    server.waitFor(deployment('web'), 'Available=False', { timeoutMs: 50 }),
    /^Error: Deployment default\/web was not Available=False within 50 ms; its conditions are .*Available=True \(MinimumReplicasAvailable\)/,
  )
  await assert.rejects(
    server.waitFor(configMap('none'), 'exists', { timeoutMs: 50 }),
    /ConfigMap default\/none did not exist within 50 ms; it is not there/,
  )
  const gone = server.waitFor(deployment('web'), 'deleted')
  await server.fetch('/apis/apps/v1/namespaces/default/deployments/web', { method: 'DELETE' })
  assert.equal(await gone, undefined)
})

test('changes are recorded with the previous objects', patient, async t => {
  const server = await serverFor(t)
  await server.apply(configMap('a', { v: '1' }))
  await server.apply(configMap('a', { v: '2' }))
  await server.fetch(`${MAPS}/a`, { method: 'DELETE' })
  const seen = server.changes().filter(({ kind, name }) => kind === 'ConfigMap' && name === 'a')
  assert.deepEqual(
    seen.map(({ type, object, previous }) => [type, object.data.v, previous?.data.v]),
    [
      ['added', '1', undefined],
      ['updated', '2', '1'],
      ['deleted', '2', '2'],
    ],
  )
})

test('time can be put forward: jobs, cron jobs, nodes, tokens and events go with it', patient, async t => {
  const server = await serverFor(t, { controllers: ['*'], nodes: 1 })
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example.com/app' }] } }
  const cron = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'hourly' } }
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'once' }, spec: { ttlSecondsAfterFinished: 600, template } }
  await server.apply({ ...cron, spec: { schedule: '0 * * * *', jobTemplate: { spec: { template } } } }, job)
  await server.waitFor(job, 'Complete')
  const asked = await post(server, '/api/v1/namespaces/default/serviceaccounts/default/token', { spec: { expirationSeconds: 3600 } })
  const { status } = (await asked.json()) as { status: { token: string } }
  const review = async () => {
    const answer = await post(server, '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: status.token } })
    return ((await answer.json()) as { status: { authenticated?: boolean } }).status.authenticated ?? false
  }
  assert.equal(await review(), true)
  const before = server.clock.now().getTime()
  await server.clock.advance('2h')
  assert.ok(server.clock.now().getTime() - before >= 7_200_000)
  assert.equal(await server.waitFor(job, 'deleted'), undefined)
  assert.equal((await namesAt(server, '/apis/batch/v1/jobs')).length, 2)
  assert.equal(await review(), false)
  const { items } = (await (await server.fetch('/api/v1/nodes')).json()) as { items: { status: { conditions: any[] } }[] }
  assert.equal(items[0]!.status.conditions.find(({ type }) => type === 'Ready').status, 'True')
})

test('certificates are renewed when their time comes', patient, async t => {
  const server = await serverFor(t)
  const port = Number(new URL(server.url).port)
  const lasts = () =>
    new Promise<number>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
        resolve(Date.parse(socket.getPeerCertificate().valid_to))
        socket.destroy()
      })
      socket.on('error', reject)
    })
  const first = await lasts()
  await server.clock.advance('8000h')
  await eventually('another certificate', async () => ((await lasts()) > first ? true : undefined))
})

test('faults apply to the matching requests, as often as configured, and are reported', patient, async t => {
  const server = await serverFor(t)
  await server.apply(configMap('a', { v: '1' }))
  const put = () => server.fetch(`${MAPS}/a`, { method: 'PUT', body: JSON.stringify(configMap('a', { v: '2' })) })
  server.faults.add({ verb: 'update', resource: 'configmaps', status: 409, times: 1 })
  server.faults.add({ verb: 'list', resource: 'secrets', status: 429, retryAfterSeconds: 3 })
  const refused = await put()
  const { reason, message } = (await refused.json()) as { reason: string; message: string }
  assert.deepEqual([refused.status, reason], [409, 'Conflict'])
  assert.match(message, /^Operation cannot be fulfilled on configmaps "a": the object has been modified/)
  assert.equal((await put()).status, 200)
  const busy = await server.fetch('/api/v1/secrets')
  assert.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '3'])
  assert.deepEqual(
    server.faults.report().map(({ seen, hits }) => [seen, hits]),
    [
      [2, 1],
      [1, 1],
    ],
  )
  server.faults.clear()
  assert.equal((await server.fetch('/api/v1/secrets')).status, 200)

  server.faults.add({ verb: 'create', loseAnswer: true, times: 1 })
  await assert.rejects(post(server, MAPS, configMap('lost')))
  assert.equal((await server.fetch(`${MAPS}/lost`)).status, 200)
  server.faults.add({ verb: 'create', disconnect: true, times: 1 })
  await assert.rejects(post(server, MAPS, configMap('never')))
  assert.equal((await server.fetch(`${MAPS}/never`)).status, 404)

  server.faults.clear()
  server.faults.add({ verb: 'get', name: 'a', staleBy: 1000 })
  await server.apply(configMap('a', { v: '9' }))
  const old = await server.fetch(`${MAPS}/a`)
  assert.ok(old.status === 404 || ((await old.json()) as any).data.v !== '9')
  server.faults.clear()
  server.faults.add({ bytesPerSecond: 100_000, resource: 'configmaps' })
  assert.equal(((await (await server.fetch(`${MAPS}/a`)).json()) as any).data.v, '9')
  assert.throws(() => server.faults.add({ resource: 'pods' }), /a fault needs an effect/)
  assert.throws(() => server.faults.add({ verbs: 'get', status: 500 } as object), /a fault has no "verbs"/)
  await server.reset()
  assert.deepEqual(server.faults.report(), [])
})

test('watches lose events, get them late, and end, as faults say', patient, async t => {
  const server = await serverFor(t)
  const { metadata } = (await (await server.fetch(MAPS)).json()) as { metadata: { resourceVersion: string } }
  for (const name of ['a', 'b', 'c']) await server.apply(configMap(name))
  const watch = async () => {
    const answer = await server.fetch(`${MAPS}?watch=true&resourceVersion=${metadata.resourceVersion}&timeoutSeconds=1`)
    const lines = (await answer.text()).trim().split('\n')
    return lines.map(line => JSON.parse(line)).map(({ type, object }) => `${type} ${object.metadata.name ?? object.code}`)
  }
  assert.deepEqual(await watch(), ['ADDED a', 'ADDED b', 'ADDED c'])
  server.faults.add({ verb: 'watch', events: 'drop', skip: 1, times: 1 })
  assert.deepEqual(await watch(), ['ADDED a', 'ADDED c'])
  server.faults.clear()
  server.faults.add({ verb: 'watch', events: { delayMs: 30 } })
  assert.deepEqual(await watch(), ['ADDED a', 'ADDED b', 'ADDED c'])
  server.faults.clear()
  server.faults.add({ verb: 'watch', events: 'gone', skip: 2 })
  assert.deepEqual(await watch(), ['ADDED a', 'ADDED b', 'ERROR 410'])
})

test('the same seed selects the same requests', patient, async t => {
  const server = await serverFor(t)
  const round = async () => {
    server.faults.clear()
    server.faults.seed(7)
    server.faults.add({ verb: 'list', resource: 'configmaps', status: 500, probability: 0.5 })
    const codes: number[] = []
    for (let i = 0; i < 20; i++) codes.push((await server.fetch(MAPS)).status)
    return codes
  }
  const first = await round()
  assert.deepEqual(await round(), first)
  assert.deepEqual([...new Set(first)].sort(), [200, 500])
})

test('objects and lists can be read as they were', patient, async t => {
  const server = await serverFor(t)
  const revisions: string[] = []
  for (const v of ['1', '2', '3']) {
    const [{ metadata }] = (await server.apply(configMap('a', { v }))) as [any]
    revisions.push(metadata.resourceVersion)
  }
  for (const [i, revision] of revisions.entries()) {
    const query = `resourceVersion=${revision}&resourceVersionMatch=Exact`
    const one = (await (await server.fetch(`${MAPS}/a?${query}`)).json()) as any
    const list = (await (await server.fetch(`${MAPS}?${query}`)).json()) as any
    assert.deepEqual([one.data.v, one.metadata.resourceVersion, list.items[0].data.v], [String(i + 1), revision, String(i + 1)])
  }
  const before = Number(revisions[0]) - 1
  assert.equal((await server.fetch(`${MAPS}/a?resourceVersion=${before}&resourceVersionMatch=Exact`)).status, 404)
})

// At 6256f0f1 a day was 2,016 writes, and a year would have been 700,000.
test('a year passes without a stop for every renewal, and its nodes are alive afterwards', patient, async t => {
  const server = await serverFor(t, { controllers: ['*'], nodes: 2 })
  await server.settled()
  const before = server.changes().length
  await server.clock.advance('8760h')
  const changes = server.changes().slice(before)
  assert.ok(changes.length < 100, `${changes.length} writes`)
  const nodes = (await (await server.fetch('/api/v1/nodes')).json()) as { items: { status: { conditions: any[] } }[] }
  assert.deepEqual(
    nodes.items.map(({ status }) => status.conditions.find(({ type }) => type === 'Ready').status),
    ['True', 'True'],
  )
})

test('a node that fails is lost after its grace period, however far time is put forward', patient, async t => {
  const server = await serverFor(t, { controllers: ['*'], nodes: 2 })
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } }
  const body = JSON.stringify({ metadata: { annotations: { 'sim.keelson.dev/failure': 'true' } } })
  assert.equal((await server.fetch('/api/v1/nodes/simulated-1', { ...patch, body })).status, 200)
  await server.settled()
  const failed = server.clock.now().getTime()
  await server.clock.advance('24h')
  const node = (await (await server.fetch('/api/v1/nodes/simulated-1')).json()) as { status: { conditions: any[] } }
  const ready = node.status.conditions.find(({ type }) => type === 'Ready')
  assert.equal(ready.status, 'Unknown')
  assert.ok(Date.parse(ready.lastTransitionTime) - failed < 120_000, `lost at ${ready.lastTransitionTime}`)
})

// At 6256f0f1 the first threw ten seconds later, from a timer: the whole process ended.
test('a wait for what can never be is refused at once', patient, async t => {
  const server = await serverFor(t)
  const refused: readonly [reference: any, message: RegExp][] = [
    ['configmp/a', /^TypeError: no kind configmp is served; did you mean configmap\?$/],
    ['configmaps', /^TypeError: "configmaps" names no object; write KIND\/NAME/],
    [
      { kind: 'ConfigMap', metadata: { name: 'a' } },
      /^TypeError: an object is named by 'KIND\/NAME', or by apiVersion, kind and metadata.name$/,
    ],
    [undefined, /^TypeError: an object is named by/],
    [
      { apiVersion: 'v1', kind: 'ConfgMap', metadata: { name: 'a' } },
      /^TypeError: no kind ConfgMap is served in v1; did you mean ConfigMap\?$/,
    ],
  ]
  for (const [reference, message] of refused) await assert.rejects(server.waitFor(reference), message)
  await assert.rejects(server.waitFor('configmap/a', ''), /^TypeError: a condition is 'exists', 'deleted'/)
  await assert.rejects(
    server.waitFor('configmap/a', 'exists', { timeoutMs: -1 }),
    /^TypeError: timeoutMs must be a number, 0 or more, not -1$/,
  )
})

test('a wait names its object in few words, and shows it when the time is up', patient, async t => {
  const server = await serverFor(t)
  const waiting = server.waitFor('cm/a')
  await server.apply(configMap('a', { v: '1' }))
  assert.equal((await waiting).data.v, '1')
  assert.equal((await server.waitFor('configmap/a', 'exists', { namespace: 'default' })).data.v, '1')
  assert.equal((await server.waitFor('namespaces/default')).metadata.name, 'default')
  await assert.rejects(
    server.waitFor('configmaps/a', ({ data }) => data.v === '2', { timeoutMs: 1 }),
    /^Error: configmaps default\/a was not as the function wants it within 1 ms; it has no conditions:\n\{[\s\S]*"v": "1"/,
  )
  await assert.rejects(
    server.waitFor('deployment.apps/web', 'Available', { timeoutMs: 1 }),
    /web was not Available within 1 ms; it is not there$/,
  )
})

// At 6256f0f1 both were accepted and did nothing.
test('a fault with a verb that does not exist and a clock that goes back are refused', patient, async t => {
  const server = await serverFor(t)
  assert.throws(
    () => server.faults.add({ verb: 'updte', status: 409 }),
    /^TypeError: verb must be one of .* not "updte"; did you mean update\?$/,
  )
  assert.throws(() => server.faults.add({ verbs: 'update', status: 409 } as any), /a fault has no "verbs"; did you mean verb\?$/)
  await assert.rejects(server.clock.advance(-5), /^TypeError: the clock can be put forward only/)
  await assert.rejects(server.clock.advance('-5s'), /^TypeError: the clock can be put forward only/)
  await assert.rejects(server.clock.advance(Number.NaN), /^TypeError: the clock can be put forward only/)
})

test('a snapshot that is printed shows how many objects it has, and none of them', patient, async t => {
  const server = await serverFor(t)
  await server.apply(configMap('printed', { secret: 'hunter2' }))
  const text = inspect(await server.snapshot(), { depth: 10 })
  assert.match(text, /objects: \d+/)
  assert.ok(!text.includes('hunter2') && text.length < 200, text.slice(0, 500))
})
