// Sessions with simulated containers: exec, attach and port-forward over WebSocket and SPDY, as kubectl and older clients open them.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { ask, eventually, patient, run, serverOfFile, type Target, temporaryDirectory } from './kit.ts'
import { SpdyClient, upgradeToSpdy } from './kits/spdy-client.ts'
import { testWith } from './programs.ts'

const server = serverOfFile({ nodes: 1 })
const PODS = '/api/v1/namespaces/default/pods'

/** Creates a pod, and waits until it runs. */
async function runningPod(name: string, container: object, more: object = {}): Promise<void> {
  const body = {
    metadata: { name },
    spec: { nodeName: 'simulated-1', containers: [{ name: 'c', image: 'busybox', ...container }], ...more },
  }
  const { status, text } = await ask(server, PODS, { method: 'POST', body })
  assert.equal(status, 201, text)
  await eventually(`pod ${name}`, async () => ((await ask(server, `${PODS}/${name}`)).json.status?.phase === 'Running' ? true : undefined))
}
const sh = (script: string) => ({ command: ['sh', '-c', script] })
const query = (words: readonly string[], streams: readonly string[]) =>
  [...words.map(word => `command=${encodeURIComponent(word)}`), ...streams.map(name => `${name}=true`)].join('&')

type Talk = { readonly channels: Map<number, string>; readonly ended: Promise<number>; readonly socket: WebSocket }

/** Opens a WebSocket, and collects its messages by channel. */
async function talk({ url, credentials }: Target, path: string, protocol: string): Promise<Talk> {
  const socket = new WebSocket(url.replace('https', 'wss') + path, protocol === '' ? [] : [protocol], { ...credentials })
  const channels = new Map<number, string>()
  const isText = protocol.includes('base64')
  socket.on('message', (data: Buffer) => {
    const channel = isText ? Number(data.toString()[0]) : data[0]!
    const text = isText ? Buffer.from(data.toString().slice(1), 'base64').toString() : data.subarray(1).toString()
    channels.set(channel, (channels.get(channel) ?? '') + text)
  })
  const ended = new Promise<number>(resolve => void socket.on('close', resolve))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  return { channels, ended, socket }
}

const failure = (code: number, command: string) => ({
  metadata: {},
  status: 'Failure',
  message: `command terminated with non-zero exit code: error executing command [${command}], exit code ${code}`,
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
})

test(
  'exec over every protocol of WebSocket runs in the simulated shell, with the files and variables of the container',
  patient,
  async () => {
    await runningPod('channels', { ...sh('echo made > /tmp/x; sleep 3600'), env: [{ name: 'COLOR', value: 'blue' }] })
    const script = 'echo $COLOR; cat /tmp/x; echo wrong >&2; exit 3'
    for (const protocol of [
      'v5.channel.k8s.io',
      'v4.channel.k8s.io',
      'v4.base64.channel.k8s.io',
      'channel.k8s.io',
      'base64.channel.k8s.io',
      '',
    ]) {
      const { channels, ended } = await talk(server, `${PODS}/channels/exec?${query(['sh', '-c', script], ['stdout', 'stderr'])}`, protocol)
      assert.equal(await ended, 1000)
      assert.deepEqual([channels.get(1), channels.get(2)], ['blue\nmade\n', 'wrong\n'], protocol)
      const end = failure(3, `sh -c ${script}`)
      if (/^v[45]/.test(protocol)) assert.deepEqual(JSON.parse(channels.get(3)!), end)
      else assert.equal(channels.get(3), end.message)
    }
    const { channels, ended } = await talk(server, `${PODS}/channels/exec?${query(['true'], ['stdout'])}`, 'v5.channel.k8s.io')
    await ended
    assert.deepEqual(JSON.parse(channels.get(3)!), { metadata: {}, status: 'Success' })
  },
)

test('a command that cannot be simulated fails with 126 and says so', patient, async () => {
  await runningPod('unknown', {})
  for (const command of [
    ['curl', 'localhost'],
    ['sh', '-c', 'case $x in a) ;; esac'],
    ['cat', '/usr/bin/cat'],
  ]) {
    const { channels, ended } = await talk(server, `${PODS}/unknown/exec?${query(command, ['stdout', 'stderr'])}`, 'v5.channel.k8s.io')
    await ended
    assert.deepEqual(JSON.parse(channels.get(3)!), failure(126, command.join(' ')))
    assert.match(channels.get(2)!, /not simulated: this container has no process, and the simulated shell does/)
    assert.equal(channels.get(1), '')
  }
})

