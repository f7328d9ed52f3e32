// CBOR behind its gate, as kube-apiserver 1.37 serves, reads and refuses it: every expected text was compared with its answers.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { test } from 'node:test'
import { decodeCbor } from '../src/codec/cbor-decode.ts'
import { encodeCbor } from '../src/codec/cbor-encode.ts'
import { endOfItem } from '../src/codec/cbor-scan.ts'
import type { Json } from '../src/lib/json-value.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, type Scope, serverOfFile, type Target } from './kit.ts'

const CBOR = 'application/cbor'
const APPLY = 'application/apply-patch+cbor'
const SECRETS = '/api/v1/namespaces/default/secrets'
const GEARS = '/apis/example.com/v1/namespaces/default/gears'
const META = 'v=v1;g=meta.k8s.io'

const server = serverOfFile({ featureGates: 'CBORServingAndStorage=true', controllers: ['none'], nodes: 0 })
const plain = serverOfFile({ controllers: ['none'], nodes: 0 })

const GEAR_DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gears.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'gears', kind: 'Gear' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  n: { type: 'integer' },
                  x: { type: 'number', minimum: 1 },
                  replicas: { type: 'integer' },
                  any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
              status: { type: 'object', properties: { replicas: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
}
const gear = (name: string, spec: object, more: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Gear',
  metadata: { name },
  spec,
  ...more,
})

type Sent = { readonly method?: string; readonly accept?: string; readonly type?: string; readonly body?: unknown; readonly hex?: string }
type Got = {
  readonly status: number
  readonly type: string | undefined
  readonly warning: unknown
  readonly bytes: Buffer
  readonly value: any
}

