/** Bodies of up to 3 MB that are made to be expensive, over every media type and verb: the requests of `cost.test.ts`. */
import { fieldHead } from '../../src/codec/protobuf-envelope.ts'
import { CONFIG_MAPS } from '../kit.ts'

export type HostileRequest = {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly type?: string
  readonly body?: string | Uint8Array
  readonly headers?: Record<string, string>
  /** What it must be answered with, where that matters; else anything but a failure of the server. */
  readonly status?: number
}

const YAML = 'application/yaml'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const JSON_PATCH = 'application/json-patch+json'
const MERGE_PATCH = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const APPLY = 'application/apply-patch+yaml'
const PODS = '/api/v1/namespaces/default/pods'

const times = (n: number, text: string) => text.repeat(n)
const keys = (n: number, value: unknown = 'v') => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, value]))
const list = (n: number, item: (i: number) => unknown) => Array.from({ length: n }, (_, i) => item(i))
const configMap = (name: string, more: object, metadata: object = {}) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...more })
const pod = (spec: object) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'b' }], ...spec } })
const deployment = (replicas: unknown, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'held', ...more },
  spec: {
    replicas,
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'd' }] } },
  },
})

const field = (number: number, bytes: Uint8Array) => Buffer.concat([fieldHead(number, bytes.length), bytes])
const message = (kind: string, raw: Uint8Array, apiVersion = 'v1') =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    field(1, Buffer.concat([field(1, Buffer.from(apiVersion)), field(2, Buffer.from(kind))])),
    field(2, raw),
  ])
/** A field with nothing in it, again and again. */
const emptyFields = (number: number, bytes: number) => Buffer.alloc(bytes, Buffer.from([number * 8 + 2, 0]))

/** As many values as a body may just hold. */
const MOST = 48_000

const create = (name: string, body: string | Uint8Array, type = 'application/json', path = CONFIG_MAPS): HostileRequest => ({
  name,
  method: 'POST',
  path,
  type,
  body,
})
const change = (name: string, type: string, body: string, path = `${CONFIG_MAPS}/held`): HostileRequest => ({
  name,
  method: 'PATCH',
  path,
  type,
  body,
})

const yaml: HostileRequest[] = [
  create('1.4 MB of quotes', times(1_400_000, '"'), YAML),
  create('3 MB of quotes', times(3_000_000, '"'), YAML),
  create('a list of 700,000 letters', `a: [${times(700_000, 'b,')}]`, YAML),
  create('pairs in a list', `[${times(600_000, 'a: b,')}]`, YAML),
  create('tags', times(300_000, '- !!str a\n'), YAML),
  create('documents', times(750_000, '---\n'), YAML),
  create('keys without values', times(750_000, '? a\n'), YAML),
  create('anchors', list(150_000, i => `- &a${i} b\n`).join(''), YAML),
  create('aliases of aliases', list(30, i => `a${i}: &a${i} [${i === 0 ? 'x' : times(20, `*a${i - 1},`)}]\n`).join(''), YAML),
  create('depth', times(1_500_000, '[ '), YAML),
  create('colons', times(3_000_000, ':'), YAML),
  create('comments', times(1_500_000, '#\n'), YAML),
  create('one folded line', `a: >\n${times(700_000, '  b\n')}`, YAML),
  create('escapes', `a: "${times(700_000, '\\x41')}"`, YAML),
  create('as many keys as may be', `metadata: {name: y}\ndata:\n${list(MOST, i => `  k${i}: v\n`).join('')}`, YAML),
  { ...change('a list as apply', APPLY, `a: [${times(700_000, 'b,')}]`), path: `${CONFIG_MAPS}/held?fieldManager=m` },
]

