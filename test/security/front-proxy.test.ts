// Attacks on the headers in which a front proxy names users: only a certificate that its authority has really issued is believed.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, patient, type Scope, startInProcess, type Target, temporaryDirectory } from '../kit.ts'
import { makeNamed, PURPOSE } from '../kits/chains.ts'

const ids = { subjectKeyId: 'right', authorityKeyId: 'right' } as const
const authority = { ca: true, usages: ['digitalSignature', 'certSign'], ...ids } as const
const client = { purposes: [PURPOSE.client], usages: ['digitalSignature'], ...ids } as const

const made = makeNamed({
  // Authorities of users and of proxies; the server knows all of these.
  users: { ...authority, issuer: 'users', key: 0 },
  proxies: { ...authority, issuer: 'proxies', key: 1 },
  short: { ...authority, issuer: 'short', key: 1, pathLength: 0 },
  expired: { ...authority, issuer: 'expired', key: 1, validity: 'past' },
  constrained: {
    ...authority,
    issuer: 'constrained',
    key: 1,
    constraints: { permitted: [{ type: 'dns', value: 'example.com' }], excluded: [] },
  },
  servers: { ...authority, issuer: 'servers', key: 1, purposes: [PURPOSE.server] },
  // Certificates issued by an authority of proxies.
  intermediate: { ...authority, issuer: 'proxies', key: 2 },
  sameSubject: { ...authority, subject: 'intermediate', issuer: 'users', key: 3, subjectKeyId: 'none' },
  belowShort: { ...authority, issuer: 'short', key: 2 },
  noAuthority: { ...client, ca: false, issuer: 'proxies', key: 2 },
  outdated: { ...authority, issuer: 'proxies', key: 2, validity: 'past' },
  weak: { ...authority, issuer: 'proxies', key: 2, hash: 'sha1' },
  odd: { ...authority, issuer: 'proxies', key: 2, hasUnknownCritical: true },
  // A forged certificate: it has the name and key identifier of the authority of users, as if that of proxies had certified it.
  forged: { ...authority, subject: 'users', issuer: 'proxies', signer: 'forged', key: 0 },
  forgedKey: {
    ...authority,
    subject: 'users',
    issuer: 'proxies',
    signer: 'forgedKey',
    key: 3,
    subjectKeyId: 'none',
    authorityKeyId: 'none',
  },
  // Certificates that clients show as their own; all but one are called as the proxy is.
  eve: { ...client, issuer: 'users', key: 3 },
  frontOfUsers: { ...client, subject: 'front', issuer: 'users', key: 3 },
  front: { ...client, issuer: 'proxies', key: 3 },
  back: { ...client, issuer: 'proxies', key: 3 },
  frontBelow: { ...client, subject: 'front', issuer: 'intermediate', key: 3 },
  frontBelowWithoutIds: { ...client, subject: 'front', issuer: 'intermediate', key: 3, authorityKeyId: 'none' },
  frontWithoutIds: { ...client, subject: 'front', issuer: 'intermediate', key: 3, authorityKeyId: 'none', dnsNames: ['other'] },
  frontBelowShort: { ...client, subject: 'front', issuer: 'belowShort', key: 3 },
  frontBelowNone: { ...client, subject: 'front', issuer: 'noAuthority', key: 3 },
  frontBelowOutdated: { ...client, subject: 'front', issuer: 'outdated', key: 3 },
  frontBelowWeak: { ...client, subject: 'front', issuer: 'weak', key: 3 },
  frontBelowOdd: { ...client, subject: 'front', issuer: 'odd', key: 3 },
  frontOfExpired: { ...client, subject: 'front', issuer: 'expired', key: 3 },
  frontConstrained: { ...client, subject: 'front', issuer: 'constrained', key: 3, dnsNames: ['front.example.org'] },
  frontOfServers: { ...client, subject: 'front', issuer: 'servers', key: 3 },
  frontAsServer: { ...client, subject: 'front', issuer: 'proxies', key: 3, purposes: [PURPOSE.server] },
  frontByItself: { ...client, subject: 'front', issuer: 'proxies', signer: 'frontByItself', key: 3 },
})
type Name = keyof typeof made

async function open(t: Scope, allowedNames: readonly string[]): Promise<Target> {
  const folder = temporaryDirectory(t)
  const file = (name: string, ...certificates: readonly Name[]) => {
    const path = join(folder, name)
    writeFileSync(path, certificates.map(each => made[each].cert).join(''))
    return path
  }
  return startInProcess(t, {
    clientCaFile: file('users.pem', 'users'),
    requestheaderClientCaFile: file('proxies.pem', 'proxies', 'short', 'expired', 'constrained', 'servers'),
    requestheaderAllowedNames: [...allowedNames],
    requestheaderUsernameHeaders: ['X-Remote-User'],
    requestheaderGroupHeaders: ['X-Remote-Group'],
    requestheaderExtraHeadersPrefix: ['X-Remote-Extra-'],
  })
}

