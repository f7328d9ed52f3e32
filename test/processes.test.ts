// Several processes that serve as one: `keelson serve --processes N`, over etcd and over an embedded store.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { ask, CONFIG_MAPS, configMap, eventually, keelson, launch, patient, ROOT, type Scope, temporaryDirectory, Watching } from './kit.ts'
import { startEtcd } from './kits/etcd.ts'
import { type Client, isRunning, type ManyProcesses, metricIn, startFirst, startProcesses } from './kits/processes.ts'
import { testWith } from './programs.ts'

test('the supervisor has a bundle of its own, a small part of the command', () => {
  const sizeOf = (name: string) => statSync(join(ROOT, 'dist', name)).size
  assert.ok(sizeOf('supervisor.cjs') < sizeOf('cli.cjs') / 10, `${sizeOf('supervisor.cjs')} bytes`)
})

type Start = (t: Scope, count: number, flags?: readonly string[], dataDir?: string) => Promise<ManyProcesses>

/** Runs a test over each store that several processes can share. */
function overEachStore(title: string, body: (t: Scope, start: Start) => Promise<void>): void {
  test(`${title}, on an embedded store`, patient, t =>
    body(t, (t, count, flags = [], dataDir) => startProcesses(t, count, { flags, ...(dataDir && { dataDir }) })),
  )
  testWith('etcd', `${title}, on etcd`, patient, async (t, program) => {
    const etcd = await startEtcd({ program })
    t.after(() => etcd[Symbol.asyncDispose]())
    const store = ['--store', 'etcd', '--etcd-servers', etcd.endpoints.join(',')]
    await body(t, (t, count, flags = [], dataDir) => startProcesses(t, count, { flags: [...store, ...flags], ...(dataDir && { dataDir }) }))
  })
}

const post = async (client: Client, path: string, body: object): Promise<any> => {
  const { status, json, text } = await client.ask(path, { method: 'POST', body })
  assert.equal(status, 201, text)
  return json
}

const clients = async (server: ManyProcesses, count: number): Promise<Client[]> => {
  const all = Array.from({ length: count }, () => server.client())
  // Each connects to the process that has the fewest connections.
  for (const client of all) assert.equal((await client.ask('/version')).status, 200)
  return all
}

test('a number of processes that makes no sense is refused, and nothing is started', patient, async t => {
  const data = join(temporaryDirectory(t), 'data')
  for (const wrong of ['0', '-1', 'x', '1.5', '65', '999999999999', '']) {
    const { code, stderr, stdout } = await keelson('serve', '--data-dir', data, `--processes=${wrong}`)
    assert.equal(code, 1)
    assert.equal(stderr, `keelson: --processes takes a number of processes between 1 and 64, or auto, not "${wrong}"\n`)
    assert.equal(stdout, '')
  }
  const memory = await keelson('serve', '--store', 'memory', '--processes', '2', '--data-dir', data)
  assert.deepEqual(
    [memory.code, memory.stderr],
    [1, 'keelson: --processes: a store in memory belongs to one process; use --store embedded or etcd, or leave --processes out\n'],
  )
  const run = await keelson('run', '--store', 'embedded', '--processes', '2', '--', 'true')
  assert.deepEqual([run.code, run.stderr], [1, 'keelson: --processes is for keelson serve; the server of keelson run is this process\n'])
})

test('a start that fails says why once, as that of one process', patient, async t => {
  const data = join(temporaryDirectory(t), 'data')
  const flags = ['serve', '--data-dir', data, '--feature-gates', 'NoSuchGate=true', '--secure-port', '0']
  const [one, two] = [await keelson(...flags), await keelson(...flags, '--processes', '2')]
  assert.deepEqual([two.code, two.stderr, two.stdout], [one.code, one.stderr, one.stdout])
})

