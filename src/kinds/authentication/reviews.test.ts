import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBench } from '../../../test/kits/registry.ts'
import type { Access, Attributes, TokenClaims } from '../../schema/access.ts'
import { Node } from '../core/node.ts'
import { Pod } from '../core/pod/pod.ts'
import { Secret } from '../core/secret.ts'
import { ServiceAccount } from '../core/serviceaccount.ts'
import { SelfSubjectReview } from './selfsubjectreview.ts'
import { TokenReview } from './tokenreview.ts'
import { userInfoOf } from './user-info.ts'

const user = { name: 'jane', uid: 'u1', groups: ['devs'], extra: Object.fromEntries([['__proto__', ['x']]]) }

test('user info has all extra attributes, whatever their keys', () => {
  const info = userInfoOf(user)
  assert.deepEqual(Object.entries(info.extra!), [['__proto__', ['x']]])
  assert.deepEqual(userInfoOf({ name: 'x', groups: [] }), { username: 'x' })
})

test('SelfSubjectReview returns the current user and nothing else', async t => {
  const bench = await openBench([SelfSubjectReview], { access: {} })
  t.after(() => bench.close())
  const { code, body } = await bench.send('POST selfsubjectreviews', { metadata: { name: 'x', labels: { a: 'b' } } })
  assert.equal(code, 201)
  assert.deepEqual(body, {
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: '2026-07-01T12:00:00Z' },
    status: { userInfo: { username: 'tester' } },
  })
  assert.equal((await bench.send('GET selfsubjectreviews')).body.items.length, 0)
})

test('a token is reviewed for the audiences that are named', async t => {
  const asked: unknown[] = []
  const access: Partial<Access> = {
    async authenticate(token, audiences) {
      asked.push([token, audiences])
      if (token === 'good') return { outcome: 'user', user, audiences: ['api'] }
      return token === 'bad' ? { outcome: 'invalid', reason: 'invalid bearer token' } : { outcome: 'none' }
    },
  }
  const bench = await openBench([TokenReview], { access })
  t.after(() => bench.close())
  const review = async (spec: object, status: object = { authenticated: true }) => {
    const { code, body } = await bench.send('POST tokenreviews', { spec, status })
    return [code, body.status ?? body.message]
  }
  assert.deepEqual(await review({ token: 'good', audiences: ['a', 'b'] }), [
    201,
    { authenticated: true, user: JSON.parse(JSON.stringify(userInfoOf(user))), audiences: ['api'] },
  ])
  assert.deepEqual(asked, [['good', ['a', 'b']]])
  assert.deepEqual(await review({ token: 'bad' }), [201, { user: {}, error: 'invalid bearer token' }])
  assert.deepEqual(await review({ token: 'other' }), [201, { user: {} }])
  const sent = { user: { username: 'mine' }, audiences: ['mine'], error: 'mine' }
  assert.deepEqual(await review({ token: 'other' }, sent), [201, sent], 'as at kube-apiserver, only fields that the review decides change')
  assert.deepEqual(await review({ token: 'bad' }, sent), [201, { ...sent, error: 'invalid bearer token' }])
  assert.deepEqual(await review({}), [400, 'token is required for TokenReview in authentication'])
})

test('without an authenticator, reviews are rejected', async t => {
  const bench = await openBench([TokenReview, ServiceAccount])
  t.after(() => bench.close())
  assert.equal((await bench.send('POST tokenreviews', { spec: { token: 'x' } })).code, 501)
})

/** A registry with one account, and a record of the signed tokens. */
async function openAccounts(gates = ['TokenRequestServiceAccountUIDValidation']) {
  const signed: TokenClaims[] = []
  const asked: Attributes[] = []
  const access: Partial<Access> = {
    audiences: ['api'],
    authorize(_, attributes) {
      asked.push(attributes)
      return attributes.resource?.name === 'forbidden' ? { verdict: 'no-opinion', reason: 'no role' } : { verdict: 'allow' }
    },
    async issueToken(claims) {
      signed.push(claims)
      return 'signed'
    },
    find: ({ plural }, namespace, name) => stored.get(`${plural}/${namespace}/${name}`),
  }
  const stored = new Map<string, any>()
  const bench = await openBench([ServiceAccount, Pod, Secret, Node], { access, gates })
  const { body: account } = await bench.send('POST serviceaccounts', { metadata: { name: 'a' } })
  const ask = async (spec: object = {}, metadata: object = {}) => {
    const { code, body, warnings } = await bench.send('POST serviceaccounts/a/token', { metadata, spec })
    return { code, body, warnings, failure: code === 201 ? '' : `${code} ${body.message}` }
  }
  return { bench, account, ask, asked, signed, stored }
}

