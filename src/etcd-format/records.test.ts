// Records that kube-apiserver has written: read as it serves them, and written as it wrote them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fromProtobuf } from '../codec/protobuf-decode.ts'
import { toCompleteProtobuf } from '../codec/protobuf-encode.ts'
import { envelope, openEnvelope } from '../codec/protobuf-envelope.ts'
import { encodeStored, parseObject } from '../codec/stored-bytes.ts'
import { everyKind } from '../kinds/every.ts'
import { finish } from '../lib/step.ts'
import { Catalog } from '../registry/catalog.ts'
import { toServed } from '../registry/version-conversion.ts'
import { conform } from '../schema/conform.ts'
import { resourcesOf } from '../schema/resource.ts'
import type { Decoded } from '../storage/etcd/record-format.ts'
import { kubernetesFormat } from './kubernetes-format.ts'

type Recorded = { readonly key: string; readonly value: string; readonly path?: string; readonly served?: any }

const folder = new URL('../../test/recorded/etcd/', import.meta.url)
/** Records of a server with its usual versions, and of one with `--runtime-config=api/all=true`. */
const recorded = ['objects.jsonl', 'on-request.jsonl'].flatMap(file =>
  readFileSync(new URL(file, folder), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Recorded),
)

const catalog = new Catalog(resourcesOf(everyKind, 'k8s.io'))
const options = { resources: [...catalog.storedResources()], groupDomain: 'k8s.io', now: () => new Date(0) }
const format = kubernetesFormat(options)
/**
 * Defaults that kube-apiserver fills in only when it reads a record, and writes from then on: a new claim is stored without the phase that it
 * is served with.
 */
const NEXT_WRITE = new Map<string, (stored: Buffer) => Buffer>([
  [
    '/persistentvolumeclaims/default/every-1',
    stored => {
      const text = stored.toString('latin1').replace('\x12\xfc\x02', '\x12\x83\x03').replace('\x1a\x02\x0a\x00', '\x1a\x09\x0a\x07Pending')
      return Buffer.from(text, 'latin1')
    },
  ],
])

const placeOf = (key: string) => key.slice('/registry'.length)

function read(place: string, stored: Uint8Array): Decoded {
  const key = format.keyAt(place)
  assert.ok(key !== undefined, place)
  const [decoded] = format.decode([{ key, stored }]) as readonly Decoded[]
  return decoded!
}

/** The value that a record holds; fails when it cannot be read. */
function heldBy(place: string, stored: Uint8Array): Buffer {
  const decoded = read(place, stored)
  if (decoded.fault !== undefined) assert.fail(`${place}: ${decoded.fault}`)
  return decoded.value as Buffer
}

for (const { key, path, served, value } of recorded) {
  const place = placeOf(key)
  const stored = Buffer.from(value, 'base64')

  test(`${path ?? key} is read as kube-apiserver serves it`, async () => {
    const object = parseObject(heldBy(place, stored))
    if (served === undefined) {
      assert.deepEqual(object, {
        kind: 'RangeAllocation',
        apiVersion: 'v1',
        metadata: { resourceVersion: '' },
        range: '30000-32767',
        data: object['data'],
      })
      return
    }
    const [, group, version, plural] = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(?:namespaces\/[^/]+\/)?([^/]+)\/[^/]+$/.exec(path!)!
    const resource = catalog.find(group ?? '', version!, plural!)
    const shown = resource ? finish(toServed(resource, object)) : object
    assert.deepEqual({ ...shown, metadata: { ...shown.metadata, resourceVersion: served.metadata.resourceVersion } }, served)
  })

  test(`${path ?? key} is written byte by byte as kube-apiserver wrote it`, async () => {
    const written = Buffer.from(await format.encode(format.keyAt(place)!, heldBy(place, stored)))
    const expected = NEXT_WRITE.get(place)?.(stored) ?? stored
    assert.equal(written.toString('latin1'), expected.toString('latin1'))
    assert.equal(format.placeOf(format.keyAt(place)!), place)
  })
}

