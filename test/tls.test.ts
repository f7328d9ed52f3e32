// Versions and cipher suites of TLS, and certificates for names of the server.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { issueAuthority, issueServer } from '../src/lib/x509/issue.ts'
import { ask, connection, patient, type Scope, startInProcess, type Target, temporaryDirectory } from './kit.ts'

/** The version, the cipher suite and the name of the certificate of a handshake, or the code of its failure. */
async function handshake({ port }: Target, options: ConnectionOptions = {}) {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  try {
    await once(socket, 'secureConnect')
    return { version: socket.getProtocol(), suite: socket.getCipher().name, name: String(socket.getPeerCertificate().subject.CN) }
  } catch (error) {
    return { failure: (error as NodeJS.ErrnoException).code }
  } finally {
    socket.destroy()
  }
}

test('the oldest version is the configured one', patient, async t => {
  const newest = await startInProcess(t, { tlsMinVersion: 'VersionTLS13' })
  assert.equal((await handshake(newest)).version, 'TLSv1.3')
  assert.ok((await handshake(newest, { maxVersion: 'TLSv1.2' })).failure)
  assert.equal((await ask(newest, '/readyz')).status, 200)
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  assert.ok((await handshake(await startInProcess(t), old)).failure)
  assert.equal((await handshake(await startInProcess(t, { tlsMinVersion: 'VersionTLS11' }), old)).version, 'TLSv1.1')
})

test('before TLS 1.3 the configured cipher suites are used alone', patient, async t => {
  const server = await startInProcess(t, {
    tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'],
  })
  const before13 = { maxVersion: 'TLSv1.2' } as const
  assert.equal((await handshake(server, before13)).suite, 'ECDHE-ECDSA-AES128-GCM-SHA256')
  assert.ok((await handshake(server, { ...before13, ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' })).failure)
  for (const suite of ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'])
    assert.equal((await handshake(server, { ciphers: suite })).suite, suite)
  const usual = await startInProcess(t)
  assert.equal((await handshake(usual, { ...before13, ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' })).suite, 'ECDHE-ECDSA-AES256-GCM-SHA384')
})

test("settings are checked with kube-apiserver's errors", patient, async t => {
  for (const [options, message] of [
    [{ tlsMinVersion: 'TLS1.2' }, 'unknown tls version "TLS1.2"'],
    [{ tlsCipherSuites: ['AES128-SHA'] }, "Cipher suite AES128-SHA not supported or doesn't exist"],
    [
      { tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'] },
      'error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher (need at least one of TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)',
    ],
    [
      { tlsSniCertKeys: ['a.crt'] },
      'invalid argument "a.crt" for "tlsSniCertKeys" flag: expected comma separated certificate and key file paths',
    ],
    [{ tlsSniCertKeys: ['a.crt,a.key:'] }, 'invalid argument "a.crt,a.key:" for "tlsSniCertKeys" flag: empty names list is not allowed'],
  ] as const)
    await assert.rejects(startInProcess(t, options), { message })
  await assert.rejects(startInProcess(t, { tlsSniCertKeys: ['/none.crt,/none.key'] }), /^Error: failed to load SNI cert and key: /)
})

const validity = () => ({ notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) })
const authority = issueAuthority('authority', validity())

/** Writes a pair of files for a certificate with these DNS names; returns their part of the setting. */
function pair(folder: string, name: string, names: readonly string[]): string {
  const { cert, key } = issueServer(authority, name, { names, ...validity() })
  for (const [file, text] of [
    [`${name}.crt`, cert],
    [`${name}.key`, key],
  ] as const) {
    writeFileSync(join(folder, `${file}.new`), text)
    renameSync(join(folder, `${file}.new`), join(folder, file))
  }
  return `${join(folder, `${name}.crt`)},${join(folder, `${name}.key`)}`
}

async function namedServer(t: Scope) {
  const folder = temporaryDirectory(t)
  const settings = [
    pair(folder, 'first', ['first.example', '*.first.example']),
    `${pair(folder, 'second', ['unused.example'])}:second.example,*.wild.example,first.first.example`,
    `${pair(folder, 'third', [])}:127.0.0.2`,
  ]
  return { folder, server: await startInProcess(t, { tlsSniCertKeys: settings, host: '0.0.0.0' }) }
}

test('a client that names the server is shown the certificate for that name', patient, async t => {
  const { server } = await namedServer(t)
  const shown = async (servername: string) => (await handshake(server, { servername })).name
  const usual = (await handshake(server)).name!
  for (const [servername, name] of [
    ['first.example', 'first'],
    ['FIRST.example', 'first'],
    ['a.first.example', 'first'],
    ['a.b.first.example', usual],
    // Given names come before those of certificates.
    ['first.first.example', 'second'],
    ['second.example', 'second'],
    ['x.wild.example', 'second'],
    // No entry has it, but a certificate does.
    ['unused.example', 'second'],
    ['other.example', usual],
    ['localhost', usual],
  ] as const)
    assert.equal(await shown(servername), name, servername)
  for (const _ of [1, 2]) {
    assert.equal((await handshake(server, { host: '127.0.0.2' })).name, 'third')
    assert.equal((await handshake(server)).name, usual)
  }
  assert.equal((await handshake(server, { host: '127.0.0.2', servername: 'first.example' })).name, 'first')
})

test('certificates for names are read again when their files change, and open connections stay', patient, async t => {
  const { folder, server } = await namedServer(t)
  const agent = connection(t)
  const kept = { agent, servername: 'second.example', rejectUnauthorized: false }
  const serial = async () => {
    const socket = connect({ host: '127.0.0.1', port: server.port, servername: 'second.example', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
  assert.equal((await ask(server, '/readyz', kept)).status, 200)
  const [socket] = Object.values(agent.freeSockets)[0]!
  const before = await serial()
  pair(folder, 'second', ['unused.example'])
  while ((await serial()) === before) await new Promise(resolve => setTimeout(resolve, 50))
  assert.equal((await ask(server, '/readyz', kept)).status, 200)
  assert.equal(Object.values(agent.freeSockets)[0]![0], socket)
})