overEachStore('clients never notice that processes are several', async (t, start) => {
  const server = await start(t, 3)
  const [a, b, c] = (await clients(server, 3)) as [Client, Client, Client]
  // Bootstrap objects were made once, and the duties of the start are done.
  assert.equal((await b.ask('/api/v1/namespaces/default/serviceaccounts/default')).status, 200)
  for (let i = 0; i < 20; i++) {
    const [writer, reader, other] = [a, b, c].map((_, at) => [a, b, c][(at + i) % 3]!) as [Client, Client, Client]
    const made = await post(writer, CONFIG_MAPS, configMap(`m-${i}`))
    assert.equal((await reader.ask(`${CONFIG_MAPS}/m-${i}`)).status, 200, 'a read sees what another process has stored')
    const { items } = (await other.ask(CONFIG_MAPS)).json
    assert.ok(items.some(({ metadata }: any) => metadata.uid === made.metadata.uid))
  }
  // A list of one process, its next page from another, and a watch from its revision in a third.
  const first = (await a.ask(`${CONFIG_MAPS}?limit=10`)).json
  const second = (await b.ask(`${CONFIG_MAPS}?limit=100&continue=${first.metadata.continue}`)).json
  assert.equal(first.items.length + second.items.length, 20)
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
  const watch = await Watching.open(t, server, `${CONFIG_MAPS}?watch=true&resourceVersion=${first.metadata.resourceVersion}`)
  await post(c, CONFIG_MAPS, configMap('late'))
  assert.equal((await watch.next())?.object.metadata.name, 'late')
  watch.close()
  await allowed(a, b, c)
  await defined(a, b, c)
})

/** A token of one process is valid in all; rights that one process gives or takes count in all at once. */
async function allowed(a: Client, b: Client, c: Client): Promise<void> {
  await post(a, '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'bot' } })
  const { status } = await post(b, '/api/v1/namespaces/default/serviceaccounts/bot/token', { spec: {} })
  const asBot = (client: Client) =>
    client.ask(CONFIG_MAPS, {
      headers: { authorization: `Bearer ${status.token}` },
      agent: false,
      cert: undefined as never,
      key: undefined as never,
    })
  assert.equal((await asBot(c)).status, 403)
  const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
  await post(a, `${roles}/roles`, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
  })
  for (const writer of [a, b, c]) {
    await post(writer, `${roles}/rolebindings`, {
      metadata: { name: 'bot' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'bot', namespace: 'default' }],
    })
    // Each over a new connection, to whichever process.
    for (let i = 0; i < 3; i++) assert.equal((await asBot(c)).status, 200)
    assert.equal((await writer.ask(`${roles}/rolebindings/bot`, { method: 'DELETE' })).status, 200)
    for (let i = 0; i < 3; i++) assert.equal((await asBot(c)).status, 403)
  }
}

/** A kind that one process has established is served by all. */
async function defined(a: Client, b: Client, c: Client): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const schema = { openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } } }
  await post(a, path, {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  })
  await eventually('the definition is established', async () => {
    const { json } = await b.ask(`${path}/widgets.example.com`)
    return json.status?.conditions?.some(({ type, status }: any) => type === 'Established' && status === 'True') ? true : undefined
  })
  for (const [i, client] of [c, b, a].entries()) {
    const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: `w-${i}` }, size: i }
    await post(client, '/apis/example.com/v1/namespaces/default/widgets', widget)
  }
  assert.equal((await b.ask('/apis/example.com/v1/widgets')).json.items.length, 3)
}

