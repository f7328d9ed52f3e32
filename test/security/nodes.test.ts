// Tricks of a node: it reads objects that its own pods use, writes its own objects, and nothing else.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { patient } from '../kit.ts'
import { type Arena, type Attack, runAttacks, type Sending, startArena } from '../kits/attacks.ts'
import { encodedRequest } from '../kits/x509.ts'

const WORLD = '/api/v1/namespaces/world'
const NODES = '/api/v1/nodes'
const PODS = `${WORLD}/pods`
const SECRETS = `${WORLD}/secrets`
const ACCOUNTS = `${WORLD}/serviceaccounts`
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes'
const SLICES = '/apis/resource.k8s.io/v1/resourceslices'
const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const MERGE = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const MIRROR = 'kubernetes.io/config.mirror'
/** The uids of the server are random, those of rows are written here and put in place when they are known. */
const UIDS = { n1: 'uid-of-n1', p1: 'uid-of-p1', p2: 'uid-of-p2' }

const container = { name: 'c', image: 'i' }
const pod = (name: string, nodeName: string | undefined, uses: string) => ({
  metadata: { name },
  spec: {
    ...(nodeName && { nodeName }),
    serviceAccountName: uses,
    containers: [{ ...container, envFrom: [{ configMapRef: { name: uses } }] }],
    volumes: [
      { name: 'secret', secret: { secretName: uses } },
      { name: 'claim', persistentVolumeClaim: { claimName: uses } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'projected' } }] } },
    ],
  },
})
const volume = (name: string) => ({
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    claimRef: { namespace: 'world', name },
    csi: { driver: 'd', volumeHandle: name },
  },
})
const claim = (name: string) => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: name },
})
const slice = (name: string, nodeName: string) => ({
  metadata: { name },
  spec: { driver: 'd.example.com', nodeName, pool: { name, generation: 1, resourceSliceCount: 1 }, devices: [] },
})

/** Two nodes, a pod on each and one on none; each pod uses a secret, a map, a claim and an account with its name. */
const GIVEN: readonly (readonly [string, object])[] = [
  ['/api/v1/namespaces', { metadata: { name: 'world' } }],
  ...['n1', 'n2'].flatMap(name => [
    [
      NODES,
      {
        metadata: { name, labels: { 'node-restriction.kubernetes.io/kept': 'yes' } },
        spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] },
      },
    ] as const,
    [LEASES, { metadata: { name }, spec: { holderIdentity: name } }] as const,
    [CSI_NODES, { metadata: { name }, spec: { drivers: [] } }] as const,
    [SLICES, slice(name, name)] as const,
  ]),
  ...['used', 'theirs', 'free', 'unused'].flatMap(name => [
    [SECRETS, { metadata: { name }, stringData: { key: 'the-treasure' } }] as const,
    [`${WORLD}/configmaps`, { metadata: { name } }] as const,
    [ACCOUNTS, { metadata: { name } }] as const,
    ['/api/v1/persistentvolumes', volume(name)] as const,
    [`${WORLD}/persistentvolumeclaims`, claim(name)] as const,
  ]),
  ['/api/v1/namespaces/default/secrets', { metadata: { name: 'used' } }],
  [PODS, pod('p1', 'n1', 'used')],
  [PODS, pod('p2', 'n2', 'theirs')],
  [PODS, pod('p3', undefined, 'free')],
]

const as = (name: string) => ({ user: `system:node:${name}`, groups: ['system:nodes'] })
const n1 = as('n1')
const UNRELATED = "no relationship found between node 'n1' and this object"
const hides = /dGhlLXRyZWFzdXJl/

