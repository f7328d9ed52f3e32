import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '../../http/observability/log.ts'
import { systemClock } from '../../lib/clock.ts'
import { issueAuthority } from '../../lib/x509/issue.ts'
import { DEFAULTS } from '../config.ts'
import { loadPki, loadTokenKey } from '../credentials/pki.ts'
import { certificateNames, keepTlsFresh, reachableHost, tlsMaterial } from './tls.ts'

const validity = { notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 3_600_000) }

test('a changed client CA file is loaded, one that cannot be read is not', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'keelson-tls-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'ca.pem')
  const [first, second] = ['first', 'second'].map(name => issueAuthority(name, validity).cert) as [string, string]
  writeFileSync(file, first)
  const pki = loadPki({ directory: undefined, names: [], now: new Date() })
  const seen: string[] = []
  const news = new Promise<void>(resolve => {
    const stop = keepTlsFresh(
      { ...DEFAULTS, store: 'memory', clientCaFile: file },
      {
        pki,
        load: async () => pki,
        files: { clientCa: first, server: undefined },
        listener: { reload: ({ clientCa }) => void seen.push(clientCa), renewCertified: resolve },
        url: '',
        log: createLog('silent'),
        clock: systemClock,
      },
    )
    t.after(stop)
  })
  // The look at the file does not keep a process; this test does.
  const staying = setInterval(() => {}, 1000)
  t.after(() => clearInterval(staying))
  writeFileSync(file, 'half a')
  writeFileSync(file, second)
  await news
  assert.deepEqual(seen, [pki.authority.cert + second])
})

test('the server uses its own certificate, or the one of the operator', () => {
  const pki = loadPki({ directory: undefined, names: [], now: new Date() })
  const own = { cert: 'C', key: 'K' }
  const { cert, key, clientCa } = tlsMaterial({ clientCa: undefined, server: own }, pki, DEFAULTS)
  assert.deepEqual({ cert, key, clientCa }, { ...own, clientCa: pki.authority.cert })
  assert.equal(tlsMaterial({ clientCa: undefined, server: undefined }, pki, DEFAULTS).cert, pki.server.cert)
  assert.deepEqual(certificateNames({ ...DEFAULTS, host: '10.1.2.3' }), ['10.1.2.3', '10.0.0.1'])
})

test('the certificate of a server on all addresses has those of the machine, and whatever the operator adds', () => {
  const config = { ...DEFAULTS, host: '0.0.0.0', advertiseAddress: '192.0.2.7', tlsSans: ['api.example', '*.api.example', '198.51.100.1'] }
  const names = certificateNames(config)
  const own = Object.values(networkInterfaces()).flatMap(all => all ?? [])
  for (const { address } of own.filter(({ address }) => !address.startsWith('fe80:'))) assert.ok(names.includes(address), address)
  for (const name of [hostname(), '192.0.2.7', ...config.tlsSans]) assert.ok(names.includes(name), name)
  const { server } = loadPki({ directory: undefined, names, now: new Date() })
  const certificate = new X509Certificate(server.cert)
  assert.ok(certificate.checkIP('192.0.2.7') && certificate.checkIP('198.51.100.1') && certificate.checkHost('x.api.example'))
})

test('a server on all addresses is reached at the advertised one, or at loopback', () => {
  assert.equal(reachableHost('0.0.0.0', { advertiseAddress: undefined }), '127.0.0.1')
  assert.equal(reachableHost('::', { advertiseAddress: undefined }), '127.0.0.1')
  assert.equal(reachableHost('0.0.0.0', { advertiseAddress: '192.0.2.7' }), '192.0.2.7')
  assert.equal(reachableHost('::1', { advertiseAddress: undefined }), '[::1]')
})

test('the key that signs tokens is created once', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'keelson-key-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const made = loadTokenKey(directory)
  await made.saved
  assert.equal(loadTokenKey(directory).key, made.key)
  assert.notEqual(loadTokenKey(undefined).key, made.key)
})
