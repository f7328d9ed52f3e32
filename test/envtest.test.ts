// Test harnesses of other languages with the programs of `keelson envtest`, step by step as envtest does it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { get as getSecurely } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { kubectlOnPath, programsOf } from '../src/commands/envtest.ts'
import { parentGone } from '../src/commands/signals.ts'
import * as der from '../src/lib/x509/der-writer.ts'
import { ATTRIBUTE } from '../src/lib/x509/distinguished-name.ts'
import { issueAuthority, issueClient, issueServer, type Subject } from '../src/lib/x509/issue.ts'
import { EXTENSION, extension, writeCertificate } from '../src/lib/x509/write-certificate.ts'
import { ask, eventually, keelson, patient, ROOT, run, type Scope, temporaryDirectory } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { noteNotRun, programsNamed } from './programs.ts'

/** A port that nothing uses, below those that systems give out by themselves: nobody gets it until it is bound again. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer()
    const isFree = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}

const isOk = (url: string) =>
  new Promise<true | undefined>(resolve => {
    const done = (answer: IncomingMessage) => {
      answer.resume()
      resolve(answer.statusCode === 200 || undefined)
    }
    const asked = url.startsWith('https') ? getSecurely(url, { rejectUnauthorized: false }, done) : get(url, done)
    asked.on('error', () => resolve(undefined))
  })

/** Whether the help of a program names a flag, as envtest finds out. */
const hasFlag = async (program: string, flag: string) => {
  const { code, stdout, stderr } = await run(program, ['--help'])
  assert.equal(code, 0)
  return new RegExp(`^\\s*--${flag}\\b`, 'm').test(stdout + stderr)
}

/** Certificates as envtest makes them: ECDSA keys in PKCS #8, and one authority each for the server, for clients and for accounts. */
const VALIDITY = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 168 * 3_600_000) }
const newAuthority = () => issueAuthority('envtest-environment', VALIDITY)

type Plane = {
  readonly url: string
  /** Provisions a user, as `AddUser` does; resolves with a function that sends requests as that user. */
  readonly user: (name: string, groups: string[]) => (path: string, method?: string, body?: object) => Promise<{ code: number; body: any }>
  /** Writes a kubeconfig for a user. */
  readonly kubeconfig: (name: string, groups: string[]) => string
  readonly stop: () => Promise<void>
}
type Folders = {
  readonly data: string
  readonly certs: string
  /** Flags of kube-apiserver that a suite appends. */
  readonly flags?: Readonly<Record<string, string>>
  readonly clients: ReturnType<typeof newAuthority>
}

