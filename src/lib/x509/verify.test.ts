import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { patient } from '../../../test/kit.ts'
import { type Made, make, NOW, PURPOSE, plain, type Scene, scene } from '../../../test/kits/chains.ts'
import { testWith } from '../../../test/programs.ts'
import { encodePem } from '../pem.ts'
import { readCertificate } from './certificate.ts'
import { hostProblem } from './host-name.ts'
import { CertificatePool } from './pool.ts'
import { type VerifyOptions, verify } from './verify.ts'

function verdictOf({ set, roots, sent, leaf, purpose }: Scene, more: Partial<VerifyOptions> = {}): string {
  const made = make(set)
  const pool = (places: readonly number[]) => new CertificatePool(places.map(place => made[place]!))
  const verdict = verify(readCertificate(made[leaf]!), {
    roots: pool(roots),
    intermediates: pool(sent),
    now: NOW.getTime(),
    purpose,
    ...more,
  })
  return verdict.ok ? 'ok' : verdict.problem
}

/** The first is the leaf, the last the trusted authority, and those between them are sent. */
const chain = (...set: readonly Partial<Made>[]): Scene => ({
  set: set.map((each, i) => {
    const issuer = Math.min(i + 1, set.length - 1)
    return { ...plain, subject: `s${i}`, key: i, issuer, signer: each.issuer ?? issuer, ...each }
  }),
  roots: [set.length - 1],
  sent: set.slice(1, -1).map((_, i) => i + 1),
  leaf: 0,
  purpose: 'serverAuth',
})
const ca = { ca: true } as const
const UNKNOWN = 'x509: certificate signed by unknown authority'
const hinted = (why: string, name: string) =>
  `${UNKNOWN} (possibly because of "${why}" while trying to verify candidate authority certificate "${name}")`
const NO_SIGNER = 'x509: invalid signature: parent certificate cannot sign this kind of certificate'

test('chains lead to an authority by signatures', () => {
  assert.equal(verdictOf(chain({}, ca)), 'ok')
  assert.equal(verdictOf(chain({}, ca, ca, ca)), 'ok')
  assert.equal(verdictOf({ ...chain({}, ca, ca, ca), sent: [2, 1] }), 'ok', 'in any order')
  assert.equal(verdictOf({ ...chain({}, ca, ca, ca), sent: [1] }), UNKNOWN)
  assert.equal(verdictOf(chain({ signer: 0 }, ca)), hinted('x509: ECDSA verification failure', 's1'))
  assert.equal(verdictOf(chain({}, { ...ca, signer: 0 }, ca)), hinted('x509: ECDSA verification failure', 's2'))
})

test('an authority and its server may have one subject, or none, and no identifiers of keys', () => {
  for (const subject of ['x', ''])
    assert.equal(verdictOf(chain({ subject, dnsNames: ['a'] }, { ...ca, subject }), { host: 'a' }), 'ok', JSON.stringify(subject))
})

test('identifiers of keys are hints: the signature decides', () => {
  const same = { ...ca, subject: 'same' }
  const scene = chain({ authorityKeyId: 'wrong' }, { ...same, subjectKeyId: 'right' }, ca)
  assert.equal(verdictOf(scene), 'ok')
  const other: Made = { ...scene.set[1]!, key: 3, subjectKeyId: 'wrong' }
  assert.equal(verdictOf({ ...scene, set: [...scene.set, other], sent: [3, 1] }), 'ok', 'the one that fits better has another key')
})

test('any certificate of the pool is trusted, but only authorities vouch for others', () => {
  assert.equal(verdictOf({ ...chain({}, ca), roots: [0] }), 'ok')
  assert.equal(verdictOf({ ...chain({}, ca, ca), roots: [1] }), 'ok', 'an intermediate as an anchor')
  assert.equal(verdictOf(chain({}, { ca: false })), hinted(NO_SIGNER, 's1'))
  assert.equal(verdictOf(chain({}, {})), hinted(NO_SIGNER, 's1'))
  assert.equal(verdictOf(chain({}, { version: 1 })), 'ok', 'old ones have no such bit')
  assert.equal(verdictOf(chain({}, { version: 1 }, ca)), 'x509: certificate is not authorized to sign other certificates')
  assert.equal(verdictOf(chain({}, { ...ca, usages: ['digitalSignature'] })), hinted(NO_SIGNER, 's1'))
  assert.equal(verdictOf({ ...chain({}, ca), roots: [] }), UNKNOWN)
})

