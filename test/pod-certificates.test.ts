// Certificates and trust bundles of pods: requested by simulated nodes, issued by the server, and used by real TLS clients.
import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stubRequest } from '../src/lib/x509/certificate-request.ts'
import { issueAuthority } from '../src/lib/x509/issue.ts'
import { ask, eventually, freshServer, patient, type Sent, startInProcess, type Target, temporaryDirectory } from './kit.ts'

const GROUP = '/apis/certificates.k8s.io/v1'
const NAMESPACE = '/api/v1/namespaces/default'
const PODS = `${NAMESPACE}/pods`
const REQUESTS = `${GROUP}/namespaces/default/podcertificaterequests`
const POD_SIGNER = 'kubernetes.io/kube-apiserver-client-pod'
const MINUTE_MS = 60_000
const merge = (body: object, more: Sent = {}): Sent => ({
  method: 'PATCH',
  body,
  ...more,
  headers: { 'content-type': 'application/merge-patch+json', ...more.headers },
})

const read = async (server: Target, path: string): Promise<any> => (await ask(server, path)).json
async function create(server: Target, path: string, body: object): Promise<any> {
  const answer = await ask(server, path, { method: 'POST', body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}

const nodeReady = (server: Target) =>
  eventually('a node', async () => ((await read(server, '/api/v1/nodes/simulated-1')).spec?.podCIDRs ? true : undefined))
const accountReady = (server: Target) =>
  eventually('the account', async () => ((await ask(server, `${NAMESPACE}/serviceaccounts/default`)).status === 200 ? true : undefined))

/** Creates a pod with one projected volume. */
async function createPod(server: Target, name: string, ...sources: object[]): Promise<any> {
  await Promise.all([nodeReady(server), accountReady(server)])
  return create(server, PODS, {
    metadata: { name },
    spec: {
      nodeName: 'simulated-1',
      containers: [{ name: 'c', image: 'web:1', volumeMounts: [{ name: 'files', mountPath: '/files' }] }],
      volumes: [{ name: 'files', projected: { sources } }],
    },
  })
}
const certificate = (more: object = {}) => ({
  podCertificate: { signerName: POD_SIGNER, keyType: 'ECDSAP256', credentialBundlePath: 'bundle.pem', ...more },
})
const podIn = (server: Target, name: string, phase: string) =>
  eventually(`${name} ${phase}`, async () => {
    const pod = await read(server, `${PODS}/${name}`)
    return pod.status?.phase === phase ? pod : undefined
  })
const eventsOf = (server: Target, name: string, reason: string): Promise<string[]> =>
  eventually(`the event ${reason} of ${name}`, async () => {
    const { items } = await read(server, `${NAMESPACE}/events?fieldSelector=involvedObject.name%3D${name}%2Creason%3D${reason}`)
    return items.length > 0 ? items.map((each: any) => each.message) : undefined
  })
const requestOf = (server: Target, pod: string, fits: (request: any) => boolean = () => true): Promise<any> =>
  eventually(`a request of ${pod}`, async () => {
    const { items } = await read(server, `${REQUESTS}?fieldSelector=spec.podName%3D${pod}`)
    return items.find(fits)
  })
const has = (type: string) => (request: any) => request.status.conditions?.some((each: any) => each.type === type)

test('a pod with a projected certificate starts when it is issued, and the request matches the pod', patient, async t => {
  for (const authorizationMode of [['RBAC'], ['Node', 'RBAC']]) {
    const server = await startInProcess(t, { nodes: 1, authorizationMode, enableAdmissionPlugins: ['NodeRestriction'] })
    const pod = await createPod(server, 'web', certificate({ maxExpirationSeconds: 3600 }), { clusterTrustBundle: BUNDLE })
    await podIn(server, 'web', 'Running')
    const { metadata, spec, status } = await requestOf(server, 'web', has('Issued'))
    assert.match(metadata.name, /^req-/)
    assert.deepEqual(metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: pod.metadata.uid }])
    const account = await read(server, `${NAMESPACE}/serviceaccounts/default`)
    const node = await read(server, '/api/v1/nodes/simulated-1')
    const { stubPKCS10Request: _, ...said } = spec
    assert.deepEqual(said, {
      signerName: POD_SIGNER,
      podName: 'web',
      podUID: pod.metadata.uid,
      serviceAccountName: 'default',
      serviceAccountUID: account.metadata.uid,
      nodeName: 'simulated-1',
      nodeUID: node.metadata.uid,
      maxExpirationSeconds: 3600,
    })
    assert.deepEqual(
      status.conditions.map((each: any) => [each.type, each.status]),
      [['Issued', 'True']],
    )
    const issued = new X509Certificate(status.certificateChain)
    assert.equal(Date.parse(issued.validTo), Date.parse(status.notAfter))
    assert.equal(Date.parse(issued.validFrom), Date.parse(status.notBefore))
    assert.ok(Date.parse(status.beginRefreshAt) < Date.parse(status.notAfter) - 10 * MINUTE_MS)
    await server.close()
  }
})
const BUNDLE = { signerName: 'kubernetes.io/kube-apiserver-serving', labelSelector: {}, path: 'ca.pem' }

