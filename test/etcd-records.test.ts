// Records of a real kube-apiserver in a real etcd, served over HTTPS, and records written beside them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { fromProtobuf } from '../src/codec/protobuf-decode.ts'
import { openEnvelope } from '../src/codec/protobuf-envelope.ts'
import { kubernetesFormat } from '../src/etcd-format/kubernetes-format.ts'
import { builtinKinds } from '../src/kinds/all.ts'
import { Catalog } from '../src/registry/catalog.ts'
import { resourcesOf } from '../src/schema/resource.ts'
import { message, string } from '../src/schema/types.ts'
import { startServer } from '../src/server/start.ts'
import { configOf } from '../src/start-options.ts'
import { openEtcdStore } from '../src/storage/etcd/etcd.ts'
import type { Decoded } from '../src/storage/etcd/record-format.ts'
import type { Store } from '../src/storage/store.ts'
import { ask, eventually, patient, type Scope, type Target, targetOf, Watching } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { startEtcd } from './kits/etcd.ts'
import { plainFormat } from './kits/storage/plain-format.ts'
import { testWith } from './programs.ts'
import { WIDGETS } from './samples.ts'

type Recorded = { readonly key: string; readonly value: string; readonly revision: number; readonly path?: string; readonly served?: any }

const recorded = readFileSync(new URL('recorded/etcd/objects.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Recorded)

type Bench = {
  /** All of etcd below /registry, as it is. */
  readonly plain: Store
  put(key: string, value: Uint8Array): Promise<void>
  /** The bytes at a key. */
  bytes(key: string): Promise<Buffer | undefined>
  readonly endpoints: readonly string[]
  serve(featureGates?: string): Promise<Target & { close(): Promise<void> }>
}

/** The service that has the recorded address 10.0.0.151 and node port: without it, both would be taken back as nobody's. */
const NP = {
  kind: 'Service',
  apiVersion: 'v1',
  metadata: { name: 'np', namespace: 'default', uid: '2c1d2f6e-1111-4c4f-9d3f-6d2c7c6f0001', creationTimestamp: '2026-11-15T16:49:20Z' },
  spec: {
    ports: [{ protocol: 'TCP', port: 80, targetPort: 80, nodePort: 30852 }],
    selector: { app: 'np' },
    clusterIP: '10.0.0.151',
    clusterIPs: ['10.0.0.151'],
    type: 'NodePort',
    sessionAffinity: 'None',
    externalTrafficPolicy: 'Cluster',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
  },
  status: { loadBalancer: {} },
}

/** Fields of any record that are written even though they are empty. */
const ANY_RECORD = message('Any', {
  metadata: [1, message('ObjectMeta', { selfLink: [4, string.optional()], resourceVersion: [6, string.optional()] })],
})

const formatOf = () =>
  kubernetesFormat({
    resources: new Catalog(resourcesOf(builtinKinds, 'k8s.io')).storedResources(),
    groupDomain: 'k8s.io',
    now: () => new Date(),
  })

async function openBench(t: Scope, program: string): Promise<Bench> {
  const cluster = await startEtcd({ program })
  const plain = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: plainFormat })
  const servers: { close(): Promise<void> }[] = []
  t.after(async () => {
    for (const server of servers) await server.close()
    await plain.close()
    await cluster[Symbol.asyncDispose]()
  })
  const place = (key: string) => key.slice('/registry'.length)
  return {
    plain,
    endpoints: cluster.endpoints,
    async put(key, value) {
      const { entry } = await plain.get(place(key))
      const swap = await plain.swap(place(key), { expect: entry?.modified ?? 0, value })
      assert.ok(swap.ok)
    },
    async bytes(key) {
      const { entry } = await plain.get(place(key))
      return entry && Buffer.from(entry.value)
    },
    async serve(featureGates = '') {
      const options = { store: 'etcd', etcdServers: cluster.endpoints, controllers: ['none'], nodes: 0, featureGates } as const
      const server = await startServer(configOf(options))
      let closed: Promise<void> | undefined
      const close = () => (closed ??= server.close())
      servers.push({ close })
      return { ...targetOf(server.kubeconfig), close }
    },
  }
}