const json: HostileRequest[] = [
  create('1.5 million zeros', `{"a":[${times(1_500_000, '0,')}0]}`),
  create('duplicate keys', `{${times(400_000, '"a":1,')}"a":1}`),
  create('as many duplicate keys as may be', `{${list(MOST / 2, i => `"k${i}":1,"k${i}":2`).join(',')}}`),
  create('depth', times(1_500_000, '[')),
  create('depth of objects', times(600_000, '{"a":')),
  create('escapes', `{"metadata":{"name":"es"},"data":{"a":"${times(480_000, '\\u0041')}"}}`),
  create('surrogates', `{"metadata":{"name":"su"},"data":{"a":"${times(240_000, '\\ud83d\\ude00')}"}}`),
  create('no UTF-8', Buffer.alloc(2_900_000, 0xff)),
  create('long numbers', `{"a":[${times(40_000, `${times(60, '9')},`)}0]}`),
  create('100,000 labels that are not valid', configMap('l', {}, { labels: keys(100_000, '-') })),
  create('as many labels that are not valid as may be', configMap('l', {}, { labels: keys(MOST, '-') })),
  create('as many keys as may be', configMap('d', { data: keys(MOST) })),
  create('as many finalizers as may be', configMap('f', {}, { finalizers: list(MOST, i => `a/b${i}`) })),
  create('as many owners as may be', configMap('o', {}, { ownerReferences: list(MOST, () => ({})) })),
  create('unknown fields', configMap('u', keys(MOST, 1))),
  { ...create('unknown fields, strictly', configMap('u', keys(MOST, 1))), path: `${CONFIG_MAPS}?fieldValidation=Strict` },
  create(
    'owned fields that own nothing',
    configMap('m', {}, { managedFields: list(5_000, i => ({ manager: `m${i}`, operation: 'Update', fieldsV1: { 'f:a': {} } })) }),
  ),
  create('containers without anything', pod({ containers: list(MOST, () => ({})) }), 'application/json', PODS),
  create('containers', pod({ containers: list(MOST / 3, i => ({ name: `c${i}`, image: 'x' })) }), 'application/json', PODS),
  create(
    'variables',
    pod({ containers: [{ name: 'a', image: 'b', env: list(MOST / 3, i => ({ name: `e${i}`, value: 'x' })) }] }),
    'application/json',
    PODS,
  ),
  create('volumes without anything', pod({ volumes: list(MOST, () => ({})) }), 'application/json', PODS),
  create('constraints without anything', pod({ topologySpreadConstraints: list(MOST, () => ({})) }), 'application/json', PODS),
]

const protobuf: HostileRequest[] = [
  create('2.6 MB of owners without anything', message('ConfigMap', field(1, emptyFields(13, 2_600_000))), PROTOBUF),
  create('as many owners without anything as may be', message('ConfigMap', field(1, emptyFields(13, 2 * MOST))), PROTOBUF),
  create('containers without anything', message('Pod', field(2, emptyFields(2, 2_900_000))), PROTOBUF, PODS),
  create('fields that nobody knows', message('ConfigMap', emptyFields(15, 2_900_000)), PROTOBUF),
  create(
    'depth',
    message(
      'ConfigMap',
      list(20_000, () => 0x0a).reduce<Buffer>(inner => (inner.length < 5_000 ? field(1, inner) : inner), Buffer.alloc(0)),
    ),
    PROTOBUF,
  ),
  create('one long name', message('ConfigMap', field(1, field(1, Buffer.alloc(2_900_000, 0x61)))), PROTOBUF),
]

const patches: HostileRequest[] = [
  change('10,000 operations', JSON_PATCH, JSON.stringify(list(10_000, i => ({ op: 'add', path: `/data/x${i}`, value: 'y' })))),
  change('too many operations', JSON_PATCH, JSON.stringify(list(15_000, i => ({ op: 'test', path: '/data', value: i })))),
  change('copies of copies', JSON_PATCH, JSON.stringify(list(9_000, i => ({ op: 'copy', from: '/data', path: `/data/c${i}` })))),
  change('a path of 100,000 steps', JSON_PATCH, JSON.stringify([{ op: 'add', path: times(100_000, '/a'), value: 1 }])),
  change('many keys merged', MERGE_PATCH, JSON.stringify({ data: keys(MOST) })),
  change('depth merged', MERGE_PATCH, `${times(500_000, '{"a":')}1${times(500_000, '}')}`),
  change('many keys merged by strategy', STRATEGIC, JSON.stringify({ data: keys(MOST) })),
  change(
    'directives of strategy',
    STRATEGIC,
    JSON.stringify({ metadata: { '$setElementOrder/finalizers': list(MOST, i => `a/b${i}`), finalizers: list(100, i => `a/b${i}`) } }),
  ),
  change(
    'containers merged by name',
    STRATEGIC,
    JSON.stringify({ spec: { template: { spec: { containers: list(MOST / 3, i => ({ name: `c${i}`, image: 'x' })) } } } }),
    '/apis/apps/v1/namespaces/default/deployments/held',
  ),
  { ...change('many keys applied', APPLY, configMap('applied', { data: keys(MOST) })), path: `${CONFIG_MAPS}/applied?fieldManager=m` },
  {
    ...change('many keys applied again', APPLY, configMap('applied', { data: { ...keys(MOST), x: 'y' } })),
    path: `${CONFIG_MAPS}/applied?fieldManager=m`,
  },
  {
    ...change('many conflicts', APPLY, configMap('applied', { data: keys(MOST, 'w') })),
    path: `${CONFIG_MAPS}/applied?fieldManager=n`,
    status: 409,
  },
  { name: 'many keys replaced', method: 'PUT', path: `${CONFIG_MAPS}/held`, body: configMap('held', { data: keys(MOST, 'r') }) },
  { name: 'and deleted', method: 'DELETE', path: `${CONFIG_MAPS}/applied` },
]

