// Certificates from a real server: requested, approved and issued over HTTPS, and then used by real TLS clients.
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { issueAuthority } from '../src/lib/x509/issue.ts'
import { anonymous, ask, eventually, freshServer, patient, run, type Sent, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { encodedRequest, type RequestOptions } from './kits/x509.ts'
import { testWith } from './programs.ts'

const GROUP = '/apis/certificates.k8s.io/v1'
const REQUESTS = `${GROUP}/certificatesigningrequests`
const CLIENT = 'kubernetes.io/kube-apiserver-client'
const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet'
const KUBELET_SERVING = 'kubernetes.io/kubelet-serving'
const CLIENT_USAGES = ['digital signature', 'key encipherment', 'client auth']
const SERVING_USAGES = ['digital signature', 'key encipherment', 'server auth']
const DAY_MS = 24 * 3600_000

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }
const newPair = (): Pair => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pemOf = ({ privateKey }: Pair) => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

type RequestDraft = RequestOptions & {
  readonly name: string
  readonly pair: Pair
  readonly signerName?: string
  readonly usages?: readonly string[]
  readonly spec?: object
}

async function create(
  server: Target,
  { name, pair, signerName = CLIENT, usages = CLIENT_USAGES, spec = {}, ...options }: RequestDraft,
  sent: Sent = {},
) {
  const body = { metadata: { name }, spec: { request: encodedRequest(pair, options), signerName, usages, ...spec } }
  // The server closes connections when the files of authorities change, which some of these tests do.
  const answer = await ask(server, REQUESTS, { agent: false, method: 'POST', body, ...sent })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

async function decide(server: Target, name: string, type = 'Approved'): Promise<void> {
  const body = { status: { conditions: [{ type, status: 'True', reason: 'Test', message: 'said so' }] } }
  const headers = { 'content-type': 'application/merge-patch+json' }
  const answer = await ask(server, `${REQUESTS}/${name}/approval`, { agent: false, method: 'PATCH', body, headers })
  assert.equal(answer.status, 200, answer.text)
}

const read = async (server: Target, path: string): Promise<any> => (await ask(server, path)).json

/** The certificate that a request is given, in PEM. */
const issued = (server: Target, name: string): Promise<string> =>
  eventually(`the certificate of ${name}`, async () => {
    const { status } = await read(server, `${REQUESTS}/${name}`)
    const failed = status.conditions?.find((each: any) => each.type === 'Failed')
    assert.equal(failed, undefined, failed?.message)
    return status.certificate && Buffer.from(status.certificate, 'base64').toString()
  })

const failed = (server: Target, name: string): Promise<any> =>
  eventually(`the failure of ${name}`, async () =>
    (await read(server, `${REQUESTS}/${name}`)).status.conditions?.find((each: any) => each.type === 'Failed'),
  )

/** The user that the server authenticates by a certificate. */
async function whoIs(server: Target, cert: string, pair: Pair) {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  return ask(server, '/apis/authentication.k8s.io/v1/selfsubjectreviews', { method: 'POST', body, cert, key: pemOf(pair) })
}

testWith('kubectl', 'a certificate that kubectl approves works at once', patient, async (t, kubectl) => {
  const server = await freshServer(t)
  const home = temporaryDirectory(t)
  const [kubeconfig, mine] = [join(home, 'admin'), join(home, 'jane')]
  writeFileSync(kubeconfig, server.kubeconfig)
  const call = async (config: string, ...args: string[]) => {
    const done = await run(kubectl, ['--kubeconfig', config, '--cache-dir', join(home, 'cache'), ...args], { env: { HOME: home } })
    assert.equal(done.code, 0, `kubectl ${args.join(' ')}: ${done.stderr}`)
    return done.stdout
  }
  const pair = newPair()
  await create(server, { name: 'jane', pair, commonName: 'jane', organizations: ['dev', 'ops'], spec: { expirationSeconds: 3600 } })
  assert.match(
    await call(kubeconfig, 'get', 'csr'),
    /jane\s+\S+\s+kubernetes\.io\/kube-apiserver-client\s+kubernetes-admin\s+60m\s+Pending/,
  )
  assert.match(await call(kubeconfig, 'certificate', 'approve', 'jane'), /certificatesigningrequest\.certificates\.k8s\.io\/jane approved/)
  const cert = await issued(server, 'jane')
  assert.match(await call(kubeconfig, 'get', 'csr', 'jane'), /Approved,Issued/)

  const known = parse(server.kubeconfig)
  const data = (text: string) => Buffer.from(text).toString('base64')
  const users = [{ name: 'jane', user: { 'client-certificate-data': data(cert), 'client-key-data': data(pemOf(pair)) } }]
  const contexts = known.contexts.map(({ name, context }: any) => ({ name, context: { ...context, user: 'jane' } }))
  writeFileSync(mine, JSON.stringify({ ...known, users, contexts }))
  const refused = await run(kubectl, ['--kubeconfig', mine, 'get', 'configmaps'], { env: { HOME: home } })
  assert.match(refused.stderr, /User "jane" cannot list resource "configmaps"/)
  const bound = await ask(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    method: 'POST',
    body: {
      metadata: { name: 'devs' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'dev' }],
    },
  })
  assert.equal(bound.status, 201, bound.text)
  await call(mine, 'get', 'configmaps')

  await create(server, { name: 'mallory', pair: newPair(), commonName: 'mallory' })
  assert.match(await call(kubeconfig, 'certificate', 'deny', 'mallory'), /denied/)
  await create(server, { name: 'after', pair: newPair() })
  await decide(server, 'after')
  await issued(server, 'after')
  const { status } = await read(server, `${REQUESTS}/mallory`)
  assert.deepEqual([status.certificate, status.conditions.map((each: any) => each.type)], [undefined, ['Denied']])
})