test('every certificate of a chain has to be valid now', () => {
  const expired = 'x509: certificate has expired or is not yet valid: current time 2026-06-01T12:00:00Z is after 2026-05-31T12:00:00Z'
  const early = 'x509: certificate has expired or is not yet valid: current time 2026-06-01T12:00:00Z is before 2026-06-02T12:00:00Z'
  assert.equal(verdictOf(chain({ validity: 'past' }, ca)), expired)
  assert.equal(verdictOf(chain({}, { ...ca, validity: 'future' }, ca)), early)
  assert.equal(verdictOf(chain({}, ca, { ...ca, validity: 'past' })), expired)
  assert.equal(verdictOf({ ...chain({ validity: 'past' }, ca), roots: [0] }), expired, 'in the pool, too')
})

test('paths have a length, and critical extensions a meaning', () => {
  const tooMany = 'x509: too many intermediates for path length constraint'
  assert.equal(verdictOf(chain({}, ca, { ...ca, pathLength: 0 })), tooMany)
  assert.equal(verdictOf(chain({}, ca, { ...ca, pathLength: 1 })), 'ok')
  for (const at of [0, 1, 2]) {
    const set = [{}, ca, ca].map((each, i) => ({ ...each, hasUnknownCritical: i === at }))
    assert.equal(verdictOf(chain(...set)), 'x509: unhandled critical extension')
  }
})

test('purposes are nested', () => {
  const wrong = 'x509: certificate specifies an incompatible key usage'
  const [server, client, any] = [{ purposes: [PURPOSE.server] }, { purposes: [PURPOSE.client] }, { purposes: [PURPOSE.any] }]
  assert.equal(verdictOf(chain(server, ca)), 'ok')
  assert.equal(verdictOf(chain(client, ca)), wrong)
  assert.equal(verdictOf(chain(client, ca), { purpose: 'clientAuth' }), 'ok')
  assert.equal(verdictOf(chain(any, ca), { purpose: 'clientAuth' }), 'ok')
  assert.equal(verdictOf(chain({}, { ...ca, ...client }, ca)), wrong)
  assert.equal(verdictOf(chain({}, ca, { ...ca, ...client })), wrong, 'that of an anchor counts')
  assert.equal(verdictOf(chain(client, { ...ca, ...client }, ca), { purpose: 'any' }), 'ok')
})

test('hashes and keys that are too weak verify nothing', () => {
  assert.equal(verdictOf(chain({ hash: 'sha1' }, ca)), hinted('x509: cannot verify signature: insecure algorithm ECDSA-SHA1', 's1'))
  assert.equal(
    verdictOf(chain({ hash: 'sha1' }, { ...ca, key: 6 })),
    hinted('x509: cannot verify signature: insecure algorithm SHA1-RSA', 's1'),
  )
  assert.equal(verdictOf(chain({}, { ...ca, hash: 'sha1' })), 'ok', 'the signature of an anchor is nobody’s business')
})

test('name constraints are about every name of a certificate', () => {
  const forbidden = (why: string) => `x509: a root or intermediate certificate is not authorized to sign for this name: ${why}`
  const permits = (type: 'dns' | 'ip' | 'email' | 'uri', value: string | number[]) => ({
    ...ca,
    constraints: { permitted: [{ type, value }], excluded: [] },
  })
  const excludes = (type: 'dns' | 'ip' | 'email' | 'uri', value: string | number[]) => ({
    ...ca,
    constraints: { permitted: [], excluded: [{ type, value }] },
  })
  const dns = (...dnsNames: string[]) => ({ dnsNames })
  assert.equal(verdictOf(chain(dns('a.example.com', 'EXAMPLE.com'), permits('dns', 'example.com'))), 'ok')
  assert.equal(
    verdictOf(chain(dns('a.example.com', 'b.example.org'), permits('dns', 'example.com'))),
    forbidden('DNS name "b.example.org" is not permitted by any constraint'),
  )
  assert.equal(
    verdictOf(chain(dns('example.com'), permits('dns', '.example.com'))),
    forbidden('DNS name "example.com" is not permitted by any constraint'),
  )
  assert.equal(
    verdictOf(chain(dns('badexample.com'), permits('dns', 'example.com'))),
    forbidden('DNS name "badexample.com" is not permitted by any constraint'),
  )
  assert.equal(
    verdictOf(chain(dns('*.example.com'), excludes('dns', 'a.example.com'))),
    forbidden('DNS name "*.example.com" is excluded by constraint "a.example.com"'),
    'a wildcard stands for an excluded name, too',
  )
  const network = [10, 0, 0, 0, 255, 0, 0, 0]
  assert.equal(verdictOf(chain({ addresses: [[10, 1, 2, 3]] }, permits('ip', network))), 'ok')
  assert.equal(
    verdictOf(chain({ addresses: [[10, 1, 2, 3]] }, ca, excludes('ip', network))),
    forbidden('IP address "10.1.2.3" is excluded by constraint "10.0.0.0/8"'),
  )
  assert.equal(
    verdictOf(chain({ addresses: [[11, 1, 2, 3]] }, permits('ip', network))),
    forbidden('IP address "11.1.2.3" is not permitted by any constraint'),
  )
  assert.equal(
    verdictOf(chain({ emails: ['j@example.org'] }, permits('email', 'j@example.com'))),
    forbidden('email address "j@example.org" is not permitted by any constraint'),
  )
  assert.equal(
    verdictOf(chain({ uris: ['https://10.0.0.1/'] }, permits('uri', 'example.com'))),
    forbidden('URI with IP ("https://10.0.0.1/") cannot be matched against constraints'),
  )
  assert.equal(verdictOf(chain({}, permits('dns', 'example.com'))), 'ok', 'a certificate without such names')
})