test('the certificate of a pod authenticates as its service account', patient, async t => {
  const server = await freshServer(t, { nodes: 1 })
  const pod = await createPod(server, 'web', certificate())
  const { spec } = await requestOf(server, 'web')
  for (const type of ['ec', 'ed25519', 'rsa'] as const) {
    const options = { ec: { namedCurve: 'P-384' }, ed25519: {}, rsa: { modulusLength: 3072 } }[type]
    const pair = generateKeyPairSync(type as 'rsa', options as { modulusLength: number })
    const { metadata } = await create(server, REQUESTS, {
      metadata: { generateName: 'mine-' },
      spec: { ...spec, stubPKCS10Request: stubRequest(pair).toString('base64') },
    })
    const { status } = await requestOf(server, 'web', each => each.metadata.name === metadata.name && has('Issued')(each))
    const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const review = await ask(server, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      method: 'POST',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      cert: status.certificateChain,
      key,
    })
    const { username, groups, uid } = review.json.status.userInfo
    assert.equal(username, 'system:serviceaccount:default:default')
    assert.deepEqual(groups, ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'])
    assert.equal(uid, spec.serviceAccountUID)
  }
  // False statements are denied: the pod is not on that node, or is another one.
  for (const lie of [{ nodeName: 'other' }, { podUID: `${pod.metadata.uid}x` }, { serviceAccountUID: 'x' }]) {
    const pair = generateKeyPairSync('ed25519')
    const body = { metadata: { generateName: 'lie-' }, spec: { ...spec, ...lie, stubPKCS10Request: stubRequest(pair).toString('base64') } }
    const { metadata } = await create(server, REQUESTS, body)
    await eventually('the denial', async () => (has('Denied')(await read(server, `${REQUESTS}/${metadata.name}`)) ? true : undefined))
  }
})

test('a pod waits for its trust bundles, and says so as on a kubelet', patient, async t => {
  const server = await freshServer(t, { nodes: 1 })
  const named = { clusterTrustBundle: { name: 'mine', path: 'a.pem' } }
  const ofSigner = { clusterTrustBundle: { signerName: 'example.com/s', labelSelector: { matchLabels: { live: 'yes' } }, path: 'b.pem' } }
  await createPod(server, 'web', named, ofSigner)
  await createPod(server, 'easy', { clusterTrustBundle: { ...named.clusterTrustBundle, optional: true } })
  await podIn(server, 'easy', 'Running')
  assert.deepEqual(await eventsOf(server, 'web', 'FailedMount'), [
    'MountVolume.SetUp failed for volume "files" : [while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "mine" not found, combination of signerName and labelSelector matched zero ClusterTrustBundles]',
  ])
  const { cert: trustBundle } = issueAuthority('x', { notBefore: new Date(), notAfter: new Date(Date.now() + 3600_000) })
  const bundle = (name: string, spec: object, labels = {}) => ({ metadata: { name, labels }, spec: { ...spec, trustBundle } })
  await create(server, `${GROUP}/clustertrustbundles`, bundle('mine', {}))
  await create(server, `${GROUP}/clustertrustbundles`, bundle('example.com:s:a', { signerName: 'example.com/s' }))
  assert.equal((await read(server, `${PODS}/web`)).status.phase, 'Pending')
  const path = `${GROUP}/clustertrustbundles/example.com:s:a`
  assert.equal((await ask(server, path, merge({ metadata: { labels: { live: 'yes' } } }))).status, 200)
  await podIn(server, 'web', 'Running')
})