test('a server certificate is not accepted from clients, nor a client certificate from servers', patient, async t => {
  const server = await freshServer(t)
  const [serving, client] = [newPair(), newPair()]
  const node = { organizations: ['system:nodes'], commonName: 'system:node:n' }
  const names = { addresses: [Buffer.from([127, 0, 0, 1])] }
  await create(server, { name: 'serving', pair: serving, signerName: KUBELET_SERVING, usages: SERVING_USAGES, ...node, names })
  await create(server, { name: 'client', pair: client, commonName: 'jane', names })
  for (const name of ['serving', 'client']) await decide(server, name)
  const [servingCert, clientCert] = [await issued(server, 'serving'), await issued(server, 'client')]

  // One client authenticates as jane, the other as nobody, although its certificate names a node.
  assert.equal((await whoIs(server, clientCert, client)).json.status.userInfo.username, 'jane')
  const refused = await whoIs(server, servingCert, serving)
  assert.deepEqual([refused.status, refused.json.reason], [401, 'Unauthorized'])

  // To a client that trusts the authority, as servers.
  const reach = async (cert: string, pair: Pair) => {
    const kubelet = createServer({ cert, key: pemOf(pair) }, (_, answer) => answer.end('here')).listen(0, '127.0.0.1')
    t.after(() => kubelet.close())
    await once(kubelet, 'listening')
    const { port } = kubelet.address() as AddressInfo
    const outgoing = httpsRequest({ host: '127.0.0.1', port, ca: server.credentials.ca, agent: false })
    outgoing.end()
    return once(outgoing, 'response').then(
      ([answer]) => answer.statusCode,
      error => error.code,
    )
  }
  assert.equal(await reach(servingCert, serving), 200)
  assert.equal(await reach(clientCert, client), 'INVALID_PURPOSE')
})

test('a request that violates the rules of its signer fails with the reason, and is not tried again', patient, async t => {
  const server = await freshServer(t)
  await create(server, { name: 'usage', pair: newPair(), usages: ['server auth'] })
  await create(server, { name: 'nodes', pair: newPair(), signerName: KUBELET_SERVING, usages: SERVING_USAGES })
  for (const name of ['usage', 'nodes']) await decide(server, name)
  const condition = await failed(server, 'usage')
  assert.deepEqual(
    [condition.status, condition.reason, condition.message],
    ['True', 'SignerValidationFailure', 'invalid usage for client certificate: server auth'],
  )
  assert.ok(condition.lastUpdateTime && condition.lastTransitionTime)
  assert.equal((await failed(server, 'nodes')).message, 'subject organization is not system:nodes')
  assert.equal((await read(server, `${REQUESTS}/usage`)).status.certificate, undefined)
  const refused = await ask(server, REQUESTS, {
    method: 'POST',
    body: {
      metadata: { name: 'root' },
      spec: { request: encodedRequest(newPair(), { organizations: ['system:masters'] }), signerName: CLIENT, usages: CLIENT_USAGES },
    },
  })
  assert.equal(refused.status, 403)
})