test('a requested token is by default for the server and one hour', async t => {
  const { bench, account, ask, signed } = await openAccounts()
  t.after(() => bench.close())
  const { body, code } = await ask()
  assert.equal(code, 201)
  const { uid } = account.metadata
  assert.deepEqual(body.spec, { audiences: ['api'], expirationSeconds: 3600, boundObjectRef: null })
  assert.deepEqual(body.status, { token: 'signed', expirationTimestamp: '2026-07-01T13:00:00Z' })
  assert.deepEqual([body.kind, body.apiVersion], ['TokenRequest', 'authentication.k8s.io/v1'])
  const { managedFields, ...metadata } = body.metadata
  assert.deepEqual(metadata, { name: 'a', namespace: 'default', uid, creationTimestamp: '2026-07-01T12:00:00Z' })
  assert.deepEqual([managedFields[0].manager, managedFields[0].subresource], ['test', 'token'])
  assert.deepEqual(signed, [
    {
      subject: 'system:serviceaccount:default:a',
      audiences: ['api'],
      issued: Date.parse('2026-07-01T12:00:00Z') / 1000,
      seconds: 3600,
      bound: { namespace: 'default', serviceaccount: { name: 'a', uid } },
    },
  ])
})

test('errors in a token request are reported', async t => {
  const { bench, account, ask } = await openAccounts()
  t.after(() => bench.close())
  const invalid = (why: string) => `422 TokenRequest.authentication.k8s.io "" is invalid: ${why}`
  const failureOf = async (spec: object, metadata?: object) => (await ask(spec, metadata)).failure
  assert.equal(
    await failureOf({ expirationSeconds: 599 }),
    invalid('spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes'),
  )
  assert.equal(
    await failureOf({ expirationSeconds: 4294967297 }),
    invalid('spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds'),
  )
  assert.equal((await ask({ expirationSeconds: 4294967296 })).code, 201)
  assert.match(await failureOf({ attestations: { a: ['b'] } }), /attestations may only be specified with a webhook bound object reference$/)
  assert.equal(
    await failureOf({}, { name: 'b' }),
    '422 TokenRequest.authentication.k8s.io "a" is invalid: metadata.name: Invalid value: "b": must match the service account name if specified',
  )
  assert.equal(
    await failureOf({}, { uid: 'other' }),
    `409 Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "a": the UID in the token request (other) does not match the UID of the service account (${account.metadata.uid})`,
  )
  assert.equal((await bench.send('POST serviceaccounts/none/token', {})).body.message, 'serviceaccounts "none" not found')
})

test('another uid is a warning where the gate is off', async t => {
  const { bench, ask } = await openAccounts([])
  t.after(() => bench.close())
  const { code, warnings } = await ask({}, { uid: 'other' })
  assert.equal(code, 201)
  assert.match(warnings[0]!, /^the UID in the token request \(other\) does not match .* In the future, this will return a conflict error$/)
})

test('a token is bound to existing objects only', async t => {
  const { bench, ask, signed, stored } = await openAccounts()
  t.after(() => bench.close())
  const ref = (kind: string, name: string, more: object = {}) => ({ boundObjectRef: { kind, apiVersion: 'v1', name, ...more } })
  const failureOf = async (spec: object) => (await ask(spec)).failure
  for (const [kind, plural] of [
    ['Pod', 'pods'],
    ['Secret', 'secrets'],
    ['Node', 'nodes'],
  ])
    assert.equal(await failureOf(ref(kind!, 'x')), `404 ${plural} "x" not found`)
  stored.set('secrets/default/s', { metadata: { name: 's', uid: 's1' } })
  stored.set('nodes//n', { metadata: { name: 'n', uid: 'n1' } })
  stored.set('pods/default/p', { metadata: { name: 'p', uid: 'p1' }, spec: { serviceAccountName: 'a', nodeName: 'n' } })
  stored.set('pods/default/q', { metadata: { name: 'q', uid: 'q1' }, spec: { serviceAccountName: 'b' } })
  stored.set('pods/default/r', { metadata: { name: 'r', uid: 'r1' }, spec: { serviceAccountName: 'a', nodeName: 'gone' } })
  const boundTo = async (spec: object) => {
    assert.equal((await ask(spec)).code, 201)
    const { namespace: _, serviceaccount: __, ...bound } = signed.at(-1)!.bound as Record<string, object>
    return bound
  }
  assert.deepEqual(await boundTo(ref('Secret', 's')), { secret: { name: 's', uid: 's1' } })
  assert.deepEqual(await boundTo(ref('Node', 'n', { uid: 'n1' })), { node: { name: 'n', uid: 'n1' } })
  assert.deepEqual(await boundTo(ref('Pod', 'p')), { pod: { name: 'p', uid: 'p1' }, node: { name: 'n', uid: 'n1' } })
  assert.deepEqual(await boundTo(ref('Pod', 'r')), { pod: { name: 'r', uid: 'r1' }, node: { name: 'gone' } })
  assert.equal(
    await failureOf(ref('Pod', 'q')),
    '400 cannot bind token for serviceaccount "a" to pod running with different serviceaccount name.',
  )
  assert.equal(
    await failureOf(ref('Pod', 'p', { uid: 'other' })),
    '409 Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (other) does not match the UID in record. The object might have been deleted and then recreated',
  )
  assert.equal(await failureOf(ref('ConfigMap', 'x')), '400 cannot bind token to object of type /v1, Kind=ConfigMap')
  assert.equal(await failureOf(ref('Pod', 'x', { apiVersion: 'apps/v1' })), '400 cannot bind token to object of type apps/v1, Kind=Pod')
})