const READS: readonly Attack[] = [
  ...['theirs', 'free', 'unused'].flatMap(name =>
    [
      `GET ${SECRETS}/${name}`,
      `GET ${WORLD}/configmaps/${name}`,
      `GET ${WORLD}/persistentvolumeclaims/${name}`,
      `GET /api/v1/persistentvolumes/${name}`,
      `GET ${ACCOUNTS}/${name}`,
    ].map(send => ({ name: `${send} that no pod of the node uses`, ...n1, send, answer: 403, says: UNRELATED, hides })),
  ),
  {
    name: 'the secret of the same name in another namespace',
    ...n1,
    send: 'GET /api/v1/namespaces/default/secrets/used',
    answer: 403,
    says: UNRELATED,
  },
  { name: 'all secrets of a namespace', ...n1, send: `GET ${SECRETS}`, answer: 403, says: 'No Object name found', hides },
  { name: 'all secrets', ...n1, send: 'GET /api/v1/secrets', answer: 403, hides },
  {
    name: 'a list that selects the secret of another node',
    ...n1,
    send: `GET ${SECRETS}?fieldSelector=metadata.name%3Dtheirs`,
    answer: 403,
    hides,
  },
  {
    name: 'a watch that selects the secret of another node',
    ...n1,
    send: `GET ${SECRETS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dtheirs`,
    answer: 403,
    hides,
  },
  {
    name: 'a list that selects one name first and another second',
    ...n1,
    send: `GET ${SECRETS}?fieldSelector=metadata.name%3Dused&fieldSelector=metadata.name%3Dtheirs`,
    answer: [200, 403],
    hides: /"name":"theirs"/,
  },
  { name: 'another node', ...n1, send: `GET ${NODES}/n2`, answer: 403, says: 'only its own Node object' },
  { name: 'all nodes', ...n1, send: `GET ${NODES}`, answer: 403 },
  { name: 'the pod of another node', ...n1, send: `GET ${PODS}/p2`, answer: 403 },
  { name: 'all pods', ...n1, send: 'GET /api/v1/pods', answer: 403 },
  { name: 'pods of another node', ...n1, send: 'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn2', answer: 403 },
  { name: 'pods that are not on another node', ...n1, send: 'GET /api/v1/pods?fieldSelector=spec.nodeName!%3Dn2', answer: 403 },
  {
    name: 'pods of the node first and of another second',
    ...n1,
    send: 'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1&fieldSelector=spec.nodeName%3Dn2',
    answer: [200, 403],
    hides: /"name":"p2"/,
  },
  { name: 'the log of its own pod, through the server', ...n1, send: `GET ${PODS}/p1/log`, answer: 403 },
  { name: 'a command in its own pod, through the server', ...n1, send: `POST ${PODS}/p1/exec?command=id`, answer: 403 },
  { name: 'the lease of another node', ...n1, send: `GET ${LEASES}/n2`, answer: 403 },
  { name: 'slices of all nodes', ...n1, send: `GET ${SLICES}`, answer: 403 },
  { name: 'roles', ...n1, send: 'GET /apis/rbac.authorization.k8s.io/v1/clusterroles', answer: 403 },
]

const IDENTITIES: readonly Attack[] = [
  { name: 'the name of a node without its group', user: 'system:node:n1', send: `GET ${SECRETS}/used`, answer: 403, hides },
  {
    name: 'the group of nodes without the name of one',
    user: 'n1',
    groups: ['system:nodes'],
    send: `GET ${SECRETS}/used`,
    answer: 403,
    hides,
  },
  { name: 'a node without a name', ...as(''), send: `GET ${SECRETS}/used`, answer: 403, says: 'unknown node', hides },
  { name: 'the name of a node in capitals', ...as('N1'), send: `GET ${SECRETS}/used`, answer: 403, hides },
  { name: 'the name of a node with more behind it', ...as('n1/x'), send: `GET ${SECRETS}/used`, answer: 403, hides },
  { name: 'the prefix in capitals', user: 'System:Node:n1', groups: ['system:nodes'], send: `GET ${SECRETS}/used`, answer: 403, hides },
]