/** Starts a control plane as envtest's `ControlPlane.Start` does: the same files, flags, order and health checks. */
async function startPlane(t: Scope, assets: string, { data, certs, clients, flags }: Folders): Promise<Plane> {
  const start = async (name: string, flags: Record<string, string>, health: string) => {
    const args = Object.keys(flags)
      .sort()
      .map(flag => `--${flag}=${flags[flag]}`)
    // In a process group of its own, as Setpgid has it.
    const child = spawn(join(assets, name), args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true })
    t.after(() => child.kill('SIGKILL'))
    let errors = ''
    child.stderr!.setEncoding('utf8').on('data', text => (errors += text))
    const exited = new Promise<number | null>(resolve => child.once('exit', resolve))
    await eventually(`the health of ${name}`, async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended before it was ready: ${errors}`)
      return isOk(health)
    })
    return { child, exited, errors: () => errors }
  }
  const etcdUrl = `http://127.0.0.1:${await freePort()}`
  const etcdFlags = {
    'listen-peer-urls': `http://127.0.0.1:${await freePort()}`,
    'data-dir': data,
    'advertise-client-urls': etcdUrl,
    'listen-client-urls': etcdUrl,
    ...((await hasFlag(join(assets, 'etcd'), 'unsafe-no-fsync')) && { 'unsafe-no-fsync': 'true' }),
  }
  const etcd = await start('etcd', etcdFlags, `${etcdUrl}/health`)
  const port = String(await freePort())
  const url = `https://127.0.0.1:${port}`
  const file = (name: string) => join(certs, name)
  if (!existsSync(file('apiserver.crt'))) {
    const serving = newAuthority()
    const { cert, key } = issueServer(serving, 'localhost', { names: ['localhost', '127.0.0.1'], ...VALIDITY })
    const accounts = newAuthority()
    const files = { 'apiserver.crt': cert, 'apiserver.key': key, 'sa-signer.crt': accounts.cert, 'sa-signer.key': accounts.key }
    for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text, { mode: 0o640 })
    writeFileSync(file('serving-ca.crt'), serving.cert)
  }
  assert.equal(await hasFlag(join(assets, 'kube-apiserver'), 'insecure-port'), false)
  writeFileSync(file('client-cert-auth-ca.crt'), clients.cert, { mode: 0o640 })
  const serverFlags = {
    'service-cluster-ip-range': '10.0.0.0/24',
    'allow-privileged': 'true',
    'disable-admission-plugins': 'ServiceAccount',
    'cert-dir': certs,
    'authorization-mode': 'RBAC',
    'secure-port': port,
    'bind-address': '127.0.0.1',
    'service-account-issuer': `${url}/`,
    'service-account-key-file': file('sa-signer.crt'),
    'service-account-signing-key-file': file('sa-signer.key'),
    'client-ca-file': file('client-cert-auth-ca.crt'),
    'etcd-servers': etcdUrl,
    ...flags,
  }
  const server = await start('kube-apiserver', serverFlags, `${url}/healthz`)
  const ca = readFileSync(file('serving-ca.crt'), 'utf8')
  const credentialsOf = (commonName: string, organizations: string[]) => issueClient(clients, { commonName, organizations }, VALIDITY)
  return {
    url,
    user(name, groups) {
      const credentials = { ca, ...credentialsOf(name, groups) }
      return async (path, method = 'GET', body) => {
        const { status, json } = await ask({ url, credentials }, path, { method, ...(body && { body }) })
        return { code: status, body: json }
      }
    },
    kubeconfig(name, groups) {
      const { cert, key } = credentialsOf(name, groups)
      const encoded = (text: string) => Buffer.from(text).toString('base64')
      const config = {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'envtest', cluster: { server: url, 'certificate-authority-data': encoded(ca) } }],
        users: [{ name: 'envtest', user: { 'client-certificate-data': encoded(cert), 'client-key-data': encoded(key) } }],
        contexts: [{ name: 'envtest', context: { cluster: 'envtest', user: 'envtest' } }],
        'current-context': 'envtest',
      }
      const written = file(`${name}.kubecfg`)
      writeFileSync(written, JSON.stringify(config))
      return written
    },
    async stop() {
      for (const { child, exited, errors } of [server, etcd]) {
        child.kill('SIGTERM')
        assert.equal(await exited, 0)
        // A health check during the start reports that it is not finished.
        assert.doesNotMatch(errors(), /^(?!.*health check failed).+/m)
      }
    },
  }
}

const foldersFor = (t: Scope): Folders => ({ data: temporaryDirectory(t), certs: temporaryDirectory(t), clients: newAuthority() })

const MAPS = '/api/v1/namespaces/default/configmaps'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widgets = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', kind: 'Widget' },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}
const pod = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'd' }] } }

