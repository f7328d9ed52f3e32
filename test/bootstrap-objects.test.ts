// The server creates its bootstrap objects as kube-apiserver and its controllers do.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueAuthority } from '../src/lib/x509/issue.ts'
import { ask, eventually, freshServer, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'

type Entry = { manager: string; operation: string; subresource?: string; fieldsV1: any }

const get = async (server: Target, path: string) => {
  const { status, json } = await ask(server, path)
  assert.equal(status, 200, `GET ${path}: ${JSON.stringify(json)}`)
  return json
}
const managersOf = async (server: Target, path: string) =>
  ((await get(server, path)).metadata.managedFields as Entry[]).map(({ manager, operation, subresource }) =>
    [manager, operation, subresource].filter(Boolean).join(' '),
  )

test('bootstrap objects have the field managers of kube-apiserver', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  const plain = [
    '/api/v1/namespaces/kube-system',
    '/api/v1/namespaces/default/services/kubernetes',
    '/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin',
    '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/extension-apiserver-authentication-reader',
    '/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking',
  ]
  for (const path of plain) assert.deepEqual(await managersOf(server, path), ['kube-apiserver Update'], path)
  assert.deepEqual(await managersOf(server, '/apis/apiregistration.k8s.io/v1/apiservices/v1.apps'), ['kube-apiserver Update'])
  assert.deepEqual(await managersOf(server, '/apis/networking.k8s.io/v1/servicecidrs/kubernetes'), [
    'kubernetes-service-cidr-controller Apply status',
    'kube-apiserver Update',
  ])
  assert.deepEqual(await managersOf(server, '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes'), [
    'api-priority-and-fairness-config-consumer-v1 Apply status',
    'api-priority-and-fairness-config-producer-v1 Update',
  ])
  assert.deepEqual(await managersOf(server, '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/system'), [
    'api-priority-and-fairness-config-producer-v1 Update',
  ])
})

test('a ConfigMap says since when tokens in secrets are tracked', patient, async t => {
  const server = await freshServer(t)
  const path = '/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking'
  assert.match((await get(server, path)).data.since, /^\d{4}-\d{2}-\d{2}$/)
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: { data: { since: 'ever' } } }
  assert.equal((await ask(server, path, patch)).status, 200)
  await eventually('a date', async () => (/^\d{4}-/.test((await get(server, path)).data.since) ? true : undefined))
})

test('a ConfigMap has the client CAs and the proxies that the server trusts', patient, async t => {
  const validity = { notBefore: new Date(Date.now() - 3600_000), notAfter: new Date(Date.now() + 3600_000) }
  const [clients, later, proxies] = ['clients', 'later', 'proxies'].map(name => issueAuthority(name, validity).cert)
  const folder = temporaryDirectory(t)
  const [clientCaFile, requestheaderClientCaFile] = [join(folder, 'clients'), join(folder, 'proxies')]
  writeFileSync(clientCaFile, clients!)
  writeFileSync(requestheaderClientCaFile, proxies!)
  const server = await startInProcess(t, {
    clientCaFile,
    requestheaderClientCaFile,
    requestheaderAllowedNames: ['front'],
    requestheaderUsernameHeaders: ['X-Remote-User'],
  })
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
  const names = (bundle: string) =>
    bundle.match(/-----BEGIN[^-]*-----[^-]*-----END[^-]*-----/g)!.map(pem => new X509Certificate(pem).subject.replace('CN=', ''))
  const published = async (key: string, wanted: string[]) =>
    eventually(`${key} having ${wanted}`, async () => {
      const { status, json } = await ask(server, path)
      return status === 200 && wanted.every(name => names(json.data[key]).includes(name)) ? json : undefined
    })
  const { data } = await published('client-ca-file', ['clients'])
  assert.equal(names(data['client-ca-file']).length, 2)
  assert.ok(new X509Certificate(server.credentials.cert).verify(new X509Certificate(data['client-ca-file']).publicKey))
  assert.deepEqual(names(data['requestheader-client-ca-file']), ['proxies'])
  assert.deepEqual(Object.fromEntries(Object.entries(data).filter(([key]) => !key.endsWith('-file'))), {
    'requestheader-allowed-names': '["front"]',
    'requestheader-extra-headers-prefix': '[]',
    'requestheader-group-headers': '[]',
    'requestheader-username-headers': '["X-Remote-User"]',
  })
  writeFileSync(clientCaFile, later!)
  await published('client-ca-file', ['clients', 'later'])
  assert.equal((await ask(server, path, { method: 'DELETE' })).status, 200)
  await published('client-ca-file', ['later'])
})

test('an aggregated role without matches has null rules', patient, async t => {
  const server = await freshServer(t)
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { nothing: 'has-it' } }] }
  const body = { metadata: { name: 'empty' }, aggregationRule, rules: [] }
  assert.equal((await ask(server, roles, { method: 'POST', body })).status, 201)
  const admin = await get(server, `${roles}/admin`)
  assert.ok(admin.rules.length > 10)
  assert.deepEqual((await get(server, `${roles}/empty`)).rules ?? null, null)
})

test('controllers write with the rights of their own service accounts', patient, async t => {
  const server = await startInProcess(t, { controllers: ['serviceaccount-controller'] })
  const binding = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:controller:service-account-controller'
  const create = (name: string) => ask(server, '/api/v1/namespaces', { method: 'POST', body: { metadata: { name } } })
  const accountIn = async (name: string) => (await ask(server, `/api/v1/namespaces/${name}/serviceaccounts/default`)).status
  await create('first')
  await eventually('the account', async () => ((await accountIn('first')) === 200 ? true : undefined))
  const stored = await get(server, binding)
  assert.equal((await ask(server, binding, { method: 'DELETE' })).status, 200)
  await create('second')
  const { resourceVersion: _, uid: __, ...metadata } = stored.metadata
  assert.equal(await accountIn('second'), 404)
  assert.equal((await ask(server, binding.replace(/\/[^/]+$/, ''), { method: 'POST', body: { ...stored, metadata } })).status, 201)
  await eventually('the account, once it may', async () => ((await accountIn('second')) === 200 ? true : undefined))
})
