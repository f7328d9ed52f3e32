/** What an operator does and sees: flags, logs, signals, certificates, health, metrics, a full disk. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { parse } from 'yaml'
import { anonymous, ask, keelson, patient, type ServerProcess, startInProcess, startProcess, targetOf, temporaryDirectory } from './kit.ts'

const linesOf = (server: Pick<ServerProcess, 'stderr'>) =>
  server
    .stderr()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))

test('the log of level info tells of the start, its settings, readiness, and the end with its reason', patient, async t => {
  const server = await startProcess(t, { flags: ['--log-level=info', '--max-requests-inflight=50'] })
  assert.deepEqual(await server.stop('SIGHUP'), { code: 0, signal: null })
  const [starting, ready, ending, stopped] = linesOf(server)
  assert.equal(starting.msg, 'starting')
  assert.match(starting.version, /^\d+\.\d+\.\d+/)
  assert.equal(starting.data, server.dataDir)
  assert.equal(starting.settings.maxRequestsInflight, 50)
  assert.equal(starting.settings.maxMutatingRequestsInflight, undefined)
  assert.deepEqual([ready.msg, ready.address], ['ready', server.url])
  assert.deepEqual([ending.msg, ending.reason], ['shutting down', 'SIGHUP'])
  assert.equal(stopped.msg, 'stopped')
})

test('a client that speaks plain HTTP is told so', patient, async t => {
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
  const server = await startProcess(t, { flags: ['--bind-address=0.0.0.0', '--tls-san=api.example', '--tls-san=192.0.2.7'] })
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
  const { code, stderr } = await keelson('serve', '--data-dir', join(directory, 'data'), '--secure-port=0', '--kubeconfig', file)
  assert.equal(code, 1)
  assert.match(stderr, /^keelson: .*config is not a kubeconfig that a context can be added to/)
  assert.equal(readFileSync(file, 'utf8'), 'apiVersion: [')
})

test('flags are read as kube-apiserver reads them', patient, async t => {
  const flags = [
    '--anonymous_auth',
    '--enable-admission-plugins=NodeRestriction',
    '--enable-admission-plugins=Priority',
    '--api-audiences=',
  ]
  const server = await startProcess(t, { flags })
  assert.equal((await ask(server, '/livez', anonymous)).status, 200)
  assert.match(server.stderr(), /the admission plugin NodeRestriction is not there yet/)
  const { code, stderr } = await keelson('serve', '--secure-port=0', '--store=memory', '--enable-admission-plugins=Whim')
  assert.equal(code, 1)
  assert.match(stderr, /there is no plugin "Whim"/)
})
