// --api: servers that serve few of the built-in kinds, or only those that no server can leave out.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import type { StartOptions } from '../src/index.ts'
import { CONTROLLERS } from '../src/server/controller-table.ts'
import { ask, eventually, patient, run, serverOfFile, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { testWith } from './programs.ts'

const everyController = [...CONTROLLERS.keys()]
const minimal = serverOfFile({ api: 'minimal', controllers: ['*'], store: 'memory' })
const none = serverOfFile({ api: 'none', controllers: everyController, store: 'memory' })

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = (plural: string, group: string) => {
  const kind = plural[0]!.toUpperCase() + plural.slice(1, -1)
  const openAPIV3Schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { size: { type: 'integer' } },
        'x-kubernetes-validations': [{ rule: 'self.size < 10', message: 'too large' }],
      },
    },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}
const post = (server: Target, path: string, body: unknown) => ask(server, path, { method: 'POST', body })
const named = (apiVersion: string, kind: string, name: string, more = {}) => ({ apiVersion, kind, metadata: { name }, ...more })

/** Defines a kind and resolves when the server serves it. */
async function define(server: Target, plural: string, group: string): Promise<string> {
  assert.equal((await post(server, CRDS, definition(plural, group))).status, 201)
  const path = `/apis/${group}/v1/namespaces/default/${plural}`
  await eventually(`${plural} are served`, async () => (await ask(server, path)).status === 200 || undefined)
  return path
}

/** The names of the resources that discovery lists, without subresources. */
async function resourcesOf(server: Target): Promise<string[]> {
  const { json: groups } = await ask(server, '/apis')
  const versions = groups.groups.flatMap((group: any) => group.versions.map((each: any) => each.groupVersion))
  const lists = await Promise.all(['/api/v1', ...versions.map((each: string) => `/apis/${each}`)].map(path => ask(server, path)))
  return lists.flatMap(({ json }) => json.resources.map(({ name }: any) => name as string)).filter(name => !name.includes('/'))
}

const REQUIRED = [
  'namespaces',
  'customresourcedefinitions',
  'apiservices',
  ...['selfsubjectreviews', 'tokenreviews'],
  ...['localsubjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'],
  'leases',
  ...['flowschemas', 'prioritylevelconfigurations'],
  ...['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
]
const MINIMAL = [
  ...REQUIRED,
  ...['configmaps', 'events', 'events', 'resourcequotas', 'secrets', 'serviceaccounts'],
  ...['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings', 'mutatingwebhookconfigurations'],
  ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings', 'validatingwebhookconfigurations'],
  ...['certificatesigningrequests', 'clustertrustbundles', 'storageversionmigrations'],
]

test('each set serves the kinds that it names, and its documents name no others', patient, async () => {
  for (const [server, expected] of [
    [none, REQUIRED],
    [minimal, MINIMAL],
  ] as const) {
    assert.deepEqual((await resourcesOf(server)).sort(), [...expected].sort())
    const { text } = await ask(server, '/openapi/v2')
    for (const absent of ['Deployment', 'Pod"', 'StorageClass', 'Ingress']) assert.ok(!text.includes(`.${absent}`), absent)
    const { json: index } = await ask(server, '/openapi/v3')
    assert.ok(!Object.keys(index.paths).some(path => path.startsWith('apis/apps') || path.startsWith('apis/batch')))
    for (const { serverRelativeURL } of Object.values<any>(index.paths)) assert.equal((await ask(server, serverRelativeURL)).status, 200)
    const { json: services } = await ask(server, '/apis/apiregistration.k8s.io/v1/apiservices')
    assert.ok(!services.items.some(({ metadata }: any) => /apps|batch|storage\.k8s|node|policy|networking|resource/.test(metadata.name)))
    assert.equal((await ask(server, '/apis/apps/v1/deployments')).status, 404)
    assert.equal((await ask(server, '/readyz?verbose')).status, 200)
  }
})

test('both sets serve kinds of one’s own, with rules, access control and the deletion of namespaces and owners', patient, async () => {
  for (const server of [none, minimal]) {
    const path = await define(server, 'widgets', 'example.com')
    const widget = (name: string, size: number, metadata = {}) => ({
      ...named('example.com/v1', 'Widget', name, { spec: { size } }),
      metadata: { name, ...metadata },
    })
    const owner = await post(server, path, widget('a', 1))
    assert.equal(owner.status, 201)
    assert.match((await post(server, path, widget('b', 10))).json.message, /too large/)
    const reference = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'a', uid: owner.json.metadata.uid }
    assert.equal((await post(server, path, widget('c', 2, { ownerReferences: [reference] }))).status, 201)
    assert.equal((await ask(server, `${path}/a`, { method: 'DELETE' })).status, 200)
    await eventually('the dependent is collected', async () => (await ask(server, `${path}/c`)).status === 404 || undefined)

    const review = (user: string) =>
      post(server, '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user, resourceAttributes: { namespace: 'default', verb: 'get', group: 'example.com', resource: 'widgets' } },
      })
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const rules = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get'] }]
    await post(server, `${rbac}/clusterroles`, named('rbac.authorization.k8s.io/v1', 'ClusterRole', 'reader', { rules }))
    const binding = {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
    }
    const made = named('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'reader', binding)
    assert.equal((await post(server, `${rbac}/clusterrolebindings`, made)).status, 201)
    assert.deepEqual([(await review('ann')).json.status.allowed, (await review('bob')).json.status.allowed], [true, false])

    await post(server, '/api/v1/namespaces', named('v1', 'Namespace', 'team'))
    assert.equal((await post(server, path.replace('default', 'team'), widget('d', 1))).status, 201)
    await ask(server, '/api/v1/namespaces/team', { method: 'DELETE' })
    await eventually('the namespace is gone', async () => (await ask(server, '/api/v1/namespaces/team')).status === 404 || undefined)
  }
})