const patchNode = (body: object, path = `${NODES}/n1`) => ({
  ...n1,
  send: `PATCH ${path}`,
  type: STRATEGIC,
  body,
  unchanged: [`${NODES}/n1`, `${NODES}/n2`],
})
const WRITES: readonly Attack[] = [
  {
    name: 'a secret that its pod uses is changed',
    ...n1,
    send: `PATCH ${SECRETS}/used`,
    type: MERGE,
    body: { data: {} },
    answer: 403,
    unchanged: [`${SECRETS}/used`],
  },
  { name: 'a secret that its pod uses is deleted', ...n1, send: `DELETE ${SECRETS}/used`, answer: 403, unchanged: [`${SECRETS}/used`] },
  {
    name: 'another node is changed',
    ...patchNode({ metadata: { labels: { a: 'b' } } }, `${NODES}/n2`),
    answer: 403,
    says: 'is not allowed to modify node "n2"',
  },
  {
    name: 'the status of another node is changed',
    ...patchNode({ status: { phase: 'x' } }, `${NODES}/n2/status`),
    answer: 403,
    says: 'is not allowed to modify node "n2"',
  },
  {
    name: 'another node is created',
    ...n1,
    send: `POST ${NODES}`,
    body: { metadata: { name: 'n3' } },
    answer: 403,
    absent: [`${NODES}/n3`],
  },
  { name: 'another node is deleted', ...n1, send: `DELETE ${NODES}/n2`, answer: 403, unchanged: [`${NODES}/n2`] },
  { name: 'the own node is deleted', ...n1, send: `DELETE ${NODES}/n1`, answer: 403, unchanged: [`${NODES}/n1`] },
  { name: 'all nodes are deleted', ...n1, send: `DELETE ${NODES}`, answer: 403, unchanged: [`${NODES}/n1`] },
  { name: 'its taints are removed', ...patchNode({ spec: { taints: null } }), answer: 403, says: 'is not allowed to modify taints' },
  { name: 'its taints are removed through its status', ...patchNode({ spec: { taints: null } }, `${NODES}/n1/status`), answer: [200, 403] },
  {
    name: 'it gets an owner',
    ...patchNode({ metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n2', uid: 'u' }] } }),
    answer: 403,
    says: 'ownerReferences',
  },
  ...[
    'node-role.kubernetes.io/control-plane',
    'node-restriction.kubernetes.io/team',
    'x.node-restriction.kubernetes.io/team',
    'kubernetes.io/role',
    'secure.k8s.io/x',
  ].flatMap(label => [
    {
      name: `it labels itself ${label}`,
      ...patchNode({ metadata: { labels: { [label]: 'yes' } } }),
      answer: 403,
      says: 'is not allowed to modify labels',
    },
    {
      name: `it labels itself ${label} through its status`,
      ...patchNode({ metadata: { labels: { [label]: 'yes' } } }, `${NODES}/n1/status`),
      answer: 403,
      says: 'is not allowed to modify labels',
    },
  ]),
  {
    name: 'a label that restricts it is removed',
    ...patchNode({ metadata: { labels: { 'node-restriction.kubernetes.io/kept': null } } }),
    answer: 403,
    says: 'is not allowed to modify labels',
  },
  {
    name: 'a new node labels itself',
    ...as('n4'),
    send: `POST ${NODES}`,
    body: { metadata: { name: 'n4', labels: { 'node-restriction.kubernetes.io/team': 'a' } } },
    answer: 403,
    absent: [`${NODES}/n4`],
  },
  {
    name: 'the lease of another node is taken',
    ...n1,
    send: `PATCH ${LEASES}/n2`,
    type: MERGE,
    body: { spec: { holderIdentity: 'n1' } },
    answer: 403,
    unchanged: [`${LEASES}/n2`],
  },
  {
    name: 'a lease of another name is created',
    ...n1,
    send: `POST ${LEASES}`,
    body: { metadata: { name: 'n9' } },
    answer: 403,
    absent: [`${LEASES}/n9`],
  },
  {
    name: 'a lease of its name is created elsewhere',
    ...n1,
    send: 'POST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
    body: { metadata: { name: 'n1' } },
    answer: 403,
  },
  {
    name: 'the CSINode of another node is changed',
    ...n1,
    send: `PATCH ${CSI_NODES}/n2`,
    type: MERGE,
    body: { metadata: { labels: { a: 'b' } } },
    answer: 403,
    unchanged: [`${CSI_NODES}/n2`],
  },
  {
    name: 'a CSINode of another name is created',
    ...n1,
    send: `POST ${CSI_NODES}`,
    body: { metadata: { name: 'n9' }, spec: { drivers: [] } },
    answer: 403,
    absent: [`${CSI_NODES}/n9`],
  },
  {
    name: 'a slice of another node is created',
    ...n1,
    send: `POST ${SLICES}`,
    body: slice('n9', 'n2'),
    answer: 403,
    absent: [`${SLICES}/n9`],
  },
  { name: 'a slice of another node is deleted', ...n1, send: `DELETE ${SLICES}/n2`, answer: 403, unchanged: [`${SLICES}/n2`] },
  { name: 'all slices are deleted', ...n1, send: `DELETE ${SLICES}`, answer: 403, unchanged: [`${SLICES}/n2`] },
]

const mirror = (more: object, spec: object = {}, metadata: object = {}) => ({
  metadata: {
    name: 'm',
    annotations: { [MIRROR]: 'x' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: UIDS.n1, controller: true, ...more }],
    ...metadata,
  },
  spec: { nodeName: 'n1', containers: [container], automountServiceAccountToken: false, ...spec },
})
const createPod = (body: object) => ({ ...n1, send: `POST ${PODS}`, body, absent: [`${PODS}/m`] })
const POD_WRITES: readonly Attack[] = [
  {
    name: 'a pod that is no mirror is created',
    ...createPod(mirror({}, {}, { annotations: {} })),
    answer: 403,
    says: 'can only create mirror pods',
  },
  {
    name: 'a mirror pod is created on another node',
    ...createPod(mirror({}, { nodeName: 'n2' })),
    answer: 403,
    says: 'spec.nodeName set to itself',
  },
  {
    name: 'a mirror pod is created without an owner',
    ...createPod(mirror({}, {}, { ownerReferences: [] })),
    answer: 403,
    says: 'an owner reference set to itself',
  },
  {
    name: 'a mirror pod of another node is created',
    ...createPod(mirror({ name: 'n2' })),
    answer: 403,
    says: 'an owner reference set to itself',
  },
  { name: 'a mirror pod of another uid is created', ...createPod(mirror({ uid: 'other' })), answer: 403, says: 'UID mismatch' },
  {
    name: 'a mirror pod uses a secret',
    ...createPod(mirror({}, { volumes: [{ name: 's', secret: { secretName: 'unused' } }] })),
    answer: 403,
    says: 'can not create pods that reference',
  },
  {
    name: 'a mirror pod uses a secret in its environment',
    ...createPod(mirror({}, { containers: [{ ...container, envFrom: [{ secretRef: { name: 'unused' } }] }] })),
    answer: 403,
    says: 'can not create pods that reference',
  },
  {
    name: 'a mirror pod pulls with a secret',
    ...createPod(mirror({}, { imagePullSecrets: [{ name: 'unused' }] })),
    answer: 403,
    says: 'can not create pods that reference',
  },
  {
    name: 'a mirror pod runs as an account',
    ...createPod(mirror({}, { serviceAccountName: 'unused' })),
    answer: 403,
    says: 'can not create pods that reference',
  },
  {
    name: 'a mirror pod uses a claim',
    ...createPod(mirror({}, { volumes: [{ name: 's', persistentVolumeClaim: { claimName: 'unused' } }] })),
    answer: 403,
    says: 'can not create pods that reference',
  },
  { name: 'the pod of another node is deleted', ...n1, send: `DELETE ${PODS}/p2`, answer: 403, unchanged: [`${PODS}/p2`] },
  { name: 'a pod of no node is deleted', ...n1, send: `DELETE ${PODS}/p3`, answer: 403, unchanged: [`${PODS}/p3`] },
  {
    name: 'its own pod is changed',
    ...n1,
    send: `PATCH ${PODS}/p1`,
    type: MERGE,
    body: { metadata: { labels: { a: 'b' } } },
    answer: 403,
    unchanged: [`${PODS}/p1`],
  },
  {
    name: 'the status of the pod of another node is changed',
    ...n1,
    send: `PATCH ${PODS}/p2/status`,
    type: MERGE,
    body: { status: { phase: 'Failed' } },
    answer: 403,
    unchanged: [`${PODS}/p2`],
  },
  {
    name: 'labels of its pod are changed through the status',
    ...n1,
    send: `PATCH ${PODS}/p1/status`,
    type: MERGE,
    body: { metadata: { labels: { a: 'b' } } },
    answer: 403,
    says: 'cannot update labels through pod status',
    unchanged: [`${PODS}/p1`],
  },
  {
    name: 'claims of its pod are added through the status',
    ...n1,
    send: `PATCH ${PODS}/p1/status`,
    type: MERGE,
    body: { status: { resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'b' }] } },
    answer: [403, 422],
    unchanged: [`${PODS}/p1`],
  },
  {
    name: 'its pod gets a secret through the status',
    ...n1,
    send: `PATCH ${PODS}/p1/status`,
    type: STRATEGIC,
    body: { spec: { volumes: [{ name: 'more', secret: { secretName: 'unused' } }] } },
    answer: [200, 403],
    unchanged: [`${PODS}/p1`],
  },
  {
    name: 'the pod of another node is evicted',
    ...n1,
    send: `POST ${PODS}/p2/eviction`,
    body: { metadata: { name: 'p2' } },
    answer: 403,
    unchanged: [`${PODS}/p2`],
  },
  {
    name: 'the pod of another node is named in the body of an eviction',
    ...n1,
    send: `POST ${PODS}/p1/eviction`,
    body: { metadata: { name: 'p2' } },
    answer: [400, 403],
    unchanged: [`${PODS}/p1`, `${PODS}/p2`],
  },
  {
    name: 'a pod is bound to itself',
    ...n1,
    send: `POST ${PODS}/p3/binding`,
    body: { metadata: { name: 'p3' }, target: { kind: 'Node', name: 'n1' } },
    answer: 403,
    unchanged: [`${PODS}/p3`],
  },
  {
    name: 'a container is added to its pod',
    ...n1,
    send: `PATCH ${PODS}/p1/ephemeralcontainers`,
    type: STRATEGIC,
    body: { spec: { ephemeralContainers: [{ name: 'e', image: 'i' }] } },
    answer: 403,
    unchanged: [`${PODS}/p1`],
  },
]