const otherVerbs: HostileRequest[] = [
  {
    name: 'options of a delete',
    method: 'DELETE',
    path: `${CONFIG_MAPS}/nothing`,
    body: JSON.stringify({ dryRun: list(MOST, () => 'All') }),
  },
  { name: 'options as YAML', method: 'DELETE', path: `${CONFIG_MAPS}/nothing`, type: YAML, body: `dryRun: [${times(700_000, 'a,')}]` },
  {
    name: 'options of many deletes',
    method: 'DELETE',
    path: `${CONFIG_MAPS}?labelSelector=none`,
    body: `{"dryRun":[${times(1_000_000, '1,')}1]}`,
  },
  {
    name: 'a review of access',
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: JSON.stringify({
      spec: { user: 'a', groups: list(MOST, i => `g${i}`), extra: keys(100, ['x']), nonResourceAttributes: { path: '/', verb: 'get' } },
    }),
  },
  {
    name: 'a review of a token',
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: JSON.stringify({ spec: { token: times(2_900_000, 'a') } }),
  },
  {
    name: 'a scale',
    method: 'PUT',
    path: '/apis/apps/v1/namespaces/default/deployments/held/scale',
    body: JSON.stringify({ metadata: { name: 'held', labels: keys(MOST) }, spec: { replicas: 1 } }),
  },
  {
    name: 'a patch of a scale',
    method: 'PATCH',
    path: '/apis/apps/v1/namespaces/default/deployments/held/scale',
    type: MERGE_PATCH,
    body: JSON.stringify({ spec: { replicas: 1 }, status: keys(MOST) }),
  },
  {
    name: 'a status',
    method: 'PUT',
    path: '/apis/apps/v1/namespaces/default/deployments/held/status',
    body: JSON.stringify({ ...deployment(1), status: { conditions: list(MOST / 3, i => ({ type: `t${i}`, status: 'True' })) } }),
  },
  {
    name: 'an eviction',
    method: 'POST',
    path: `${PODS}/nothing/eviction`,
    body: JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'nothing', labels: keys(MOST) } }),
  },
  {
    name: 'a binding',
    method: 'POST',
    path: `${PODS}/nothing/binding`,
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'nothing', annotations: keys(MOST) },
      target: { name: 'n' },
    }),
  },
  { name: 'a selector', method: 'GET', path: `${CONFIG_MAPS}?labelSelector=${encodeURIComponent(list(5_000, i => `a${i}!=b`).join(','))}` },
]

/** Objects about as large as may be stored, written and read in every way. */
const containers = (n: number, image: string) => pod({ containers: list(n, i => ({ name: `c${i}`, image })) }).replace('"p"', '"many"')
const read = (name: string, path: string, accept?: string): HostileRequest => ({
  name,
  method: 'GET',
  path,
  ...(accept && { headers: { accept } }),
})
const created = (path: string, apiVersion: string, kind: string, content: object) =>
  create('', JSON.stringify({ apiVersion, kind, metadata: { name: 'large' }, ...content }), 'application/json', path)

