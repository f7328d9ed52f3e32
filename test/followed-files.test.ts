// Files that the configuration names and that are replaced while the server runs.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { issueAuthority, issueClient, issueServer } from '../src/lib/x509/issue.ts'
import { ask, connection, patient, type ServerProcess, startProcess, targetOf, temporaryDirectory } from './kit.ts'

const validity = () => ({ notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) })
const servingPair = (name: string) => issueServer(issueAuthority(name, validity()), name, { names: ['127.0.0.1'], ...validity() })

/** Replaces a file as programs that renew certificates do. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

/** The common name of the certificate that new connections are shown. */
async function shownName({ port }: ServerProcess): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const name = socket.getPeerCertificate().subject.CN
  socket.destroy()
  return String(name)
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise(resolve => setTimeout(resolve, 50))
}

test('a new certificate and key are shown to new connections, and a pair that does not fit is not', patient, async t => {
  const folder = temporaryDirectory(t)
  const [cert, key, kubeconfig] = [join(folder, 'tls.crt'), join(folder, 'tls.key'), join(folder, 'kubeconfig')]
  const [first, second, third] = ['first', 'second', 'third'].map(servingPair) as [
    ReturnType<typeof servingPair>,
    ReturnType<typeof servingPair>,
    ReturnType<typeof servingPair>,
  ]
  writeFileSync(cert, first.cert)
  writeFileSync(key, first.key)
  const server = await startProcess(t, { flags: ['--tls-cert-file', cert, '--tls-private-key-file', key, '--kubeconfig', kubeconfig] })
  const agent = connection(t)
  const kept = { agent, rejectUnauthorized: false }
  assert.equal((await ask(server, '/readyz', kept)).status, 200)
  assert.equal(await shownName(server), 'first')
  replace(cert, second.cert)
  await until(() => /could not be read again; the one before is shown/.test(server.stderr()))
  assert.equal(await shownName(server), 'first')
  replace(key, second.key)
  // At 6256f0f1 the first one was shown for as long as the server ran.
  await until(async () => (await shownName(server)) === 'second')
  assert.equal((await ask(server, '/readyz', kept)).status, 200, 'open connections stay')
  replace(cert, 'nonsense')
  replace(cert, third.cert)
  replace(key, third.key)
  await until(async () => (await shownName(server)) === 'third')
  const trusted = () => new X509Certificate(targetOf(readFileSync(kubeconfig, 'utf8')).credentials.ca).subject
  await until(() => trusted() === new X509Certificate(third.cert).subject)
})

test('new authorities of proxies are believed, and the old ones no more', patient, async t => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'proxies.crt')
  const [first, second] = ['first', 'second'].map(name => issueAuthority(name, validity())) as [
    ReturnType<typeof issueAuthority>,
    ReturnType<typeof issueAuthority>,
  ]
  writeFileSync(file, first.cert)
  const server = await startProcess(t, {
    flags: ['--requestheader-client-ca-file', file, '--requestheader-username-headers', 'X-Remote-User'],
  })
  const nameFor = async (authority: typeof first) => {
    const { cert, key } = issueClient(authority, { commonName: 'proxy', organizations: [] }, validity())
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const { json } = await ask(server, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      ...{ method: 'POST', body: review, cert, key },
      headers: { 'x-remote-user': 'jane' },
    })
    return json.status?.userInfo?.username
  }
  assert.equal(await nameFor(first), 'jane')
  assert.notEqual(await nameFor(second), 'jane')
  replace(file, second.cert)
  // At 6256f0f1 the file was read once.
  await until(async () => (await nameFor(second)) === 'jane')
  assert.notEqual(await nameFor(first), 'jane')
  const published = await ask(server, '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication')
  assert.match(published.json.data['requestheader-client-ca-file'], /BEGIN CERTIFICATE/)
})

test('a server goes on serving when its terminal closes, and reads changed files at once', patient, async t => {
  const folder = temporaryDirectory(t)
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const first = servingPair('first')
  writeFileSync(cert, first.cert)
  writeFileSync(key, first.key)
  const server = await startProcess(t, { flags: ['--tls-cert-file', cert, '--tls-private-key-file', key, '--log-level', 'info'] })
  const second = servingPair('second')
  replace(cert, second.cert)
  replace(key, second.key)
  // At 6256f0f1 this ended the server.
  server.child.kill('SIGHUP')
  await until(() => /SIGHUP.*reading changed files again/.test(server.stderr()))
  await until(async () => (await shownName(server)) === 'second')
  assert.deepEqual(await server.stop('SIGTERM'), { code: 0, signal: null })
})