const headers = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' }
/** The first certificate is the client's own, the others are sent behind it. */
const shows = (leaf: Name, ...behind: readonly Name[]) => ({
  cert: [leaf, ...behind].map(each => made[each].cert).join(''),
  key: made[leaf].key,
  // Otherwise a client does not even send certificates that were signed with SHA-1.
  ciphers: 'DEFAULT@SECLEVEL=0',
})

const whoami = async (server: Target, ...certificates: [Name, ...Name[]]): Promise<string> => {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const { status, json } = await ask(server, path, { method: 'POST', body, headers, ...shows(...certificates) })
  return status === 201 ? json.status.userInfo.username : `${status} ${json.reason}`
}

test('a forged intermediate does not make a proxy of a user', patient, async t => {
  const server = await open(t, [])
  // At 6256f0f1 the secrets were listed, and the user was admin.
  for (const forged of ['forged', 'forgedKey'] as const) {
    const { status, json } = await ask(server, '/api/v1/secrets', { headers, ...shows('eve', forged) })
    assert.deepEqual([status, json.reason], [403, 'Forbidden'])
    assert.equal(await whoami(server, 'eve', forged), 'eve')
    assert.equal(await whoami(server, 'frontOfUsers', forged), 'front')
    assert.equal(await whoami(server, 'frontOfUsers', forged, 'proxies'), 'front')
  }
})

test('over HTTP/2 neither', patient, async t => {
  const server = await open(t, [])
  const get = (certificates: object) =>
    new Promise<number>((resolve, reject) => {
      const session = connect(server.url, { ca: server.credentials.ca, ...certificates }).on('error', reject)
      const stream = session.request({ ':path': '/api/v1/secrets', ...headers })
      stream.on('response', fields => {
        resolve(Number(fields[':status']))
        session.close()
        stream.close()
      })
    })
  // At 6256f0f1 this was 200.
  assert.equal(await get(shows('eve', 'forged')), 403)
  assert.equal(await get(shows('front')), 200)
})

test('a proxy is believed that its authority vouches for, whatever is sent in which order', patient, async t => {
  const server = await open(t, ['front'])
  assert.equal(await whoami(server, 'front'), 'admin')
  assert.equal(await whoami(server, 'frontBelow', 'intermediate'), 'admin')
  assert.equal(await whoami(server, 'frontBelow', 'proxies', 'users', 'intermediate'), 'admin')
  // OpenSSL takes the first of two authorities with one name and does not look further: at 6256f0f1 this was 401.
  assert.equal(await whoami(server, 'frontBelowWithoutIds', 'sameSubject', 'intermediate'), 'admin')
  assert.equal(await whoami(server, 'frontBelowWithoutIds', 'intermediate', 'sameSubject'), 'admin')
})

test('nobody else is', patient, async t => {
  const server = await open(t, ['front'])
  const refused: readonly [string, [Name, ...Name[]]][] = [
    ['not one of the allowed names', ['back']],
    ['the intermediate is missing', ['frontBelow']],
    ['the intermediate has another key', ['frontWithoutIds', 'sameSubject']],
    ['the path is too long', ['frontBelowShort', 'belowShort']],
    ['the intermediate is no authority', ['frontBelowNone', 'noAuthority']],
    ['the intermediate has expired', ['frontBelowOutdated', 'outdated']],
    ['the intermediate was signed with SHA-1', ['frontBelowWeak', 'weak']],
    ['the intermediate has a critical extension that nobody knows', ['frontBelowOdd', 'odd']],
    ['the authority has expired', ['frontOfExpired']],
    ['the authority may not certify this name', ['frontConstrained']],
    ['the authority is one of servers', ['frontOfServers']],
    ['the certificate is one of a server', ['frontAsServer']],
    ['only the name of the authority is there', ['frontByItself']],
    ['the authority was sent, but did not sign', ['frontByItself', 'proxies']],
  ]
  for (const [why, certificates] of refused) assert.equal(await whoami(server, ...certificates), '401 Unauthorized', why)
  assert.equal(await whoami(server, 'frontOfUsers'), 'front', 'a user that is called like the proxy stays itself')
  assert.equal(await whoami(server, 'frontOfUsers', 'proxies', 'intermediate'), 'front')
})