test('control planes are started as envtest starts them, side by side, stopped, and started again on their data', patient, async t => {
  const assets = join(temporaryDirectory(t), 'assets')
  const printed = await keelson('envtest', '--dir', assets)
  assert.deepEqual([printed.code, printed.stdout, printed.stderr], [0, `${assets}\n`, ''])
  assert.deepEqual(readdirSync(assets).sort(), ['etcd', 'kube-apiserver', 'kubectl'])
  assert.match((await run(join(assets, 'kube-apiserver'), ['--version'])).stdout, /^Kubernetes v1\.37\./)
  assert.ok(await hasFlag(join(assets, 'kube-apiserver'), 'etcd-servers'))

  const folders = [foldersFor(t), foldersFor(t)] as const
  const [plane, other] = await Promise.all(folders.map(each => startPlane(t, assets, each)))
  const admin = plane!.user('default', ['system:masters'])
  assert.equal((await admin(MAPS, 'POST', { metadata: { name: 'kept' } })).code, 201)
  assert.equal((await other!.user('default', ['system:masters'])(`${MAPS}/kept`)).code, 404)
  assert.equal((await plane!.user('nobody', [])(MAPS)).code, 403)
  // Users of one are nobody's in the other.
  const strange = issueClient(folders[1].clients, { commonName: 'default', organizations: ['system:masters'] }, VALIDITY)
  const ca = readFileSync(join(folders[0].certs, 'serving-ca.crt'), 'utf8')
  assert.equal((await ask({ url: plane!.url, credentials: { ca, ...strange } }, MAPS)).status, 401)

  // InstallCRDs: create them, then look at discovery until they are there.
  assert.equal((await admin(DEFINITIONS, 'POST', widgets)).code, 201)
  await eventually('the kind', async () =>
    (await admin('/apis/example.com/v1')).body?.resources?.some(({ name }: any) => name === 'widgets') ? true : undefined,
  )
  assert.equal(
    (
      await admin('/apis/example.com/v1/namespaces/default/widgets', 'POST', {
        apiVersion: 'example.com/v1',
        kind: 'Widget',
        metadata: { name: 'a' },
      })
    ).code,
    201,
  )
  // No controllers, as with kube-apiserver alone; no service account is looked for, as its plugin is off.
  const deployment = { metadata: { name: 'alone' }, spec: { selector: { matchLabels: { a: 'b' } }, template: pod } }
  assert.equal((await admin('/apis/apps/v1/namespaces/default/deployments', 'POST', deployment)).code, 201)
  assert.equal((await admin('/api/v1/namespaces/default/pods', 'POST', { metadata: { name: 'lonely' }, spec: pod.spec })).code, 201)
  assert.deepEqual((await admin('/apis/apps/v1/namespaces/default/replicasets')).body.items, [])
  const [kubectl] = programsNamed('kubectl')
  if (kubectl === undefined) noteNotRun('kubectl', t.name)
  else {
    const { stdout } = await run(join(assets, 'kubectl'), [
      `--kubeconfig=${plane!.kubeconfig('default', ['system:masters'])}`,
      'get',
      'widgets',
      '-o',
      'name',
    ])
    assert.equal(stdout, 'widget.example.com/a\n')
  }
  await Promise.all([plane!.stop(), other!.stop()])

  const again = await startPlane(t, assets, folders[0])
  const same = again.user('default', ['system:masters'])
  assert.equal((await same(`${MAPS}/kept`)).code, 200)
  assert.equal((await same('/apis/example.com/v1/namespaces/default/widgets/a')).code, 200)
  await again.stop()
})

