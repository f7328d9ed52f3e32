// Tricks with subresources: a right on an object is none on its subresources, nor the other way round, and each writes only its own part.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { eventually, patient } from '../kit.ts'
import { type Arena, type Attack, NS, runAttacks, startArena } from '../kits/attacks.ts'
import { encodedRequest } from '../kits/x509.ts'

const core = (plural: string) => `/api/v1/namespaces/${NS}/${plural}`
const apps = (plural: string) => `/apis/apps/v1/namespaces/${NS}/${plural}`
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const APPLY = 'application/apply-patch+yaml'
const STRATEGIC = 'application/strategic-merge-patch+json'

const labels = { app: 'a' }
const podSpec = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] }
const template = { metadata: { labels }, spec: podSpec }
const workload = (name: string) => ({ metadata: { name }, spec: { replicas: 1, selector: { matchLabels: labels }, template } })
const request = encodedRequest(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const csr = {
  metadata: { name: `csr-${NS}` },
  spec: { request, signerName: 'example.com/signer', usages: ['client auth', 'digital signature'] },
}
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const thing = { apiVersion: 'security.example.com/v1', kind: 'Thing', metadata: { name: 'x' }, spec: { replicas: 1 } }
const THINGS = `/apis/security.example.com/v1/namespaces/${NS}/things`
const definition = {
  metadata: { name: 'things.security.example.com' },
  spec: {
    group: 'security.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { replicas: { type: 'integer' }, secret: { type: 'string' } } },
              status: { type: 'object', properties: { replicas: { type: 'integer' }, note: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
}

/** A kind with subresources: the path of its objects, one of them, and the request to each subresource. */
type Subject = {
  readonly resource: string
  readonly collection: string
  readonly object: { readonly metadata: { readonly name: string } }
  readonly isOfCluster?: true
  /** `METHOD SUBRESOURCE[/PATH]`. */
  readonly asked: readonly string[]
}

const SUBJECTS: readonly Subject[] = [
  {
    resource: 'pods',
    collection: core('pods'),
    object: { metadata: { name: 'x' }, spec: podSpec } as never,
    asked: [
      'PATCH status',
      'GET status',
      'GET log',
      'POST exec?command=id',
      'POST attach',
      'POST portforward',
      'GET proxy/',
      'POST proxy/',
      'POST eviction',
      'POST binding',
      'PATCH ephemeralcontainers',
      'PATCH resize',
    ],
  },
  {
    resource: 'services',
    collection: core('services'),
    object: { metadata: { name: 'x' }, spec: { ports: [{ port: 80 }] } } as never,
    asked: ['PATCH status', 'GET proxy/'],
  },
  {
    resource: 'nodes',
    collection: '/api/v1/nodes',
    object: { metadata: { name: `x-${NS}` } },
    isOfCluster: true,
    asked: ['PATCH status', 'GET proxy/', 'POST proxy/run'],
  },
  {
    resource: 'namespaces',
    collection: '/api/v1/namespaces',
    object: { metadata: { name: `x-${NS}` } },
    isOfCluster: true,
    asked: ['PATCH status', 'PUT finalize'],
  },
  { resource: 'serviceaccounts', collection: core('serviceaccounts'), object: { metadata: { name: 'x' } }, asked: ['POST token'] },
  { resource: 'resourcequotas', collection: core('resourcequotas'), object: { metadata: { name: 'x' } }, asked: ['PATCH status'] },
  {
    resource: 'replicationcontrollers',
    collection: core('replicationcontrollers'),
    object: { metadata: { name: 'x' }, spec: { selector: labels, template } } as never,
    asked: ['PATCH scale'],
  },
  { resource: 'deployments.apps', collection: apps('deployments'), object: workload('x'), asked: ['PATCH status', 'PATCH scale'] },
  { resource: 'replicasets.apps', collection: apps('replicasets'), object: workload('x'), asked: ['PATCH scale'] },
  { resource: 'statefulsets.apps', collection: apps('statefulsets'), object: workload('x'), asked: ['PATCH scale'] },
  {
    resource: 'jobs.batch',
    collection: `/apis/batch/v1/namespaces/${NS}/jobs`,
    object: { metadata: { name: 'x' }, spec: { template: { spec: { ...podSpec, restartPolicy: 'Never' } } } } as never,
    asked: ['PATCH status'],
  },
  {
    resource: 'poddisruptionbudgets.policy',
    collection: `/apis/policy/v1/namespaces/${NS}/poddisruptionbudgets`,
    object: { metadata: { name: 'x' }, spec: { maxUnavailable: 0, selector: { matchLabels: labels } } } as never,
    asked: ['PATCH status'],
  },
  {
    resource: 'certificatesigningrequests.certificates.k8s.io',
    collection: CSRS,
    object: csr,
    isOfCluster: true,
    asked: ['PATCH status', 'PATCH approval'],
  },
  { resource: 'things.security.example.com', collection: THINGS, object: thing, asked: ['PATCH status', 'PATCH scale'] },
]

const verbOf = (method: string) => ({ GET: 'get', POST: 'create', PUT: 'update', PATCH: 'patch' })[method]!

/** With every right on the object alone, and with every right on the subresource alone. */
const CROSSINGS: readonly Attack[] = SUBJECTS.flatMap(({ resource, collection, object, isOfCluster, asked }) => {
  const path = `${collection}/${object.metadata.name}`
  const rights = (right: string) => (isOfCluster ? { mayAnywhere: [right] } : { may: [right] })
  const given = [[collection, object] as const]
  const body = (method: string) => (method === 'GET' ? {} : { body: {}, ...(method === 'PATCH' && { type: MERGE }) })
  const names = new Set(asked.map(line => line.split(' ')[1]!.split(/[/?]/)[0]!))
  return [
    ...asked.map(line => {
      const [method = '', below = ''] = line.split(' ')
      const [name] = below.split(/[/?]/)
      return {
        name: `${method} ${resource}/${below} with all rights on ${resource}`,
        ...rights(`* ${resource}`),
        given,
        send: `${method} ${path}/${below}`,
        ...body(method),
        answer: 403,
        says: `cannot ${verbOf(method)} resource "${resource.split('.')[0]}/${name}"`,
      }
    }),
    ...[...names].map(name => ({
      name: `PATCH ${resource} with all rights on ${resource}/${name}`,
      ...rights(`* ${resource}/${name}`),
      given,
      send: `PATCH ${path}`,
      type: MERGE,
      body: { metadata: { labels: { changed: 'yes' } } },
      answer: 403,
      says: `cannot patch resource "${resource.split('.')[0]}"`,
      unchanged: [path],
    })),
  ]
})

const pod = [core('pods'), { metadata: { name: 'x', labels }, spec: podSpec }] as const
const deployment = [apps('deployments'), workload('x')] as const
const aThing = [THINGS, thing] as const
const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: '1b1f1a4e-0000-4000-8000-000000000000' }

/** One part of an object written through the path of another: the other parts stay unchanged. */
const PARTS: readonly Attack[] = [
  ...[
    { what: 'the image', body: { spec: { containers: [{ name: 'c', image: 'other' }] } } },
    { what: 'owners', body: { metadata: { ownerReferences: [owner] } } },
    { what: 'a node', body: { spec: { nodeName: 'n' } } },
    { what: 'the time of deletion', body: { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } } },
    { what: 'the uid', body: { metadata: { uid: 'other' } }, answer: [409, 422] },
    { what: 'the name', body: { metadata: { name: 'other' } }, answer: [400, 422] },
    { what: 'the namespace', body: { metadata: { namespace: 'default' } }, answer: [400, 422] },
  ].map(({ what, body, answer = 200 }) => ({
    name: `${what} of a pod is written through its status`,
    may: ['patch pods/status'],
    given: [pod],
    send: `PATCH ${core('pods')}/x/status`,
    type: STRATEGIC,
    body,
    answer,
    unchanged: [`${core('pods')}/x`],
  })),
  {
    name: 'the status of a pod is written through the pod',
    may: ['patch pods'],
    given: [pod],
    send: `PATCH ${core('pods')}/x`,
    type: MERGE,
    body: { status: { phase: 'Running', podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] } },
    answer: 200,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'a pod is created with a status',
    may: ['create,get pods'],
    send: `POST ${core('pods')}`,
    body: { metadata: { name: 'x' }, spec: podSpec, status: { phase: 'Running', podIP: '127.0.0.1', hostIP: '127.0.0.1' } },
    answer: 201,
    hides: /127\.0\.0\.1/,
  },
  {
    name: 'the image is written through resize',
    may: ['patch pods/resize'],
    given: [pod],
    send: `PATCH ${core('pods')}/x/resize`,
    type: STRATEGIC,
    body: {
      metadata: { labels: { changed: 'yes' } },
      spec: { containers: [{ name: 'c', image: 'other' }] },
      status: { podIP: '127.0.0.1' },
    },
    answer: 200,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'a container is added through resize',
    may: ['patch pods/resize'],
    given: [pod],
    send: `PATCH ${core('pods')}/x/resize`,
    type: STRATEGIC,
    body: { spec: { containers: [{ name: 'more', image: 'other' }] } },
    answer: 422,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'an image and labels are written through ephemeralcontainers',
    may: ['patch pods/ephemeralcontainers'],
    given: [pod],
    send: `PATCH ${core('pods')}/x/ephemeralcontainers`,
    type: STRATEGIC,
    body: {
      metadata: { labels: { changed: 'yes' }, finalizers: ['a.example.com/b'] },
      spec: { containers: [{ name: 'c', image: 'other' }], nodeName: 'n' },
    },
    answer: 200,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'an ephemeral container is given through the pod',
    may: ['patch pods'],
    given: [pod],
    send: `PATCH ${core('pods')}/x`,
    type: STRATEGIC,
    body: { spec: { ephemeralContainers: [{ name: 'e', image: 'other' }] } },
    answer: 422,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'a pod is created with an ephemeral container',
    may: ['create pods'],
    send: `POST ${core('pods')}`,
    body: { metadata: { name: 'y' }, spec: { ...podSpec, ephemeralContainers: [{ name: 'e', image: 'i' }] } },
    answer: 422,
    absent: [`${core('pods')}/y`],
  },
  {
    name: 'a pod is bound by writing its node',
    may: ['patch,update pods'],
    given: [pod],
    send: `PATCH ${core('pods')}/x`,
    type: MERGE,
    body: { spec: { nodeName: 'n' } },
    answer: 422,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'a pod that is bound is bound again',
    may: ['create pods/binding'],
    given: [[core('pods'), { metadata: { name: 'x' }, spec: { ...podSpec, nodeName: 'n' } }]],
    send: `POST ${core('pods')}/x/binding`,
    body: { metadata: { name: 'x' }, target: { kind: 'Node', name: 'other' } },
    answer: 409,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'another pod is in the body of a binding',
    may: ['create pods/binding'],
    given: [pod, [core('pods'), { metadata: { name: 'y' }, spec: podSpec }]],
    send: `POST ${core('pods')}/x/binding`,
    body: { metadata: { name: 'y' }, target: { kind: 'Node', name: 'n' } },
    answer: [400, 422],
    unchanged: [`${core('pods')}/x`, `${core('pods')}/y`],
  },
  {
    name: 'a binding is made at the collection of bindings with the right on pods/binding',
    may: ['create pods/binding'],
    given: [pod],
    send: `POST ${core('bindings')}`,
    body: { metadata: { name: 'x' }, target: { kind: 'Node', name: 'n' } },
    answer: 403,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'another pod is in the body of an eviction',
    may: ['create pods/eviction'],
    given: [pod, [core('pods'), { metadata: { name: 'y' }, spec: podSpec }]],
    send: `POST ${core('pods')}/x/eviction`,
    body: { metadata: { name: 'y', namespace: NS } },
    answer: 400,
    unchanged: [`${core('pods')}/x`, `${core('pods')}/y`],
  },
  {
    name: 'a pod of another namespace is in the body of an eviction',
    may: ['create pods/eviction'],
    given: [pod],
    send: `POST ${core('pods')}/x/eviction`,
    body: { metadata: { name: 'x', namespace: 'kube-system' } },
    answer: 400,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'an eviction is deleted as a pod without the right to delete pods',
    may: ['create pods/eviction'],
    given: [pod],
    send: `DELETE ${core('pods')}/x`,
    answer: 403,
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'the template and labels of a deployment are written through its status',
    may: ['patch deployments.apps/status'],
    given: [deployment],
    send: `PATCH ${apps('deployments')}/x/status`,
    type: MERGE,
    body: { metadata: { labels: { changed: 'yes' } }, spec: { replicas: 9, paused: true } },
    answer: 200,
    unchanged: [`${apps('deployments')}/x`],
  },
  {
    name: 'the status of a deployment is written through the deployment',
    may: ['patch deployments.apps'],
    given: [deployment],
    send: `PATCH ${apps('deployments')}/x`,
    type: MERGE,
    body: { status: { replicas: 7, readyReplicas: 7 } },
    answer: 200,
    unchanged: [`${apps('deployments')}/x`],
  },
  {
    name: 'labels and finalizers of a deployment are written through its scale',
    may: ['patch deployments.apps/scale'],
    given: [deployment],
    send: `PATCH ${apps('deployments')}/x/scale`,
    type: MERGE,
    body: {
      metadata: { labels: { changed: 'yes' }, annotations: { a: 'b' }, finalizers: ['a.example.com/b'], ownerReferences: [owner] },
      status: { replicas: 7 },
    },
    answer: 200,
    unchanged: [`${apps('deployments')}/x`],
  },
  {
    name: 'another deployment is in the body of a scale',
    may: ['update deployments.apps/scale'],
    given: [deployment, [apps('deployments'), workload('y')]],
    send: `PUT ${apps('deployments')}/x/scale`,
    body: { metadata: { name: 'y' }, spec: { replicas: 9 } },
    answer: [400, 422],
    unchanged: [`${apps('deployments')}/x`, `${apps('deployments')}/y`],
  },
  {
    name: 'a scale is applied to a deployment that is not there',
    may: ['create,update,patch,get deployments.apps/scale'],
    send: `PATCH ${apps('deployments')}/fresh/scale?fieldManager=m`,
    type: APPLY,
    body: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'fresh' }, spec: { replicas: 1 } },
    answer: 404,
    absent: [`${apps('deployments')}/fresh`],
  },
  {
    name: 'a status is applied to a deployment that is not there',
    may: ['create,update,patch,get deployments.apps/status'],
    send: `PATCH ${apps('deployments')}/fresh/status?fieldManager=m`,
    type: APPLY,
    body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'fresh' }, status: { replicas: 1 } },
    answer: [403, 404, 422],
    absent: [`${apps('deployments')}/fresh`],
  },
  ...[
    { what: 'the spec', body: { spec: { secret: 'taken' } } },
    {
      what: 'labels and finalizers',
      body: { metadata: { labels: { a: 'b' }, annotations: { a: 'b' }, finalizers: ['a.example.com/b'], ownerReferences: [owner] } },
    },
    { what: 'the time of deletion', body: { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 } } },
  ].map(({ what, body }) => ({
    name: `${what} of a custom object is written through its status`,
    may: ['patch things.security.example.com/status'],
    given: [aThing],
    send: `PATCH ${THINGS}/x/status`,
    type: MERGE,
    body,
    answer: 200,
    unchanged: [`${THINGS}/x`],
  })),
  {
    name: 'the status of a custom object is written through the object',
    may: ['patch things.security.example.com'],
    given: [aThing],
    send: `PATCH ${THINGS}/x`,
    type: JSON_PATCH,
    body: [{ op: 'add', path: '/status', value: { note: 'forged' } }],
    answer: 200,
    unchanged: [`${THINGS}/x`],
  },
  {
    name: 'a custom object is created with a status',
    may: ['create things.security.example.com'],
    send: `POST ${THINGS}`,
    body: { ...thing, status: { note: 'forged' } },
    answer: 201,
    hides: /forged/,
  },
  {
    name: 'another part of a custom object is written through its scale',
    may: ['patch things.security.example.com/scale'],
    given: [aThing],
    send: `PATCH ${THINGS}/x/scale`,
    type: MERGE,
    body: { spec: { secret: 'taken' }, status: { replicas: 9 }, metadata: { labels: { a: 'b' } } },
    answer: 200,
    unchanged: [`${THINGS}/x`],
  },
  {
    name: 'a subresource that a custom kind does not have',
    may: ['* things.security.example.com'],
    given: [aThing],
    send: `GET ${THINGS}/x/secrets`,
    answer: 403,
  },
  {
    name: 'a request for a certificate is approved through its status',
    mayAnywhere: ['patch certificatesigningrequests.certificates.k8s.io/status', 'approve,sign signers.certificates.k8s.io'],
    given: [[CSRS, csr]],
    send: `PATCH ${CSRS}/csr-${NS}/status`,
    type: MERGE,
    body: { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'r', message: 'm' }] } },
    answer: [200, 422],
    unchanged: [`${CSRS}/csr-${NS}`],
  },
  {
    name: 'a certificate is written through the approval of its request',
    mayAnywhere: ['patch certificatesigningrequests.certificates.k8s.io/approval', 'approve,sign signers.certificates.k8s.io'],
    given: [[CSRS, csr]],
    send: `PATCH ${CSRS}/csr-${NS}/approval`,
    type: MERGE,
    body: { status: { certificate: Buffer.from('forged').toString('base64') } },
    answer: 200,
    unchanged: [`${CSRS}/csr-${NS}`],
  },
  {
    name: 'finalizers of a namespace are removed through its status',
    mayAnywhere: ['patch namespaces/status'],
    send: `PATCH /api/v1/namespaces/${NS}/status`,
    type: MERGE,
    body: { spec: { finalizers: [] } },
    answer: 200,
    unchanged: [`/api/v1/namespaces/${NS}`],
  },
  {
    name: 'finalizers of a namespace are removed through the namespace',
    mayAnywhere: ['patch namespaces'],
    send: `PATCH /api/v1/namespaces/${NS}`,
    type: MERGE,
    body: { spec: { finalizers: [] }, status: { phase: 'Terminating' } },
    answer: 200,
    unchanged: [`/api/v1/namespaces/${NS}`],
  },
  {
    name: 'a status is written through finalize',
    mayAnywhere: ['update namespaces/finalize'],
    send: `PUT /api/v1/namespaces/${NS}/finalize`,
    body: {
      metadata: { name: NS, labels: { 'kubernetes.io/metadata.name': NS } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Terminating' },
    },
    answer: 200,
    unchanged: [`/api/v1/namespaces/${NS}`],
  },
]

