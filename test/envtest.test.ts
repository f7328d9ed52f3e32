// What test harnesses of other languages do with the programs of `keelson envtest`, step by step as envtest does it.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { get as getSecurely, request } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueAuthority, issueClient } from '../src/lib/x509/issue.ts'
import { eventually, keelson, patient, run, temporaryDirectory } from './kit.ts'

const freePort = () =>
  new Promise<number>(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

const isOk = (url: string) =>
  new Promise<true | undefined>(resolve => {
    const done = ({ statusCode }: IncomingMessage) => resolve(statusCode === 200 || undefined)
    const asked = url.startsWith('https') ? getSecurely(url, { rejectUnauthorized: false }, done) : get(url, done)
    asked.on('error', () => resolve(undefined))
  })

const ended = (child: ChildProcess) => new Promise<number | null>(resolve => child.once('exit', resolve))

test('a harness can start etcd and kube-apiserver, restart them, and stop them', patient, async t => {
  const cache = temporaryDirectory(t)
  const assets = join(cache, 'assets')
  const printed = await keelson('envtest', '--dir', assets)
  assert.deepEqual([printed.code, printed.stdout, printed.stderr], [0, `${assets}\n`, ''])
  assert.deepEqual(readdirSync(assets).sort(), ['etcd', 'kube-apiserver', 'kubectl'])

  const help = await run(join(assets, 'kube-apiserver'), ['--help'])
  assert.equal(help.code, 0)
  assert.match(help.stdout, /^\s*--etcd-servers\b/m)
  assert.doesNotMatch(help.stdout, /^\s*--insecure-port\b/m)
  assert.match((await run(join(assets, 'kube-apiserver'), ['--version'])).stdout, /^Kubernetes v1\.37\./)

  const [dataDir, certDir] = [temporaryDirectory(t), temporaryDirectory(t)]
  const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }
  const clients = issueAuthority('clients', validity)
  const admin = issueClient(clients, { commonName: 'admin', organizations: ['system:masters'] }, validity)
  const signer = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(join(certDir, 'client-ca.crt'), clients.cert)
  writeFileSync(join(certDir, 'sa.key'), signer.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(join(certDir, 'sa.pub'), signer.publicKey.export({ type: 'spki', format: 'pem' }))
  const [etcdPort, port] = [await freePort(), await freePort()]
  const etcdUrl = `http://127.0.0.1:${etcdPort}`

  async function startBoth() {
    const etcd = spawn(join(assets, 'etcd'), [
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      '--listen-peer-urls=http://127.0.0.1:0',
      `--data-dir=${dataDir}`,
    ])
    t.after(() => etcd.kill('SIGKILL'))
    await eventually('the health of etcd', () => isOk(`${etcdUrl}/health`))
    const server = spawn(
      join(assets, 'kube-apiserver'),
      [
        '--allow-privileged=true',
        '--authorization-mode=RBAC',
        '--bind-address=127.0.0.1',
        `--cert-dir=${certDir}`,
        `--client-ca-file=${join(certDir, 'client-ca.crt')}`,
        '--disable-admission-plugins=ServiceAccount',
        `--etcd-servers=${etcdUrl}`,
        `--secure-port=${port}`,
        `--service-account-issuer=https://127.0.0.1:${port}/`,
        `--service-account-key-file=${join(certDir, 'sa.pub')}`,
        `--service-account-signing-key-file=${join(certDir, 'sa.key')}`,
        '--service-cluster-ip-range=10.0.0.0/24',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    t.after(() => server.kill('SIGKILL'))
    await eventually('the health of kube-apiserver', () => isOk(`https://127.0.0.1:${port}/healthz`))
    return { etcd, server }
  }

  const ask = (path: string, method = 'GET', body?: object) =>
    new Promise<number>((resolve, reject) => {
      const ca = readFileSync(join(certDir, 'apiserver.crt'))
      const options = { method, ca, ...admin, headers: { 'content-type': 'application/json' }, agent: false }
      const sent = request(`https://127.0.0.1:${port}${path}`, options, answer => {
        answer.resume()
        resolve(answer.statusCode!)
      })
      sent.on('error', reject)
      sent.end(body && JSON.stringify(body))
    })

  const first = await startBoth()
  const maps = '/api/v1/namespaces/default/configmaps'
  assert.equal(await ask(maps, 'POST', { metadata: { name: 'kept' } }), 201)
  const deployment = { metadata: { name: 'alone' }, spec: { selector: { matchLabels: { a: 'b' } }, template: pod } }
  assert.equal(await ask('/apis/apps/v1/namespaces/default/deployments', 'POST', deployment), 201)
  first.server.kill('SIGTERM')
  assert.equal(await ended(first.server), 0)
  first.etcd.kill('SIGTERM')
  assert.equal(await ended(first.etcd), 0)

  const second = await startBoth()
  assert.equal(await ask(`${maps}/kept`), 200)
  assert.equal(await ask('/apis/apps/v1/namespaces/default/replicasets'), 200)
  second.server.kill('SIGTERM')
  await ended(second.server)
  second.etcd.kill('SIGTERM')
  await ended(second.etcd)
  assert.ok(existsSync(join(dataDir, 'keelson')))
})

const pod = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'd' }] } }

test('unknown flags and a missing --etcd-servers are rejected in one line', patient, async () => {
  const unknown = await keelson('kube-apiserver', '--insecure-port=0')
  assert.deepEqual([unknown.code, unknown.stderr], [1, 'keelson: unknown flag: --insecure-port=0\n'])
  const without = await keelson('kube-apiserver', '--secure-port=0')
  assert.deepEqual([without.code, without.stderr], [1, 'keelson: --etcd-servers must be specified\n'])
})