test('input, its end, and the size of a terminal arrive; files that a command writes are there for the next', patient, async () => {
  await runningPod('input', sh('sleep 3600'))
  const path = (words: readonly string[], streams: readonly string[]) => `${PODS}/input/exec?${query(words, streams)}`
  const reading = await talk(server, path(['sh', '-c', 'cat | tee /tmp/kept'], ['stdin', 'stdout']), 'v5.channel.k8s.io')
  for (const text of ['one\n', 'two\n']) reading.socket.send(Buffer.from(`\0${text}`))
  reading.socket.send(Buffer.from([255, 0]))
  await reading.ended
  assert.equal(reading.channels.get(1), 'one\ntwo\n')
  const later = await talk(server, path(['cat', '/tmp/kept'], ['stdout']), 'v5.channel.k8s.io')
  await later.ended
  assert.equal(later.channels.get(1), 'one\ntwo\n')
  const shell = await talk(server, path(['sh'], ['stdin', 'stdout', 'tty']), 'v5.channel.k8s.io')
  shell.socket.send(Buffer.from('\x04{"Width":80,"Height":24}'))
  for (const typed of ['NAMX\x7fE=you\r', 'echo hello $NAME\r', 'exit 4\r']) shell.socket.send(Buffer.from(`\0${typed}`))
  await shell.ended
  assert.equal(shell.channels.get(1), '/ # NAMX\b \bE=you\r\n/ # echo hello $NAME\r\nhello you\r\n/ # exit 4\r\n')
  assert.equal(JSON.parse(shell.channels.get(3)!).details.causes[0].message, '4')
})

/** The output of a command in a pod, and its errors after it. */
async function outputOf(pod: string, script: string): Promise<string> {
  const { channels, ended } = await talk(
    server,
    `${PODS}/${pod}/exec?${query(['sh', '-c', script], ['stdout', 'stderr'])}`,
    'v5.channel.k8s.io',
  )
  await ended
  return (channels.get(1) ?? '') + (channels.get(2) ?? '')
}