test('a token with the lifetime that kubelets request warns after an hour and expires after a year', async t => {
  const { bench, ask, signed, stored } = await openAccounts()
  t.after(() => bench.close())
  stored.set('pods/default/p', { metadata: { name: 'p', uid: 'p1' }, spec: { serviceAccountName: 'a' } })
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' }
  const { body } = await ask({ expirationSeconds: 3607, boundObjectRef })
  assert.equal(body.status.expirationTimestamp, '2026-07-01T13:00:07Z')
  assert.equal(signed.at(-1)!.seconds, 365 * 24 * 3600)
  assert.equal((signed.at(-1)!.bound as any).warnafter, signed.at(-1)!.issued + 3607)
  await ask({ expirationSeconds: 3607, boundObjectRef, audiences: ['api', 'vault'] })
  assert.equal(signed.at(-1)!.seconds, 3607)
  await ask({ expirationSeconds: 3607 })
  assert.equal(signed.at(-1)!.seconds, 3607)
})

const webhookRef = (kind: string, more: object = {}) => ({ apiVersion: 'admissionregistration.k8s.io/v1', kind, name: 'w', ...more })
const attested = (...groups: readonly string[]) => ({ attestations: { admissionReviewAPIGroups: groups } })
const WEBHOOK_GATES = ['APIServerWebhookAuthenticationToken']
const CONFIGURATION = {
  metadata: { name: 'w', uid: 'w1' },
  webhooks: [
    { clientConfig: { service: { namespace: 'ns', name: 's', path: 'p' } }, rules: [{ apiGroups: ['x.example.com'] }] },
    { clientConfig: { service: { namespace: 'ns', name: 't', port: 8443 } }, rules: [{ apiGroups: ['apps', 'batch'] }] },
    { clientConfig: { url: 'https://u.example.com/u' }, rules: [{ apiGroups: ['*'] }] },
    { clientConfig: { url: 'https://none.example.com' } },
  ],
}