test('requests to other signers wait for a decision, which the pod reports in an event', patient, async t => {
  const directory = temporaryDirectory(t)
  const tokenAuthFile = join(directory, 'tokens')
  writeFileSync(tokenAuthFile, 'robot,robot,1,"robots"\n')
  const server = await startInProcess(t, { nodes: 1, tokenAuthFile })
  await createPod(server, 'web', certificate({ signerName: 'example.com/mine', userAnnotations: { 'example.com/x': 'y' } }))
  const request = await requestOf(server, 'web')
  assert.deepEqual(request.spec.unverifiedUserAnnotations, { 'example.com/x': 'y' })
  assert.deepEqual(await eventsOf(server, 'web', 'FailedMount'), [
    'MountVolume.SetUp failed for volume "files" : credential bundle is not issued yet',
  ])
  assert.deepEqual((await read(server, `${REQUESTS}/${request.metadata.name}`)).status, {})
  const denial = {
    status: {
      conditions: [
        { type: 'Denied', status: 'True', reason: 'UnsupportedKeyType', message: 'no', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  }
  const path = `${REQUESTS}/${request.metadata.name}/status`

  // Permission to write the status is not enough: it also takes permission to sign.
  const rule = { apiGroups: ['certificates.k8s.io'], resources: ['podcertificaterequests/status'], verbs: ['get', 'update', 'patch'] }
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'robots' }, rules: [rule] })
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'robots' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'robots' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'robot' }],
  })
  const robot = merge(denial, { cert: undefined, key: undefined, headers: { authorization: 'Bearer robot' } } as unknown as Sent)
  const refused = await ask(server, path, robot)
  assert.equal(refused.status, 422)
  assert.match(
    refused.json.message,
    /spec\.signerName: Forbidden: User "robot" is not permitted to "sign" for signer "example\.com\/mine"$/,
  )
  const sign = { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: ['example.com/*'], verbs: ['sign'] }
  const granted = await ask(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles/robots', merge({ rules: [rule, sign] }))
  assert.equal(granted.status, 200)
  const decided = await eventually('the right to sign', async () => {
    const answer = await ask(server, path, robot)
    return answer.status === 200 ? answer : undefined
  })
  assert.equal(decided.json.status.conditions[0].type, 'Denied')
  const [event] = await eventsOf(server, 'web', 'Denied')
  assert.equal(event, `PodCertificateRequest default/${request.metadata.name} was denied, reason="UnsupportedKeyType", message="no"`)
  await eventually('the second reason', async () =>
    (await eventsOf(server, 'web', 'FailedMount')).find(each =>
      each.endsWith('PodCertificateRequest was permanently denied: reason="UnsupportedKeyType" message="no"'),
    ),
  )
  assert.equal((await read(server, `${PODS}/web`)).status.phase, 'Pending')
})

test('certificates are renewed before they end, and old requests are deleted', patient, async t => {
  const server = await startInProcess(t, { nodes: 1 })
  await createPod(server, 'web', certificate({ maxExpirationSeconds: 3600, keyType: 'ED25519' }))
  await podIn(server, 'web', 'Running')
  const first = await requestOf(server, 'web', has('Issued'))
  const isOther = (each: any) => each.metadata.uid !== first.metadata.uid
  const until = (time: string) => Date.parse(time) - server.clock.now().getTime()

  await server.clock.advance(10 * MINUTE_MS)
  assert.equal((await ask(server, `${REQUESTS}/${first.metadata.name}`)).status, 200)
  await server.clock.advance(6 * MINUTE_MS)
  assert.equal((await ask(server, `${REQUESTS}/${first.metadata.name}`)).status, 404)
  await server.clock.advance(until(first.status.beginRefreshAt) - MINUTE_MS)
  assert.deepEqual((await read(server, REQUESTS)).items, [])
  // Five minutes are added at random, so that not all pods ask at once.
  await server.clock.advance(7 * MINUTE_MS)
  const second = await requestOf(server, 'web', each => isOther(each) && has('Issued')(each))
  assert.ok(until(first.status.notAfter) > 0)
  assert.ok(Date.parse(second.status.notAfter) > Date.parse(first.status.notAfter))
  assert.notEqual(second.spec.stubPKCS10Request, first.spec.stubPKCS10Request)
  await podIn(server, 'web', 'Running')
})