test('a policy that an authority demands has to hold down to the leaf', () => {
  const [one, other] = [{ policies: { identifiers: ['1.2.3.1'] } }, { policies: { identifiers: ['1.2.3.2'] } }]
  const demanding = { ...ca, policies: { identifiers: ['1.2.3.1'], requireExplicit: 0 } }
  assert.equal(verdictOf(chain(one, demanding, ca)), 'ok')
  const none = 'x509: no valid chains built: 1 candidate chains with invalid policies'
  assert.equal(verdictOf(chain(other, demanding, ca)), none)
  assert.equal(verdictOf(chain({}, demanding, ca)), none)
})

test('a hostile chain costs no more than a hundred signatures', () => {
  const many = Array.from({ length: 120 }, (): Made => ({ ...plain, ...ca, subject: 'same', key: 1, issuer: 0, signer: 0 }))
  const set: Made[] = [{ ...plain, ca: true, subject: 'same', key: 0, issuer: 0, signer: 2 }, ...many]
  const all = set.map((_, i) => i)
  const limited = 'x509: signature check attempts limit reached while verifying certificate chain'
  assert.equal(verdictOf({ set, roots: [], sent: all, leaf: 0, purpose: 'serverAuth' }), limited)
  // Two authorities that have certified each other lead nowhere, and not round in circles.
  const circle = [0, 1, 2].map((i): Made => ({ ...plain, ...ca, subject: `c${i}`, key: i, issuer: (i + 1) % 3, signer: (i + 1) % 3 }))
  assert.equal(verdictOf({ set: circle, roots: [], sent: [0, 1, 2], leaf: 0, purpose: 'serverAuth' }), UNKNOWN)
})

test('a certificate is for the hosts of its alternative names', () => {
  const problem = (host: string, made: Partial<Made>) => hostProblem(readCertificate(make([{ ...plain, ...made }])[0]!), host)
  const named = (...dnsNames: string[]) => ({ dnsNames })
  for (const [host, name] of [
    ['a.example.com', 'A.Example.com'],
    ['a.example.com.', 'a.example.com'],
    ['a.example.com', '*.example.com'],
    ['a_b.example.com', '*.example.com'],
    ['not a host', 'not a host'],
  ] as const)
    assert.equal(problem(host, named(name)), undefined, `${name} for ${host}`)
  for (const [host, name] of [
    ['example.com', '*.example.com'],
    ['b.a.example.com', '*.example.com'],
    ['a.example.com', '*'],
    ['a.example.com', 'a*.example.com'],
    ['a.example.com', 'a.example.com.'],
    ['a.example.com', '*.*.com'],
  ] as const)
    assert.equal(problem(host, named(name)), `x509: certificate is valid for ${name}, not ${host}`)
  assert.equal(problem('b', named('a', 'c')), 'x509: certificate is valid for a, c, not b')
  assert.equal(problem('x', { subject: 'x' }), 'x509: certificate relies on legacy Common Name field, use SANs instead')
  assert.equal(problem('y', { subject: 'x' }), 'x509: certificate is not valid for any names, but wanted to match y')
  assert.equal(
    problem('1.2.3.4', named('1.2.3.4')),
    "x509: cannot validate certificate for 1.2.3.4 because it doesn't contain any IP SANs",
    'a name is no address',
  )
  const addressed = {
    addresses: [
      [1, 2, 3, 4],
      [...Array(15).fill(0), 1],
    ],
  }
  for (const host of ['1.2.3.4', '::1', '[::1]', '::ffff:1.2.3.4']) assert.equal(problem(host, addressed), undefined, host)
  assert.equal(problem('1.2.3.5', addressed), 'x509: certificate is valid for 1.2.3.4, ::1, not 1.2.3.5')
  const many = Array.from({ length: 100 }, (_, i) => `n${i}`)
  assert.equal(problem('x', named(...many)), 'x509: certificate is valid for 100 names, but none matched x')
})