const large: HostileRequest[] = [
  { ...create('containers', containers(9_800, 'x'), 'application/json', PODS), status: 201 },
  { name: 'containers replaced', method: 'PUT', path: `${PODS}/many`, body: containers(9_800, 'y'), status: 200 },
  change('a label of many containers', MERGE_PATCH, '{"metadata":{"labels":{"a":"b"}}}', `${PODS}/many`),
  read('containers as YAML', `${PODS}/many`, YAML),
  read('containers, pretty', `${PODS}/many?pretty=true`),
  read('containers as protobuf', `${PODS}/many`, PROTOBUF),
  read('a list as YAML', PODS, YAML),
  read('a list, pretty', `${PODS}?pretty=true`),
  create('volumes', pod({ volumes: list(12_000, i => ({ name: `v${i}`, emptyDir: {} })) }), 'application/json', PODS),
  {
    ...created('/apis/networking.k8s.io/v1/namespaces/default/networkpolicies', 'networking.k8s.io/v1', 'NetworkPolicy', {
      spec: { podSelector: {}, ingress: [{ from: list(16_000, i => ({ ipBlock: { cidr: `10.${i >> 8}.${i & 255}.0/24` } })) }] },
    }),
    name: 'blocks of addresses',
  },
  {
    ...created('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', 'discovery.k8s.io/v1', 'EndpointSlice', {
      addressType: 'IPv4',
      endpoints: list(1000, i => ({ addresses: list(40, j => `10.${j}.${i >> 8}.${i & 255}`) })),
    }),
    name: 'addresses',
  },
  { ...created('/api/v1/namespaces/default/secrets', 'v1', 'Secret', { data: keys(45_000, 'YQ==') }), name: 'a secret' },
  {
    ...created('/api/v1/namespaces/default/services', 'v1', 'Service', {
      spec: { ports: list(12_000, i => ({ name: `p${i}`, port: i + 1 })) },
    }),
    name: 'ports',
  },
]

const WIDGETS = '/apis/hostile.example.com/v1/namespaces/default/widgets'
const definition = (name: string, version: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${name}s.hostile.example.com` },
  spec: {
    group: 'hostile.example.com',
    scope: 'Namespaced',
    names: { kind: name[0]!.toUpperCase() + name.slice(1), plural: `${name}s` },
    versions: [{ name: 'v1', served: true, storage: true, ...version }],
  },
})

/** What the requests need to be there: sent before, in order, and not measured. */
export const PREPARATIONS: readonly HostileRequest[] = [
  create('held', configMap('held', { data: { a: 'b' } })),
  create('a deployment', JSON.stringify(deployment(1)), 'application/json', '/apis/apps/v1/namespaces/default/deployments'),
  create(
    'alternatives and columns',
    JSON.stringify(
      definition('widget', {
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                'x-kubernetes-preserve-unknown-fields': true,
                anyOf: list(10_000, i => ({ required: [`r${i}`] })),
              },
            },
          },
        },
        additionalPrinterColumns: list(8, i => ({ name: `C${i}`, type: 'string', jsonPath: '...*...*' })),
      }),
    ),
    'application/json',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ),
]

const custom: HostileRequest[] = [
  create(
    'an object for 10,000 alternatives',
    JSON.stringify({ apiVersion: 'hostile.example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec: keys(20_000, 1) }),
    'application/json',
    WIDGETS,
  ),
  create(
    'one that fits the last',
    JSON.stringify({
      apiVersion: 'hostile.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'b' },
      spec: { r9999: 1, ...keys(1_000, { a: { b: 1 } }) },
    }),
    'application/json',
    WIDGETS,
  ),
  {
    name: 'columns that look everywhere',
    method: 'GET',
    path: WIDGETS,
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  },
]

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const schema = (spec: object) => ({ schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } })
const properties = (n: number, property: (i: number) => object) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${i}`, property(i)]))

const definitions: HostileRequest[] = [
  create(
    'patterns that stand for large programs',
    JSON.stringify(
      definition(
        'pattern',
        schema({ type: 'object', properties: properties(12_000, i => ({ type: 'string', pattern: `^[a-z]{1,${(i % 900) + 1}}$` })) }),
      ),
    ),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'the same pattern everywhere',
    JSON.stringify(
      definition(
        'repeated',
        schema({ type: 'object', properties: properties(12_000, () => ({ type: 'string', pattern: '^[a-z]{1,900}$' })) }),
      ),
    ),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'texts for that pattern',
    JSON.stringify({
      apiVersion: 'hostile.example.com/v1',
      kind: 'Repeated',
      metadata: { name: 'a' },
      spec: Object.fromEntries(Array.from({ length: 12_000 }, (_, i) => [`p${i}`, 'abc'])),
    }),
    'application/json',
    '/apis/hostile.example.com/v1/namespaces/default/repeateds',
  ),
]

const groups: Record<string, readonly HostileRequest[]> = {
  yaml,
  json,
  protobuf,
  patches,
  'other verbs': otherVerbs,
  large,
  custom,
  definitions,
}

/** All of them, each named by its kind. */
export const HOSTILE_REQUESTS: readonly HostileRequest[] = Object.entries(groups).flatMap(([group, requests]) =>
  requests.map(request => ({ ...request, name: `${group}: ${request.name}` })),
)