overEachStore('metrics, health, limits, users of writes and the certificate are those of all processes', async (t, start) => {
  const server = await start(t, 3, ['--max-requests-inflight', '300', '--max-mutating-requests-inflight', '100', '--log-level', 'info'])
  const all = await clients(server, 3)
  const written = await post(all[0]!, CONFIG_MAPS, configMap('known'))
  for (const client of all) for (let i = 0; i < 10; i++) assert.equal((await client.ask(`${CONFIG_MAPS}/known`)).status, 200)
  const gets = /^apiserver_request_total\{code="200",verb="GET",group="",version="v1",resource="configmaps",[^}]*\} (\d+)$/m
  for (const client of all) {
    const { text } = await client.ask('/metrics')
    assert.equal(gets.exec(text)?.[1], '30')
    assert.equal(metricIn(text, 'keelson_processes'), 3)
    const count = /^apiserver_request_duration_seconds_count\{verb="GET",group="",version="v1",resource="configmaps",[^}]*\} (\d+)$/m
    assert.equal(count.exec(text)?.[1], '30')
    // An object is counted once, wherever it is cached.
    const { items } = (await client.ask('/api/v1/configmaps')).json
    assert.match(text, new RegExp(`^apiserver_storage_objects\\{resource="configmaps"\\} ${items.length}$`, 'm'))
    // 245 shares divide 400 seats, each rounded up.
    const seats = [...text.matchAll(/^apiserver_flowcontrol_nominal_limit_seats\{priority_level="([^"]+)"\} (\d+)$/gm)]
    const sum = Object.fromEntries(seats.map(([, level, limit]) => [level, Number(limit)]))
    assert.equal(sum['workload-low'], Math.ceil((400 * 100) / 245))
    assert.equal(sum['catch-all'], Math.ceil((400 * 5) / 245))
    assert.match((await client.ask('/readyz?verbose')).text, /\[\+\]ping ok\n[\s\S]*readyz check passed/)
    assert.equal((await client.ask('/livez/etcd')).text, 'ok')
    const { writes } = (await client.ask(`/keelson/writes?revisions=${written.metadata.resourceVersion}`)).json
    assert.equal(writes[written.metadata.resourceVersion].user, 'kubernetes-admin')
  }
  const shown = await Promise.all(Array.from({ length: 6 }, () => certificateOf(server)))
  assert.equal(new Set(shown).size, 1)
  // Counters keep what a process had counted when it is gone.
  const before = metricIn((await all[0]!.ask('/metrics')).text, 'process_cpu_seconds_total')
  const [victim] = server.pids()
  process.kill(victim!, 'SIGKILL')
  await server.complete(victim)
  const { text } = await server.client().ask('/metrics')
  assert.ok(metricIn(text, 'process_cpu_seconds_total') >= before)
  assert.ok(Number(gets.exec(text)?.[1]) >= 30)
  const numbers = new Set([...server.stderr().matchAll(/"process":(\d)/g)].map(([, number]) => number))
  assert.deepEqual([...numbers].sort(), ['1', '2', '3'], 'lines of the log say which process wrote them')
})

const certificateOf = ({ port, credentials: { ca } }: ManyProcesses): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', reject)
  })

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const deployment = (name: string) => ({
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
})

overEachStore('a process that is killed takes only its connections with it, and is started again', async (t, start) => {
  const server = await start(t, 3, ['--nodes', '1'])
  for (const [round, victim] of server.pids().entries()) {
    const list = (await server.client().ask(CONFIG_MAPS)).json
    const path = `${CONFIG_MAPS}?watch=true&resourceVersion=${list.metadata.resourceVersion}`
    // The primary gets fewer connections than the others.
    const watches = await Promise.all(Array.from({ length: 8 }, () => Watching.open(t, server, path)))
    let cut = 0
    for (const watch of watches)
      watch.end().then(
        () => cut++,
        () => {},
      )
    process.kill(victim, 'SIGKILL')
    await eventually('a watch is cut', () => (cut > 0 ? true : undefined))
    const made = await eventually('a write succeeds', async () => {
      const { status, json } = await server.client().ask(CONFIG_MAPS, { method: 'POST', body: configMap(`after-${round}-${Date.now()}`) })
      return status === 201 ? json : undefined
    })
    await server.complete(victim)
    assert.ok(cut < 5, `the others went on, but ${cut} of 8 were cut`)
    for (const watch of watches) if (!(await hasEnded(watch))) assert.equal((await watch.next())?.object.metadata.uid, made.metadata.uid)
    for (const watch of watches) watch.close()
    // The duties go on, whoever had them.
    await post(server.client(), DEPLOYMENTS, deployment(`web-${round}`))
    await eventually('its pods run', async () => {
      const { json } = await server.client().ask(`${DEPLOYMENTS}/web-${round}`)
      return json.status?.availableReplicas === 2 ? true : undefined
    })
  }
  const { json } = await server.client().ask('/apis/apps/v1/namespaces/default/replicasets')
  assert.equal(json.items.length, 3, 'no replica set was made twice')
})