test('every resource has the place, encoding and version that kube-apiserver has for it', async () => {
  const lines = readFileSync(new URL('layout.tsv', folder), 'utf8').trim().split('\n').slice(1)
  for (const line of lines) {
    const [resource, place, encoding, storedAs] = line.split('\t') as [string, string, string, string]
    const [, plural, group = '', version] = /^([^.]+)\.(?:(.*)\/)?([^/]+)$/.exec(resource)!
    const found = catalog.find(group, version!, plural!)
    const prefix = found?.prefix ?? `/${group}/${plural}/`
    const key = place.includes('NAMESPACE') ? `${prefix}NAMESPACE/NAME` : `${prefix}NAME`
    assert.equal(`/registry${format.placeOf(key)}`, place)
    assert.equal(format.keyAt(placeOf(place)), key)
    assert.equal(`/registry${format.placesBelow(prefix)}`, place.replace(/(NAMESPACE\/)?NAME$/, ''))
    const kind = storedAs.split(' ')[1]!
    const written = Buffer.from(
      await format.encode(
        key,
        Buffer.from(
          JSON.stringify({
            kind,
            apiVersion: found?.apiVersion ?? `${group}/${version}`,
            metadata: { name: 'NAME' },
            spec: {},
            status: {},
          }),
        ),
      ),
    )
    assert.equal(encoding, written[0] === 0x7b ? 'json' : 'protobuf')
    if (encoding === 'protobuf') {
      const { apiVersion, kind } = openEnvelope(written)
      assert.equal(`${apiVersion} ${kind}`, storedAs)
    } else {
      const { apiVersion, kind } = JSON.parse(written.toString())
      assert.equal(`${apiVersion} ${kind}`, storedAs)
      assert.equal(written.at(-1), 0x0a)
    }
  }
})

test('places that are not known have no key', () => {
  for (const place of [
    '/pods/default',
    '/pods/default/a/b',
    '/pods//a',
    '/namespaces/a/b',
    '/services/default/a',
    '/services/other/default/a',
    '/ranges/serviceips',
    '/networking.k8s.io/ingresses/default/a',
    '/example.com/widgets',
    '/example.com/widgets/default/a/b',
    '/peerserverleases/x/y',
    '/',
    '',
  ])
    assert.equal(format.keyAt(place), undefined, place)
})

test('addresses of servers are Endpoints, as kube-apiserver keeps them', async () => {
  const record = { kind: 'Endpoints', apiVersion: 'v1', metadata: { generation: 7 }, subsets: [{ addresses: [{ ip: '10.0.0.7' }] }] }
  for (const [prefix, name] of [
    ['/masterleases/', '10.0.0.7'],
    ['/peerserverleases/', 'apiserver-a'],
  ] as const) {
    const key = prefix + name
    assert.equal(format.keyAt(key), key)
    assert.equal(format.keyAt(`${key}/b`), undefined)
    assert.equal(format.placesBelow(prefix), prefix)
    const written = Buffer.from(await format.encode(key, Buffer.from(JSON.stringify(record))))
    assert.equal(openEnvelope(written).kind, 'Endpoints')
    const { metadata, ...read } = parseObject(heldBy(key, written))
    assert.deepEqual({ ...read, metadata }, { ...record, metadata: { resourceVersion: '', generation: 7 } })
  }
})

test('a key that could not be found again has no place', () => {
  for (const key of ['/ranges/other', '/other/a', '/core', '/']) assert.throws(() => format.placeOf(key), /has no place in etcd/, key)
})

test('what is only here has its place beside all that kube-apiserver reads', () => {
  for (const key of ['/keelson/identity', '/allocation/nodeports/30001']) {
    const place = format.placeOf(key)
    assert.match(place, /^\/keelson\//)
    assert.equal(format.keyAt(place), key)
    assert.deepEqual(read(place, Buffer.from('any \0 bytes')), { value: Buffer.from('any \0 bytes') })
  }
  assert.equal(format.placesBelow('/allocation/nodeports/'), '/keelson/allocation/nodeports/')
  assert.equal(format.placesBelow('/'), '/')
  assert.equal(format.placesBelow('/core/'), '/')
  assert.equal(format.placesBelow('/core/pods/kube-system/'), '/pods/kube-system/')
  assert.equal(format.placesBelow('/example.com/widgets/'), '/example.com/widgets/')
})

const recordOf = (path: string) => Buffer.from(recorded.find(line => line.path === path)!.value, 'base64')
const faultOf = (place: string, stored: Uint8Array) => {
  const { fault } = read(place, stored)
  assert.ok(fault !== undefined, 'it could be read')
  return fault
}

test('a record of an older version of the same form is read, one that nobody knows is not', () => {
  const asVersion = (apiVersion: string, kind = 'CronJob') => {
    const { raw } = openEnvelope(recordOf('/apis/batch/v1/namespaces/default/cronjobs/every-1'))
    return envelope({ apiVersion, kind }, raw)
  }
  const place = '/cronjobs/default/every-1'
  assert.deepEqual(heldBy(place, asVersion('batch/v1beta1')), heldBy(place, asVersion('batch/v1')))
  assert.equal(faultOf(place, asVersion('batch/v3')), 'no kind "CronJob" is registered for version "batch/v3"')
  assert.equal(faultOf(place, asVersion('batch/v1', 'Job')), 'no kind "Job" is registered for version "batch/v1"')
})

test('a record of another served version is converted', () => {
  const v1 = catalog.find('autoscaling', 'v1', 'horizontalpodautoscalers')!
  const object = {
    metadata: { name: 'a' },
    spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd' }, targetCPUUtilizationPercentage: 70 },
  }
  const value = heldBy('/horizontalpodautoscalers/default/a', envelope(v1, toCompleteProtobuf(v1.type, object)))
  const { apiVersion, spec } = parseObject(value)
  assert.equal(apiVersion, 'autoscaling/v2')
  assert.deepEqual(spec.metrics, [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } }])
})

