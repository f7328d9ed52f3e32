// docs/feature-gates.md lists every gate with its default, and says of which the source makes use.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import test from 'node:test'
import { issueAuthority, issueClient } from '../src/lib/x509/issue.ts'
import { featureStages, readFeatureGates } from '../src/server/feature-gates.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, ROOT, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { encodedRequest } from './kits/x509.ts'

type Row = { readonly gate: string; readonly state: string; readonly here: string }

function rows(): Row[] {
  const text = readFileSync(join(ROOT, 'docs/feature-gates.md'), 'utf8')
  return [...text.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$/gm)].map(([, gate = '', state = '', here = '']) => ({
    gate,
    state,
    here,
  }))
}

/** Where gates are listed, and not made use of. */
const TABLES = ['feature-gates.ts', 'former-gates.ts']

const filesUnder = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(file => join(folder, file))
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** How code asks for a gate, or declares that something depends on one, which shared code then asks for. */
const ASKS = /\bgate\(|[gG]ates?: ?['[]|withGate\(/

/** Names in quotes, and keys of tables, in files that ask for gates: a name in a file that asks for none has no effect. */
function asked(): ReadonlySet<string> {
  const sources = filesUnder('src').filter(
    file => file.endsWith('.ts') && !file.endsWith('.test.ts') && !TABLES.some(table => file.endsWith(`/${table}`)),
  )
  const texts = sources.map(read).filter(text => ASKS.test(text))
  return new Set(texts.flatMap(text => [...text.matchAll(/['"`](\w+)['"`]|^ {2}(\w+): \{$/gm)].map(([, word, key]) => (word ?? key)!)))
}

/** Gates that tests name: as a word, or with a value in a list. */
function tested(): ReadonlySet<string> {
  const files = [...filesUnder('src'), ...filesUnder('test')].filter(
    file => file.endsWith('.test.ts') && !file.endsWith('feature-gates.test.ts'),
  )
  return new Set(files.map(read).flatMap(text => [...text.matchAll(/\b([A-Z]\w+)\b/g)].map(([, word]) => word!)))
}

test('every gate is documented once, in order, with its stage and default', () => {
  const gate = readFeatureGates('')
  const isFixed = (name: string) => {
    try {
      readFeatureGates(`${name}=${!gate(name)}`)
      return false
    } catch (error) {
      return /cannot be turned/.test((error as Error).message)
    }
  }
  const expected = featureStages()
    .filter(([name]) => !name.startsWith('All') || !['AllAlpha', 'AllBeta'].includes(name))
    .map(([name, stage]) => {
      const on = gate(name) ? 'on' : 'off'
      const state = isFixed(name) ? `always ${on}` : stage === '' ? on : `${stage.toLowerCase()}, ${on}`
      return `${name}: ${state}`
    })
  const lower = (a: string, b: string) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)
  assert.deepEqual(
    rows().map(({ gate: name, state }) => `${name}: ${state}`),
    expected.sort(lower),
  )
})

test('gates that code asks for have an effect, and no others', () => {
  const names = asked()
  for (const { gate, here } of rows()) assert.equal(here.startsWith('has effect'), names.has(gate), gate)
})

test('a test names each gate that has an effect', () => {
  const names = tested()
  // The tests of this file come after this one.
  const own = read('test/feature-gates.test.ts')
    .split(/^test\('a test names/m)
    .pop()!
  for (const { gate, here } of rows()) if (here.startsWith('has effect')) assert.ok(names.has(gate) || own.includes(gate), gate)
})

/** How the events of a watch that stands for a list are compressed. */
const watchEncoding = (server: Target): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const options = { ...server.credentials, agent: false, headers: { 'accept-encoding': 'gzip' } }
    const sent = get(`${server.url}${CONFIG_MAPS}?${query}`, options, answer => {
      resolve(answer.headers['content-encoding'])
      answer.destroy()
    })
    sent.once('error', reject)
  })

test('gates about responses, clients and addresses can be turned off', patient, async t => {
  const gates = ['APIResponseCompression', 'WatchListCompression', 'StorageVersionHash', 'OpenAPIEnums', 'StrictIPCIDRValidation']
  const found: unknown[] = []
  for (const on of [true, false]) {
    const server = await startInProcess(t, {
      controllers: ['none'],
      nodes: 0,
      store: 'memory',
      featureGates: gates.map(gate => `${gate}=${on}`).join(),
    })
    await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('large', { a: 'x'.repeat(200_000) }) })
    const listed = await ask(server, `${CONFIG_MAPS}/large`, { headers: { 'accept-encoding': 'gzip' } })
    const spec = { clusterIP: '010.0.0.077', ports: [{ port: 80 }] }
    const body = { metadata: { name: 's' }, spec }
    const service = await ask(server, '/api/v1/namespaces/default/services', { method: 'POST', body })
    const allocated = await ask(server, '/apis/networking.k8s.io/v1/ipaddresses/10.0.0.77')
    const { json } = await ask(server, '/api/v1')
    const { schemas } = (await ask(server, '/openapi/v3/api/v1')).json.components
    found.push([
      listed.headers['content-encoding'],
      await watchEncoding(server),
      typeof json.resources.find(({ name }: any) => name === 'pods').storageVersionHash,
      schemas['io.k8s.api.core.v1.Container'].properties.imagePullPolicy.enum,
      service.json.spec?.clusterIP ?? service.json.message,
      allocated.status,
    ])
    await server.close()
  }
  assert.deepEqual(found, [
    [
      'gzip',
      'gzip',
      'string',
      ['Always', 'IfNotPresent', 'Never'],
      'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: "010.0.0.077": must not have leading 0s',
      404,
    ],
    [undefined, undefined, 'undefined', undefined, '010.0.0.077', 200],
  ])
})

test('nodes may request certificates of others only with the gate for that', patient, async t => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const request = encodedRequest(pair, { commonName: 'system:node:other', organizations: ['system:nodes'] })
  const statuses: unknown[] = []
  for (const on of [false, true]) {
    const server = await startInProcess(t, {
      controllers: ['none'],
      nodes: 0,
      store: 'memory',
      authorizationMode: ['Node', 'RBAC'],
      enableAdmissionPlugins: ['NodeRestriction'],
      featureGates: `AllowInsecureKubeletCertificateSigningRequests=${on}`,
    })
    const body = {
      metadata: { name: 'c' },
      spec: {
        request,
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'client auth'],
      },
    }
    const headers = { 'impersonate-user': 'system:node:n', 'impersonate-group': 'system:nodes' }
    const { status, text } = await ask(server, '/apis/certificates.k8s.io/v1/certificatesigningrequests', { method: 'POST', body, headers })
    if (!on) assert.match(text, /can only create a node CSR with CN=system:node:n/)
    statuses.push(status)
    await server.close()
  }
  assert.deepEqual(statuses, [403, 201])
})

test('roles, trust and resources follow their gates', patient, async t => {
  const off = ['DRADeviceTaints', 'DRADeviceTaintRules', 'HPAGeneration', 'RemoteRequestHeaderUID', 'StorageVersionMigrator']
  const options = { controllers: ['none'], nodes: 0, store: 'memory', featureGates: off.map(gate => `${gate}=false`).join() } as const
  const server = await startInProcess(t, options)
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:device-taint-eviction-controller'
  assert.equal((await ask(server, role)).status, 404, 'DRADeviceTaints')
  const { json: trust } = await ask(server, '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication')
  assert.deepEqual(
    [trust.data['requestheader-username-headers'], trust.data['requestheader-uid-headers']],
    ['["X-Remote-User"]', undefined],
  )
  await assert.rejects(
    startInProcess(t, { ...options, requestheaderUidHeaders: ['X-Remote-Uid'] }),
    /requestheaderUidHeaders requires the "RemoteRequestHeaderUID" feature to be enabled/,
  )
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
  const autoscaler = { metadata: { name: 'a' }, spec: { maxReplicas: 2, scaleTargetRef } }
  const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
  const { json } = await ask(server, path, { method: 'POST', body: autoscaler })
  assert.equal(json.metadata.generation, undefined, 'HPAGeneration')
})

test('gates about nodes, their labels, and users of certificates can be turned off', patient, async t => {
  const gates = ['AllowParsingUserUIDFromCertAuth', 'PodTopologyLabelsAdmission', 'ServiceAccountNodeAudienceRestriction']
  const hour = 3_600_000
  const validity = { notBefore: new Date(Date.now() - hour), notAfter: new Date(Date.now() + hour) }
  const authority = issueAuthority('clients', validity)
  const jane = issueClient(authority, { commonName: 'jane', uid: 'u-1' }, validity)
  const clientCaFile = join(temporaryDirectory(t), 'ca.pem')
  writeFileSync(clientCaFile, authority.cert)
  const found: unknown[] = []
  for (const on of [true, false]) {
    const server = await startInProcess(t, {
      controllers: ['none'],
      nodes: 0,
      store: 'memory',
      clientCaFile,
      authorizationMode: ['Node', 'RBAC'],
      enableAdmissionPlugins: ['NodeRestriction'],
      featureGates: gates.map(gate => `${gate}=${on}`).join(),
    })
    const post = async (path: string, body: object, more: object = {}) => {
      const answer = await ask(server, path, { method: 'POST', body, ...more })
      assert.ok(answer.status === 201 || 'headers' in more, answer.text)
      return answer
    }
    const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    const { userInfo } = (await post(review, {}, { ...jane, agent: false })).json.status
    const zone = 'topology.kubernetes.io/zone'
    await post('/api/v1/nodes', { metadata: { name: 'n', labels: { [zone]: 'z' } } })
    await post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
    const spec = { nodeName: 'n', serviceAccountName: 'default', containers: [{ name: 'c', image: 'i' }] }
    const { metadata: pod } = (await post('/api/v1/namespaces/default/pods', { metadata: { name: 'p' }, spec })).json
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.uid }
    const headers = { 'impersonate-user': 'system:node:n', 'impersonate-group': 'system:nodes' }
    const asked = { spec: { audiences: ['vault'], boundObjectRef } }
    // The node is known to have the pod a moment after the pod is stored.
    const { status, json } = await eventually('the node of the pod', async () => {
      const answer = await post('/api/v1/namespaces/default/serviceaccounts/default/token', asked, { headers })
      return /no relationship found/.test(answer.text) ? undefined : answer
    })
    found.push([userInfo.username, userInfo.uid, pod.labels?.[zone], status === 201 ? status : json.message])
    await server.close()
  }
  assert.deepEqual(found, [
    ['jane', 'u-1', 'z', 'serviceaccounts "default" is forbidden: system:node:n is not authorized to request tokens for audience "vault"'],
    ['jane', undefined, undefined, 201],
  ])
})