test('the server is ready with its first process, and outlives it even while the others start', patient, async t => {
  const server = await startFirst(t, 3, { flags: ['--nodes', '1'] })
  const client = server.client()
  assert.equal((await client.ask('/api/v1/namespaces/default/serviceaccounts/default')).status, 200)
  assert.equal((await client.ask('/readyz')).status, 200)
  await post(client, CONFIG_MAPS, configMap('early'))
  const [first] = server.pids()
  process.kill(first!, 'SIGKILL')
  await server.complete(first)
  assert.equal((await server.client().ask(`${CONFIG_MAPS}/early`)).status, 200)
  await post(server.client(), DEPLOYMENTS, deployment('web'))
  await eventually('its pods run', async () => {
    const { json } = await server.client().ask(`${DEPLOYMENTS}/web`)
    return json.status?.availableReplicas === 2 ? true : undefined
  })
})

test('a process that is stopped is ended: another one commits, and runs the duties', patient, async t => {
  const server = await startProcesses(t, 2, { flags: ['--nodes', '1'] })
  // The first one owns the store and runs the duties.
  const first = server.pids()
  for (const round of first.keys()) {
    // On a machine that is busy enough, one that was not stopped may have been silent for too long as well.
    const running = server.pids()
    const victim = running.find(pid => first.includes(pid)) ?? running[0]!
    process.kill(victim, 'SIGSTOP')
    await eventually('it is gone', () => (isRunning(victim) ? undefined : true))
    await server.complete(victim)
    await post(server.client(), DEPLOYMENTS, deployment(`web-${round}`))
    await eventually('its pods run', async () => {
      const { json } = await server.client().ask(`${DEPLOYMENTS}/web-${round}`)
      return json.status?.availableReplicas === 2 ? true : undefined
    })
  }
  assert.match(server.stderr(), /does not answer; it is ended/)
})

test('connections that a process did not get before its end go to another one', patient, async t => {
  const server = await startProcesses(t, 2)
  const [victim] = server.pids()
  process.kill(victim!, 'SIGSTOP')
  // About half of them are handed to the process that is stopped.
  const asked = Array.from({ length: 8 }, () => ask(server, '/version', { agent: false }))
  await Promise.race(asked)
  process.kill(victim!, 'SIGKILL')
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
})

const hasEnded = (watch: Watching): Promise<boolean> =>
  Promise.race([watch.end().then(() => true), new Promise<boolean>(resolve => setImmediate(resolve, false))])

overEachStore('pods on simulated nodes answer in every process', async (t, start) => {
  const server = await start(t, 3, ['--nodes', '1'])
  const all = await clients(server, 3)
  const pods = '/api/v1/namespaces/default/pods'
  await post(all[0]!, pods, {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', 'echo hello; sleep 1000'] }] },
  })
  await eventually('it runs', async () => ((await all[1]!.ask(`${pods}/p`)).json.status.phase === 'Running' ? true : undefined))
  for (const client of all) {
    const { status, text } = await client.ask(`${pods}/p/log`)
    assert.equal(status, 200, text)
    assert.match(text, /hello/)
  }
})

