// A node joins as with kubeadm: with a bootstrap token it finds the certificate authority, gets a certificate, and is assigned addresses.
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { anonymous, ask, eventually, freshServer, patient, type Sent, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { encodedRequest } from './kits/x509.ts'

const SECRETS = '/api/v1/namespaces/kube-system/secrets'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' }
const GROUP = 'system:bootstrappers:kubeadm:default-node-token'

const read = async (server: Target, path: string): Promise<any> => (await ask(server, path)).json
async function create(server: Target, path: string, body: object, sent: Sent = {}): Promise<any> {
  const answer = await ask(server, path, { method: 'POST', body, ...sent })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}
const secret = ({ id, secret }: typeof TOKEN, data: Record<string, string> = {}) => ({
  metadata: { name: `bootstrap-token-${id}` },
  type: 'bootstrap.kubernetes.io/token',
  stringData: {
    'token-id': id,
    'token-secret': secret,
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': GROUP,
    ...data,
  },
})
const bearer = ({ id, secret }: typeof TOKEN): Sent => ({ ...anonymous, headers: { authorization: `Bearer ${id}.${secret}` } })
const binding = (name: string, role: string, group: string) => ({
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
})

/** The objects that `kubeadm init` leaves in a cluster. */
async function prepare(server: Target): Promise<void> {
  const grants: [string, string][] = [
    ['kubeadm:kubelet-bootstrap', 'system:node-bootstrapper'],
    ['kubeadm:node-autoapprove-bootstrap', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient'],
  ]
  for (const [name, role] of grants) await create(server, `${RBAC}/clusterrolebindings`, binding(name, role, GROUP))
  const reading = { apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-info'], verbs: ['get'] }
  const name = 'kubeadm:bootstrap-signer-clusterinfo'
  await create(server, `${RBAC}/namespaces/kube-public/roles`, { metadata: { name }, rules: [reading] })
  await create(server, `${RBAC}/namespaces/kube-public/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:anonymous' }],
  })
  await create(server, '/api/v1/namespaces/kube-public/configmaps', {
    metadata: { name: 'cluster-info' },
    data: { kubeconfig: 'who to trust\n' },
  })
}

test('a bootstrap token leads to a certificate, and an expired one to nothing', patient, async t => {
  const server = await startInProcess(t, {
    nodes: 0,
    controllers: ['*', 'bootstrapsigner', 'token-cleaner-controller'],
    enableBootstrapTokenAuth: true,
  })
  await prepare(server)
  await create(server, SECRETS, secret(TOKEN, { expiration: new Date(Date.now() + 3600_000).toISOString() }))

  // With the token, a node can verify that the public information is genuine.
  const { kubeconfig, signature } = await eventually('the signature', async () => {
    const { data } = (await ask(server, '/api/v1/namespaces/kube-public/configmaps/cluster-info', anonymous)).json
    const signature = data?.[`jws-kubeconfig-${TOKEN.id}`]
    return signature && { kubeconfig: data.kubeconfig, signature }
  })
  const [header = '', nothing, code] = signature.split('.')
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'HS256', kid: TOKEN.id })
  const content = Buffer.from(kubeconfig).toString('base64url')
  assert.equal(nothing, '')
  assert.equal(code, createHmac('sha256', TOKEN.secret).update(`${header}.${content}`).digest('base64url'))

  // With the token it asks for a certificate, and gets it.
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const asked = await create(
    server,
    REQUESTS,
    {
      metadata: { name: 'node-csr-n' },
      spec: {
        request: encodedRequest(pair, { commonName: 'system:node:n', organizations: ['system:nodes'] }),
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'client auth'],
      },
    },
    bearer(TOKEN),
  )
  assert.equal(asked.spec.username, `system:bootstrap:${TOKEN.id}`)
  assert.deepEqual(asked.spec.groups, ['system:bootstrappers', GROUP, 'system:authenticated'])
  const cert = await eventually('the certificate', async () => {
    const { certificate } = (await ask(server, `${REQUESTS}/node-csr-n`, bearer(TOKEN))).json.status
    return certificate && Buffer.from(certificate, 'base64').toString()
  })
  const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const review = await create(
    server,
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    { cert, key },
  )
  assert.deepEqual(
    [review.status.userInfo.username, review.status.userInfo.groups],
    ['system:node:n', ['system:nodes', 'system:authenticated']],
  )

  // A token that is over is none, and goes away.
  const over = { id: 'zzzzzz', secret: TOKEN.secret }
  await create(server, SECRETS, secret(over, { expiration: '2020-01-01T00:00:00Z' }))
  assert.equal((await ask(server, REQUESTS, bearer(over))).status, 401)
  await eventually('the end of the token', async () =>
    (await ask(server, `${SECRETS}/bootstrap-token-zzzzzz`)).status === 404 ? true : undefined,
  )
  assert.equal((await ask(server, `${SECRETS}/bootstrap-token-abcdef`)).status, 200)
  await ask(server, `${SECRETS}/bootstrap-token-abcdef`, { method: 'DELETE' })
  assert.equal((await ask(server, REQUESTS, bearer(TOKEN))).status, 401)
  await eventually('the end of the signature', async () => {
    const { data } = await read(server, '/api/v1/namespaces/kube-public/configmaps/cluster-info')
    return Object.keys(data).join() === 'kubeconfig' ? true : undefined
  })
})

test('unless it is asked for, tokens are secrets like others, and nobody signs or deletes them', patient, async t => {
  const server = await freshServer(t)
  await prepare(server)
  await create(server, SECRETS, secret(TOKEN, { expiration: '2020-01-01T00:00:00Z' }))
  assert.equal((await ask(server, REQUESTS, bearer(TOKEN))).status, 401)
  // The other controllers have started and done their work by the time this one's certificate is there.
  const request = encodedRequest(generateKeyPairSync('ec', { namedCurve: 'P-256' }), {
    commonName: 'system:node:n',
    organizations: ['system:nodes'],
  })
  const spec = { request, signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] }
  await create(server, REQUESTS, { metadata: { name: 'n' }, spec })
  await eventually('the certificate', async () => (await read(server, `${REQUESTS}/n`)).status.certificate)
  assert.equal((await ask(server, `${SECRETS}/bootstrap-token-abcdef`)).status, 200)
  const { data } = await read(server, '/api/v1/namespaces/kube-public/configmaps/cluster-info')
  assert.deepEqual(Object.keys(data), ['kubeconfig'])
})

const podCIDRsOf = async (server: Target, ...names: string[]): Promise<string[][]> =>
  Promise.all(
    names.map(name =>
      eventually(`the blocks of ${name}`, async () => (await read(server, `/api/v1/nodes/${name}`)).spec?.podCIDRs as string[] | undefined),
    ),
  )

test('nodes get blocks of both families, also after a restart, and pods get addresses of them', patient, async t => {
  const options = {
    dataDir: temporaryDirectory(t),
    nodes: 3,
    allocateNodeCidrs: true,
    clusterCidr: ['10.50.0.0/16', 'fd50::/56'],
    nodeCidrMaskSizeIpv4: 26,
    serviceClusterIpRange: ['10.50.0.0/25', 'fd00:1::/112'],
  }
  const first = await startInProcess(t, options)
  const names = ['simulated-1', 'simulated-2', 'simulated-3']
  const given = await podCIDRsOf(first, ...names)
  for (const [v4, v6] of given) {
    assert.match(v4!, /^10\.50\.0\.\d+\/26$|^10\.50\.1\.\d+\/26$/)
    assert.match(v6!, /^fd50(:0:0:[0-9a-f]+)?::\/64$/)
    // The range of services is nobody's.
    assert.ok(!['10.50.0.0/26', '10.50.0.64/26'].includes(v4!))
  }
  await eventually('the account', async () =>
    (await ask(first, '/api/v1/namespaces/default/serviceaccounts/default')).status === 200 ? true : undefined,
  )
  await create(first, '/api/v1/namespaces/default/pods', {
    metadata: { name: 'web' },
    spec: { nodeName: 'simulated-1', containers: [{ name: 'c', image: 'web:1' }] },
  })
  const pod = await eventually('the addresses', async () => {
    const { status } = await read(first, '/api/v1/namespaces/default/pods/web')
    return status.podIPs && status
  })
  assert.ok(pod.podIPs[0].ip.startsWith(given[0]![0]!.split('.').slice(0, 3).join('.')))
  assert.ok(pod.podIPs[1].ip.startsWith('fd50:'))
  await first.close()

  const second = await startInProcess(t, { ...options, nodes: 5 })
  const again = await podCIDRsOf(second, ...names, 'simulated-4', 'simulated-5')
  assert.deepEqual(again.slice(0, 3), given)
  assert.equal(new Set(again.flat()).size, 10)
})

test('ranges that cannot be divided so are refused', patient, async t => {
  const refuses = (options: object, message: RegExp) =>
    assert.rejects(startInProcess(t, { nodes: 0, allocateNodeCidrs: true, ...options }), message)
  await refuses({}, /allocateNodeCidrs needs clusterCidr/)
  await refuses({ clusterCidr: ['x'] }, /clusterCidr: "x" is not a range/)
  await refuses({ clusterCidr: ['10.0.0.0/8', '11.0.0.0/8'] }, /takes one range, or one IPv4 and one IPv6/)
  await refuses({ clusterCidr: ['10.0.0.0/25'] }, /is smaller than the block of one node/)
  await refuses({ clusterCidr: ['fd00::/40'] }, /too many/)
  const both = ['10.0.0.0/16', 'fd00::/56']
  await refuses({ clusterCidr: both, nodeCidrMaskSize: 24 }, /usage of nodeCidrMaskSize is not allowed with dual-stack clusters/)
  await refuses({ clusterCidr: ['10.0.0.0/16'], nodeCidrMaskSizeIpv6: 64 }, /not allowed for a single-stack IPv4 cluster/)
  await refuses({ clusterCidr: ['fd00::/56'], nodeCidrMaskSizeIpv4: 24 }, /not allowed for a single-stack IPv6 cluster/)
  await refuses(
    { clusterCidr: ['10.0.0.0/16'], nodeCidrMaskSize: 24, nodeCidrMaskSizeIpv4: 24 },
    /is not allowed if nodeCidrMaskSize is set/,
  )
  await refuses({ clusterCidr: ['10.0.0.0/16'], nodeCidrMaskSize: 33 }, /has 32 bits at most/)
})