test('the minimal set has service accounts with tokens, quotas and policies', patient, async () => {
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  await eventually('the default account exists', async () => (await ask(minimal, `${accounts}/default`)).status === 200 || undefined)
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { json: issued } = await post(minimal, `${accounts}/default/token`, request)
  const whoAmI = named('authentication.k8s.io/v1', 'SelfSubjectReview', '')
  const asAccount = { method: 'POST', body: whoAmI, cert: '', key: '', headers: { authorization: `Bearer ${issued.status.token}` } }
  const reviewed = await ask(minimal, '/apis/authentication.k8s.io/v1/selfsubjectreviews', asAccount)
  assert.equal(reviewed.json.status.userInfo.username, 'system:serviceaccount:default:default')

  const maps = '/api/v1/namespaces/limited/configmaps'
  await post(minimal, '/api/v1/namespaces', named('v1', 'Namespace', 'limited'))
  await eventually('the certificate is published', async () => (await ask(minimal, `${maps}/kube-root-ca.crt`)).status === 200 || undefined)
  const quotas = '/api/v1/namespaces/limited/resourcequotas'
  await post(minimal, quotas, named('v1', 'ResourceQuota', 'q', { spec: { hard: { 'count/configmaps': '1' } } }))
  await eventually(
    'the quota is counted',
    async () => (await ask(minimal, `${quotas}/q`)).json.status?.used?.['count/configmaps'] === '1' || undefined,
  )
  assert.match((await post(minimal, maps, named('v1', 'ConfigMap', 'b'))).json.message, /exceeded quota/)
})

test('a set has the bootstrap roles of its kinds, and no others', patient, async () => {
  const rolesOf = async (server: Target): Promise<string[]> => {
    const [roles, bindings] = await Promise.all(
      ['clusterroles', 'clusterrolebindings'].map(async plural => {
        const { json } = await ask(server, `/apis/rbac.authorization.k8s.io/v1/${plural}`)
        const isBootstrap = ({ metadata }: any) => metadata.labels?.['kubernetes.io/bootstrapping'] === 'rbac-defaults'
        return json.items.filter(isBootstrap)
      }),
    )
    const names = roles.map(({ metadata }: any) => metadata.name)
    for (const { roleRef } of bindings) assert.ok(names.includes(roleRef.name), roleRef.name)
    return names
  }
  const absent = [
    'system:controller:deployment-controller',
    'system:controller:ttl-controller',
    'system:kube-dns',
    'system:volume-scheduler',
  ]
  const always = [
    'cluster-admin',
    'edit',
    'system:discovery',
    'system:controller:generic-garbage-collector',
    'system:controller:namespace-controller',
  ]
  const ofAccounts = ['system:controller:service-account-controller', 'system:controller:root-ca-cert-publisher']
  for (const [server, present, missing] of [
    [minimal, [...always, ...ofAccounts], absent],
    [none, always, [...absent, ...ofAccounts]],
  ] as const) {
    const names = await rolesOf(server)
    for (const name of present) assert.ok(names.includes(name), name)
    for (const name of missing) assert.ok(!names.includes(name), name)
  }
})