overEachStore(
  'manifests are applied once, SIGHUP reaches all processes, SIGTERM ends them cleanly, and none outlives its supervisor',
  async (t, start) => {
    const folder = temporaryDirectory(t)
    const dataDir = join(folder, 'data')
    mkdirSync(join(folder, 'manifests'))
    writeFileSync(join(folder, 'manifests/a.json'), JSON.stringify(configMap('applied')))
    const first = await start(t, 2, ['--apply', join(folder, 'manifests'), '--log-level', 'info'], dataDir)
    assert.equal((await first.client().ask(`${CONFIG_MAPS}/applied`)).status, 200)
    first.child.kill('SIGHUP')
    await eventually('both have read their files again', () => {
      const lines = first
        .stderr()
        .split('\n')
        .filter(line => line.includes('reading changed files again'))
      return new Set(lines.map(line => JSON.parse(line).process)).size === 2 ? true : undefined
    })
    const watches = await Promise.all([1, 2].map(() => Watching.open(t, first, `${CONFIG_MAPS}?watch=true`)))
    const ended = first.pids()
    const exited = first.stop('SIGTERM')
    for (const watch of watches) assert.equal(await watch.end(), 'clean')
    assert.deepEqual(await exited, { code: 0, signal: null })
    assert.deepEqual(ended.filter(isRunning), [])

    // A start afterwards finds everything, also at once after the supervisor was killed.
    const second = await start(t, 2, [], dataDir)
    assert.equal((await second.client().ask(`${CONFIG_MAPS}/applied`)).status, 200)
    await post(second.client(), CONFIG_MAPS, configMap('kept'))
    const orphans = second.pids()
    second.child.kill('SIGKILL')
    await eventually('its processes have ended', () => (orphans.some(isRunning) ? undefined : true))
    const third = await start(t, 2, [], dataDir)
    assert.equal((await third.client().ask(`${CONFIG_MAPS}/kept`)).status, 200)
  },
)

test('a folder in use is reported as by one process, whoever uses it', patient, async t => {
  const folder = temporaryDirectory(t)
  const flags = ['serve', '--secure-port', '0', '--nodes', '0', '--data-dir']
  const clear = /^keelson: cannot open the store in \S+: process \d+ has it open; stop that one first or choose another data directory\n$/
  const one = launch(t, { dataDir: join(folder, 'one') })
  await one.firstLine
  const many = await keelson(...flags, join(folder, 'one'), '--processes', '2')
  assert.equal(many.code, 1)
  assert.match(many.stderr, clear)
  await startProcesses(t, 2, { dataDir: join(folder, 'many') })
  for (const more of [[], ['--processes', '2']]) {
    const { code, stderr } = await keelson(...flags, join(folder, 'many'), ...more)
    assert.equal(code, 1)
    assert.match(stderr, clear)
  }
})

test('a port in use is reported as by one process', patient, async t => {
  const folder = temporaryDirectory(t)
  const first = launch(t, { dataDir: join(folder, 'a') })
  const url = (await first.firstLine).split(/\s\s/)[1]!
  const { port } = new URL(url)
  const flags = ['serve', '--secure-port', port, '--nodes', '0', '--data-dir']
  const one = await keelson(...flags, join(folder, 'b'))
  assert.match(one.stderr, /^keelson: port \d+ on 127\.0\.0\.1 is in use/)
  const two = await keelson(...flags, join(folder, 'c'), '--processes', '2')
  assert.deepEqual([two.code, two.stderr], [one.code, one.stderr])
})

testWith('kubectl', 'kubectl works against several processes', patient, async (t, kubectl) => {
  const server = await startProcesses(t, 2, { flags: ['--nodes', '1'] })
  const run = (...args: string[]) => execFileSync(kubectl, ['--kubeconfig', server.kubeconfig, ...args], { encoding: 'utf8' })
  run('create', 'deployment', 'web', '--image', 'nginx', '--replicas', '2')
  run('wait', '--for=condition=Available', 'deployment/web', '--timeout', '120s')
  assert.match(run('get', 'pods'), /web-\S+\s+1\/1\s+Running/)
  const [pod] = run('get', 'pods', '-o', 'name').split('\n') as [string]
  // Each over a connection of its own, to one process or the other.
  for (let i = 0; i < 4; i++) run('logs', pod)
})
