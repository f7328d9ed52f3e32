// Versions of the API that are off by default: what --runtime-config turns on and off, and how versions of one kind are converted.
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import test from 'node:test'
import type { StartOptions } from '../src/index.ts'
import { ask, eventually, patient, serverOfFile, startInProcess, type Target, temporaryDirectory } from './kit.ts'

const all = serverOfFile({ controllers: ['none'], runtimeConfig: 'api/all=true', store: 'memory' })
const CLAIMS = '/apis/resource.k8s.io/VERSION/namespaces/default/resourceclaims'
const at = (path: string, version: string) => path.replace('VERSION', version)

async function groupVersions(server: Target): Promise<string[]> {
  const { json } = await ask(server, '/apis')
  return json.groups.flatMap((group: any) => group.versions.map((each: any) => each.groupVersion))
}

test('by default the stable versions are served alone', patient, async t => {
  const server = await startInProcess(t, { controllers: ['none'], nodes: 0, store: 'memory' })
  assert.deepEqual(
    (await groupVersions(server)).filter(each => /alpha|beta/.test(each)),
    [],
  )
  assert.equal((await ask(server, '/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests')).status, 404)
})

test('every version of 1.37 is served on request, and discovery names the version of records', patient, async () => {
  assert.deepEqual(
    (await groupVersions(all)).filter(each => /alpha|beta/.test(each) && !each.startsWith('metrics')),
    [
      'certificates.k8s.io/v1beta1',
      'admissionregistration.k8s.io/v1beta1',
      'admissionregistration.k8s.io/v1alpha1',
      'coordination.k8s.io/v1beta1',
      'coordination.k8s.io/v1alpha2',
      'resource.k8s.io/v1beta2',
      'resource.k8s.io/v1beta1',
      'resource.k8s.io/v1alpha3',
      'internal.apiserver.k8s.io/v1alpha1',
      'storagemigration.k8s.io/v1beta1',
    ],
  )
  const hashOf = async (version: string) =>
    (await ask(all, `/apis/resource.k8s.io/${version}`)).json.resources.find(({ name }: any) => name === 'resourceclaims')
      .storageVersionHash
  assert.equal(await hashOf('v1beta1'), await hashOf('v1'))
})