test('a definition may use the group of a kind that is not served where kube-apiserver permits that group', patient, async () => {
  const refused = async (given: object) => (await post(minimal, CRDS, given)).json.message
  assert.match(await refused(definition('deployments', 'apps')), /should be a domain with at least one dot/)
  assert.match(await refused(definition('ingresses', 'networking.k8s.io')), /protected groups must have approval annotation/)
  const given = definition('ingresses', 'networking.k8s.io')
  const annotations = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements/pull/1' }
  assert.equal((await post(minimal, CRDS, { ...given, metadata: { ...given.metadata, annotations } })).status, 201)
  const path = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'
  await eventually('ingresses are served', async () => (await ask(minimal, path)).status === 200 || undefined)
  const made = named('networking.k8s.io/v1', given.spec.names.kind, 'a', { spec: { size: 1 } })
  assert.equal((await post(minimal, path, made)).status, 201)
})

test('--runtime-config adds kinds to a set by name, and removes some', patient, async t => {
  const runtimeConfig = 'api/beta=true,apps/v1/deployments=true,batch/v1=true,certificates.k8s.io/v1=false'
  const server = await startInProcess(t, {
    api: 'minimal',
    runtimeConfig,
    controllers: everyController,
    store: 'memory',
    groupDomain: 'k8s.io',
  })
  const served = await resourcesOf(server)
  for (const name of ['deployments', 'jobs', 'cronjobs']) assert.ok(served.includes(name), name)
  for (const name of ['daemonsets', 'pods', 'resourceclaims', 'certificatesigningrequests']) assert.ok(!served.includes(name), name)
  const { json } = await ask(server, '/apis/admissionregistration.k8s.io')
  assert.deepEqual(
    json.versions.map(({ version }: any) => version),
    ['v1', 'v1beta1'],
  )
})

test('a set has the groups of another domain, and is kept over a restart', patient, async t => {
  const dataDir = temporaryDirectory(t)
  const options: StartOptions = { api: 'none', store: 'embedded', dataDir, groupDomain: 'example.org' }
  const first = await startInProcess(t, options)
  const crds = '/apis/apiextensions.example.org/v1/customresourcedefinitions'
  const given = { ...definition('widgets', 'example.com'), apiVersion: 'apiextensions.example.org/v1' }
  assert.equal((await post(first, crds, given)).status, 201)
  await first.close()
  const second = await startInProcess(t, options)
  const widgets = '/apis/example.com/v1/widgets'
  await eventually('widgets are served', async () => (await ask(second, widgets)).status === 200 || undefined)
})

test('simulated nodes and unknown sets are refused', patient, async t => {
  const refused = (options: object) => startInProcess(t, { store: 'memory', ...options }).then(undefined, ({ message }) => message)
  assert.equal(await refused({ api: 'minimal', nodes: 2 }), 'nodes: simulated nodes need api all, not minimal')
  assert.match(await refused({ api: 'some' }), /^api .*none, minimal, all/)
})

testWith('kubectl', 'kubectl shows the resources of the minimal set on one page', patient, async (t, kubectl) => {
  const file = join(temporaryDirectory(t), 'kubeconfig')
  writeFileSync(file, minimal.kubeconfig)
  const { code, stdout } = await run(kubectl, ['--kubeconfig', file, 'api-resources', '--no-headers'])
  assert.equal(code, 0)
  const rows = stdout.trim().split('\n')
  assert.ok(rows.length < 40, stdout)
  for (const name of MINIMAL)
    assert.ok(
      rows.some(row => row.startsWith(`${name} `)),
      name,
    )
})