/** One request, whose body is CBOR unless its type says otherwise; the answer is decoded. */
async function call(target: Target, path: string, { accept = CBOR, type = CBOR, body, hex, ...sent }: Sent = {}): Promise<Got> {
  const bytes = hex === undefined ? (body === undefined ? undefined : encodeCbor(body as Json)) : Buffer.from(hex, 'hex')
  const method = sent.method ?? (bytes ? 'POST' : 'GET')
  const headers = { accept, ...(bytes && { 'content-type': type, 'content-length': bytes.length }) }
  const answer = await new Promise<Omit<Got, 'value'>>((resolve, reject) => {
    const outgoing = request(new URL(target.url), { ...target.credentials, path, method, headers, agent: false }, incoming => {
      const parts: Buffer[] = []
      incoming.on('data', part => parts.push(part)).on('error', reject)
      incoming.on('end', () => {
        const { statusCode = 0, headers: got } = incoming
        resolve({ status: statusCode, type: got['content-type'], warning: got['warning'], bytes: Buffer.concat(parts) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(bytes)
  })
  return { ...answer, value: answer.type?.startsWith(CBOR) ? decodeCbor(answer.bytes) : answer.bytes.toString() }
}

/** The data items of a watch, as soon as there are as many. */
function watched(
  t: Scope,
  path: string,
  { count, accept = CBOR }: { count: number; accept?: string },
): Promise<{ type: string; events: any[] }> {
  return new Promise((resolve, reject) => {
    const options = { ...server.credentials, path, headers: { accept }, agent: false }
    const outgoing = request(new URL(server.url), options, incoming => {
      let bytes = Buffer.alloc(0)
      incoming.on('error', () => {})
      incoming.on('data', part => {
        bytes = Buffer.concat([bytes, part])
        const events = itemsOf(bytes)
        if (events.length >= count) resolve({ type: incoming.headers['content-type'] ?? '', events })
      })
    })
    t.after(() => outgoing.destroy())
    outgoing.on('error', reject)
    outgoing.end()
  })
}

function itemsOf(bytes: Buffer): any[] {
  const items: any[] = []
  for (let at = 0; at < bytes.length; ) {
    try {
      const end = endOfItem(bytes, at)
      assert.equal(bytes.subarray(at, at + 3).toString('hex'), 'd9d9f7')
      items.push(decodeCbor(bytes.subarray(at, end)))
      at = end
    } catch (error) {
      // The rest has not arrived yet.
      if ((error as Error).message === 'unexpected EOF') return items
      throw error
    }
  }
  return items
}

const text = (value: string) => Buffer.concat([Buffer.from([0x40 + value.length]), Buffer.from(value)]).toString('hex')
/** A mapping in which keys may be there twice, and values are any bytes. */
const mapping = (...members: [key: string, hex: string][]) =>
  (0xa0 + members.length).toString(16) + members.map(([key, hex]) => text(key) + hex).join('')
const CONFIG_MAP: [string, string][] = [
  ['apiVersion', text('v1')],
  ['kind', text('ConfigMap')],
]
const GEAR: [string, string][] = [
  ['apiVersion', text('example.com/v1')],
  ['kind', text('Gear')],
]
const named = (name: string): [string, string] => ['metadata', mapping(['name', text(name)])]

const defineGears = async (target: Target) => {
  const created = await ask(target, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: GEAR_DEFINITION })
  assert.ok(created.status === 201 || created.status === 409)
  await eventually('the kind is served', async () => (await ask(target, GEARS)).status === 200 || undefined)
}

test('objects of built-in kinds are created, read, listed, replaced and deleted in CBOR', patient, async () => {
  const made = await call(server, CONFIG_MAPS, { body: { ...configMap('a', { x: 'y' }), binaryData: { b: 'AQID' } } })
  assert.deepEqual([made.status, made.type, made.bytes.subarray(0, 3).toString('hex')], [201, CBOR, 'd9d9f7'])
  // Bytes are sent as they are, with the tag for base64.
  assert.ok(made.bytes.includes(Buffer.from('a14162d643010203', 'hex')))
  const read = await call(server, `${CONFIG_MAPS}/a`)
  const json = await ask(server, `${CONFIG_MAPS}/a`)
  assert.deepEqual(read.value, json.json)
  assert.deepEqual([json.json.data, json.json.binaryData], [{ x: 'y' }, { b: 'AQID' }])
  const list = await call(server, `${CONFIG_MAPS}?fieldSelector=metadata.name=a`)
  assert.deepEqual(list.value, (await ask(server, `${CONFIG_MAPS}?fieldSelector=metadata.name=a`)).json)
  assert.deepEqual((await call(server, `${CONFIG_MAPS}?labelSelector=none`)).value.items, [])
  const put = await call(server, `${CONFIG_MAPS}/a`, { method: 'PUT', body: configMap('a', { x: 'z' }) })
  assert.deepEqual([put.status, put.value.data], [200, { x: 'z' }])
  const secret = await call(server, SECRETS, {
    hex: mapping(['apiVersion', text('v1')], ['kind', text('Secret')], named('s'), ['data', mapping(['a', 'd643010203'])]),
    accept: 'application/json',
  })
  assert.deepEqual(JSON.parse(secret.value).data, { a: 'AQID' })
  const deleted = await call(server, `${CONFIG_MAPS}/a`, {
    method: 'DELETE',
    body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
  })
  assert.deepEqual([deleted.status, deleted.value.status], [200, 'Success'])
  assert.equal((await call(server, `${CONFIG_MAPS}/a`)).value.message, 'configmaps "a" not found')
})

test('custom objects are read and written in CBOR, and unknown fields go without a word', patient, async () => {
  await defineGears(server)
  const spec = { n: 3, x: 1.5, any: { k: [1, 2.5, null, 'é'] } }
  assert.equal((await call(server, GEARS, { body: gear('a', spec) })).status, 201)
  assert.deepEqual((await call(server, `${GEARS}/a`)).value, (await ask(server, `${GEARS}/a`)).json)
  assert.deepEqual((await ask(server, `${GEARS}/a`)).json.spec, spec)
  assert.deepEqual((await call(server, GEARS)).value, (await ask(server, GEARS)).json)
  const strict = await call(server, `${GEARS}?fieldValidation=Strict`, { body: gear('b', { n: 1, foo: 1 }, { bar: 2 }) })
  assert.deepEqual([strict.status, strict.warning, strict.value.spec, strict.value.bar], [201, undefined, { n: 1 }, undefined])
  const times = mapping(['t', 'c11a514b67b0'], ['b', 'd742beef'])
  const tagged = await call(server, GEARS, { hex: mapping(...GEAR, named('t'), ['spec', mapping(['any', times])]) })
  assert.deepEqual(tagged.value.spec.any, { t: '2013-03-21T20:04:00Z', b: 'beef' })
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a', namespace: 'default' }, spec: { replicas: 2 } }
  assert.deepEqual((await call(server, `${GEARS}/a/scale`, { method: 'PUT', body: scale })).value.spec, { replicas: 2 })
  // Floats of a definition stay floats.
  const definition = await call(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.example.com')
  assert.ok(definition.bytes.includes(Buffer.from(`${text('minimum')}f93c00`, 'hex')))
})

test('metadata alone is served in CBOR, and tables are not', patient, async () => {
  await call(server, CONFIG_MAPS, { body: configMap('m', { x: 'y' }) })
  for (const [path, as] of [
    [`${CONFIG_MAPS}/m`, 'PartialObjectMetadata'],
    [`${CONFIG_MAPS}?fieldSelector=metadata.name=m`, 'PartialObjectMetadataList'],
  ] as const) {
    const { value } = await call(server, path, { accept: `${CBOR};as=${as};${META}` })
    assert.deepEqual(value, (await ask(server, path, { headers: { accept: `application/json;as=${as};${META}` } })).json)
  }
  const refused = await call(server, `${CONFIG_MAPS}/m`, { accept: `${CBOR};as=Table;${META}` })
  assert.equal(refused.status, 406)
  const all = 'application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor'
  assert.equal(JSON.parse(refused.value).message, `only the following media types are accepted: ${all}`)
  const table = await call(server, `${CONFIG_MAPS}/m`, { accept: `${CBOR};as=Table;${META}, application/json;as=Table;${META}` })
  assert.equal(JSON.parse(table.value).kind, 'Table')
})

test('a watch is a sequence of data items', patient, async t => {
  await call(server, CONFIG_MAPS, { body: configMap('w', { x: '1' }) })
  const { resourceVersion } = (await call(server, `${CONFIG_MAPS}?fieldSelector=metadata.name=w`)).value.metadata
  const path = `${CONFIG_MAPS}?watch=1&fieldSelector=metadata.name=w&resourceVersion=${resourceVersion}`
  for (let i = 2; i < 5; i++) await call(server, `${CONFIG_MAPS}/w`, { method: 'PUT', body: configMap('w', { x: String(i) }) })
  const { type, events } = await watched(t, path, { count: 3, accept: `application/cbor-seq, ${CBOR}` })
  assert.equal(type, 'application/cbor-seq')
  assert.deepEqual(
    events.slice(0, 3).map(event => [event.type, event.object.kind, event.object.data.x]),
    [2, 3, 4].map(x => ['MODIFIED', 'ConfigMap', String(x)]),
  )
  const metadata = await watched(t, path, { count: 1, accept: `${CBOR};as=PartialObjectMetadata;${META}` })
  assert.deepEqual([metadata.events[0].object.kind, metadata.events[0].object.data], ['PartialObjectMetadata', undefined])
  // The media type of the sequence alone is no media type of an object.
  const refused = await call(server, path, { accept: 'application/cbor-seq' })
  assert.match(JSON.parse(refused.value).message, /^only the following media types are accepted: .*, application\/cbor$/)
})

test('configurations are applied in CBOR', patient, async () => {
  const apply = (path: string, sent: Sent) => call(server, path, { method: 'PATCH', type: APPLY, ...sent })
  const made = await apply(`${CONFIG_MAPS}/ap?fieldManager=m`, { body: configMap('ap', { a: 'b' }) })
  assert.deepEqual([made.status, made.value.metadata.managedFields[0].operation], [201, 'Apply'])
  const conflict = await apply(`${CONFIG_MAPS}/ap?fieldManager=n`, { body: configMap('ap', { a: 'c' }) })
  assert.deepEqual([conflict.status, conflict.value.message], [409, 'Apply failed with 1 conflict: conflict with "m": .data.a'])
  await defineGears(server)
  assert.equal((await apply(`${GEARS}/ap?fieldManager=m`, { body: gear('ap', { n: 1 }) })).status, 201)
  for (const [hex, message] of [
    ['a2416101416102', 'cbor: found duplicate map key "a" at map element index 1'],
    ['80', 'cbor: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['4161', 'cbor: cannot unmarshal byte string into Go value of type map[string]interface {}'],
    ['', 'EOF'],
    ['a000', 'cbor: 1 bytes of extraneous data starting at index 1'],
  ] as const) {
    const refused = await apply(`${CONFIG_MAPS}/ap?fieldManager=m`, { hex })
    assert.deepEqual([refused.status, refused.value.message], [400, `error decoding patch: ${message}`])
  }
  const manager = await apply(`${CONFIG_MAPS}/ap`, { body: configMap('ap', { a: 'b' }) })
  assert.match(manager.value.message, /fieldManager: Required value: is required for apply patch$/)
  const other = await apply(`${GEARS}/ap`, { body: {}, type: CBOR })
  assert.equal(
    other.value.message,
    'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, application/apply-patch+cbor',
  )
})

test('bodies that are no objects of the kind are refused in the words of kube-apiserver', patient, async () => {
  const unrecognized = (kind: string, why: string, shown: string) =>
    `the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`
  const undetermined = (kind: string, why: string, shown: string) =>
    unrecognized(kind, `unable to determine group/version/kind: ${why}`, shown)
  const refusedAs = (kind: string, why: string) => `${kind} in version "v1" cannot be handled as a ${kind}: ${why}`
  const map = (...more: [string, string][]) => mapping(...CONFIG_MAP, ...more)
  const beginning = `${map().replace('a2', 'a3').slice(0, 60)} ...`
  for (const [hex, message] of [
    ['', undetermined('ConfigMap', 'EOF', '<empty>')],
    ['a1', undetermined('ConfigMap', 'unexpected EOF', 'a1')],
    [
      '80',
      undetermined(
        'ConfigMap',
        'cbor: cannot unmarshal array into Go value of type v1.TypeMeta (cannot decode CBOR array to struct without toarray option)',
        '80',
      ),
    ],
    ['4161', undetermined('ConfigMap', 'cbor: cannot unmarshal byte string into Go value of type v1.TypeMeta', '4161')],
    [
      map(['x', 'f97e00']),
      undetermined('ConfigMap', 'cbor: data item of cbor type primitives is not accepted by protocol: floating-point NaN', beginning),
    ],
    [map(['kind', text('Other')]), undetermined('ConfigMap', 'cbor: found duplicate map key "kind" at map element index 2', beginning)],
    [
      mapping(['kind', '01']),
      undetermined(
        'ConfigMap',
        'cbor: cannot unmarshal positive integer into Go struct field v1.TypeMeta.kind of type string',
        mapping(['kind', '01']),
      ),
    ],
    [
      map(named('k'), ['data', mapping(['x', text('1')], ['x', text('2')])]),
      refusedAs('ConfigMap', 'cbor: found duplicate map key "x" at map element index 1'),
    ],
    [
      map(named('k'), ['data', mapping(['x', 'f7'])]),
      refusedAs('ConfigMap', 'cbor: data item of cbor type primitives is not accepted by protocol: simple value 23 is not recognized'),
    ],
    [map(named('k'), ['data', mapping(['x', '62c328'])]), refusedAs('ConfigMap', 'cbor: invalid UTF-8 string')],
    ...(
      [
        [['data', 'a10102'], 'positive integer', 'data of type string'],
        [['data', mapping(['x', '01'])], 'positive integer', 'data of type string'],
        [['data', '80'], 'array', 'data of type map[string]string'],
        [['binaryData', mapping(['x', '6441514944'])], 'UTF-8 text string', 'binaryData of type []uint8'],
        [['metadata', mapping(['name', '01'])], 'positive integer', 'metadata of type string'],
        [['metadata', text('x')], 'byte string', 'metadata of type v1.ObjectMeta'],
        [['immutable', 'f93c00'], 'primitives', 'immutable of type bool'],
      ] as const
    ).map(
      ([member, sent, field]) =>
        [map([...member]), refusedAs('ConfigMap', `cbor: cannot unmarshal ${sent} into Go struct field v1.ConfigMap.${field}`)] as const,
    ),
    [
      map(['binaryData', mapping(['x', text('%%')])]),
      refusedAs('ConfigMap', 'cbor: failed to decode base64 from byte string: illegal base64 data at input byte 0'),
    ],
  ] as const) {
    const { status, value } = await call(server, CONFIG_MAPS, { hex })
    assert.deepEqual([status, value.message], [400, message], hex)
  }
  const pod = (spec: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec })
  const container = { name: 'c', image: 'x' }
  for (const [spec, why] of [
    [{ containers: [{ ...container, image: 1 }] }, 'positive integer into Go struct field v1.Pod.spec of type string'],
    [
      { priority: 2 ** 40, containers: [container] },
      'positive integer into Go struct field v1.Pod.spec of type int32 (1099511627776 overflows int32)',
    ],
    [{ priority: 1.5, containers: [container] }, 'primitives into Go struct field v1.Pod.spec of type int32'],
    [{ containers: 'x' }, 'byte string into Go struct field v1.Pod.spec of type []v1.Container'],
    [
      { containers: [{ ...container, resources: { limits: { cpu: 1 } } }] },
      'positive integer into Go struct field v1.Pod.spec of type string',
    ],
  ] as const) {
    const { value } = await call(server, '/api/v1/namespaces/default/pods', { body: pod(spec) })
    assert.equal(value.message, refusedAs('Pod', `cbor: cannot unmarshal ${why}`))
  }
  await defineGears(server)
  for (const [hex, message] of [
    ['a1', undetermined('Gear', 'unexpected EOF', 'a1')],
    ['f6', unrecognized('Gear', "Object 'Kind' is missing in 'null'", 'f6')],
    [mapping(['a', '01']), unrecognized('Gear', "Object 'Kind' is missing in '{'a': 1}'", mapping(['a', '01']))],
    [
      mapping(['kind', text('Gear')]),
      `Gear in version "" cannot be handled as a Gear: Object 'apiVersion' is missing in '{'kind': 'Gear'}'`,
    ],
    [
      mapping(...GEAR, named('d'), ['spec', mapping(['n', '01'], ['n', '02'])]),
      refusedAs('Gear', 'cbor: found duplicate map key "n" at map element index 1'),
    ],
    [
      mapping(...GEAR, named('d'), ['spec', 'a10102']),
      refusedAs('Gear', 'cbor: cannot unmarshal positive integer into Go value of type string'),
    ],
    [
      mapping(...GEAR, named('d'), ['spec', mapping(['n', '1bffffffffffffffff'])]),
      refusedAs('Gear', "cbor: cannot unmarshal positive integer into Go value of type int64 (18446744073709551615 overflows Go's int64)"),
    ],
  ] as const) {
    const { status, value } = await call(server, GEARS, { hex })
    assert.deepEqual([status, value.message], [400, message], hex)
  }
  const options = await call(server, `${CONFIG_MAPS}/none`, { method: 'DELETE', hex: 'a0ff' })
  assert.equal(options.value.message, 'unable to determine group/version/kind: cbor: 1 bytes of extraneous data starting at index 1')
})

test('one unknown field is reported, by its position', patient, async () => {
  const inside = mapping(...CONFIG_MAP, ['metadata', mapping(['name', text('u')], ['zzz', '01'])])
  const both = mapping(...CONFIG_MAP, ['metadata', mapping(['name', text('u')], ['zzz', '01'])], ['foo', '01'], ['bar', '01'])
  const problem = (index: number) => `cbor: found unknown field at map element index ${index}`
  for (const [hex, index] of [
    [inside, 1],
    [both, 3],
  ] as const) {
    const strict = await call(server, `${CONFIG_MAPS}?fieldValidation=Strict`, { hex })
    assert.equal(
      strict.value.message,
      `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ${problem(index)}`,
    )
    const warned = await call(server, `${CONFIG_MAPS}?dryRun=All`, { hex })
    assert.deepEqual([warned.status, warned.warning], [201, `299 - "${problem(index)}"`])
    const ignored = await call(server, `${CONFIG_MAPS}?dryRun=All&fieldValidation=Ignore`, { hex })
    assert.deepEqual([ignored.status, ignored.warning], [201, undefined])
  }
})

test('a body of too many values or levels is refused before it is read', patient, async () => {
  const many = await call(server, CONFIG_MAPS, { hex: `9a00100000${'80'.repeat(1 << 20)}` })
  assert.deepEqual([many.status, many.value.reason], [413, 'RequestEntityTooLarge'])
  const parts = await call(server, CONFIG_MAPS, { hex: `5f${'40'.repeat(1 << 20)}ff` })
  assert.equal(parts.status, 413)
  const deep = await call(server, CONFIG_MAPS, { hex: '81'.repeat(1 << 20) })
  assert.match(deep.value.message, /cbor: exceeded max nested level 1000 \(/)
  const huge = await call(server, CONFIG_MAPS, { hex: '5b00000fffffffffff' })
  assert.match(huge.value.message, /: unexpected EOF \(/)
})

test('discovery, OpenAPI and status pages say and do the same', patient, async () => {
  await defineGears(server)
  for (const path of ['/api', '/apis', '/api/v1', '/apis/apps', '/apis/apps/v1', '/apis/example.com']) {
    const { type, value } = await call(server, path)
    assert.equal(type, CBOR, path)
    assert.deepEqual(value, (await ask(server, path)).json)
  }
  const aggregated = await call(server, '/apis', { accept: `${CBOR};as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io` })
  assert.deepEqual(
    [aggregated.type, aggregated.value.kind],
    [`${CBOR};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`, 'APIGroupDiscoveryList'],
  )
  assert.equal((await call(server, '/apis/example.com/v1')).status, 406)
  const paths = async (target: Target, path: string) => (await ask(target, path)).json.paths
  const v2 = await paths(server, '/openapi/v2')
  assert.deepEqual(v2[`${CONFIG_MAPS.replace('default', '{namespace}')}`].get.produces, [
    'application/json',
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    CBOR,
    'application/json;stream=watch',
    'application/vnd.kubernetes.protobuf;stream=watch',
    'application/cbor-seq',
  ])
  const patches = (items: any, path: string) => items[path].patch.consumes.includes(APPLY)
  assert.ok(patches(v2, '/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale'))
  assert.ok(!patches(v2, '/apis/example.com/v1/namespaces/{namespace}/gears/{name}'))
  assert.ok(!JSON.stringify(await paths(plain, '/openapi/v3/api/v1')).includes('cbor'))
  const status = await call(server, '/statusz', { accept: `${CBOR};as=Statusz;v=v1beta1;g=config.k8s.io` })
  assert.equal(status.value.kind, 'Statusz')
})

test('without the gate there is no CBOR', patient, async () => {
  const all = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
  const read = await call(plain, CONFIG_MAPS)
  assert.deepEqual([read.status, read.type], [406, 'application/json'])
  const streams = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch'
  assert.equal(JSON.parse(read.value).message, `406: Not Acceptable\n\nAvailable representations: ${all}, ${streams}`)
  const write = await call(plain, CONFIG_MAPS, { body: configMap('a'), accept: 'application/json' })
  assert.deepEqual(
    [write.status, JSON.parse(write.value).message],
    [415, `the body of the request was in an unknown format - accepted media types include: ${all}`],
  )
  const apply = await call(plain, `${CONFIG_MAPS}/a?fieldManager=m`, {
    method: 'PATCH',
    type: APPLY,
    body: configMap('a'),
    accept: 'application/json',
  })
  assert.equal(apply.status, 415)
  await defineGears(plain)
  assert.equal(JSON.parse((await call(plain, GEARS)).value).message, `only the following media types are accepted: ${all}`)
  assert.equal((await call(plain, '/apis')).status, 406)
  assert.equal((await call(plain, '/api')).status, 406)
})