testWith('etcd', 'every record of a kube-apiserver is served as it serves it, and written as it wrote it', patient, async (t, program) => {
  const bench = await openBench(t, program)
  const records = new Map(recorded.map(line => [line.key, line]))
  for (const { key, value } of records.values()) await bench.put(key, Buffer.from(value, 'base64'))
  await bench.put(
    '/registry/services/specs/default/np',
    await formatOf().encode('/core/services/default/np', Buffer.from(JSON.stringify(NP))),
  )
  const server = await bench.serve()
  // A server keeps up some objects of its own: those may have been written since.
  const isKeptUp = ({ key }: Recorded) =>
    /\/(leases\/kube-system|flowschemas\/catch-all|services\/specs\/default\/kubernetes|clusterroles\/admin)/.test(key)
  // The identity of a server that is gone is collected at once, as kube-apiserver does.
  const isCollected = ({ key }: Recorded) => key.startsWith('/registry/leases/kube-system/apiserver-')
  for (const line of recorded) {
    const { path, served } = line
    if (path === undefined || isCollected(line)) continue
    const { status, json } = await eventually(`${path} is served`, async () => {
      const answer = await ask(server, path)
      // Custom kinds are served once their definition has been read.
      return answer.status === 404 && served.apiVersion === 'example.com/v1' ? undefined : answer
    })
    assert.equal(status, 200, path)
    json.metadata.resourceVersion = served.metadata.resourceVersion
    assert.deepEqual(json, served, path)
  }
  for (const line of recorded) {
    const { key, path, value } = line
    if (path === undefined || isKeptUp(line) || path.includes('/apis/events.k8s.io/')) continue
    const { json } = await ask(server, path)
    // Any change that a client makes, and undoes: the record is then the same that kube-apiserver had written.
    const annotated = await ask(server, path, {
      method: 'PATCH',
      body: { metadata: { annotations: { a: 'b' } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    assert.equal(annotated.status, 200, `${path}: ${annotated.text}`)
    const { metadata, ...object } = json
    const { resourceVersion: _, ...same } = metadata
    const restored = await ask(server, path, {
      method: 'PUT',
      body: { ...object, metadata: { ...same, resourceVersion: annotated.json.metadata.resourceVersion } },
    })
    assert.equal(restored.status, 200, `${path}: ${restored.text}`)
    assert.deepEqual(contentOf(key, (await bench.bytes(key))!), contentOf(key, Buffer.from(value, 'base64')), path)
  }
  const { json: services } = await ask(server, '/api/v1/namespaces/default/services')
  assert.deepEqual(services.items.map((o: any) => o.metadata.name).sort(), ['every-1', 'kubernetes', 'np'])
  const taken = await ask(server, '/api/v1/namespaces/default/services', {
    method: 'POST',
    body: { ...NP, metadata: { name: 'np-2' }, spec: { type: 'NodePort', ports: [{ port: 1, nodePort: 30852 }] } },
  })
  assert.equal(taken.status, 422, 'a node port that kube-apiserver has given out is taken')
})

/** The type of a record, and its content without managed fields and generation. */
function contentOf(key: string, bytes: Buffer) {
  const format = formatOf()
  const place = key.slice('/registry'.length)
  const [decoded] = format.decode([{ key: format.keyAt(place)!, stored: bytes }]) as readonly Decoded[]
  assert.ok(decoded!.fault === undefined, key)
  const { metadata, ...object } = JSON.parse(Buffer.from(decoded!.value).toString())
  const { managedFields: _, generation: __, ...others } = metadata
  if (bytes[0] === 0x7b) {
    assert.equal(bytes.at(-1), 0x0a)
    const { apiVersion, kind, metadata } = JSON.parse(bytes.toString())
    assert.equal(metadata.resourceVersion ?? metadata.selfLink, undefined)
    return { as: `${apiVersion} ${kind}`, ...object, metadata: others }
  }
  const { apiVersion, kind, raw } = openEnvelope(bytes)
  const { metadata: stored } = fromProtobuf(ANY_RECORD, raw) as { metadata: Record<string, unknown> }
  assert.equal(stored['resourceVersion'], '')
  assert.equal(stored['selfLink'], '')
  return { as: `${apiVersion} ${kind}`, ...object, metadata: others }
}

testWith('etcd', 'unknown records are left alone, and an unreadable one stops nothing else', patient, async (t, program) => {
  const bench = await openBench(t, program)
  const [record] = recorded
  const good = Buffer.from(record!.value, 'base64')
  const strange: Record<string, Buffer> = {
    '/registry/peerserverleases/10.0.0.7': Buffer.from('k8s\0whatever'),
    '/registry/leasecandidates/kube-system/a': Buffer.from('x'),
    '/registry/pods/no-name': Buffer.from('x'),
    '/registry/unknown.example.com/things/a': Buffer.from('not even JSON'),
    '/registry/configmaps/default/broken': good.subarray(0, 100),
    '/registry/configmaps/default/empty': Buffer.alloc(0),
    '/registry/secrets/default/sealed': Buffer.from('k8s:enc:secretbox:v1:key1:\x00\x01'),
    '/registry/apiextensions.k8s.io/customresourcedefinitions/broken.example.com': Buffer.from('{"kind":"CustomResourceDefinition"'),
  }
  for (const [key, value] of Object.entries(strange)) await bench.put(key, value)
  await bench.put(record!.key, good)
  const server = await bench.serve()
  assert.equal((await ask(server, record!.path!)).status, 200)
  const broken = await ask(server, '/api/v1/namespaces/default/configmaps/broken')
  assert.equal(broken.status, 500)
  assert.equal(broken.json.reason, 'InternalError')
  assert.match(
    broken.json.message,
    /StorageError: corrupt object, Code: 7, Key: \/configmaps\/default\/broken, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=\d+: unexpected EOF/,
  )
  const sealed = await ask(server, '/api/v1/namespaces/default/secrets/sealed')
  assert.equal(sealed.status, 500)
  assert.equal(
    sealed.json.message,
    'Internal error occurred: StorageError: corrupt object, Code: 7, Key: /secrets/default/sealed, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: identity transformer tried to read encrypted data',
  )
  const listed = await ask(server, '/api/v1/namespaces/default/configmaps')
  assert.equal(listed.status, 500, 'a list does not leave out what it cannot read')
  assert.deepEqual([listed.json.reason, listed.json.details.name, listed.json.details.kind], ['StorageReadError', 'list', 'configmaps'])
  assert.deepEqual(
    listed.json.details.causes.map(({ reason, field }: any) => `${reason} ${field}`),
    ['broken', 'empty'].map(name => `UnexpectedServerResponse /registry/configmaps/default/${name}`),
  )
  for (const name of ['broken', 'empty']) {
    const removed = await ask(
      server,
      `/api/v1/namespaces/default/configmaps/${name}?ignoreStoreReadErrorWithClusterBreakingPotential=true`,
      {
        method: 'DELETE',
      },
    )
    assert.equal(removed.status, 200, removed.text)
    delete strange[`/registry/configmaps/default/${name}`]
    assert.equal(await bench.bytes(`/registry/configmaps/default/${name}`), undefined)
  }
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps')).status, 200)
  await server.close()
  for (const [key, value] of Object.entries(strange)) assert.deepEqual(await bench.bytes(key), value, key)
})

testWith(
  'etcd',
  'what a server creates has the shape of what kube-apiserver creates, and both see what the other writes',
  patient,
  async (t, program) => {
    const bench = await openBench(t, program)
    const server = await bench.serve()
    const post = async (path: string, body: object) => {
      const answer = await ask(server, path, { method: 'POST', body })
      assert.equal(answer.status, 201, `${path}: ${answer.text}`)
      return answer.json
    }
    await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', WIDGETS)
    await eventually('widgets are served', async () =>
      (await ask(server, '/apis/example.com/v1/namespaces/default/widgets')).status === 200 ? true : undefined,
    )
    const widget = await post('/apis/example.com/v1/namespaces/default/widgets', {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w1' },
      spec: { a: 1 },
    })
    const stored = (await bench.bytes('/registry/example.com/widgets/default/w1'))!.toString()
    const { resourceVersion: _, ...kept } = widget.metadata
    assert.equal(stored, `${sortedJson({ ...widget, metadata: kept })}\n`)
    const crd = JSON.parse((await bench.bytes('/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com'))!.toString())
    assert.equal(crd.apiVersion, 'apiextensions.k8s.io/v1beta1')
    assert.equal(crd.spec.version, 'v1')
    for (const { path, served, key } of recorded) {
      if (path === undefined || !/\/every-(new-)?1$/.test(path) || path.includes('events.k8s.io') || served.kind === 'Namespace') continue
      const {
        status: __,
        metadata: { name, namespace, labels },
        ...body
      } = served
      const made = { ...body, metadata: { name: `${name}-made`.replace(/^example.com:s:.*/, 'example.com:s:made'), namespace, labels } }
      if (served.kind === 'Job') {
        // The selector of a job is made for it.
        delete made.spec.selector
        delete made.spec.template.metadata
      }
      const answer = await ask(server, path.replace(/\/[^/]+$/, ''), { method: 'POST', body: made })
      assert.equal(answer.status, 201, `${path}: ${answer.text}`)
      const bytes = await bench.bytes(key.replace(/[^/]+$/, answer.json.metadata.name))
      assert.ok(bytes, `${path} is at the key where kube-apiserver would look`)
      const original = Buffer.from(recorded.find(line => line.path === path)!.value, 'base64')
      // The response to the writer is the same as later reads from etcd.
      const { fault, ...read } = (formatOf().decode([{ key: formatOf().keyAt(key.slice('/registry'.length))!, stored: bytes }]) as any)[0]
      assert.equal(fault, undefined)
      const withoutVersion = ({ metadata: { resourceVersion: _, ...metadata }, ...object }: any) => ({ ...object, metadata })
      // The server itself adds a condition to these at once.
      if (served.kind !== 'FlowSchema') {
        const { conversion } = resourcesOf(builtinKinds, 'k8s.io').find(r => r.apiVersion === served.apiVersion && r.kind === served.kind)!
        const object = JSON.parse(Buffer.from(read.value).toString())
        assert.deepEqual(withoutVersion(conversion ? conversion.fromStored(object) : object), withoutVersion(answer.json), path)
      }
      const content = contentOf(key, bytes) as { as: string; metadata: { resourceVersion: string } }
      assert.equal(content.as, (contentOf(key, original) as { as: string }).as)
    }
    // Another server writes into etcd: this one sees it as soon as it asks, and its watches are told.
    const watching = await Watching.open(t, server, '/api/v1/namespaces/default/configmaps?watch=1')
    const other = recorded.find(line => line.path === '/api/v1/namespaces/default/configmaps/every-1')!
    await bench.put(other.key, Buffer.from(other.value, 'base64'))
    const { json } = await ask(server, other.path!)
    assert.deepEqual({ ...json, metadata: { ...json.metadata, resourceVersion: other.served.metadata.resourceVersion } }, other.served)
    const seen = await watching.until(({ object }) => object.metadata.name === 'every-1')
    assert.equal(seen.at(-1)!.object.metadata.uid, other.served.metadata.uid)
    await bench.put('/registry/example.com/widgets/default/w1', Buffer.from(stored.replace('"a":1', '"a":2')))
    assert.equal((await ask(server, '/apis/example.com/v1/namespaces/default/widgets/w1')).json.spec.a, 2)
  },
)

function sortedJson(value: any): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${sortedJson(value[key])}`)
    .join()}}`
}

testWith(
  'etcd',
  'custom objects are stored as CBOR behind the gate, and read in either encoding with and without it',
  patient,
  async (t, program) => {
    const bench = await openBench(t, program)
    const widgets = '/apis/example.com/v1/namespaces/default/widgets'
    const key = '/registry/example.com/widgets/default/a'
    const isCbor = async () => (await bench.bytes(key))!.subarray(0, 3).toString('hex') === 'd9d9f7'
    const change = (server: Target, color: string) =>
      ask(server, `${widgets}/a`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec: { color } },
      })

    const first = await bench.serve('CBORServingAndStorage=true')
    await ask(first, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: WIDGETS })
    await eventually('the kind is served', async () => (await ask(first, widgets)).status === 200 || undefined)
    const spec = { color: 'red', size: 1.5, list: [1, null, 'é'], big: 2 ** 40 }
    const made = await ask(first, widgets, {
      method: 'POST',
      body: { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec },
    })
    assert.deepEqual([made.status, await isCbor()], [201, true])
    const { stdout } = await keelsonHere('inspect', key, '--etcd-servers', bench.endpoints.join(','))
    assert.match(stdout, /^# size: +\d+ bytes, cbor$/m)
    assert.deepEqual(parse(stdout).spec, spec)
    await first.close()

    const second = await bench.serve()
    await eventually('the kind is served', async () => (await ask(second, widgets)).status === 200 || undefined)
    assert.deepEqual((await ask(second, `${widgets}/a`)).json, made.json)
    assert.deepEqual([(await change(second, 'blue')).status, await isCbor()], [200, false])
    await second.close()

    const third = await bench.serve('CBORServingAndStorage=true')
    await eventually('the kind is served', async () => (await ask(third, widgets)).status === 200 || undefined)
    // A write without a change stores it anew: so a storage migration brings all objects into the current encoding.
    const before = (await ask(third, `${widgets}/a`)).json
    const after = (await change(third, 'blue')).json
    assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion)
    assert.deepEqual([after.spec, await isCbor()], [{ ...spec, color: 'blue' }, true])
    assert.equal((await change(third, 'blue')).json.metadata.resourceVersion, after.metadata.resourceVersion)
  },
)