/** Paths that are almost those of a subresource. */
const PATHS: readonly Attack[] = [
  {
    name: 'a subresource in other letters',
    may: ['* pods'],
    given: [pod],
    send: `GET ${core('pods')}/x/%6cog`,
    answer: 403,
    says: 'pods/log',
  },
  {
    name: 'a subresource behind an encoded slash',
    may: ['* pods'],
    given: [pod],
    send: `GET ${core('pods')}/x%2flog`,
    answer: 403,
    says: 'pods/log',
  },
  { name: 'a subresource in capitals', may: ['* pods'], given: [pod], send: `GET ${core('pods')}/x/LOG`, answer: 403 },
  { name: 'a subresource with a slash behind it', may: ['* pods'], given: [pod], send: `GET ${core('pods')}/x/log/`, answer: 403 },
  {
    name: 'two slashes before a subresource',
    may: ['* pods'],
    given: [pod],
    send: `PATCH ${core('pods')}/x//status`,
    type: MERGE,
    body: { status: { phase: 'Failed' } },
    answer: [400, 403, 404],
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'a path below the status',
    may: ['* pods/status'],
    given: [pod],
    send: `PATCH ${core('pods')}/x/status/y`,
    type: MERGE,
    body: {},
    answer: [403, 404],
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'a path that climbs from one subresource to another',
    may: ['get pods/log'],
    given: [pod],
    send: `POST ${core('pods')}/x/log/../exec?command=id`,
    answer: [400, 403, 404, 405],
  },
  {
    name: 'a path that climbs out of a proxy',
    mayAnywhere: ['get nodes/proxy'],
    send: 'GET /api/v1/nodes/n/proxy/../../../secrets',
    answer: [400, 403, 404, 500, 502, 503],
    hides: /SecretList/,
  },
  {
    name: 'a watch of a subresource',
    may: ['* pods'],
    given: [pod],
    send: `GET /api/v1/watch/namespaces/${NS}/pods/x/log`,
    answer: [403, 404],
  },
  { name: 'a POST to the status', may: ['* pods/status'], given: [pod], send: `POST ${core('pods')}/x/status`, body: {}, answer: 405 },
  {
    name: 'a DELETE of the status',
    may: ['* pods/status'],
    given: [pod],
    send: `DELETE ${core('pods')}/x/status`,
    answer: [404, 405],
    unchanged: [`${core('pods')}/x`],
  },
  {
    name: 'a DELETE of the status of a custom object',
    may: ['* things.security.example.com/status'],
    given: [aThing],
    send: `DELETE ${THINGS}/x/status`,
    answer: [404, 405],
    unchanged: [`${THINGS}/x`],
  },
  {
    name: 'a POST to the status of a custom object',
    may: ['* things.security.example.com/status'],
    send: `POST ${THINGS}/fresh/status`,
    body: { ...thing, metadata: { name: 'fresh' } },
    answer: [403, 404, 405],
    absent: [`${THINGS}/fresh`],
  },
  {
    name: 'a PUT that creates through the status of a custom object',
    may: ['* things.security.example.com/status'],
    send: `PUT ${THINGS}/fresh/status`,
    body: { ...thing, metadata: { name: 'fresh' } },
    answer: [403, 404],
    absent: [`${THINGS}/fresh`],
  },
]

const ROWS = [...CROSSINGS, ...PARTS, ...PATHS]

async function define(arena: Arena): Promise<void> {
  const { status, text } = await arena.admin({ send: `POST ${DEFINITIONS}`, body: definition })
  assert.equal(status, 201, text)
  await eventually('the custom kind', async () =>
    (await arena.admin({ send: 'GET /apis/security.example.com/v1/things' })).status === 200 ? true : undefined,
  )
}

test('a right on an object is none on its subresources, and each writes only its own part', patient, async t => {
  const arena = await startArena(t, ROWS, { controllers: ['none'] })
  await define(arena)
  await runAttacks(t, arena, ROWS)
})