const tokenFor = (account: string, spec: object) => ({
  ...n1,
  send: `POST ${ACCOUNTS}/${account}/token`,
  body: { spec: { audiences: ['projected'], ...spec } },
  hides: /"token":"e/,
})
const bound = (name: string, uid: string) => ({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } })
const request = (commonName: string) =>
  encodedRequest(generateKeyPairSync('ec', { namedCurve: 'P-256' }), { commonName, organizations: ['system:nodes'] })
const csr = (name: string, commonName: string, signer: string) => ({
  ...n1,
  send: `POST ${CSRS}`,
  body: {
    metadata: { name },
    spec: { request: request(commonName), signerName: `kubernetes.io/${signer}`, usages: ['client auth', 'digital signature'] },
  },
  absent: [`${CSRS}/${name}`],
})
const CREDENTIALS: readonly Attack[] = [
  { name: 'a token for the account of another pod', ...tokenFor('theirs', bound('p2', UIDS.p2)), answer: 403 },
  { name: 'a token for an account that no pod uses', ...tokenFor('unused', {}), answer: 403 },
  { name: 'a token that is bound to nothing', ...tokenFor('used', {}), answer: 403, says: 'not bound to a pod' },
  {
    name: 'a token that is bound to a secret',
    ...tokenFor('used', { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'used' } }),
    answer: 403,
    says: 'not bound to a pod',
  },
  { name: 'a token that is bound to a pod without its uid', ...tokenFor('used', bound('p1', '')), answer: 403, says: 'without a uid' },
  {
    name: 'a token that is bound to a pod that was there before',
    ...tokenFor('used', bound('p1', 'other')),
    answer: 403,
    says: 'does not match the UID in record',
  },
  {
    name: 'a token that is bound to the pod of another node',
    ...tokenFor('used', bound('p2', UIDS.p2)),
    answer: 403,
    says: 'different node',
  },
  {
    name: 'a token for an audience that its pod does not name',
    ...tokenFor('used', { ...bound('p1', UIDS.p1), audiences: ['vault'] }),
    answer: 403,
    says: 'audience',
  },
  {
    name: 'a token for several audiences',
    ...tokenFor('used', { ...bound('p1', UIDS.p1), audiences: ['projected', 'vault'] }),
    answer: 403,
    says: '0 or 1 audiences',
  },
  {
    name: 'a token for the server itself',
    ...tokenFor('used', { ...bound('p1', UIDS.p1), audiences: ['https://kubernetes.default.svc.cluster.local'] }),
    answer: 403,
    says: 'audience',
  },
  {
    name: 'a client certificate of another node',
    ...csr('tried-client', 'system:node:n2', 'kube-apiserver-client-kubelet'),
    answer: 403,
    says: 'CN=system:node:n1',
  },
  {
    name: 'a serving certificate of another node',
    ...csr('tried-serving', 'system:node:n2', 'kubelet-serving'),
    answer: 403,
    says: 'CN=system:node:n1',
  },
  { name: 'its own request is approved', ...n1, send: `PUT ${CSRS}/any/approval`, body: {}, answer: 403 },
  { name: 'somebody else is impersonated', ...n1, send: `GET ${SECRETS}`, headers: { 'impersonate-user': 'admin' }, answer: 403, hides },
]