test('with controllers and nodes, namespaces are deleted, owners collected and pods run, and a suite changes nothing', patient, async t => {
  const assets = join(temporaryDirectory(t), 'assets')
  assert.equal((await keelson('envtest', '--dir', assets, '--controllers', 'all', '--nodes', '1')).code, 0)
  const audit = temporaryDirectory(t)
  const [policy, log] = [join(audit, 'policy.yaml'), join(audit, 'audit.log')]
  writeFileSync(
    policy,
    'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata, resources: [{ group: "", resources: [namespaces] }] }]\n',
  )
  const flags = { 'audit-policy-file': policy, 'audit-log-path': log, 'audit-log-maxsize': '10', 'audit-log-mode': 'blocking-strict' }
  const plane = await startPlane(t, assets, { ...foldersFor(t), flags })
  const admin = plane.user('default', ['system:masters'])
  assert.equal((await admin('/api/v1/namespaces', 'POST', { metadata: { name: 'team' } })).code, 201)
  const events = readFileSync(log, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.ok(events.some(({ verb, user, objectRef }) => verb === 'create' && user.username === 'default' && objectRef.name === 'team'))
  const deployment = { metadata: { name: 'web' }, spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template: pod } }
  const { body: web } = await admin('/apis/apps/v1/namespaces/team/deployments', 'POST', deployment)
  await eventually(
    'the pod runs',
    async () => (await admin('/api/v1/namespaces/team/pods')).body.items[0]?.status.phase === 'Running' || undefined,
  )
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: web.metadata.uid }]
  await admin('/api/v1/namespaces/team/configmaps', 'POST', { metadata: { name: 'owned', ownerReferences } })
  await admin('/apis/apps/v1/namespaces/team/deployments/web', 'DELETE')
  await eventually(
    'its dependents are gone',
    async () => (await admin('/api/v1/namespaces/team/configmaps/owned')).code === 404 || undefined,
  )
  await eventually('its pod is gone', async () => (await admin('/api/v1/namespaces/team/pods')).body.items.length === 0 || undefined)
  await admin('/api/v1/namespaces/team', 'DELETE')
  await eventually('the namespace is gone', async () => (await admin('/api/v1/namespaces/team')).code === 404 || undefined)
  await plane.stop()
})

test('the choice of controllers is checked before programs are written', patient, async t => {
  const assets = join(temporaryDirectory(t), 'assets')
  for (const [flags, message] of [
    [['--controllers', 'nmespace'], /nmespace/],
    [['--nodes', '-1'], /--nodes/],
    [['--nodes', 'many'], /--nodes/],
    [['--node', '1'], /unknown argument --node/],
    [['all'], /what is all\? keelson envtest \[--dir DIR\]/],
  ] as const) {
    const { code, stderr } = await keelsonHere('envtest', '--dir', assets, ...flags)
    assert.notEqual(code, 0)
    assert.match(stderr, message)
  }
  assert.equal(existsSync(assets), false)
})

test('on Windows the programs are command files, and scripts of Node that have the arguments', patient, async t => {
  const [node, bin] = ['C:\\node 20\\node.exe', 'C:\\100%\\keelson\\bin']
  const own = { keelson: [node, `${bin}\\keelson.js`], etcd: [node, `${bin}\\etcd.js`] }
  const programs = { ...own, kubectl: 'C:\\k%\\kubectl.exe', components: ['--nodes=1'] }
  const files = programsOf(programs, 'win32')
  assert.deepEqual(Object.keys(files), ['kube-apiserver.cmd', 'kube-apiserver.cjs', 'etcd.cmd', 'etcd.cjs', 'kubectl.cmd'])
  assert.equal(files['kube-apiserver.cmd'], '@"C:\\node 20\\node.exe" "%~dp0kube-apiserver.cjs" %*\r\n')
  assert.equal(files['kubectl.cmd'], '@"C:\\k%%\\kubectl.exe" %*\r\n')
  assert.match(programsOf({ ...programs, kubectl: undefined }, 'win32')['kubectl.cmd']!, /^@echo kubectl: none was on the PATH/)
  const executable = programsOf({ ...programs, keelson: ['C:\\keelson.exe'], etcd: ['C:\\keelson.exe', 'etcd'] }, 'win32')
  assert.equal(executable['kube-apiserver.cmd'], '@"C:\\keelson.exe" "kube-apiserver" "--exit-with-parent" "--nodes=1" %*\r\n')
  assert.equal(executable['etcd.cmd'], '@"C:\\keelson.exe" "etcd" "--exit-with-parent" %*\r\n')

  // The scripts are the same for every system.
  const folder = temporaryDirectory(t)
  const [keelsonScript, etcdScript] = [join(ROOT, 'bin/keelson.js'), join(ROOT, 'bin/etcd.js')]
  const here = programsOf(
    { keelson: [node, keelsonScript], etcd: [node, etcdScript], kubectl: undefined, components: ['--nodes=1'] },
    'win32',
  )
  for (const name of ['kube-apiserver.cjs', 'etcd.cjs']) writeFileSync(join(folder, name), here[name]!)
  assert.match((await run(process.execPath, [join(folder, 'kube-apiserver.cjs'), '--version'])).stdout, /^Kubernetes v1\.37\./)
  assert.match((await run(process.execPath, [join(folder, 'etcd.cjs'), '--version'])).stdout, /^etcd Version: 3\./)
})