test('requests of kubelets are approved as soon as their requestor has permission', patient, async t => {
  const directory = temporaryDirectory(t)
  const tokenAuthFile = join(directory, 'tokens')
  writeFileSync(tokenAuthFile, 'starter,starter,1,"starters"\n')
  const server = await startInProcess(t, { tokenAuthFile })
  const bearer = { cert: undefined, key: undefined, headers: { authorization: 'Bearer starter' } } as unknown as Sent
  const grant = (name: string, role: string, subject: object) =>
    ask(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      method: 'POST',
      body: {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
      },
    })
  const starters = { kind: 'Group', name: 'starters' }
  await grant('may-ask', 'system:node-bootstrapper', starters)
  const node = { commonName: 'system:node:n', organizations: ['system:nodes'], signerName: KUBELET_CLIENT }
  const pair = newPair()
  await create(server, { name: 'first', pair, ...node }, bearer)
  // Somebody else's request is dealt with meanwhile: the first was looked at, and not approved.
  await create(server, { name: 'other', pair: newPair() })
  await decide(server, 'other')
  await issued(server, 'other')
  assert.deepEqual((await read(server, `${REQUESTS}/first`)).status, {})
  await grant('may-have', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient', starters)
  const cert = await issued(server, 'first')
  const { status } = await read(server, `${REQUESTS}/first`)
  assert.deepEqual(
    status.conditions.map(({ type, reason, message }: any) => [type, reason, message]),
    [['Approved', 'AutoApproved', 'Auto approving kubelet client certificate after SubjectAccessReview.']],
  )
  assert.equal((await whoIs(server, cert, pair)).json.status.userInfo.username, 'system:node:n')

  // With its certificate the node asks for the next one itself.
  await grant('may-renew', 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', { kind: 'Group', name: 'system:nodes' })
  await grant('nodes-ask', 'system:node-bootstrapper', { kind: 'Group', name: 'system:nodes' })
  const next = newPair()
  await create(server, { name: 'next', pair: next, ...node }, { cert, key: pemOf(pair) })
  await issued(server, 'next')
  const renewed = await read(server, `${REQUESTS}/next`)
  assert.equal(renewed.status.conditions[0].message, 'Auto approving self kubelet client certificate after SubjectAccessReview.')
  assert.equal(renewed.spec.username, 'system:node:n')

  // Server certificates of kubelets are for people to approve.
  const names = { dnsNames: ['n'] }
  await create(
    server,
    { ...node, name: 'serving', pair: newPair(), signerName: KUBELET_SERVING, usages: SERVING_USAGES, names },
    { cert, key: pemOf(pair) },
  )
  await create(server, { name: 'last', pair: newPair(), ...node })
  await issued(server, 'last')
  assert.deepEqual((await read(server, `${REQUESTS}/serving`)).status, {})
})

test('the authority of the server is published, and pods and people can check the server with it', patient, async t => {
  const server = await freshServer(t)
  const [bundle, ...more] = await eventually('the bundle', async () => {
    const { items } = await read(
      server,
      `${GROUP}/clustertrustbundles?fieldSelector=spec.signerName%3Dkubernetes.io%2Fkube-apiserver-serving`,
    )
    return items.length > 0 ? items : undefined
  })
  assert.deepEqual(more, [])
  assert.match(bundle.metadata.name, /^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/)
  const trusting = { url: server.url, credentials: { ...server.credentials, ca: bundle.spec.trustBundle } }
  assert.equal((await ask(trusting, '/version')).status, 200)
})

test(
  'service accounts read trust bundles, and whoever may act as one reads them so; bundles of a signer need the right to attest',
  patient,
  async t => {
    const tokenAuthFile = join(temporaryDirectory(t), 'tokens')
    writeFileSync(tokenAuthFile, 'jane,jane,1\n')
    const server = await startInProcess(t, { tokenAuthFile })
    const bundles = `${GROUP}/clustertrustbundles`
    const accounts = '/api/v1/namespaces/default/serviceaccounts'
    await eventually('the account', async () => ((await ask(server, `${accounts}/default`)).status === 200 ? true : undefined))
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const { token } = (await ask(server, `${accounts}/default/token`, { method: 'POST', body: request })).json.status
    const bearing = (token: string, more: Record<string, string> = {}): Sent => ({
      ...anonymous,
      headers: { authorization: `Bearer ${token}`, ...more },
    })
    assert.equal((await ask(server, bundles, bearing(token))).status, 200)
    assert.equal((await ask(server, bundles, anonymous)).status, 403)

    const grant = async (kind: 'ClusterRole' | 'Role', name: string, rule: object) => {
      const path = `/apis/rbac.authorization.k8s.io/v1/${kind === 'Role' ? 'namespaces/default/' : ''}${kind.toLowerCase()}`
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name }
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }]
      const bodies = [
        [`${path}s`, { metadata: { name }, rules: [rule] }],
        [`${path}bindings`, { metadata: { name }, roleRef, subjects }],
      ] as const
      for (const [path, body] of bodies) assert.equal((await ask(server, path, { method: 'POST', body })).status, 201)
    }
    const acting = bearing('jane', { 'impersonate-user': 'system:serviceaccount:default:default' })
    assert.equal((await ask(server, bundles, acting)).status, 403)
    await grant('Role', 'acts', { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: ['default'], verbs: ['impersonate'] })
    const read = await ask(server, bundles, acting)
    assert.deepEqual([read.status, read.json.items.length > 0], [200, true])

    const { cert: trustBundle } = issueAuthority('x', { notBefore: new Date(), notAfter: new Date(Date.now() + DAY_MS) })
    const create = (signerName?: string) => {
      const metadata = { name: signerName ? `${signerName.replaceAll('/', ':')}:a` : 'mine' }
      return ask(server, bundles, {
        method: 'POST',
        body: { metadata, spec: { ...(signerName && { signerName }), trustBundle } },
        ...bearing('jane'),
      })
    }
    await grant('ClusterRole', 'writes', {
      apiGroups: ['certificates.k8s.io'],
      resources: ['clustertrustbundles'],
      verbs: ['create', 'update'],
    })
    assert.equal((await create()).status, 201)
    const refused = await create('example.com/s')
    assert.deepEqual([refused.status, refused.json.reason], [403, 'Forbidden'])
    assert.match(refused.json.message, /user not permitted to attest for signerName "example.com\/s"$/)
    const attest = { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: ['example.com/s'], verbs: ['attest'] }
    await grant('ClusterRole', 'attests', attest)
    assert.equal((await create('example.com/s')).status, 201)
    assert.equal((await create('example.com/other')).status, 403)
  },
)