test('a container has the files that a kubelet, the kernel and its node provide', patient, async () => {
  const body = { metadata: { name: 'bytes' }, binaryData: { dump: Buffer.from('decafebad0feff', 'hex').toString('base64') } }
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps', { method: 'POST', body })).status, 201)
  const mounts = [
    { name: 'room', mountPath: '/part', subPathExpr: 'a/$(PART)' },
    { name: 'room', mountPath: '/whole' },
    { name: 'node-hosts', mountPath: '/etc/hosts-of-node' },
    { name: 'bytes', mountPath: '/bytes' },
  ]
  const volumes = [
    { name: 'room', emptyDir: {} },
    { name: 'node-hosts', hostPath: { path: '/etc/hosts', type: 'FileOrCreate' } },
    { name: 'bytes', configMap: { name: 'bytes' } },
  ]
  const resources = { requests: { cpu: '250m', memory: '32Mi' }, limits: { cpu: '1500m', memory: '64Mi' } }
  const env = [{ name: 'PART', value: 'b' }]
  await runningPod('files', { ...sh('sleep 3600'), volumeMounts: mounts, resources, env }, { volumes })
  for (const [path, value] of Object.entries({ 'cpu.max': '150000 100000', 'cpu.weight': '10', 'memory.max': '67108864' }))
    assert.equal(await outputOf('files', `head -n 1 /sys/fs/cgroup/${path}`), `${value}\n`)
  assert.match(await outputOf('files', 'mount -t cgroup2'), /^cgroup on \/sys\/fs\/cgroup type cgroup2 /)
  assert.equal(await outputOf('files', 'touch /whole/a/b/log'), '')
  assert.equal(await outputOf('files', 'test -f /part/log && echo there; ls /part'), 'there\nlog\n')
  const dumped = '00000000  de ca fe ba d0 fe ff                              |.......|\n00000007\n3sr+utD+/w==\n'
  assert.equal(await outputOf('files', 'hexdump -C /bytes/dump; base64 /bytes/dump'), dumped)
  const own = await outputOf('files', 'cat /etc/hosts')
  const ofNode = await outputOf('files', 'cat /etc/hosts-of-node')
  assert.match(own, /^# Kubernetes-managed hosts file\.\n[\s\S]*\tfiles\n$/)
  assert.match(ofNode, /^127\.0\.0\.1\tlocalhost\n[\s\S]*\tsimulated-1\n$/)
  await runningPod('host-network', sh('sleep 3600'), { hostNetwork: true })
  assert.equal(await outputOf('host-network', 'cat /etc/hosts'), `# Kubernetes-managed hosts file (host network).\n${ofNode}`)
})

test('a command reads the token of its pod, which is bound to the pod and ends with it', patient, async () => {
  await runningPod('holder', sh('sleep 3600'))
  const token = await outputOf('holder', 'cat /var/run/secrets/kubernetes.io/serviceaccount/token')
  const review = async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
    return (await ask(server, '/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body })).json.status
  }
  const { uid } = (await ask(server, `${PODS}/holder`)).json.metadata
  const { authenticated, user } = await review()
  assert.deepEqual([authenticated, user.username], [true, 'system:serviceaccount:default:default'])
  assert.deepEqual(user.extra['authentication.kubernetes.io/pod-uid'], [uid])
  assert.equal(await outputOf('holder', 'cat /var/run/secrets/kubernetes.io/serviceaccount/token'), token)
  await ask(server, `${PODS}/holder?gracePeriodSeconds=0`, { method: 'DELETE' })
  await eventually('the end of the token', async () => ((await review()).authenticated ? undefined : true))
})

test('files that a container leaves in a directory of its node are there for pods that start later', patient, async () => {
  const ended = async (name: string, path: string) => {
    const container = { name: 'c', image: 'busybox', ...sh('[ -f /data/x ] && exit 0; touch /data/x; exit 3') }
    const volumes = [{ name: 'data', hostPath: { path, type: 'DirectoryOrCreate' } }]
    const containers = [{ ...container, volumeMounts: [{ name: 'data', mountPath: '/data' }] }]
    const spec = { nodeName: 'simulated-1', restartPolicy: 'Never', containers, volumes }
    assert.equal((await ask(server, PODS, { method: 'POST', body: { metadata: { name }, spec } })).status, 201)
    return eventually(`the end of ${name}`, async () => {
      const [status] = (await ask(server, `${PODS}/${name}`)).json.status?.containerStatuses ?? []
      return status?.state.terminated?.exitCode as number | undefined
    })
  }
  assert.deepEqual(
    [await ended('leaves-1', '/tmp/one'), await ended('leaves-2', '/tmp/one'), await ended('leaves-3', '/tmp/two')],
    [3, 0, 3],
  )
})

test('exec over SPDY: streams, input, exit codes, pings', patient, async () => {
  await runningPod('spdy', sh('sleep 3600'))
  for (const protocol of ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io']) {
    const script = 'cat; echo wrong >&2; exit 5'
    const path = `${PODS}/spdy/exec?${query(['sh', '-c', script], ['stdin', 'stdout', 'stderr'])}`
    const upgraded = await upgradeToSpdy(server, path, ['v9.channel.k8s.io', protocol])
    assert.ok('socket' in upgraded, JSON.stringify(upgraded))
    assert.equal(upgraded.headers['x-stream-protocol-version'], protocol)
    const client = new SpdyClient(upgraded.socket)
    const ids: number[] = []
    for (const streamtype of ['error', 'stdin', 'stdout', 'stderr']) ids.push(await client.open({ streamtype }))
    const [error, stdin, stdout, stderr] = ids
    client.ping(7)
    client.send(stdin!, 'some ')
    client.send(stdin!, 'input', true)
    await client.ended
    assert.deepEqual([client.received.get(stdout!), client.received.get(stderr!)], ['some input', 'wrong\n'])
    const end = failure(5, `sh -c ${script}`)
    if (protocol === 'v4.channel.k8s.io') assert.deepEqual(JSON.parse(client.received.get(error!)!), end)
    else assert.equal(client.received.get(error!), end.message)
    assert.ok([error!, stdout!, stderr!].every(id => client.finished.has(id)))
    assert.deepEqual([client.replied.size, client.pings], [4, [7]])
  }
  assert.deepEqual(await upgradeToSpdy(server, `${PODS}/spdy/exec?command=ls&stdout=true`, ['other']), {
    status: 403,
    text: 'unable to upgrade: unable to negotiate protocol: client supports [other], server accepts [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]\n',
  })
})

test(
  'sessions with containers that do not run, with none of the streams, and without an upgrade are refused as by a kubelet',
  patient,
  async () => {
    await runningPod('refused', sh('sleep 3600'), { initContainers: [{ name: 'i', image: 'busybox', command: ['true'] }] })
    const exec = (more: string) => `${PODS}/refused/exec?command=ls&${more}`
    assert.equal((await ask(server, exec('stdout=true'), { method: 'POST' })).json.message, 'Upgrade request required')
    const spdy = (path: string) => upgradeToSpdy(server, path, ['v4.channel.k8s.io'])
    assert.deepEqual(await spdy(exec('container=i&stdout=true')), { status: 500, text: 'container not found ("i")' })
    assert.deepEqual(await spdy(exec('container=c')), { status: 400, text: 'you must specify at least 1 of stdin, stdout, stderr' })
    assert.deepEqual(await spdy(`${PODS}/refused/attach?container=i&stdout=true`), {
      status: 500,
      text: 'container i not found in pod refused_default',
    })
    const { channels, ended } = await talk(server, exec('container=i&stdout=true'), 'v5.channel.k8s.io')
    await ended
    const { message, reason, code } = JSON.parse(channels.get(3)!)
    assert.deepEqual(
      [message, reason, code],
      ['Internal error occurred: unable to upgrade connection: container not found ("i")', 'InternalError', 500],
    )
    await assert.rejects(talk(server, exec('container=c&stdout=true'), 'v6.channel.k8s.io'), /403/)
  },
)

test('attach shows the output of a container until it ends, and a shell that reads input answers', patient, async () => {
  await runningPod('attached', sh('echo working; sleep 3600'))
  const attached = await talk(server, `${PODS}/attached/attach?stdout=true`, 'v5.channel.k8s.io')
  await eventually('the output', () => (attached.channels.get(1) === 'working\n' ? true : undefined))
  await ask(server, `${PODS}/attached?gracePeriodSeconds=0`, { method: 'DELETE' })
  await attached.ended
  assert.equal(JSON.parse(attached.channels.get(3)!).status, 'Success')
  await runningPod('shell', { command: ['sh'], stdin: true, tty: true })
  const shell = await talk(server, `${PODS}/shell/attach?stdin=true&stdout=true&tty=true`, 'v5.channel.k8s.io')
  shell.socket.send(Buffer.from('\0hostname\r\x04'))
  await shell.ended
  assert.equal(shell.channels.get(1), '/ # hostname\r\nshell\r\n/ # ')
})

test('a forwarded port of a simulated pod says that nothing listens', patient, async () => {
  await runningPod('ports', sh('sleep 3600'))
  const { uid } = (await ask(server, `${PODS}/ports`)).json.metadata
  const text = `error forwarding port 80 to pod ports_default, uid ${uid}: pod "ports" is simulated by node "simulated-1": it has no process that listens`
  const upgraded = await upgradeToSpdy(server, `${PODS}/ports/portforward`, ['portforward.k8s.io'])
  assert.ok('socket' in upgraded)
  const client = new SpdyClient(upgraded.socket)
  const error = await client.open({ streamtype: 'error', port: '80', requestid: '0' })
  const data = await client.open({ streamtype: 'data', port: '80', requestid: '0' })
  const refused = await client.open({ streamtype: 'data', port: '99999', requestid: '1' })
  await eventually('the end of the streams', () => (client.reset.size === 3 ? true : undefined))
  assert.deepEqual([client.received.get(error), client.received.get(data), client.reset.has(refused)], [text, undefined, true])
  upgraded.socket.destroy()
  const { channels, ended } = await talk(server, `${PODS}/ports/portforward?ports=80`, 'v4.channel.k8s.io')
  await ended
  assert.deepEqual([channels.get(0), channels.get(1)], ['P\0', `P\0${text}`])
})

for (const webSockets of ['true', 'false'])
  testWith('kubectl', `kubectl with WebSockets ${webSockets}: exec, cp and debug`, patient, async (t, kubectl) => {
    const name = `kubectl-${webSockets}`
    await runningPod(name, sh('echo started; sleep 3600'))
    const folder = temporaryDirectory(t)
    const config = join(folder, 'kubeconfig')
    writeFileSync(config, server.kubeconfig)
    const env = { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets, KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets }
    const ask = (args: readonly string[], input = '') => run(kubectl, ['--kubeconfig', config, ...args], { env, input })
    const { code, stdout, stderr } = await ask(['exec', name, '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
    assert.deepEqual([code, stdout, stderr], [7, 'out\n', 'err\ncommand terminated with exit code 7\n'])
    assert.equal((await ask(['exec', '-i', name, '--', 'cat'], 'hello')).stdout, 'hello')
    writeFileSync(join(folder, 'sent'), 'some text\n')
    assert.equal((await ask(['cp', join(folder, 'sent'), `${name}:/tmp/there`])).code, 0)
    assert.equal((await ask(['cp', `${name}:/tmp/there`, join(folder, 'back')])).code, 0)
    assert.equal(readFileSync(join(folder, 'back'), 'utf8'), 'some text\n')
    const debugged = await ask(
      ['debug', name, '--image=busybox', '-c', 'debugger', '-i', '--quiet', '--', 'sh'],
      'hostname; cat /tmp/there\nexit 6\n',
    )
    assert.match(debugged.stdout, new RegExp(`^${name}\n`), debugged.stderr)
    const copied = await ask([
      'debug',
      name,
      '--image=busybox',
      `--copy-to=${name}-copy`,
      '-c',
      'second',
      '--',
      'sh',
      '-c',
      'echo copy; sleep 3600',
    ])
    assert.equal(copied.code, 0, copied.stderr)
    await eventually('the copy', async () => ((await ask(['logs', `${name}-copy`, '-c', 'second'])).stdout === 'copy\n' ? true : undefined))
  })