test('a built-in kind that was stored as JSON is read', () => {
  const { value, key } = recorded.find(line => line.path === '/api/v1/namespaces/default/pods/every-1')!
  const expected = heldBy(placeOf(key), Buffer.from(value, 'base64'))
  const { resourceVersion: _, ...metadata } = parseObject(expected).metadata
  const json = JSON.stringify({ ...parseObject(expected), metadata })
  assert.deepEqual(heldBy(placeOf(key), Buffer.from(`${json}\n`)), expected)
})

test('defaults that came after a record are there when it is read', () => {
  const { raw } = openEnvelope(recordOf('/api/v1/namespaces/default/pods/every-1'))
  const { type } = catalog.find('', 'v1', 'pods')!
  const object = conform(type, fromProtobuf(type, raw)).value
  delete object.spec.dnsPolicy
  delete object.spec.containers[0].terminationMessagePolicy
  const stored = envelope({ kind: 'Pod', apiVersion: 'v1' }, toCompleteProtobuf(type, object))
  const { spec } = parseObject(heldBy('/pods/default/every-1', stored))
  assert.equal(spec.dnsPolicy, 'ClusterFirst')
  assert.equal(spec.containers[0].terminationMessagePolicy, 'File')
})

test('fields that nobody knows are passed over, and lost at the next write', async () => {
  const stored = recordOf('/api/v1/namespaces/default/configmaps/every-1')
  const { raw } = openEnvelope(stored)
  const unknown = Buffer.concat([raw, Buffer.from([0xd2, 0x0f, 3, 1, 2, 3, 0xd8, 0x0f, 7])])
  const read = heldBy('/configmaps/default/every-1', envelope({ kind: 'ConfigMap', apiVersion: 'v1' }, unknown))
  assert.deepEqual(read, heldBy('/configmaps/default/every-1', stored))
  assert.deepEqual(await format.encode('/core/configmaps/default/every-1', read), stored)
})

test('a broken record has a fault in the words of kube-apiserver', () => {
  const stored = recordOf('/api/v1/namespaces/default/configmaps/every-1')
  const place = '/configmaps/default/every-1'
  assert.equal(faultOf(place, stored.subarray(0, 60)), 'unexpected EOF')
  assert.equal(faultOf(place, Buffer.from('k8s\0')), 'empty body')
  assert.equal(faultOf(place, Buffer.alloc(0)), 'the record is empty')
  assert.match(faultOf(place, Buffer.from('nonsense')), /neither protobuf nor JSON.*nonsense/)
  assert.match(faultOf(place, Buffer.from('{"kind":')), /unexpected end of JSON input/)
  assert.match(faultOf('/example.com/widgets/default/a', Buffer.from('{"kind":')), /unexpected end of JSON input/)
  assert.match(faultOf('/example.com/widgets/default/a', Buffer.from('[]')), /no object/)
  assert.match(faultOf('/apiextensions.k8s.io/customresourcedefinitions/a.b', Buffer.from('x')), /neither/)
})

