// Containers of local images: they run as processes of this machine, and logs, exit codes, probes, sessions and signals are real.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { anonymous, ask, eventually, patient, ROOT, serverOfFile, temporaryDirectory } from './kit.ts'
import { make } from './kits/admission-objects.ts'
import { SpdyClient, upgradeToSpdy } from './kits/spdy-client.ts'

const PROGRAM = join(ROOT, 'test/kits/local-program.mjs')
const IMAGE = `example.com/program='${process.execPath}' '${PROGRAM}'`
const server = serverOfFile({ nodes: 1, localImages: [IMAGE, 'example.com/missing:v1=/does/not/exist'] })
const DEFAULT = '/api/v1/namespaces/default'
const PODS = `${DEFAULT}/pods`
const MERGE = { 'content-type': 'application/merge-patch+json' }

type Options = { readonly container?: object; readonly spec?: object; readonly annotations?: object }

const local = (name: string, args: readonly string[], { container = {}, spec = {}, annotations = {} }: Options = {}) =>
  make(server, PODS, {
    metadata: { name, labels: { app: name }, annotations },
    spec: { containers: [{ name: 'c', image: 'example.com/program:v1', args, ...container }], terminationGracePeriodSeconds: 1, ...spec },
  })

const podNamed = async (name: string) => (await ask(server, `${PODS}/${name}`)).json
const logOf = async (name: string, query = '') => (await ask(server, `${PODS}/${name}/log?${query}`)).text

/** The state of the container, once it fits. */
const stateOf = (name: string, fits: (status: any) => unknown): Promise<any> =>
  eventually(`the container of ${name}`, async () => {
    const [status] = (await podNamed(name)).status?.containerStatuses ?? []
    return status && fits(status) ? status : undefined
  })

const logged = (name: string, text: string) =>
  eventually(`the log of ${name}`, async () => ((await logOf(name)).includes(text) ? true : undefined))

/** A port that nobody uses. */
async function freePort(): Promise<number> {
  const held = createServer()
  await new Promise<void>(resolve => held.listen(0, '127.0.0.1', resolve))
  const { port } = held.address() as { port: number }
  await new Promise(resolve => held.close(resolve))
  return port
}

const eventsOf = async (name: string, reason: string): Promise<string[]> => {
  const { json } = await ask(server, `${DEFAULT}/events?fieldSelector=involvedObject.name%3D${name}`)
  return json.items.filter((event: any) => event.reason === reason).map((event: any) => event.message)
}

async function exec(name: string, words: readonly string[], input?: string): Promise<{ out: string; err: string; end: any }> {
  const streams = ['stdout', 'stderr', ...(input === undefined ? [] : ['stdin'])]
  const query = [...words.map(word => `command=${encodeURIComponent(word)}`), ...streams.map(stream => `${stream}=true`)].join('&')
  const socket = new WebSocket(`${server.url.replace('https', 'wss')}${PODS}/${name}/exec?${query}`, ['v5.channel.k8s.io'], {
    ...server.credentials,
  })
  const channels = new Map<number, string>()
  socket.on('message', (data: Buffer) => channels.set(data[0]!, (channels.get(data[0]!) ?? '') + data.subarray(1)))
  await new Promise<void>((resolve, reject) => void socket.once('open', resolve).once('error', reject))
  if (input !== undefined) {
    socket.send(Buffer.concat([Buffer.from([0]), Buffer.from(input)]))
    socket.send(Buffer.from([255, 0]))
  }
  await new Promise(resolve => void socket.once('close', resolve))
  return { out: channels.get(1) ?? '', err: channels.get(2) ?? '', end: JSON.parse(channels.get(3) ?? '{}') }
}