test('an object of one version is read, changed and watched in all others, with a warning where that is deprecated', patient, async () => {
  const body = {
    apiVersion: 'resource.k8s.io/v1beta1',
    kind: 'ResourceClaim',
    metadata: { name: 'c' },
    spec: { devices: { requests: [{ name: 'r', deviceClassName: 'gpu' }] } },
  }
  const created = await ask(all, at(CLAIMS, 'v1beta1'), { method: 'POST', body })
  assert.equal(created.status, 201)
  assert.deepEqual(created.json.spec.devices.requests, [{ name: 'r', deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 }])
  assert.equal(created.headers.warning, '299 - "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+"')
  assert.deepEqual(created.json.metadata.managedFields[0].apiVersion, 'resource.k8s.io/v1beta1')
  const stable = await ask(all, `${at(CLAIMS, 'v1')}/c`)
  const exactly = { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 }
  assert.deepEqual(stable.json.spec.devices.requests, [{ name: 'r', exactly }])
  assert.equal(stable.headers.warning, undefined)
  const patched = await ask(all, `${at(CLAIMS, 'v1beta2')}/c`, {
    method: 'PATCH',
    body: { metadata: { labels: { a: 'b' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.deepEqual(
    [patched.json.apiVersion, patched.json.metadata.labels, patched.json.spec.devices.requests],
    ['resource.k8s.io/v1beta2', { a: 'b' }, [{ name: 'r', exactly }]],
  )
  const mistaken = await ask(all, at(CLAIMS, 'v1'), { method: 'POST', body })
  assert.deepEqual(
    [mistaken.status, mistaken.json.message],
    [400, 'the API version in the data (resource.k8s.io/v1beta1) does not match the expected API version (resource.k8s.io/v1)'],
  )
})

test(
  'a request for a certificate whose key stands beside a proof has no key in v1, which can end it but not change it',
  patient,
  async () => {
    const requests = (version: string) => `/apis/certificates.k8s.io/${version}/namespaces/default/podcertificaterequests`
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const spec = {
      signerName: 'example.com/s',
      podName: 'p',
      podUID: 'p-uid',
      serviceAccountName: 'default',
      serviceAccountUID: 's-uid',
      nodeName: 'n',
      nodeUID: 'n-uid',
      pkixPublicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
      proofOfPossession: sign(null, Buffer.from('p-uid'), privateKey).toString('base64'),
    }
    const body = { metadata: { name: 'r' }, spec }
    const refused = await ask(all, requests('v1'), { method: 'POST', body })
    assert.match(
      refused.json.message,
      /spec: Invalid value: exactly one of \(stubPKCS10Request\) or \(pkixPublicKey, proofOfPossession\) must be set$/,
    )
    assert.match(String(refused.headers.warning), /unknown field \\"spec\.pkixPublicKey\\"/)
    const created = await ask(all, requests('v1beta1'), { method: 'POST', body })
    assert.equal(created.status, 201, created.text)
    assert.deepEqual(created.json.spec, { ...spec, maxExpirationSeconds: 86400, stubPKCS10Request: null })
    assert.match(
      String(created.headers.warning),
      /v1beta1 PodCertificateRequest is deprecated in v1\.37\+, unavailable in v1\.40\+; use .*\/v1 /,
    )
    const stable = await ask(all, `${requests('v1')}/r`)
    const { pkixPublicKey: _, proofOfPossession: __, ...rest } = created.json.spec
    assert.deepEqual(stable.json.spec, rest)
    assert.equal(stable.headers.warning, undefined)
    const labelled = { ...stable.json, metadata: { ...stable.json.metadata, labels: { a: 'b' } } }
    const put = await ask(all, `${requests('v1')}/r`, { method: 'PUT', body: labelled })
    assert.match(put.json.message, /"PKIXPublicKey":null,"ProofOfPossession":null,"StubPKCS10Request":null,.*: field is immutable$/)
    const condition = { type: 'Denied', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-07-01T12:00:00Z' }
    const ended = await ask(all, `${requests('v1')}/r/status`, {
      method: 'PUT',
      body: { ...stable.json, status: { conditions: [condition] } },
    })
    assert.equal(ended.status, 200, ended.text)
    const whole = await ask(all, `${requests('v1beta1')}/r`)
    assert.deepEqual([whole.json.spec, whole.json.status.conditions], [created.json.spec, [condition]])
  },
)

test('a deletion in a deprecated version warns, too', patient, async () => {
  const path = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates'
  const spec = { leaseName: 'l', binaryVersion: '1.37.0', emulationVersion: '1.36.0', strategy: 'OldestEmulationVersion' }
  const body = { apiVersion: 'coordination.k8s.io/v1beta1', kind: 'LeaseCandidate', metadata: { name: 'gone' }, spec }
  assert.equal((await ask(all, path, { method: 'POST', body })).status, 201)
  const { json, headers } = await ask(all, `${path}/gone`, { method: 'DELETE' })
  assert.equal(json.status, 'Success')
  assert.equal(headers.warning, '299 - "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+"')
})

test('a stable version that is turned off is gone for clients, and stays for the server itself', patient, async t => {
  const server = await startInProcess(t, {
    nodes: 0,
    store: 'memory',
    runtimeConfig: 'resource.k8s.io/v1=false,coordination.k8s.io/v1/leases=false',
  })
  const found = await groupVersions(server)
  assert.deepEqual([found.includes('resource.k8s.io/v1'), found.includes('coordination.k8s.io/v1')], [false, false])
  assert.equal((await ask(server, at(CLAIMS, 'v1'))).status, 404)
  assert.equal((await ask(server, '/readyz')).status, 200)
})

test('faults of the configuration name the option', patient, async t => {
  const refused = (options: StartOptions) =>
    startInProcess(t, options).then(
      () => undefined,
      error => [error.constructor.name, error.message],
    )
  assert.deepEqual(await refused({ runtimeConfig: 'foo/v1=true' }), ['ConfigError', 'runtimeConfig: unknown api groups foo/v1'])
  assert.deepEqual(await refused({ emulatedVersion: '1.38' }), [
    'ConfigError',
    'emulatedVersion: emulation version 1.38 is not between [1.34, 1.37.0]',
  ])
})

test('objects of a version stay while it is turned off', patient, async t => {
  const options = { controllers: ['none'], store: 'embedded' as const, dataDir: temporaryDirectory(t) }
  const on = { ...options, runtimeConfig: 'internal.apiserver.k8s.io/v1alpha1=true' }
  const first = await startInProcess(t, on)
  const path = '/apis/internal.apiserver.k8s.io/v1alpha1/storageversions'
  const body = {
    apiVersion: 'internal.apiserver.k8s.io/v1alpha1',
    kind: 'StorageVersion',
    metadata: { name: 'apps.deployments' },
    spec: {},
  }
  assert.equal((await ask(first, path, { method: 'POST', body })).status, 201)
  await first.close()
  const without = await startInProcess(t, options)
  assert.equal((await ask(without, path)).status, 404)
  await without.close()
  const { json } = await ask(await startInProcess(t, on), `${path}/apps.deployments`)
  assert.equal(json.metadata.name, 'apps.deployments')
})

test('kinds behind gates are served with their gate, have their protection, and their records can be read again', patient, async t => {
  const dataDir = temporaryDirectory(t)
  const options: StartOptions = {
    controllers: ['podgroup-protection-controller'],
    nodes: 0,
    dataDir,
    runtimeConfig: 'scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true,lifecycle.k8s.io/v1alpha1=true',
    featureGates: 'GenericWorkload=true,EvictionRequestAPI=true',
  }
  const server = await startInProcess(t, options)
  assert.equal((await ask(server, '/apis/scheduling.k8s.io/v1alpha3/compositepodgroups')).status, 404)
  assert.equal((await ask(server, '/apis/lifecycle.k8s.io/v1alpha1/evictions')).status, 200)
  const groups = '/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups'
  const group = { kind: 'PodGroup', metadata: { name: 'g' }, spec: { schedulingPolicy: { gang: { minCount: 2 } } } }
  const created = await ask(server, groups, { method: 'POST', body: { apiVersion: 'scheduling.k8s.io/v1beta1', ...group } })
  assert.equal(created.status, 201)
  assert.deepEqual(created.json.metadata.finalizers, ['scheduling.k8s.io/podgroup-protection'])
  assert.equal(created.json.spec.priority, 0)
  const workload = { podGroupTemplates: [{ name: 'a', schedulingPolicy: { basic: {} } }] }
  const body = { apiVersion: 'scheduling.k8s.io/v1alpha3', kind: 'Workload', metadata: { name: 'w' }, spec: workload }
  assert.equal((await ask(server, '/apis/scheduling.k8s.io/v1alpha3/namespaces/default/workloads', { method: 'POST', body })).status, 201)

  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { schedulingGroup: { podGroupName: 'g' }, containers: [{ name: 'c', image: 'i' }] },
  }
  assert.equal((await ask(server, '/api/v1/namespaces/default/pods', { method: 'POST', body: pod })).status, 201)
  assert.equal((await ask(server, `${groups}/g`, { method: 'DELETE' })).status, 200)
  const kept = await ask(server, `${groups}/g`)
  assert.ok(kept.json.metadata.deletionTimestamp)
  assert.equal((await ask(server, '/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0', { method: 'DELETE' })).status, 200)
  await eventually('the group is gone', async () => ((await ask(server, `${groups}/g`)).status === 404 ? true : undefined))

  await server.close()
  const again = await startInProcess(t, options)
  const read = await ask(again, '/apis/scheduling.k8s.io/v1beta1/namespaces/default/workloads/w')
  assert.deepEqual(read.json.spec, { podGroupTemplates: [{ ...workload.podGroupTemplates[0], schedulingConstraints: null }] })
})

test('errors of declared rules name the field of the version that was sent', patient, async () => {
  const devices = (request: object) => ({ spec: { devices: { requests: [{ name: 'r', ...request }] } } })
  const fields = { deviceClassName: 'gpu', allocationMode: 'Some' }
  for (const [version, request, field] of [
    ['v1beta1', fields, 'spec.devices.requests[0].allocationMode'],
    ['v1', { exactly: fields }, 'spec.devices.requests[0].exactly.allocationMode'],
  ] as const) {
    const body = { apiVersion: `resource.k8s.io/${version}`, kind: 'ResourceClaim', metadata: { name: 'bad' }, ...devices(request) }
    const { json } = await ask(all, at(CLAIMS, version), { method: 'POST', body })
    assert.deepEqual(
      json.details.causes.map((cause: any) => cause.field),
      [field],
    )
  }
})