test('a token for a webhook is short, and attests the API group that a webhook of that audience is asked about', async t => {
  const { bench, account, ask, asked, signed, stored } = await openAccounts(WEBHOOK_GATES)
  t.after(() => bench.close())
  stored.set('validatingwebhookconfigurations//w', CONFIGURATION)
  stored.set('mutatingwebhookconfigurations//w', { ...CONFIGURATION, metadata: { name: 'w', uid: 'w2' } })
  const outcome = async (audience: string, group: string, more: object = {}) => {
    const boundObjectRef = webhookRef('ValidatingWebhookConfiguration')
    const { failure, body } = await ask({ boundObjectRef, audiences: [audience], ...attested(group), ...more })
    return failure || body.spec.expirationSeconds
  }
  const denied = '403 serviceaccounts/token "a" is forbidden: token request denied'
  assert.equal(await outcome('https://s.ns.svc:443/p', 'x.example.com', { expirationSeconds: 7200 }), 600)
  const { uid } = account.metadata
  assert.deepEqual(
    [signed.at(-1)!.seconds, signed.at(-1)!.bound],
    [
      600,
      {
        namespace: 'default',
        serviceaccount: { name: 'a', uid },
        validatingwebhookconfiguration: { name: 'w', uid: 'w1' },
        attestations: { admissionReviewAPIGroups: ['x.example.com'] },
      },
    ],
  )
  assert.deepEqual(
    [asked.length, asked[0]!.verb, asked[0]!.resource],
    [
      1,
      'attest',
      {
        group: 'authentication.k8s.io',
        version: '*',
        plural: 'admissionReviewAPIGroups',
        subresource: '',
        namespace: '',
        name: 'x.example.com',
      },
    ],
  )
  assert.equal(await outcome('https://t.ns.svc:8443/', 'batch'), 600)
  assert.equal(await outcome('https://u.example.com/u', 'any.example.com'), 600)
  assert.equal(await outcome('anything', '*'), 600)
  assert.equal(await outcome('https://s.ns.svc:443/p', 'apps'), denied, 'another webhook is asked about that group')
  assert.equal(await outcome('https://s.ns.svc/p', 'x.example.com'), denied, 'the port is part of the audience')
  assert.equal(await outcome('https://none.example.com', 'x.example.com'), denied, 'a webhook without rules is never asked')
  assert.equal(await outcome('anything', '*', { boundObjectRef: webhookRef('ValidatingWebhookConfiguration', { name: 'x' }) }), denied)
  assert.equal(await outcome('anything', '*', { boundObjectRef: webhookRef('MutatingWebhookConfiguration', { uid: 'w2' }) }), 600)
  assert.deepEqual((signed.at(-1)!.bound as Record<string, unknown>)['mutatingwebhookconfiguration'], { name: 'w', uid: 'w2' })
  assert.match(
    await outcome('anything', '*', { boundObjectRef: webhookRef('MutatingWebhookConfiguration', { uid: 'w1' }) }),
    /^409 Operation cannot be fulfilled on MutatingWebhookConfiguration.admissionregistration.k8s.io "w": the UID in the bound object/,
  )
  assert.equal(await outcome('api', '*'), '400 api server audiences are invalid for webhook token requests')
  assert.equal(
    await outcome('https://u.example.com/u', 'forbidden'),
    '403 admissionReviewAPIGroups.authentication.k8s.io "forbidden" is forbidden: User "system:serviceaccount:default:a" ' +
      'cannot attest resource "admissionReviewAPIGroups" in API group "authentication.k8s.io" at the cluster scope: no role',
  )
  stored.set('validatingwebhookconfigurations//w', {
    ...CONFIGURATION,
    metadata: { ...CONFIGURATION.metadata, deletionTimestamp: '2026-07-01T11:59:59Z' },
  })
  assert.equal(await outcome('anything', '*'), denied, 'the configuration is being deleted')
})

test('a token for a webhook needs the gate, one audience and one API group', async t => {
  const { bench, ask } = await openAccounts(WEBHOOK_GATES)
  const without = await openAccounts([])
  t.after(() => Promise.all([bench.close(), without.bench.close()]))
  const boundObjectRef = webhookRef('ValidatingWebhookConfiguration')
  const about = '422 TokenRequest.authentication.k8s.io "" is invalid: spec.'
  const failureOf = async (spec: object) => (await ask({ boundObjectRef, audiences: ['x'], ...spec })).failure.replace(about, '')
  assert.equal(
    await failureOf({}),
    'attestations: Invalid value: null: webhook bound requests require exactly one admissionReviewAPIGroups attestation',
  )
  assert.equal(
    await failureOf({ attestations: { a: ['b'], c: ['d'] } }),
    'attestations: Invalid value: {"a":["b"],"c":["d"]}: webhook bound requests require exactly one admissionReviewAPIGroups attestation',
  )
  assert.equal(
    await failureOf({ attestations: { a: ['b'] } }),
    'attestations[a]: Unsupported value: "a": supported values: "admissionReviewAPIGroups"',
  )
  const groups = 'attestations[admissionReviewAPIGroups]'
  assert.equal(await failureOf(attested()), `${groups}: Invalid value: []: must specify a single value`)
  assert.equal(await failureOf(attested('a', 'b')), `${groups}: Invalid value: ["a","b"]: must specify a single value`)
  assert.equal(await failureOf(attested('')), `${groups}[0]: Invalid value: "": may not be an empty string`)
  assert.match(
    await failureOf(attested('A_')),
    /\[0\]: Invalid value: "A_": must specify a valid API Group: a lowercase RFC 1123 subdomain/,
  )
  assert.equal(
    await failureOf({ audiences: ['a', 'b'], ...attested('a') }),
    'audiences: Invalid value: ["a","b"]: must be length 1 when bound to a webhook config',
  )
  assert.equal(
    (await without.ask({ boundObjectRef, audiences: ['x'], ...attested('*') })).failure,
    '400 cannot bind token to object of type admissionregistration.k8s.io/v1, Kind=ValidatingWebhookConfiguration (feature gate APIServerWebhookAuthenticationToken is disabled)',
  )
})