const ROWS = [...READS, ...IDENTITIES, ...WRITES, ...POD_WRITES, ...CREDENTIALS]

async function populate({ admin }: Arena): Promise<(row: Attack) => Attack> {
  const uids = new Map<string, string>()
  for (const [collection, body] of GIVEN) {
    const { status, json, text } = await admin({ send: `POST ${collection}`, body } satisfies Sending)
    assert.equal(status, 201, `POST ${collection}: ${text}`)
    // A node comes before what has its name.
    if (!uids.has(`uid-of-${json.metadata.name}`)) uids.set(`uid-of-${json.metadata.name}`, json.metadata.uid)
  }
  const inPlace = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll(/uid-of-\w+/g, mark => uids.get(mark) ?? mark))
  return row => (row.body === undefined ? row : { ...row, body: inPlace(row.body) })
}

test('a node gets nothing but its own objects', patient, async t => {
  const options = { controllers: ['none'], authorizationMode: ['Node', 'RBAC'], enableAdmissionPlugins: ['NodeRestriction'] }
  const arena = await startArena(t, ROWS, options)
  const prepared = await populate(arena)
  // Its own it gets: what follows is not refused for the lack of everything.
  const allowed = [
    `GET ${SECRETS}/used`,
    `GET ${WORLD}/configmaps/used`,
    `GET ${NODES}/n1`,
    `GET ${PODS}/p1`,
    `GET ${LEASES}/n1`,
    `GET ${ACCOUNTS}/used`,
  ]
  for (const send of allowed) assert.equal((await arena.as('token-of-row-0', { send })).status, 200, send)
  await runAttacks(t, arena, ROWS.map(prepared))
})