test('requests are deleted an hour after they were issued or denied, and a day after they were made', patient, async t => {
  const server = await startInProcess(t)
  for (const name of ['issued', 'denied', 'waiting', 'elsewhere'])
    await create(server, { name, pair: newPair(), ...(name === 'elsewhere' && { signerName: 'example.com/mine' }) })
  await decide(server, 'issued')
  await decide(server, 'denied', 'Denied')
  await decide(server, 'elsewhere')
  await issued(server, 'issued')
  const left = async () => (await read(server, REQUESTS)).items.map(({ metadata }: any) => metadata.name).join()
  await server.clock.advance('58m')
  assert.equal(await left(), 'denied,elsewhere,issued,waiting')
  await server.clock.advance('3m')
  assert.equal(await left(), 'elsewhere,waiting')
  await server.clock.advance('22h57m')
  assert.equal(await left(), 'elsewhere,waiting')
  await server.clock.advance('3m')
  assert.equal(await left(), '')
})

test('other authorities sign where files name them, and their certificates last no longer than is allowed', patient, async t => {
  const directory = temporaryDirectory(t)
  const authority = (name: string) => {
    const made = issueAuthority(name, { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 800 * DAY_MS) })
    const [cert, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)]
    writeFileSync(cert, made.cert)
    writeFileSync(key, made.key)
    return { cert, key, ...{ pem: new X509Certificate(made.cert) } }
  }
  const [clients, servers, later] = [authority('clients'), authority('servers'), authority('later')]
  const server = await startInProcess(t, {
    clientCaFile: clients.cert,
    clusterSigningKubeApiserverClientCertFile: clients.cert,
    clusterSigningKubeApiserverClientKeyFile: clients.key,
    clusterSigningKubeletServingCertFile: servers.cert,
    clusterSigningKubeletServingKeyFile: servers.key,
    clusterSigningDurationMs: 30 * DAY_MS,
  })
  const node = { commonName: 'system:node:n', organizations: ['system:nodes'] }
  const pair = newPair()
  await create(server, { name: 'kubelet', pair: newPair(), signerName: KUBELET_CLIENT, ...node })
  await create(server, { name: 'jane', pair })
  await create(server, {
    name: 'serving',
    pair: newPair(),
    signerName: KUBELET_SERVING,
    usages: SERVING_USAGES,
    ...node,
    names: { dnsNames: ['n'] },
  })
  for (const name of ['jane', 'serving']) await decide(server, name)
  const issuerOf = async (name: string) => new X509Certificate(await issued(server, name))
  const jane = await issuerOf('jane')
  assert.ok(jane.checkIssued(clients.pem) && jane.verify(clients.pem.publicKey))
  assert.equal(Date.parse(jane.validTo) - Date.parse(jane.validFrom), 30 * DAY_MS)
  assert.ok((await issuerOf('serving')).verify(servers.pem.publicKey))
  assert.equal((await whoIs(server, jane.toString(), pair)).json.status.userInfo.username, 'jane')
  // The signer without files is for others.
  const { status } = await read(server, `${REQUESTS}/kubelet`)
  assert.deepEqual([status.certificate, status.conditions[0].reason], [undefined, 'AutoApproved'])

  // New files are taken up: a pair that does not fit together changes nothing.
  writeFileSync(clients.cert, readFileSync(later.cert))
  writeFileSync(clients.key, readFileSync(later.key))
  let number = 0
  await eventually('the new authority', async () => {
    const name = `again-${++number}`
    await create(server, { name, pair: newPair() })
    await decide(server, name)
    return (await issuerOf(name)).verify(later.pem.publicKey) || undefined
  })
})