test('a process gets arguments, environment and files of its container, and its own account at this server', patient, async () => {
  await make(server, `${DEFAULT}/configmaps`, { metadata: { name: 'colors' }, data: { sky: 'blue' }, binaryData: { raw: '/wD+' } })
  await make(server, `${DEFAULT}/secrets`, { metadata: { name: 'keys' }, stringData: { door: 'iron' } })
  const volumes = [
    { name: 'colors', configMap: { name: 'colors' } },
    { name: 'keys', secret: { secretName: 'keys' } },
    { name: 'pod', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
    { name: 'room', emptyDir: {} },
  ]
  const volumeMounts = [
    { name: 'colors', mountPath: '/etc/colors' },
    { name: 'keys', mountPath: '/etc/keys' },
    { name: 'pod', mountPath: '/etc/pod' },
    { name: 'room', mountPath: '/room' },
  ]
  const account = '/var/run/secrets/kubernetes.io/serviceaccount'
  const args = [
    'tell',
    '/etc/colors/sky',
    '/etc/keys/door',
    '/etc/pod/name',
    `${account}/namespace`,
    `${account}/ca.crt`,
    `${account}/token`,
  ]
  const env = [
    { name: 'WHERE', value: '--dir=/etc/colors/sky,/etc/colorsful' },
    { name: 'SECRET', valueFrom: { secretKeyRef: { name: 'keys', key: 'door' } } },
    { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ]
  await local('tells', args, { container: { env, volumeMounts }, spec: { volumes, restartPolicy: 'Never' } })
  const { state } = await stateOf('tells', status => status.state.terminated)
  assert.equal(state.terminated.exitCode, 0)
  assert.equal((await podNamed('tells')).status.phase, 'Succeeded')
  const told = JSON.parse(await logOf('tells'))
  const root = told.env.KEELSON_ROOT
  assert.deepEqual(
    Object.keys(told.files),
    args.slice(1).map(path => root + path),
  )
  const contents: string[] = Object.values(told.files)
  assert.deepEqual(contents.slice(0, 4), ['blue', 'iron', 'tells', 'default'])
  assert.match(contents[4]!, /BEGIN CERTIFICATE/)
  assert.equal(told.env.WHERE, `--dir=${root}/etc/colors/sky,/etc/colorsful`)
  assert.deepEqual([told.env.SECRET, told.env.POD], ['iron', 'tells'])
  assert.deepEqual([told.env.KUBERNETES_SERVICE_HOST, told.env.KUBERNETES_SERVICE_PORT], ['127.0.0.1', String(server.port)])
  assert.equal(told.cwd, process.cwd())
  const self = await ask(server, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    ...anonymous,
    method: 'POST',
    headers: { authorization: `Bearer ${contents[5]}` },
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })
  assert.equal(self.json.status?.userInfo?.username, 'system:serviceaccount:default:default', self.text)
})

test('the folder of a process is private, follows its objects, and is gone with the pod', patient, async () => {
  await make(server, `${DEFAULT}/configmaps`, { metadata: { name: 'mode' }, data: { text: 'first', old: 'x' } })
  const volumes = [{ name: 'mode', configMap: { name: 'mode' } }]
  const volumeMounts = [{ name: 'mode', mountPath: '/mode' }]
  await local('stays', ['stay'], { container: { volumeMounts }, spec: { volumes } })
  await logged('stays', 'pid ')
  const root = (await exec('stays', ['printenv', 'KEELSON_ROOT'])).out.trim()
  const home = join(root, '../../../..')
  assert.equal(statSync(home).mode & 0o777, 0o700)
  assert.equal(readFileSync(join(root, 'mode/text'), 'utf8'), 'first')
  await ask(server, `${DEFAULT}/configmaps/mode`, { method: 'PATCH', headers: MERGE, body: { data: { text: 'second', old: null } } })
  await eventually('the new file', () => (readFileSync(join(root, 'mode/text'), 'utf8') === 'second' ? true : undefined))
  await eventually('the removed file', () => (existsSync(join(root, 'mode/old')) ? undefined : true))
  const pid = Number(/pid (\d+)/.exec(await logOf('stays'))![1])
  await ask(server, `${PODS}/stays`, { method: 'DELETE' })
  await eventually('the end of a process that ignores SIGTERM', () => (isAlive(pid) ? undefined : true))
  await eventually('the end of its folder', () => (existsSync(root) ? undefined : true))
})

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('exit codes, termination messages and restarts are those of the process', patient, async () => {
  await local('fails', ['exit', '3', '/dev/termination-log'])
  const status = await stateOf('fails', each => each.restartCount > 0 && each.lastState.terminated)
  const { exitCode, reason, message } = status.lastState.terminated
  assert.deepEqual([exitCode, reason, message], [3, 'Error', 'last words'])
  assert.equal(await logOf('fails', 'previous=true'), 'leaving\n')
  await ask(server, `${PODS}/fails`, { method: 'DELETE' })
})

test('a program that cannot be started is reported as by a container runtime', patient, async () => {
  await local('nothing', [], { container: { image: 'example.com/missing:v1' }, spec: { restartPolicy: 'Never' } })
  const { state } = await stateOf('nothing', each => each.state.terminated)
  assert.deepEqual([state.terminated.exitCode, state.terminated.reason], [128, 'StartError'])
  assert.match(state.terminated.message, /ENOENT/)
})

test('probes reach the process; a failing one makes it unready, or restarts it', patient, async () => {
  const port = await freePort()
  await make(server, `${DEFAULT}/configmaps`, { metadata: { name: 'health' }, data: { state: 'ill' } })
  const probe = { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 1, failureThreshold: 1 }
  const container = {
    ports: [{ name: 'http', containerPort: port }],
    volumeMounts: [{ name: 'health', mountPath: '/health' }],
    readinessProbe: probe,
    livenessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1, failureThreshold: 30 },
    startupProbe: { exec: { command: ['cat', '/health/state'] }, periodSeconds: 1, failureThreshold: 30 },
  }
  await local('serves', ['serve', String(port), '/health/state'], {
    container,
    spec: { volumes: [{ name: 'health', configMap: { name: 'health' } }] },
  })
  await eventually('a failure', async () =>
    (await eventsOf('serves', 'Unhealthy')).includes('Readiness probe failed: HTTP probe failed with statuscode: 500') ? true : undefined,
  )
  const { started, ready } = await stateOf('serves', each => each.started)
  assert.deepEqual([started, ready], [true, false])
  await ask(server, `${DEFAULT}/configmaps/health`, { method: 'PATCH', headers: MERGE, body: { data: { state: 'ok' } } })
  await stateOf('serves', each => each.ready)
  assert.equal((await ask(server, `${PODS}/serves:${port}/proxy/a?b`)).text, 'GET /a?b')
  await ask(server, `${DEFAULT}/configmaps/health`, { method: 'PATCH', headers: MERGE, body: { data: { state: 'ill' } } })
  await stateOf('serves', each => !each.ready)
  await ask(server, `${PODS}/serves`, { method: 'DELETE' })
  await eventually('the end of the pod', async () => ((await ask(server, `${PODS}/serves`)).status === 404 ? true : undefined))
})