test('a definition of several versions is the same in v1beta1 and back', async () => {
  const column = { name: 'Size', type: 'integer', jsonPath: '.spec.size' }
  const schema = { openAPIV3Schema: { type: 'object' } }
  const clientConfig = { service: { namespace: 'a', name: 'b', port: 443 }, caBundle: 'YQ==' }
  const definition = (versions: object[], conversion: object) => ({
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'ws.x.org', resourceVersion: '' },
    spec: { group: 'x.org', names: { plural: 'ws', singular: 'w', kind: 'W', listKind: 'WList' }, scope: 'Cluster', versions, conversion },
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  })
  const v1 = { name: 'v1', served: true, storage: true, schema }
  const v2 = { name: 'v2', served: true, storage: false, schema }
  const place = '/apiextensions.k8s.io/customresourcedefinitions/ws.x.org'
  for (const [object, beside] of [
    [
      definition([v1, v2], { strategy: 'None' }),
      ['group', 'version', 'names', 'scope', 'validation', 'versions', 'conversion', 'preserveUnknownFields'],
    ],
    [
      definition(
        [
          { ...v1, additionalPrinterColumns: [column] },
          { ...v2, schema: { openAPIV3Schema: { type: 'object', description: 'x' } }, subresources: { status: {} } },
        ],
        { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
      ),
      ['group', 'version', 'names', 'scope', 'versions', 'conversion', 'preserveUnknownFields'],
    ],
    [
      definition([{ ...v1, subresources: { status: {} }, additionalPrinterColumns: [column] }], { strategy: 'None' }),
      [
        'group',
        'version',
        'names',
        'scope',
        'validation',
        'subresources',
        'versions',
        'additionalPrinterColumns',
        'conversion',
        'preserveUnknownFields',
      ],
    ],
  ] as const) {
    const written = await format.encode(place, Buffer.from(JSON.stringify(object)))
    assert.deepEqual(Object.keys(JSON.parse(Buffer.from(written).toString()).spec), beside)
    assert.deepEqual(parseObject(heldBy(place, written)), object)
  }
  const columns = Buffer.from(
    await format.encode(
      place,
      Buffer.from(JSON.stringify(definition([{ ...v1, additionalPrinterColumns: [column] }], { strategy: 'None' }))),
    ),
  )
  assert.match(columns.toString(), /"additionalPrinterColumns":\[\{"name":"Size","type":"integer","JSONPath":".spec.size"\}\]/)
})

test('a definition from before there were lists of versions is read', () => {
  const old = {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1beta1',
    metadata: { name: 'ws.x.org' },
    spec: {
      group: 'x.org',
      version: 'v1alpha1',
      names: { plural: 'ws', kind: 'W' },
      additionalPrinterColumns: [{ name: 'A', type: 'string', JSONPath: '.a' }],
    },
  }
  const { spec } = parseObject(heldBy('/apiextensions.k8s.io/customresourcedefinitions/ws.x.org', Buffer.from(JSON.stringify(old))))
  assert.deepEqual(spec, {
    group: 'x.org',
    names: { plural: 'ws', singular: 'w', kind: 'W', listKind: 'WList' },
    scope: 'Namespaced',
    versions: [
      { name: 'v1alpha1', served: true, storage: true, additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.a' }] },
    ],
    conversion: { strategy: 'None' },
    preserveUnknownFields: true,
  })
})

test('a custom object that kube-apiserver stored as CBOR is read with or without the gate, and written so with it', async () => {
  const line = JSON.parse(readFileSync(new URL('cbor.jsonl', folder), 'utf8')) as Recorded
  const stored = Buffer.from(line.value, 'base64')
  const place = placeOf(line.key)
  const key = format.keyAt(place)!
  const { served } = line
  const shown = (value: Uint8Array) => {
    const object = parseObject(value)
    return { ...object, metadata: { ...object.metadata, resourceVersion: served.metadata.resourceVersion } }
  }
  const value = heldBy(place, stored)
  assert.deepEqual(shown(value), served)
  const withCbor = kubernetesFormat({ ...options, gate: name => name === 'CBORServingAndStorage' })
  assert.equal(Buffer.from(await withCbor.encode(key, value)).toString('base64'), line.value)
  // Both read what the other writes.
  const json = Buffer.from(await format.encode(key, value))
  assert.equal(json[0], '{'.charCodeAt(0))
  const [fromJson] = await withCbor.decode([{ key, stored: json }])
  assert.deepEqual(shown((fromJson as { value: Uint8Array }).value), served)
  // A write without a change replaces the other encoding, and nothing but that.
  assert.deepEqual(
    [withCbor.mayBeStale!(key), format.mayBeStale!(key), withCbor.mayBeStale!('/core/configmaps/default/a')],
    [true, false, false],
  )
  assert.deepEqual([await withCbor.isStale!({ key, stored: json }), await withCbor.isStale!({ key, stored })], [true, false])
  for (const broken of ['d9d9f7', 'd9d9f780', 'd9d9f7a2416101416102', 'd9d9f7a0'])
    assert.ok(faultOf(key, Buffer.from(broken, 'hex')), broken)
})

test('an object of a custom kind is written as a map of Go', async () => {
  const object = {
    kind: 'W',
    apiVersion: 'x.org/v1',
    metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '', labels: { b: '1', a: '2' } },
    '10': 1,
    '9': 2n ** 60n,
    a: '<&>',
  }
  const written = await format.encode('/x.org/ws/n/a', encodeStored(object as never))
  assert.equal(
    Buffer.from(written).toString(),
    '{"10":1,"9":1152921504606846976,"a":"\\u003c\\u0026\\u003e","apiVersion":"x.org/v1","kind":"W","metadata":{"labels":{"a":"2","b":"1"},"name":"a","namespace":"n","uid":"u"}}\n',
  )
  assert.deepEqual(parseObject(heldBy('/x.org/ws/n/a', written)), object)
})