test('on Windows kubectl is found by its extensions, and not in a folder of this command', () => {
  const found = (env: Record<string, string>, ...files: string[]) =>
    kubectlOnPath({ platform: 'win32', env, isProgram: path => files.includes(path) })
  const env = { Path: 'C:\\Users\\me\\.cache\\keelson\\envtest-0.1.0-abc;;"C:\\Program Files\\k";D:\\bin', PATHEXT: '.COM;.EXE;.CMD' }
  assert.equal(found(env, 'D:\\bin\\kubectl.exe', 'D:\\bin\\kubectl.cmd'), 'D:\\bin\\kubectl.exe')
  assert.equal(found(env, 'C:\\Program Files\\k\\kubectl.cmd', 'D:\\bin\\kubectl.exe'), 'C:\\Program Files\\k\\kubectl.cmd')
  assert.equal(found(env, 'C:\\Users\\me\\.cache\\keelson\\envtest-0.1.0-abc\\kubectl.cmd'), undefined)
  assert.equal(found({ PATH: 'D:\\bin' }, 'D:\\bin\\kubectl.exe'), 'D:\\bin\\kubectl.exe')
  assert.equal(found({ PATH: 'D:\\bin' }, 'D:\\bin\\kubectl'), undefined, 'a file without an extension is no program there')
})

test('a dead parent is noticed where its number stays and where it changes', patient, async () => {
  let [ppid, isAlive] = [5, true]
  const system = {
    get ppid() {
      return ppid
    },
    isAlive: () => isAlive,
  }
  const [onWindows, onUnix] = [
    parentGone(system),
    parentGone({
      ...system,
      isAlive: () => true,
      get ppid() {
        return ppid
      },
    }),
  ]
  // Its timers do not keep a process.
  const awake = setInterval(() => {}, 1000)
  isAlive = false
  assert.match(await onWindows, /has ended/)
  ppid = 1
  assert.match(await onUnix, /has ended/)
  clearInterval(awake)
})

/** A certificate that signs itself and is no authority, as kube-api-test makes them. */
function selfSigned(subject: Subject, extensions: readonly Buffer[]): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const attribute = (type: string, value: string) => der.setOf(der.sequence(der.oid(type), der.utf8(value)))
  const organizations = (subject.organizations ?? []).map(each => attribute(ATTRIBUTE.organization, each))
  const name = der.sequence(...organizations, attribute(ATTRIBUTE.commonName, subject.commonName))
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' })
  const cert = writeCertificate({ subject: name, issuer: name, publicKeyInfo, validity: VALIDITY, extensions }, privateKey)
  return { cert, key: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString() }
}