/**
 * A scene without the cases that Go and OpenSSL treat differently by design:
 * - of several certificates with one subject, or where key identifiers do not match, OpenSSL tries only one; it takes a certificate whose
 * issuer has the name of its subject for self-signed;
 * - OpenSSL accepts a certificate that may sign others as an authority without the CA bit, and old ones of version 1;
 * - OpenSSL continues from a trusted certificate if it knows its issuer, and verifies that one as well;
 * - OpenSSL does not know the purpose `any`, accepts SHA-1, ignores policies by default, and applies constraints of DNS names to the common
 * name of a leaf that has no such name;
 * - the syntax of wildcards, e-mail addresses and URIs in constraints differs.
 */
const comparable = ({ set, roots: [root = 0], sent, ...rest }: Scene): Scene => ({
  ...rest,
  roots: [root],
  sent: root === rest.leaf ? [] : sent,
  set: set.map((each, i): Made => {
    const id = (written: Made['subjectKeyId']) => (written === 'wrong' ? 'none' : written)
    const own = ({ type, value }: { type: string; value: unknown }) => (type === 'dns' || type === 'ip') && value !== ''
    const permitted = each.constraints?.permitted.filter(own) ?? []
    const excluded = each.constraints?.excluded.filter(own) ?? []
    const isAuthority = each.ca ?? false
    return {
      ...each,
      subject: `s${i}`,
      version: 3,
      ca: isAuthority,
      pathLength: isAuthority ? each.pathLength : undefined,
      purposes: each.purposes.filter(purpose => purpose !== PURPOSE.any),
      subjectKeyId: id(each.subjectKeyId),
      authorityKeyId: id(each.authorityKeyId),
      dnsNames: i === 0 ? ['a.example.com', ...each.dnsNames.filter(name => !name.includes('*'))] : each.dnsNames,
      emails: [],
      uris: [],
      constraints: permitted.length + excluded.length > 0 ? { permitted, excluded } : undefined,
      policies: plain.policies,
      hash: 'usual',
    }
  }),
})

testWith(
  'openssl',
  'property: chains of which OpenSSL thinks as Go does get the verdict of `openssl verify`',
  patient,
  async (t, openssl) => {
    const folder = mkdtempSync(join(tmpdir(), 'keelson-chains-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const opinionOf = ({ set, roots, sent, leaf, purpose }: Scene): boolean => {
      const made = make(set).map(der => encodePem('CERTIFICATE', der))
      const write = (name: string, places: readonly number[]) => {
        writeFileSync(join(folder, name), places.map(place => made[place]!).join(''))
        return join(folder, name)
      }
      const untrusted = sent.length > 0 ? ['-untrusted', write('sent.pem', sent)] : []
      const args = ['-no-CApath', '-no-CAstore', '-partial_chain', '-attime', String(NOW.getTime() / 1000)]
      const roles = ['-purpose', purpose === 'serverAuth' ? 'sslserver' : 'sslclient', '-CAfile', write('roots.pem', roots)]
      const { status, error } = spawnSync(openssl, ['verify', ...args, ...roles, ...untrusted, write('leaf.pem', [leaf])])
      if (error) throw error
      return status === 0
    }
    fc.assert(
      fc.property(scene.map(comparable), each => assert.equal(verdictOf(each) === 'ok', opinionOf(each), verdictOf(each))),
      { numRuns: 200 },
    )
  },
)

test('of the chains that OpenSSL is asked about some are accepted and some refused', () => {
  // Always the same ones, so that chance does not decide.
  const verdicts = fc.sample(scene.map(comparable), { numRuns: 60, seed: 1 }).map(each => verdictOf(each) === 'ok')
  for (const verdict of [true, false]) assert.ok(verdicts.filter(each => each === verdict).length > 5, `${verdict}`)
})