test('files that cannot sign are refused at the start', patient, async t => {
  const directory = temporaryDirectory(t)
  const made = issueAuthority('a', { notBefore: new Date(), notAfter: new Date(Date.now() + DAY_MS) })
  const other = issueAuthority('b', { notBefore: new Date(), notAfter: new Date(Date.now() + DAY_MS) })
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const [cert, key] = [file('a.crt', made.cert), file('a.key', made.key)]
  const refuses = (options: object, message: RegExp) => assert.rejects(startInProcess(t, options), message)
  await refuses({ clusterSigningCertFile: cert }, /clusterSigningCertFile: cannot specify cert without key/)
  await refuses({ clusterSigningKubeletClientKeyFile: key }, /clusterSigningKubeletClientKeyFile: cannot specify key without cert/)
  await refuses({ clusterSigningCertFile: cert, clusterSigningKeyFile: file('b.key', other.key) }, /does not belong to the certificate/)
  await refuses(
    { clusterSigningCertFile: file('two', made.cert + other.cert), clusterSigningKeyFile: key },
    /expected 1 certificate, found 2/,
  )
  const pair = { clusterSigningCertFile: cert, clusterSigningKeyFile: key }
  await refuses(
    { ...pair, clusterSigningLegacyUnknownCertFile: cert, clusterSigningLegacyUnknownKeyFile: key },
    /cannot specify --cluster-signing-\{cert,key\}-file and other/,
  )
  await refuses({ clusterSigningDurationMs: 1000 }, /clusterSigningDurationMs must be at least 10m/)
})
