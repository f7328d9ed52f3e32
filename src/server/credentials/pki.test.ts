import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueClient } from '../../lib/x509/issue.ts'
import { loadPki, renewalTime } from './pki.ts'

const DAY = 24 * 3_600_000
const now = new Date('2026-01-01T00:00:00Z')
const after = (days: number) => new Date(now.getTime() + days * DAY)

async function inFolder(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'keelson-pki-'))
  try {
    await run(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Loads and waits for the disk. */
async function load(options: Parameters<typeof loadPki>[0]) {
  const { saved, ...pki } = loadPki(options)
  await saved
  return pki
}

test('created files are loaded again, and readable by their owner only', () =>
  inFolder(async directory => {
    const first = await load({ directory, names: ['10.0.0.1'], now })
    assert.deepEqual(await load({ directory, names: ['10.0.0.1'], now: after(30) }), first)
    for (const file of readdirSync(join(directory, 'pki'))) assert.equal(statSync(join(directory, 'pki', file)).mode & 0o777, 0o600)
    assert.equal(statSync(join(directory, 'pki')).mode & 0o777, 0o700)
  }))

test('the server certificate has all names', () => {
  const server = new X509Certificate(loadPki({ directory: undefined, names: ['10.0.0.1', 'box.local'], now }).server.cert)
  for (const name of ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'box.local'])
    assert.ok(server.checkHost(name), name)
  for (const address of ['127.0.0.1', '::1', '10.0.0.1']) assert.ok(server.checkIP(address), address)
})

test('a new name gives a new server certificate and nothing else', () =>
  inFolder(async directory => {
    const first = await load({ directory, names: [], now })
    const second = await load({ directory, names: ['other.local'], now })
    assert.deepEqual([second.authority, second.admin], [first.authority, first.admin])
    assert.notDeepEqual(second.server, first.server)
  }))

test('a kept admin certificate with another subject is replaced', () =>
  inFolder(async directory => {
    const first = await load({ directory, names: [], now })
    const validity = { notBefore: now, notAfter: after(365) }
    const former = issueClient(first.authority, { commonName: 'admin', organizations: ['system:masters'], uid: 'u-admin' }, validity)
    writeFileSync(join(directory, 'pki', 'admin.pem'), former.cert + former.key)
    const second = await load({ directory, names: [], now })
    assert.deepEqual([second.authority, second.server], [first.authority, first.server])
    assert.equal(new X509Certificate(second.admin.cert).subject, 'O=system:masters\nCN=kubernetes-admin')
  }))

test('the certificate for kubelets names a user of its own in no group, also in a folder that has the other certificates already', () =>
  inFolder(async directory => {
    const first = await load({ directory, names: [], now })
    rmSync(join(directory, 'pki', 'apiserver-kubelet-client.pem'))
    const { kubeletClient, ...others } = await load({ directory, names: [], now })
    assert.equal(new X509Certificate(kubeletClient.cert).subject, 'CN=kube-apiserver-kubelet-client')
    assert.ok(new X509Certificate(kubeletClient.cert).verify(new X509Certificate(first.authority.cert).publicKey))
    const { kubeletClient: _, ...before } = first
    assert.deepEqual(others, before)
  }))

test('certificates are renewed well before they expire, the authority too', () =>
  inFolder(async directory => {
    const first = await load({ directory, names: [], now })
    const renewal = new Date(renewalTime(first) + 1000)
    assert.ok(renewal > after(200) && renewal < after(300))
    const second = await load({ directory, names: [], now: renewal })
    assert.deepEqual(second.authority, first.authority)
    assert.notDeepEqual(second.server, first.server)
    assert.notDeepEqual(second.admin, first.admin)
    const third = await load({ directory, names: [], now: after(2800) })
    assert.notDeepEqual(third.authority, first.authority)
    assert.ok(new X509Certificate(third.server.cert).verify(new X509Certificate(third.authority.cert).publicKey))
  }))

test('a damaged file is an error that names it, and is not replaced', () =>
  inFolder(async directory => {
    await load({ directory, names: [], now })
    writeFileSync(join(directory, 'pki', 'ca.pem'), 'garbage')
    assert.throws(
      () => loadPki({ directory, names: [], now }),
      /ca\.pem does not hold a certificate and a key; remove it to have new ones made$/,
    )
  }))