test('kube-api-test of fabric8 starts it with its own flags, does not wait for etcd, and kills it', patient, async t => {
  const assets = join(temporaryDirectory(t), 'k8s/1.37.0-linux-amd64')
  assert.equal((await keelson('envtest', '--dir', assets)).code, 0)
  const [folder, data, wal] = [temporaryDirectory(t), temporaryDirectory(t), temporaryDirectory(t)]
  const local = der.sequence(der.implicit(7, Buffer.from([127, 0, 0, 1])), der.implicit(2, Buffer.from('kubernetes')))
  const server = selfSigned({ commonName: 'example.org' }, [extension(EXTENSION.subjectAltName, local)])
  const client = selfSigned({ commonName: 'kubeapitest', organizations: ['system:masters'] }, [
    extension(EXTENSION.subjectKeyId, der.octets(Buffer.alloc(20, 1))),
  ])
  const file = (name: string) => join(folder, name)
  const files = { 'apiserver.crt': server.cert, 'apiserver.key': server.key, 'client.crt': client.cert, 'client.key': client.key }
  for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text)
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const etcdFlags = [
    ...['-data-dir', data, '-wal-dir', wal],
    ...['--listen-client-urls', `http://0.0.0.0:${etcdPort}`, '--advertise-client-urls', `http://0.0.0.0:${etcdPort}`],
    ...['--initial-cluster', `default=http://localhost:${peerPort}`, '--initial-advertise-peer-urls', `http://localhost:${peerPort}`],
    ...['--listen-peer-urls', `http://localhost:${peerPort}`],
  ]
  const key = file('apiserver.key')
  const serverFlags = [
    ...['--cert-dir', folder, '--secure-port', String(port), '--etcd-servers', `http://0.0.0.0:${etcdPort}`],
    ...['--authorization-mode', 'RBAC', '--service-account-issuer', 'https://localhost'],
    ...['--service-account-signing-key-file', key, '--service-account-signing-key-file', key, '--service-account-key-file', key],
    ...['--service-account-issuer', file('apiserver.crt'), '--disable-admission-plugins', 'ServiceAccount'],
    ...['--client-ca-file', file('client.crt'), '--service-cluster-ip-range', '10.0.0.0/24', '--allow-privileged'],
  ]
  const start = (name: string, flags: string[]) => {
    const child = spawn(join(assets, name), flags, { stdio: 'ignore' })
    t.after(() => child.kill('SIGKILL'))
  }
  start('kube-apiserver', serverFlags)
  start('etcd', etcdFlags)
  const url = `https://127.0.0.1:${port}`
  await eventually('readyz', () => isOk(`${url}/readyz`))
  const found = await ask({ url, credentials: { ca: server.cert, ...client } }, '/api/v1/namespaces/default')
  assert.deepEqual([found.status, found.json?.metadata.name], [200, 'default'])
})

test('unknown flags and a missing --etcd-servers are rejected in one line', patient, async () => {
  const unknown = await keelson('kube-apiserver', '--insecure-port=0')
  assert.deepEqual([unknown.code, unknown.stderr], [1, 'keelson: unknown flag: --insecure-port=0\n'])
  const without = await keelson('kube-apiserver', '--secure-port=0')
  assert.deepEqual([without.code, without.stderr], [1, 'keelson: --etcd-servers must be specified\n'])
})

// At 6256f0f1 both lived on, and the port of the next run was taken.
test('the programs end when the harness that started them is killed', patient, async t => {
  const folder = temporaryDirectory(t)
  assert.equal((await keelson('envtest', '--dir', folder)).code, 0)
  const etcdUrl = `http://127.0.0.1:${await freePort()}`
  const port = await freePort()
  // A shell that starts both and waits, as a test binary does.
  const script = `"$1/etcd" --listen-client-urls=${etcdUrl} --data-dir="$1/data" & "$1/kube-apiserver" --etcd-servers=${etcdUrl} --secure-port=${port} --cert-dir="$1/certs" --authorization-mode=RBAC & wait`
  const harness = spawn('/bin/sh', ['-c', script, 'sh', folder], { stdio: 'ignore' })
  t.after(() => harness.kill('SIGKILL'))
  const health = `https://127.0.0.1:${port}/livez`
  await eventually('the health of kube-apiserver', () => isOk(health))
  harness.kill('SIGKILL')
  await eventually('the end of kube-apiserver', async () => ((await isOk(health)) ? undefined : true))
  await eventually('the end of etcd', async () => ((await isOk(`${etcdUrl}/health`)) ? undefined : true))
})