test('a gRPC probe and a forwarded port reach the process', patient, async t => {
  const [port, web] = [await freePort(), await freePort()]
  await make(server, `${DEFAULT}/configmaps`, { metadata: { name: 'grpc-health' }, data: { state: 'ill' } })
  const readinessProbe = { grpc: { port }, periodSeconds: 1, failureThreshold: 1 }
  const volumeMounts = [{ name: 'health', mountPath: '/health' }]
  await local('grpc', ['health', String(port), '/health/state'], {
    container: { readinessProbe, volumeMounts },
    spec: { volumes: [{ name: 'health', configMap: { name: 'grpc-health' } }] },
  })
  await local('forwarded', ['serve', String(web)])
  await logged('forwarded', 'listening')
  const upgraded = await upgradeToSpdy(server, `${PODS}/forwarded/portforward`, ['portforward.k8s.io'])
  assert.ok('socket' in upgraded)
  t.after(() => upgraded.socket.destroy())
  const client = new SpdyClient(upgraded.socket)
  const headers = { port: String(web), requestid: '0' }
  await client.open({ ...headers, streamtype: 'error' })
  const data = await client.open({ ...headers, streamtype: 'data' })
  client.send(data, 'GET /forwarded HTTP/1.0\r\n\r\n')
  await eventually('the answer', () => (client.received.get(data)?.endsWith('\r\n\r\nGET /forwarded') ? true : undefined))
  await eventually('a failure', async () =>
    (await eventsOf('grpc', 'Unhealthy')).includes('Readiness probe failed: service unhealthy (responded with "NOT_SERVING")')
      ? true
      : undefined,
  )
  await ask(server, `${DEFAULT}/configmaps/grpc-health`, { method: 'PATCH', headers: MERGE, body: { data: { state: 'ok' } } })
  await stateOf('grpc', each => each.ready)
  for (const name of ['grpc', 'forwarded']) await ask(server, `${PODS}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' })
})

test('a liveness probe that fails ends the process with a signal, and it is started again', patient, async () => {
  const port = await freePort()
  const livenessProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 }
  await local('ill', ['serve', String(port)], { container: { livenessProbe } })
  const { lastState } = await stateOf('ill', each => each.restartCount > 0)
  // Its own code after SIGTERM, or that of the signal if it came before the program listened for it.
  assert.ok([7, 143].includes(lastState.terminated.exitCode), JSON.stringify(lastState))
  assert.ok((await eventsOf('ill', 'Killing')).includes('Container c failed liveness probe, will be restarted'))
  await ask(server, `${PODS}/ill`, { method: 'DELETE' })
})

test('exec runs real commands in the environment of the container', patient, async () => {
  const container = { env: [{ name: 'COLOR', value: 'red' }], volumeMounts: [{ name: 'room', mountPath: '/room' }] }
  await local('host', ['stay'], { container, spec: { volumes: [{ name: 'room', emptyDir: {} }] } })
  await logged('host', 'pid ')
  const script = 'read line; echo "$line $COLOR"; echo note > "$KEELSON_ROOT/room/x"; echo wrong >&2; exit 4'
  const first = await exec('host', ['sh', '-c', script], 'hello\n')
  assert.deepEqual([first.out, first.err], ['hello red\n', 'wrong\n'])
  assert.deepEqual(first.end.details.causes, [{ reason: 'ExitCode', message: '4' }])
  assert.equal((await exec('host', ['cat', '/room/x'])).out, 'note\n')
  assert.match(JSON.stringify((await exec('host', ['no-such-program'])).end), /executable file not found/)
  await ask(server, `${PODS}/host?gracePeriodSeconds=0`, { method: 'DELETE' })
})

test('attach passes input on and shows output', patient, async t => {
  await local('speaks', ['echo'], { container: { stdin: true } })
  await stateOf('speaks', each => each.state.running)
  const url = `${server.url.replace('https', 'wss')}${PODS}/speaks/attach?stdin=true&stdout=true`
  const socket = new WebSocket(url, ['v5.channel.k8s.io'], { ...server.credentials })
  t.after(() => socket.terminate())
  let out = ''
  socket.on('message', (data: Buffer) => {
    if (data[0] === 1) out += data.subarray(1).toString()
  })
  await new Promise<void>((resolve, reject) => void socket.once('open', resolve).once('error', reject))
  socket.send(Buffer.concat([Buffer.from([0]), Buffer.from('hello\n')]))
  await eventually('the answer', () => (out === 'said hello\n' ? true : undefined))
  await ask(server, `${PODS}/speaks?gracePeriodSeconds=0`, { method: 'DELETE' })
})

test('a log is followed to the end of its process, which hooks and signals bring about', patient, async () => {
  const port = await freePort()
  const lifecycle = {
    postStart: { exec: { command: ['sh', '-c', 'echo started > $KEELSON_ROOT/tmp/hook'] } },
    preStop: { exec: { command: ['sh', '-c', 'exit 5'] } },
  }
  await local('hooked', ['serve', String(port)], { container: { lifecycle }, spec: { terminationGracePeriodSeconds: 30 } })
  await logged('hooked', 'listening')
  await eventually('the hook', async () =>
    (await exec('hooked', ['sh', '-c', 'cat $TMPDIR/hook'])).out === 'started\n' ? true : undefined,
  )
  const following = logOf('hooked', 'follow=true')
  await ask(server, `${PODS}/hooked`, { method: 'DELETE' })
  assert.equal(await following, 'listening\ngot SIGTERM\n')
  await eventually('the end of the pod', async () => ((await ask(server, `${PODS}/hooked`)).status === 404 ? true : undefined))
  assert.ok((await eventsOf('hooked', 'FailedPreStopHook')).length > 0)
})

test('init containers and other images take part', patient, async () => {
  const spec = {
    initContainers: [{ name: 'first', image: 'example.com/program', args: ['tell'] }],
    containers: [
      { name: 'c', image: 'example.com/program', args: ['exit', '0'] },
      { name: 'simulated', image: 'busybox', command: ['sh', '-c', 'exit 2'] },
    ],
    restartPolicy: 'Never',
  }
  await local('mixed', [], { spec })
  await eventually('the end', async () => ((await podNamed('mixed')).status?.phase === 'Failed' ? true : undefined))
  const { initContainerStatuses, containerStatuses } = (await podNamed('mixed')).status
  const codes = [...initContainerStatuses, ...containerStatuses].map(({ name, state }: any) => `${name} ${state.terminated.exitCode}`)
  assert.deepEqual(codes, ['first 0', 'c 0', 'simulated 2'])
  assert.match(await logOf('mixed', 'container=first'), /KEELSON_ROOT/)
})

test('mounts and messages never remove or overwrite files of the host', patient, async t => {
  const host = temporaryDirectory(t)
  mkdirSync(join(host, 'kept'))
  writeFileSync(join(host, 'kept', 'file'), 'mine')
  const volumes = [
    { name: 'host', hostPath: { path: host } },
    { name: 'inner', emptyDir: {} },
  ]
  const volumeMounts = [
    { name: 'host', mountPath: '/data' },
    { name: 'inner', mountPath: '/data/kept' },
  ]
  await local('above', ['exit', '0'], { container: { volumeMounts }, spec: { volumes, restartPolicy: 'Never' } })
  const { state } = await stateOf('above', status => status.state.terminated)
  assert.deepEqual([state.terminated.exitCode, state.terminated.reason], [128, 'StartError'])
  const terminationMessagePath = `${'/..'.repeat(40)}${join(host, 'kept', 'file')}`
  await local('message', ['exit', '0'], { container: { terminationMessagePath }, spec: { restartPolicy: 'Never' } })
  await stateOf('message', status => status.state.terminated)
  assert.equal(readFileSync(join(host, 'kept', 'file'), 'utf8'), 'mine')
})
