/** Operations: flags, logs, signals, certificates, health, metrics, a full disk. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { parse } from 'yaml'
import {
  anonymous,
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  patient,
  type ServerProcess,
  serveHere,
  startInProcess,
  startProcess,
  targetOf,
  temporaryDirectory,
} from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { testWith } from './programs.ts'

const linesOf = (server: Pick<ServerProcess, 'stderr'>) =>
  server
    .stderr()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))

test('the log of level info has the start, its settings, readiness, and the end with its reason', patient, async t => {
  const server = await startProcess(t, { flags: ['--log-level=info', '--max-requests-inflight=50'] })
  assert.deepEqual(await server.stop('SIGINT'), { code: 0, signal: null })
  const [starting, ready, ending, stopped] = linesOf(server)
  assert.equal(starting.msg, 'starting')
  assert.match(starting.version, /^\d+\.\d+\.\d+/)
  assert.equal(starting.data, server.dataDir)
  assert.equal(starting.settings.maxRequestsInflight, 50)
  assert.equal(starting.settings.maxMutatingRequestsInflight, undefined)
  assert.deepEqual([ready.msg, ready.address], ['ready', server.url])
  assert.deepEqual([ending.msg, ending.reason], ['shutting down', 'SIGINT'])
  assert.equal(stopped.msg, 'stopped')
})

test('a server that is told to end goes on for a while, unready; a second signal ends it at once', patient, async t => {
  const server = await startProcess(t, { flags: ['--shutdown-delay-duration=1h'] })
  server.child.kill('SIGTERM')
  await eventually('it is not ready', async () => ((await ask(server, '/readyz')).status === 500 ? true : undefined))
  assert.equal((await ask(server, '/readyz/shutdown')).status, 500)
  assert.equal((await ask(server, '/livez')).status, 200)
  const { status, headers } = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('late') })
  assert.deepEqual([status, headers.connection], [201, 'close'])
  await server.stop('SIGTERM')
})

test('a client that sends plain HTTP gets a clear error', patient, async t => {
  const { port } = await startInProcess(t)
  const answer = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'))
    socket.setEncoding('utf8').on('data', chunk => (text += chunk))
    socket.on('error', reject).on('close', () => resolve(text))
  })
  assert.equal(answer, 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n')
})

test('a server on every address is reached at those of the machine and by the names it was given', patient, async t => {
  const server = await serveHere(t, { flags: ['--bind-address=0.0.0.0', '--tls-san=api.example', '--tls-san=192.0.2.7'] })
  const { credentials, port } = server
  const certificate = await new Promise<string>((resolve, reject) => {
    const socket = connectSecurely({ host: '127.0.0.1', port, ca: credentials.ca, servername: 'api.example' }, () => {
      resolve(socket.getPeerCertificate().subjectaltname ?? '')
      socket.destroy()
    })
    socket.on('error', reject)
  })
  assert.match(certificate, /DNS:api\.example/)
  assert.match(certificate, /IP Address:192\.0\.2\.7/)
  const own = Object.values(networkInterfaces()).flatMap(all => all ?? [])
  for (const { address, family } of own.filter(({ family }) => family === 'IPv4')) {
    const { status } = await ask({ url: `https://${address}:${port}`, credentials }, '/livez', anonymous)
    assert.equal(status, 200, `${family} ${address}`)
  }
  assert.doesNotMatch(readFileSync(server.kubeconfig, 'utf8'), /0\.0\.0\.0/)
})

test('the kubeconfig names the advertised address', patient, async t => {
  const server = await startInProcess(t, { host: '0.0.0.0', advertiseAddress: '127.0.0.2' })
  assert.match(server.url, /^https:\/\/127\.0\.0\.2:\d+$/)
  assert.equal((await ask(targetOf(server.kubeconfig), '/livez')).status, 200)
})

test('a kubeconfig with other clusters keeps them', patient, async t => {
  const file = join(temporaryDirectory(t), 'config')
  const work = { name: 'work', cluster: { server: 'https://work.example' } }
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': 'work', clusters: [work] }))
  const server = await startProcess(t, { flags: ['--kubeconfig', file] }).catch(() => undefined)
  const merged = parse(readFileSync(file, 'utf8'))
  assert.deepEqual(merged.clusters[0], work)
  assert.equal(merged['current-context'], 'work')
  assert.equal(merged.clusters[1].name, 'keelson')
  await server?.stop()
})

test('a server does not start over a kubeconfig that it cannot read', patient, async t => {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'config')
  writeFileSync(file, 'apiVersion: [')
  const { code, stderr } = await keelsonHere('serve', '--data-dir', join(directory, 'data'), '--secure-port=0', '--kubeconfig', file)
  assert.equal(code, 1)
  assert.match(stderr, /^keelson: .*config is not a kubeconfig that a context can be added to/)
  assert.equal(readFileSync(file, 'utf8'), 'apiVersion: [')
})

test('flags are read as kube-apiserver reads them', patient, async t => {
  const flags = ['--anonymous_auth', '--enable-admission-plugins=AlwaysAdmit', '--enable-admission-plugins=Priority', '--api-audiences=']
  const server = await startProcess(t, { flags })
  assert.equal((await ask(server, '/livez', anonymous)).status, 200)
  assert.match(server.stderr(), /AlwaysAdmit admission controller is deprecated/)
  const { code, stderr } = await keelsonHere('serve', '--secure-port=0', '--store=memory', '--enable-admission-plugins=Whim')
  assert.equal(code, 1)
  assert.match(stderr, /there is no plugin "Whim"/)
})

test('health lists its checks, and metrics include them and the store', patient, async t => {
  const server = await serveHere(t)
  const { status, text } = await ask(server, '/readyz?verbose')
  assert.equal(status, 200, text)
  const lines = text.trimEnd().split('\n')
  assert.equal(lines.at(-1), 'readyz check passed')
  assert.deepEqual(lines.slice(0, 3), ['[+]ping ok', '[+]log ok', '[+]etcd ok'])
  for (const name of [
    'poststarthook/rbac/bootstrap-roles',
    'poststarthook/apiservice-openapi-controller',
    'autoregister-completion',
    'informer-sync',
    'shutdown',
  ])
    assert.ok(lines.includes(`[+]${name} ok`), name)
  assert.equal((await ask(server, '/readyz/etcd')).text, 'ok')
  assert.equal((await ask(server, '/readyz/poststarthook/rbac/bootstrap-roles')).text, 'ok')
  assert.doesNotMatch((await ask(server, '/livez?verbose')).text, /\](shutdown|informer-sync) /)
  assert.match((await ask(server, '/metrics/slis')).text, /^kubernetes_healthcheck\{name="etcd",type="readyz"\} 1$/m)
  const metrics = (await ask(server, '/metrics')).text
  for (const name of [
    'apiserver_storage_size_bytes',
    'etcd_request_duration_seconds_count',
    'etcd_disk_backend_commit_duration_seconds_count',
  ])
    assert.match(metrics, new RegExp(`^${name}(\\{.*\\})? [1-9]\\d*$`, 'm'))
  assert.match(metrics, /^keelson_store_free_pages \d+$/m)
  const accept = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'
  assert.match(String((await ask(server, '/metrics', { headers: { accept } })).headers['content-type']), /protobuf/)
})

testWith('prlimit', 'a full disk is reported as such, and writes work again once there is space', patient, async (t, prlimit) => {
  const server = await startProcess(t)
  const limit = (bytes: string) => spawnSync(prlimit, ['--pid', String(server.child.pid), `--fsize=${bytes}`])
  const create = (i: number) =>
    ask(server, '/api/v1/namespaces/default/configmaps', {
      method: 'POST',
      body: { metadata: { generateName: 'big-' }, data: { i: String(i), text: 'x'.repeat(500_000) } },
    })
  limit('4194304:unlimited')
  let answer = await create(0)
  for (let i = 1; answer.status === 201 && i < 100; i++) answer = await create(i)
  assert.equal(answer.status, 503, answer.text)
  assert.equal(answer.json.reason, 'ServiceUnavailable')
  assert.match(answer.json.message, /^the server cannot store anything now: (no space is left on the disk|the disk is full)/)
  assert.ok(!answer.text.includes(server.dataDir))
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps?limit=1')).status, 200)
  const health = await ask(server, '/readyz')
  assert.equal(health.status, 500)
  assert.match(health.text, /^\[-\]etcd failed: reason withheld$/m)
  limit('unlimited')
  assert.equal((await create(0)).status, 201)
})

const FLOWS = '/apis/flowcontrol.apiserver.k8s.io/v1'

test('flow schemas and priority levels take effect when they are written, and every response names its own', patient, async t => {
  const tokens = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokens, 'jane-token,jane,1,\njoe-token,joe,2,\n')
  const server = await startInProcess(t, { tokenAuthFile: tokens })
  const flowOf = async (token?: string) => {
    const { status, headers } = await ask(
      server,
      '/api',
      token === undefined ? {} : { ...anonymous, headers: { authorization: `Bearer ${token}` } },
    )
    assert.equal(status, 200)
    return [headers['x-kubernetes-pf-flowschema-uid'], headers['x-kubernetes-pf-prioritylevel-uid']]
  }
  const uidOf = async (path: string) => (await ask(server, `${FLOWS}/${path}`)).json.metadata.uid
  assert.deepEqual(await flowOf(), [await uidOf('flowschemas/exempt'), await uidOf('prioritylevelconfigurations/exempt')])
  const [schema, level] = ['flowschemas', 'prioritylevelconfigurations'].map(path => `${path}/global-default`)
  const usual = [await uidOf(schema!), await uidOf(level!)]
  assert.deepEqual(await flowOf('jane-token'), usual)

  const made = await ask(server, `${FLOWS}/flowschemas`, { method: 'POST', body: schemaFor('jane', 'slow') })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(await flowOf('jane-token'), usual, 'a schema without its level does not count')
  const dangling = await conditionOf(server, 'jane', 'True')
  assert.equal(dangling.reason, 'NotFound')
  const limited = { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } }
  const plc = await ask(server, `${FLOWS}/prioritylevelconfigurations`, {
    method: 'POST',
    body: { metadata: { name: 'slow' }, spec: { type: 'Limited', limited } },
  })
  assert.equal(plc.status, 201, plc.text)
  assert.deepEqual(await flowOf('jane-token'), [made.json.metadata.uid, plc.json.metadata.uid])
  assert.deepEqual(await flowOf('joe-token'), usual)
  const found = await conditionOf(server, 'jane', 'False')
  assert.equal(found.message, 'This FlowSchema references the PriorityLevelConfiguration object named "slow" and it exists')
  const { json } = await ask(server, `${FLOWS}/flowschemas/jane`)
  const [entry] = json.metadata.managedFields.filter((each: { subresource?: string }) => each.subresource === 'status')
  assert.deepEqual([entry.manager, entry.operation], ['api-priority-and-fairness-config-consumer-v1', 'Apply'])

  const { text } = await ask(server, '/metrics')
  assert.match(text, /^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="jane",priority_level="slow"\} 1$/m)
  assert.match(text, /^apiserver_flowcontrol_nominal_limit_seats\{priority_level="slow"\} 3$/m)
  assert.match(
    text,
    /^apiserver_flowcontrol_request_wait_duration_seconds_count\{execute="true",flow_schema="exempt",priority_level="exempt"\} \d+$/m,
  )
})

const schemaFor = (user: string, level: string) => ({
  metadata: { name: user },
  spec: {
    matchingPrecedence: 500,
    priorityLevelConfiguration: { name: level },
    rules: [{ subjects: [{ kind: 'User', user: { name: user } }], nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }] }],
  },
})

async function conditionOf(server: Parameters<typeof ask>[0], name: string, status: string): Promise<{ reason: string; message: string }> {
  for (;;) {
    const { json } = await ask(server, `${FLOWS}/flowschemas/${name}`)
    const [condition] = json.status?.conditions ?? []
    if (condition?.status === status) return condition
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

testWith('systemd-notify', 'systemd is told when the server is ready and when it stops', patient, async t => {
  const folder = temporaryDirectory(t)
  const socket = join(folder, 'notify')
  // Node has no datagram sockets of files.
  const script =
    'import socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\nprint("bound", flush=True)\nwhile True: print(s.recv(4096).decode().replace("\\n", " "), flush=True)\n'
  const listener = spawn('python3', ['-c', script, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => listener.kill('SIGKILL'))
  let heard = ''
  listener.stdout.setEncoding('utf8').on('data', text => (heard += text))
  await eventually('the socket', async () => heard.includes('bound') || undefined)
  const server = await startProcess(t, { env: { ...process.env, NOTIFY_SOCKET: socket } })
  await eventually('READY=1', async () => heard.includes('READY=1') || undefined)
  assert.match(heard, new RegExp(`MAINPID=${server.child.pid}\\b`))
  await server.stop()
  await eventually('STOPPING=1', async () => heard.includes('STOPPING=1') || undefined)
})
