/** Bodies of up to 3 MB that are constructed to be expensive, over every media type and verb: the requests of `cost.test.ts`. */
import { stringify } from 'yaml'
import { fieldHead } from '../../src/codec/protobuf-envelope.ts'
import { CONFIG_MAPS } from '../kit.ts'
import { combinations, STORED } from './combinations.ts'
import {
  APPLY,
  change,
  configMap,
  create,
  DEFINITIONS,
  definition,
  entries,
  type HostileRequest,
  JSON_PATCH,
  keys,
  list,
  MERGE_PATCH,
  PODS,
  PROTOBUF,
  pod,
  read,
  STRATEGIC,
  schema,
  times,
  YAML,
} from './request.ts'

export type { HostileRequest } from './request.ts'

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
/** An empty field, repeated. */
const emptyFields = (number: number, bytes: number) => Buffer.alloc(bytes, Buffer.from([number * 8 + 2, 0]))

/** The maximum number of values of a body, and of keys in one mapping, which count twice. */
const MAX_VALUES = 48_000
const MAX_KEYS = MAX_VALUES / 2
/** The maximum number of values of a custom object or a definition. */
const MAX_CUSTOM_VALUES = 190_000

const yaml = (): HostileRequest[] => [
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
  create('as many keys as may be', `metadata: {name: yaml}\ndata:\n${list(MAX_KEYS, i => `  k${i}: v\n`).join('')}`, YAML),
  create('more keys than may be', `metadata: {name: yaml}\ndata:\n${list(MAX_VALUES, i => `  k${i}: v\n`).join('')}`, YAML),
  { ...change('a list as apply', APPLY, `a: [${times(700_000, 'b,')}]`), path: `${CONFIG_MAPS}/held?fieldManager=m` },
]

const json = (): HostileRequest[] => [
  create('1.5 million zeros', `{"a":[${times(1_500_000, '0,')}0]}`),
  create('duplicate keys', `{${times(400_000, '"a":1,')}"a":1}`),
  create('as many duplicate keys as may be', `{${list(MAX_VALUES / 2, i => `"k${i}":1,"k${i}":2`).join(',')}}`),
  create('depth', times(1_500_000, '[')),
  create('depth of objects', times(600_000, '{"a":')),
  create('escapes', `{"metadata":{"name":"es"},"data":{"a":"${times(480_000, '\\u0041')}"}}`),
  create('surrogates', `{"metadata":{"name":"su"},"data":{"a":"${times(240_000, '\\ud83d\\ude00')}"}}`),
  create('no UTF-8', Buffer.alloc(2_900_000, 0xff)),
  create('long numbers', `{"a":[${times(40_000, `${times(60, '9')},`)}0]}`),
  create('100,000 labels that are not valid', configMap('l', {}, { labels: keys(100_000, '-') })),
  create('as many labels that are not valid as may be', configMap('l', {}, { labels: keys(MAX_KEYS, '-') })),
  create('as many keys as may be', configMap('d', { data: keys(MAX_KEYS) })),
  { ...create('more keys than may be', configMap('d', { data: keys(MAX_VALUES) })), status: 413 },
  create('as many finalizers as may be', configMap('f', {}, { finalizers: list(36_000, i => `a/b${i}`) })),
  create('as many owners as may be', configMap('o', {}, { ownerReferences: list(MAX_VALUES, () => ({})) })),
  create('unknown fields', configMap('u', keys(MAX_KEYS, 1))),
  { ...create('unknown fields, strictly', configMap('u', keys(MAX_KEYS, 1))), path: `${CONFIG_MAPS}?fieldValidation=Strict` },
  create(
    'owned fields that own nothing',
    configMap('m', {}, { managedFields: list(5_000, i => ({ manager: `m${i}`, operation: 'Update', fieldsV1: { 'f:a': {} } })) }),
  ),
  create('containers without anything', pod({ containers: list(MAX_VALUES, () => ({})) }), 'application/json', PODS),
  create('containers', pod({ containers: list(MAX_VALUES / 3, i => ({ name: `c${i}`, image: 'x' })) }), 'application/json', PODS),
  create(
    'variables',
    pod({ containers: [{ name: 'a', image: 'b', env: list(MAX_VALUES / 3, i => ({ name: `e${i}`, value: 'x' })) }] }),
    'application/json',
    PODS,
  ),
  create('volumes without anything', pod({ volumes: list(MAX_VALUES, () => ({})) }), 'application/json', PODS),
  create('constraints without anything', pod({ topologySpreadConstraints: list(MAX_VALUES, () => ({})) }), 'application/json', PODS),
]

const protobuf = (): HostileRequest[] => [
  create('2.6 MB of owners without anything', message('ConfigMap', field(1, emptyFields(13, 2_600_000))), PROTOBUF),
  create('as many owners without anything as may be', message('ConfigMap', field(1, emptyFields(13, 2 * MAX_VALUES))), PROTOBUF),
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

const patches = (): HostileRequest[] => [
  change('10,000 operations', JSON_PATCH, JSON.stringify(list(10_000, i => ({ op: 'add', path: `/data/x${i % 2_000}`, value: 'y' })))),
  change('too many operations', JSON_PATCH, JSON.stringify(list(15_000, i => ({ op: 'test', path: '/data', value: i })))),
  change('copies of copies', JSON_PATCH, JSON.stringify(list(9_000, i => ({ op: 'copy', from: '/data', path: `/data/c${i}` })))),
  change('a path of 100,000 steps', JSON_PATCH, JSON.stringify([{ op: 'add', path: times(100_000, '/a'), value: 1 }])),
  change('many keys merged', MERGE_PATCH, JSON.stringify({ data: keys(MAX_KEYS) })),
  change('depth merged', MERGE_PATCH, `${times(500_000, '{"a":')}1${times(500_000, '}')}`),
  change('many keys merged by strategy', STRATEGIC, JSON.stringify({ data: keys(MAX_KEYS) })),
  change(
    'directives of strategy',
    STRATEGIC,
    JSON.stringify({
      metadata: { '$setElementOrder/finalizers': list(MAX_VALUES, i => `a/b${i}`), finalizers: list(100, i => `a/b${i}`) },
    }),
  ),
  change(
    'containers merged by name',
    STRATEGIC,
    JSON.stringify({ spec: { template: { spec: { containers: list(MAX_VALUES / 3, i => ({ name: `c${i}`, image: 'x' })) } } } }),
    '/apis/apps/v1/namespaces/default/deployments/held',
  ),
  { ...change('many keys applied', APPLY, configMap('applied', { data: keys(MAX_KEYS) })), path: `${CONFIG_MAPS}/applied?fieldManager=m` },
  {
    ...change('many keys applied again', APPLY, configMap('applied', { data: { ...keys(MAX_KEYS), x: 'y' } })),
    path: `${CONFIG_MAPS}/applied?fieldManager=m`,
  },
  {
    ...change('many conflicts', APPLY, configMap('applied', { data: keys(MAX_KEYS, 'w') })),
    path: `${CONFIG_MAPS}/applied?fieldManager=n`,
    status: 409,
  },
  { name: 'many keys replaced', method: 'PUT', path: `${CONFIG_MAPS}/held`, body: configMap('held', { data: keys(MAX_KEYS, 'r') }) },
  { name: 'and deleted', method: 'DELETE', path: `${CONFIG_MAPS}/applied` },
]

const otherVerbs = (): HostileRequest[] => [
  {
    name: 'options of a delete',
    method: 'DELETE',
    path: `${CONFIG_MAPS}/nothing`,
    body: JSON.stringify({ dryRun: list(MAX_VALUES, () => 'All') }),
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
      spec: {
        user: 'a',
        groups: list(MAX_VALUES, i => `g${i}`),
        extra: keys(100, ['x']),
        nonResourceAttributes: { path: '/', verb: 'get' },
      },
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
    body: JSON.stringify({ metadata: { name: 'held', labels: keys(MAX_KEYS) }, spec: { replicas: 1 } }),
  },
  {
    name: 'a patch of a scale',
    method: 'PATCH',
    path: '/apis/apps/v1/namespaces/default/deployments/held/scale',
    type: MERGE_PATCH,
    body: JSON.stringify({ spec: { replicas: 1 }, status: keys(MAX_KEYS) }),
  },
  {
    name: 'a status',
    method: 'PUT',
    path: '/apis/apps/v1/namespaces/default/deployments/held/status',
    body: JSON.stringify({ ...deployment(1), status: { conditions: list(MAX_VALUES / 3, i => ({ type: `t${i}`, status: 'True' })) } }),
  },
  {
    name: 'an eviction',
    method: 'POST',
    path: `${PODS}/nothing/eviction`,
    body: JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'nothing', labels: keys(MAX_KEYS) } }),
  },
  {
    name: 'a binding',
    method: 'POST',
    path: `${PODS}/nothing/binding`,
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'nothing', annotations: keys(MAX_KEYS) },
      target: { name: 'n' },
    }),
  },
  { name: 'a selector', method: 'GET', path: `${CONFIG_MAPS}?labelSelector=${encodeURIComponent(list(5_000, i => `a${i}!=b`).join(','))}` },
]

/** Objects about as large as may be stored, written and read in every way. */
const containers = (n: number, image: string) => pod({ containers: list(n, i => ({ name: `c${i}`, image })) }).replace('"p"', '"many"')
const created = (path: string, apiVersion: string, kind: string, content: object) =>
  create('', JSON.stringify({ apiVersion, kind, metadata: { name: 'large' }, ...content }), 'application/json', path)

const large = (): HostileRequest[] => [
  { ...create('containers', containers(5_500, 'x'), 'application/json', PODS), status: 201 },
  { name: 'containers replaced', method: 'PUT', path: `${PODS}/many`, body: containers(5_500, 'y'), status: 200 },
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
  { ...created('/api/v1/namespaces/default/secrets', 'v1', 'Secret', { data: keys(MAX_KEYS - 100, 'YQ==') }), name: 'a secret' },
  {
    ...created('/api/v1/namespaces/default/services', 'v1', 'Service', {
      spec: { ports: list(12_000, i => ({ name: `p${i}`, port: i + 1 })) },
    }),
    name: 'ports',
  },
]

const WIDGETS = '/apis/hostile.example.com/v1/namespaces/default/widgets'
const policy = (name: string, label: string, validations: readonly string[]): HostileRequest =>
  create(
    `a policy: ${name}`,
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          objectSelector: { matchLabels: { [label]: 'yes' } },
          resourceRules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: ['configmaps'] }],
        },
        validations: validations.map(expression => ({ expression })),
      },
    }),
    'application/json',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  )
const bindingOf = (name: string): HostileRequest =>
  create(
    `its binding: ${name}`,
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    }),
    'application/json',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  )

/** Objects that the requests need: created before, in order, and not measured. */
const PREPARED: readonly HostileRequest[] = [
  create('held', configMap('held', { data: { a: 'b' } })),
  create('a deployment', JSON.stringify(deployment(1)), 'application/json', '/apis/apps/v1/namespaces/default/deployments'),
  create(
    'alternatives and columns',
    JSON.stringify(
      definition('widget', {
        ...schema({
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          anyOf: list(10_000, i => ({ required: [`r${i}`] })),
        }),
        additionalPrinterColumns: list(8, i => ({ name: `C${i}`, type: 'string', jsonPath: '...*...*' })),
      }),
    ),
    'application/json',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ),
  create(
    'reports',
    JSON.stringify(
      definition('report', {
        ...schema({
          type: 'object',
          properties: {
            findings: {
              type: 'array',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['id'],
              items: {
                type: 'object',
                required: ['id'],
                properties: {
                  id: { type: 'string', maxLength: 100, pattern: '^[A-Za-z0-9-]+$' },
                  severity: { type: 'string', enum: ['HIGH', 'MEDIUM', 'LOW', 'NONE'] },
                  score: { type: 'integer', minimum: 0 },
                  links: { type: 'array', items: { type: 'string', format: 'uri' } },
                },
              },
            },
            tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
            filled: {
              type: 'array',
              items: { type: 'object', properties: entries(20, i => [`d${i}`, { type: 'integer', default: i }]) },
            },
            ruled: {
              type: 'array',
              maxItems: 50_000,
              items: {
                type: 'object',
                properties: { low: { type: 'integer' }, high: { type: 'integer' } },
                'x-kubernetes-validations': [{ rule: 'self.low < self.high' }],
              },
            },
            pairs: {
              type: 'array',
              maxItems: 1_000,
              items: { type: 'integer' },
              'x-kubernetes-validations': [{ rule: 'self.all(x, self.exists(y, x == y))' }],
            },
          },
        }),
      }),
    ),
    'application/json',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ),
  policy('expensive', 'policed', [
    'object.data.all(a, object.data.exists(b, a == b))',
    'object.data.all(a, object.data.all(b, a.size() + b.size() > 0))',
  ]),
  bindingOf('expensive'),
  policy(
    'exhausting',
    'exhausted',
    list(12, i => `object.data.all(a, object.data.all(b, a.size() + b.size() >= ${i})) || object.metadata.name != ''`),
  ),
  bindingOf('exhausting'),
  policy('cheap', 'watched', ['object.data.size() > 0', 'size(object.metadata.name) > 0']),
  bindingOf('cheap'),
  create(
    'who may create roles',
    JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'jane' },
      rules: [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] },
        { apiGroups: ['g'], resources: list(2_000, i => `r${i}`), verbs: ['get', 'list'] },
        ...list(2_000, i => ({ apiGroups: ['h'], resources: [`r${i}`], verbs: ['get'] })),
      ],
    }),
    'application/json',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ),
  create(
    'who may create roles, bound',
    JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'jane' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'jane' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    }),
    'application/json',
    '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  ),
]

const custom = (): HostileRequest[] => [
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

const properties = (n: number, property: (i: number) => object) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${i}`, property(i)]))

const definitions = (): HostileRequest[] => [
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

/** Field ownership that changes: fields that managers give up, take from each other and share. */
const applied = (name: string, manager: string, data: object, more: Partial<HostileRequest> = {}): HostileRequest => ({
  ...change(name, APPLY, configMap('shared', { data }), `${CONFIG_MAPS}/shared?fieldManager=${manager}&force=true`),
  ...more,
})
const others = (n: number, value = 'v') => entries(n, i => [`o${i}`, value])
const managers = (): HostileRequest[] => [
  applied('many keys, by one', 'one', keys(MAX_KEYS / 2), { status: 201 }),
  applied('the same keys, by two', 'two', keys(MAX_KEYS / 2)),
  applied('the same keys with other values, taken by three', 'three', keys(MAX_KEYS / 2, 'w')),
  applied('half of them given up by three', 'three', keys(MAX_KEYS / 4, 'w')),
  applied('other keys instead, by three', 'three', others(MAX_KEYS / 2)),
  { name: 'replaced by four', method: 'PUT', path: `${CONFIG_MAPS}/shared`, body: configMap('shared', { data: keys(MAX_KEYS / 2, 'r') }) },
  applied('all given up by three', 'three', {}),
  { name: 'replaced by nothing', method: 'PUT', path: `${CONFIG_MAPS}/shared`, body: configMap('shared', {}) },
  {
    name: 'owned fields sent',
    method: 'PUT',
    path: `${CONFIG_MAPS}/shared`,
    body: configMap(
      'shared',
      { data: { a: 'b' } },
      {
        managedFields: list(10, m => ({
          manager: `m${m}`,
          operation: 'Update',
          apiVersion: 'v1',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': entries(MAX_KEYS / 10 - 10, i => [`f:x${m}-${i}`, {}]) },
        })),
      },
    ),
  },
  { name: 'after that', method: 'PUT', path: `${CONFIG_MAPS}/shared`, body: configMap('shared', { data: { a: 'c' } }) },
]

const SCALERS = (version: string) => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`
const scaler = (version: string, value: string) =>
  JSON.stringify({
    apiVersion: `autoscaling/${version}`,
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'many', annotations: keys(MAX_KEYS / 2, value) },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'held' }, maxReplicas: 5 },
  })
const versions = (): HostileRequest[] => [
  create('created in one', scaler('v2', 'a'), 'application/json', SCALERS('v2')),
  { name: 'replaced in the other', method: 'PUT', path: `${SCALERS('v1')}/many`, body: scaler('v1', 'b') },
  { ...change('applied in one', APPLY, scaler('v2', 'c'), `${SCALERS('v2')}/many?fieldManager=m&force=true`) },
  { ...change('applied in the other', APPLY, scaler('v1', 'd'), `${SCALERS('v1')}/many?fieldManager=n&force=true`) },
  {
    ...change('metrics, converted', APPLY, '', `${SCALERS('v2')}/many?fieldManager=m&force=true`),
    body: JSON.stringify({
      ...JSON.parse(scaler('v2', 'c')),
      metadata: { name: 'many' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'held' },
        maxReplicas: 5,
        metrics: list(MAX_VALUES / 8, i => ({
          type: 'Pods',
          pods: { metric: { name: `m${i}` }, target: { type: 'AverageValue', averageValue: '1' } },
        })),
      },
    }),
  },
]

const ITEMS = '/apis/hostile.example.com/v1/namespaces/default/reports'
const report = (name: string, n: number, value: string, more: object = {}) =>
  JSON.stringify({
    apiVersion: 'hostile.example.com/v1',
    kind: 'Report',
    metadata: { name },
    spec: {
      findings: list(n, i => ({ id: `CVE-${i}`, severity: value, score: i % 10, links: [`https://example.com/${i}`] })),
      ...more,
    },
  })
const filledReport = (name: string, spec: object): HostileRequest => ({
  ...create(name, report(name.replaceAll(' ', '-'), 0, '', spec), 'application/json', ITEMS),
  values: MAX_CUSTOM_VALUES,
})
/** Objects of a custom kind, as large as reports of scanners become and larger. */
const reports = (): HostileRequest[] => [
  { ...create('created', report('r', 7_500, 'HIGH'), 'application/json', ITEMS), status: 201 },
  { ...change('applied', APPLY, report('s', 7_500, 'HIGH'), `${ITEMS}/s?fieldManager=m`), status: 201 },
  change('a part given up', APPLY, report('s', 3_500, 'LOW'), `${ITEMS}/s?fieldManager=m`),
  change('taken by another', APPLY, report('s', 7_500, 'NONE'), `${ITEMS}/s?fieldManager=n&force=true`),
  change(
    'items taken out and put in',
    JSON_PATCH,
    JSON.stringify(
      list(10_000, i =>
        i % 2 ? { op: 'add', path: '/spec/findings/0', value: { id: `x${i}` } } : { op: 'remove', path: '/spec/findings/0' },
      ),
    ),
    `${ITEMS}/r`,
  ),
  filledReport('repeated keys of items', { findings: list(MAX_CUSTOM_VALUES / 2, () => ({ id: 'same' })) }),
  filledReport('repeated values of a set', { tags: list(MAX_CUSTOM_VALUES, () => 'same') }),
  filledReport('a large set', { tags: list(90_000, i => `tag-${i}`) }),
  filledReport('defaults everywhere', { filled: list(MAX_CUSTOM_VALUES, () => ({})) }),
  filledReport('unknown fields everywhere', { findings: list(MAX_CUSTOM_VALUES / 6, i => ({ id: `${i}`, ...keys(4) })) }),
  filledReport('values of other types', { findings: list(MAX_CUSTOM_VALUES / 3, i => ({ id: i, score: 'x' })) }),
  filledReport('items for rules', { ruled: list(50_000, i => ({ low: i, high: i + 1 })) }),
  filledReport('items that break rules', { ruled: list(50_000, i => ({ low: i + 1, high: i })) }),
  create('pairs of items for a rule', report('z', 0, '', { pairs: list(1_000, i => i) }), 'application/json', ITEMS),
  read('as a table', ITEMS, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  read('metadata alone', ITEMS, 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'),
  read('as YAML', `${ITEMS}/r`, YAML),
]

/** Definitions and custom objects of as many values as a body of 3 MiB has, if they are as dense as the densest real ones. */
const deepSchema = (depth: number): object => ({
  type: 'object',
  properties: properties(12, i =>
    i % 4 === 3 && depth > 0 ? deepSchema(depth - 1) : i % 5 === 0 ? { type: 'array', items: { type: 'string' } } : { type: 'string' },
  ),
})
const denseDefinition = (parts: number, more: object = {}) => {
  const described = definition('dense', schema({ type: 'object', properties: properties(parts, () => deepSchema(4)) }))
  return { ...described, metadata: { ...described.metadata, ...more } }
}
/** A part has 5,300 values. */
const DENSE_PARTS = MAX_CUSTOM_VALUES / 5_300
const DENSE = `${DEFINITIONS}/denses.hostile.example.com`
const FINDINGS = 30_000
const largeReport = (value: string) => report('large', FINDINGS, value)
const reportLines = list(FINDINGS, i => `  - {id: CVE-${i}, severity: HIGH, score: ${i % 10}, links: ["https://example.com/${i}"]}\n`)
const largest = (): HostileRequest[] =>
  [
    { ...create('a definition', JSON.stringify(denseDefinition(DENSE_PARTS)), 'application/json', DEFINITIONS), status: 201 },
    { ...change('a label of it', MERGE_PATCH, '{"metadata":{"labels":{"a":"b"}}}', DENSE), status: 200 },
    {
      ...change('the same applied', APPLY, JSON.stringify(denseDefinition(DENSE_PARTS)), `${DENSE}?fieldManager=m&force=true`),
      status: 200,
    },
    read('its OpenAPI', '/openapi/v3/apis/hostile.example.com/v1'),
    read('all OpenAPI', '/openapi/v2'),
    read('the definition as YAML', DENSE, YAML),
    { ...create('an object', largeReport('HIGH'), 'application/json', ITEMS), status: 201 },
    { ...change('merged', MERGE_PATCH, largeReport('LOW'), `${ITEMS}/large`), status: 200 },
    {
      ...change(
        'replaced by an operation',
        JSON_PATCH,
        JSON.stringify([{ op: 'replace', path: '/spec', value: JSON.parse(largeReport('NONE')).spec }]),
        `${ITEMS}/large`,
      ),
      status: 200,
    },
    { ...change('applied', APPLY, report('applied', FINDINGS, 'HIGH'), `${ITEMS}/applied?fieldManager=m`), status: 201 },
    { ...change('applied again', APPLY, report('applied', FINDINGS, 'LOW'), `${ITEMS}/applied?fieldManager=m`), status: 200 },
    { ...change('in conflict', APPLY, report('applied', FINDINGS, 'NONE'), `${ITEMS}/applied?fieldManager=n`), status: 409 },
    read('as a table', ITEMS, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
    {
      ...create(
        'an object as YAML',
        `apiVersion: hostile.example.com/v1\nkind: Report\nmetadata: {name: yaml}\nspec:\n  findings:\n${reportLines.join('')}`,
        YAML,
        ITEMS,
      ),
      status: 201,
    },
    {
      ...create('more values than may be', report('more', 0, '', { tags: list(220_001, () => 'x') }), 'application/json', ITEMS),
      status: 413,
    },
    {
      ...create('more keys than may be', report('more', 0, '', { findings: [{ id: 'a', ...keys(28_000) }] }), 'application/json', ITEMS),
      status: 413,
    },
  ].map(request => ({ ...request, values: MAX_CUSTOM_VALUES }))

const BINDINGS = '/apis/admissionregistration.k8s.io/v1'
const rulesOf = (n: number, rule: (i: number) => string) => list(n, i => ({ rule: rule(i), message: 'no' }))
const expressions = (): HostileRequest[] => [
  create(
    'a definition with a rule for each of 1,500 fields',
    JSON.stringify(
      definition(
        'ruled',
        schema({
          type: 'object',
          properties: properties(1_500, i => ({
            type: 'string',
            maxLength: 10,
            'x-kubernetes-validations': [{ rule: `self.size() < ${i + 1} || self.startsWith('a${i}')` }],
          })),
        }),
      ),
    ),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'an object with all of them',
    JSON.stringify({
      apiVersion: 'hostile.example.com/v1',
      kind: 'Ruled',
      metadata: { name: 'a' },
      spec: entries(1_500, i => [`p${i}`, '']),
    }),
    'application/json',
    '/apis/hostile.example.com/v1/namespaces/default/ruleds',
  ),
  create(
    'an object with as many of them as may be',
    JSON.stringify({
      apiVersion: 'hostile.example.com/v1',
      kind: 'Ruled',
      metadata: { name: 'b' },
      spec: entries(480, i => [`p${i}`, '']),
    }),
    'application/json',
    '/apis/hostile.example.com/v1/namespaces/default/ruleds',
  ),
  create(
    'a definition with 6,000 rules of one field',
    JSON.stringify(
      definition(
        'thousand',
        schema({
          type: 'object',
          properties: { a: { type: 'integer', 'x-kubernetes-validations': rulesOf(6_000, i => `self != ${i}`) } },
        }),
      ),
    ),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'an object for 6,000 rules',
    JSON.stringify({ apiVersion: 'hostile.example.com/v1', kind: 'Thousand', metadata: { name: 'a' }, spec: { a: -1 } }),
    'application/json',
    '/apis/hostile.example.com/v1/namespaces/default/thousands',
  ),
  create(
    'a definition with long rules',
    JSON.stringify(
      definition(
        'long',
        schema({
          type: 'object',
          properties: {
            a: { type: 'integer', 'x-kubernetes-validations': rulesOf(4, i => list(5_000, j => `self!=${i}${j}`).join('&&')) },
          },
        }),
      ),
    ),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'a definition with deep rules',
    JSON.stringify(
      definition(
        'deep',
        schema({
          type: 'object',
          properties: {
            a: {
              type: 'array',
              maxItems: 1,
              items: { type: 'integer' },
              'x-kubernetes-validations': rulesOf(200, i => `${list(10, j => `self.all(x${j}, `).join('')}x0 != ${i}${times(10, ')')}`),
            },
          },
        }),
      ),
    ),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'a definition with defaults for rules',
    JSON.stringify(
      definition(
        'defaulted',
        schema({
          type: 'object',
          properties: properties(500, i => ({
            type: 'array',
            maxItems: 20,
            default: list(5, j => j),
            items: { type: 'integer' },
            'x-kubernetes-validations': [{ rule: `self.all(x, self.exists(y, x == y + ${i % 7} - ${i % 7}))` }],
          })),
        }),
      ),
    ),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'many versions',
    JSON.stringify({
      ...definition('version', {}),
      spec: {
        ...definition('version', {}).spec,
        versions: list(400, i => ({
          name: `v${i + 1}`,
          served: true,
          storage: i === 0,
          ...schema({ type: 'object', properties: properties(50, () => ({ type: 'string' })) }),
        })),
      },
    }),
    'application/json',
    DEFINITIONS,
  ),
  create(
    'a policy with 3,000 validations',
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'many' },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: ['none'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] },
        validations: list(3_000, i => ({ expression: `object.metadata.name != 'x${i}'`, message: 'no' })),
      },
    }),
    'application/json',
    `${BINDINGS}/validatingadmissionpolicies`,
  ),
  create(
    'a policy with 3,000 variables',
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'variables' },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: ['none'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] },
        variables: list(3_000, i => ({ name: `v${i}`, expression: i === 0 ? '1' : `variables.v${i - 1} + 1` })),
        validations: [{ expression: 'variables.v2999 > 0' }],
      },
    }),
    'application/json',
    `${BINDINGS}/validatingadmissionpolicies`,
  ),
  create(
    'a mutating policy with 3,000 mutations',
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: 'many' },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: { resourceRules: [{ apiGroups: ['none'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] },
        mutations: list(3_000, i => ({
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: `Object{metadata: Object.metadata{labels: {'a${i}': 'b'}}}` },
        })),
      },
    }),
    'application/json',
    `${BINDINGS}/mutatingadmissionpolicies`,
  ),
  create(
    'webhooks with conditions',
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'many' },
      webhooks: list(50, i => ({
        name: `w${i}.example.com`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: [{ apiGroups: ['none'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }],
        matchConditions: list(64, j => ({ name: `c${j}`, expression: `object.metadata.name != 'x${i}-${j}'` })),
      })),
    }),
    'application/json',
    `${BINDINGS}/validatingwebhookconfigurations`,
  ),
  create('an object for an expensive policy', configMap('policed', { data: keys(1_000) }, { labels: { policed: 'yes' } })),
  create('an object for many expensive expressions', configMap('exhausted', { data: keys(250) }, { labels: { exhausted: 'yes' } })),
  create('a large object for a cheap policy', configMap('watched', { data: keys(MAX_KEYS) }, { labels: { watched: 'yes' } })),
]

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const asJane = { 'impersonate-user': 'jane' }
const access = (): HostileRequest[] => [
  {
    ...create(
      'a role that is many, by who may not grant it',
      JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'many' },
        rules: [{ apiGroups: list(1_000, i => `g${i}`), resources: list(1_000, i => `r${i}`), verbs: list(1_000, i => `v${i}`) }],
      }),
      'application/json',
      `${RBAC}/namespaces/default/roles`,
    ),
    headers: asJane,
  },
  {
    ...create(
      'a role of many rules, by who may not grant it',
      JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'rules' },
        rules: list(MAX_VALUES / 8, i => ({ apiGroups: ['g'], resources: [`r${i}`], verbs: ['get', 'list'] })),
      }),
      'application/json',
      `${RBAC}/namespaces/default/roles`,
    ),
    headers: asJane,
  },
  {
    ...create(
      'a review of rules',
      JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } }),
      'application/json',
      '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    ),
    headers: asJane,
  },
  {
    ...read('many impersonated groups', CONFIG_MAPS),
    headers: { 'impersonate-user': 'jane', 'impersonate-group': list(2_000, i => `g${i}`).join(',') },
  },
]

const selector = (text: string) => `${CONFIG_MAPS}?labelSelector=${encodeURIComponent(text)}`
const reading = (): HostileRequest[] => [
  read('a selector of a large set', selector(`a in (${list(6_000, i => `v${i}`).join(',')})`)),
  read('a selector of absent keys', selector(list(5_000, i => `!a${i}`).join(','))),
  read('a selector of fields', `${PODS}?fieldSelector=${encodeURIComponent(list(2_500, i => `metadata.name!=n${i}`).join(','))}`),
  read('a selector that is none', selector(times(8_000, '(,'))),
  { name: 'a collection deleted by selector', method: 'DELETE', path: selector(list(5_000, i => `a${i}=b`).join(',')), body: '{}' },
  {
    name: 'a collection deleted, options as protobuf',
    method: 'DELETE',
    path: `${CONFIG_MAPS}?labelSelector=none`,
    type: PROTOBUF,
    body: message('DeleteOptions', emptyFields(5, 2_900_000)),
  },
  read('pods as a table', PODS, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  read('pods as a table with objects', `${PODS}?includeObject=Object`, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  read('metadata of a large pod', `${PODS}/many`, 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'),
  read('a continue token of 40 KB', `${CONFIG_MAPS}?limit=1&continue=${times(40_000, 'A')}`),
  read('fields given often', `${CONFIG_MAPS}?${times(8_000, 'limit=1&')}`),
]

/** As large as legitimate definitions become: they have to be accepted. */
const harmless = definition(
  'ordinary',
  schema({
    type: 'object',
    properties: properties(100, () => ({
      type: 'object',
      'x-kubernetes-validations': [{ rule: 'has(self.p0) || !has(self.p1)', message: 'p0 comes first' }],
      properties: properties(30, i => ({ type: 'string', maxLength: 100, description: `Field ${i}: ${times(12, 'what it is for ')}` })),
    })),
  }),
)
const CHART = times(30_000, 'a line of a chart or a dashboard\n')
const real = (): HostileRequest[] => [
  { ...create('a definition of 1.2 MB, as YAML', stringify(harmless), YAML, DEFINITIONS), status: 201 },
  {
    ...change(
      'the same applied',
      APPLY,
      JSON.stringify(harmless),
      `${DEFINITIONS}/ordinarys.hostile.example.com?fieldManager=kubectl&force=true`,
    ),
    status: 200,
  },
  { ...create('a config map of 1 MB', configMap('chart', { data: { chart: CHART } })), status: 201 },
  { ...create('one of 10,000 keys', configMap('many-keys', { data: keys(10_000, 'a value of a setting') })), status: 201 },
  {
    name: 'the same replaced',
    method: 'PUT',
    path: `${CONFIG_MAPS}/many-keys`,
    body: configMap('many-keys', { data: keys(10_000, 'b') }),
    status: 200,
  },
  {
    ...change(
      'the same applied by another',
      APPLY,
      configMap('many-keys', { data: keys(10_000, 'c') }),
      `${CONFIG_MAPS}/many-keys?fieldManager=m&force=true`,
    ),
    status: 200,
  },
]

const owner = (i: number, uid: string) => ({ apiVersion: 'v1', kind: 'Owner', name: `owner-${i}`, uid })
const finalizers = (n: number, from = 0) => list(n, i => `example.com/f${(from + i) % n}`)
const podOf = (name: string, spec: object) => create(name, pod(spec), 'application/json', PODS)
/** Items that differ very little from each other: comparing all pairs would take long. */
const similar = (): HostileRequest[] => [
  create('owners of different uids', configMap('owned', {}, { ownerReferences: list(9_000, i => owner(i, `uid-${i}`)) })),
  create('owners of one uid', configMap('owned', {}, { ownerReferences: list(9_000, i => owner(i, 'uid')) })),
  create('owners, each twice', configMap('owned-twice', {}, { ownerReferences: list(9_000, i => owner(i % 4_500, `uid-${i % 4_500}`)) })),
  create('finalizers', configMap('finalized', {}, { finalizers: finalizers(20_000) })),
  change(
    'finalizers taken out by a directive',
    STRATEGIC,
    JSON.stringify({ metadata: { '$deleteFromPrimitiveList/finalizers': finalizers(20_000).reverse() } }),
    `${CONFIG_MAPS}/finalized`,
  ),
  change(
    'finalizers put in another order',
    STRATEGIC,
    JSON.stringify({ metadata: { '$setElementOrder/finalizers': finalizers(20_000).reverse(), finalizers: finalizers(20_000, 7_000) } }),
    `${CONFIG_MAPS}/finalized`,
  ),
  change('finalizers applied', APPLY, configMap('sets', {}, { finalizers: finalizers(20_000) }), `${CONFIG_MAPS}/sets?fieldManager=a`),
  change(
    'finalizers applied by another, the other way round',
    APPLY,
    configMap('sets', {}, { finalizers: finalizers(20_000).reverse() }),
    `${CONFIG_MAPS}/sets?fieldManager=b&force=true`,
  ),
  podOf('tolerations', { tolerations: list(12_000, i => ({ key: `k${i}`, operator: 'Exists', effect: 'NoSchedule' })) }),
  podOf('constraints', {
    topologySpreadConstraints: list(8_000, i => ({ maxSkew: 1, topologyKey: `zone-${i}`, whenUnsatisfiable: 'DoNotSchedule' })),
  }),
  podOf('terms of affinity', {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: list(6_000, i => ({ matchExpressions: [{ key: `k${i}`, operator: 'In', values: ['a', 'b'] }] })),
        },
      },
    },
  }),
  podOf('ports of the host', {
    containers: [{ name: 'a', image: 'b', ports: list(12_000, i => ({ containerPort: (i % 60_000) + 1, hostPort: (i % 60_000) + 1 })) }],
  }),
  podOf('mounts', {
    volumes: list(4_000, i => ({ name: `v${i}`, emptyDir: {} })),
    containers: [{ name: 'a', image: 'b', volumeMounts: list(8_000, i => ({ name: `v${i % 4_000}`, mountPath: `/m/${i}` })) }],
  }),
  podOf('variables that expand', {
    containers: [{ name: 'a', image: 'b', env: list(12_000, i => ({ name: `E${i}`, value: `$(E${i - 1})`.repeat(10) })) }],
  }),
  podOf('gates, claims, aliases and secrets', {
    schedulingGates: list(5_000, i => ({ name: `example.com/g${i}` })),
    readinessGates: list(5_000, i => ({ conditionType: `example.com/r${i}` })),
    resourceClaims: list(4_000, i => ({ name: `c${i}`, resourceClaimName: `claim-${i}` })),
    imagePullSecrets: list(5_000, i => ({ name: `s${i}` })),
    hostAliases: list(3_000, i => ({ ip: '10.0.0.1', hostnames: [`h${i}`] })),
  }),
  create(
    'endpoints',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'large' },
      subsets: list(3_000, i => ({ addresses: [{ ip: `10.0.${i >> 8}.${i & 255}` }], ports: [{ name: `p${i}`, port: 80 }] })),
    }),
    'application/json',
    '/api/v1/namespaces/default/endpoints',
  ),
  create(
    'hosts and paths',
    JSON.stringify({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'large' },
      spec: {
        tls: list(4_000, i => ({ hosts: [`h${i}.example.com`], secretName: `s${i}` })),
        rules: list(2_500, i => ({
          host: `h${i}.example.com`,
          http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }] },
        })),
      },
    }),
    'application/json',
    '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
  ),
]

/** An object with many managers, each of which owns a little. */
const crowd = (n: number, operation: string) =>
  list(n, m => ({
    manager: `m${m}`,
    operation,
    apiVersion: 'v1',
    time: '2024-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': entries(6, i => [`f:c${i}`, {}]) },
  }))
const crowded = (): HostileRequest[] => [
  create('created', configMap('crowded', { data: entries(6, i => [`c${i}`, 'v']) }, { managedFields: crowd(3_000, 'Apply') })),
  change('applied', APPLY, configMap('crowded', { data: { c0: 'v' } }), `${CONFIG_MAPS}/crowded?fieldManager=x`),
  change('in conflict with all', APPLY, configMap('crowded', { data: { c0: 'w', c1: 'w' } }), `${CONFIG_MAPS}/crowded?fieldManager=x`),
  change('forced', APPLY, configMap('crowded', { data: { c0: 'w', c1: 'w' } }), `${CONFIG_MAPS}/crowded?fieldManager=x&force=true`),
  change('merged', MERGE_PATCH, JSON.stringify({ data: { c2: 'x' } }), `${CONFIG_MAPS}/crowded`),
  {
    name: 'replaced, by many updaters',
    method: 'PUT',
    path: `${CONFIG_MAPS}/crowded`,
    body: configMap('crowded', { data: { c0: 'y' } }, { managedFields: crowd(3_000, 'Update') }),
  },
]

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const METADATA = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
const accepting = (request: HostileRequest, accept: string): HostileRequest => ({ ...request, headers: { accept } })
const REPRESENTED = { labels: { rep: 'yes' } }
/** Responses to large writes in every representation, and lists of the written objects. */
const represented = (): HostileRequest[] => [
  accepting(create('a create as YAML', configMap('rep-yaml', { data: keys(MAX_KEYS) }, REPRESENTED)), YAML),
  accepting(create('a create as protobuf', configMap('rep-proto', { data: keys(MAX_KEYS) }, REPRESENTED)), PROTOBUF),
  accepting(create('a create as a table', configMap('rep-table', { data: keys(MAX_KEYS) }, REPRESENTED)), TABLE),
  accepting(create('a create as metadata', configMap('rep-meta', { data: keys(MAX_KEYS) })), METADATA),
  { ...create('a create, pretty', configMap('rep-pretty', { data: keys(MAX_KEYS) })), path: `${CONFIG_MAPS}?pretty=true` },
  { ...create('a create as a dry run', configMap('rep-dry', { data: keys(MAX_KEYS) })), path: `${CONFIG_MAPS}?dryRun=All` },
  { ...create('a generated name', configMap('', { data: keys(MAX_KEYS) }, { generateName: 'rep-' })) },
  change(
    'ten thousand operations on a large object',
    JSON_PATCH,
    JSON.stringify(list(10_000, i => ({ op: 'replace', path: `/data/k${i}`, value: 'y' }))),
    `${CONFIG_MAPS}/rep-yaml`,
  ),
  change(
    'operations that move a large part',
    JSON_PATCH,
    JSON.stringify(list(10_000, i => ({ op: 'move', from: i % 2 ? '/moved' : '/data', path: i % 2 ? '/data' : '/moved' }))),
    `${CONFIG_MAPS}/rep-yaml`,
  ),
  change(
    'operations that test a large part',
    JSON_PATCH,
    JSON.stringify([
      { op: 'test', path: '/data', value: keys(20_000) },
      ...list(2_000, () => ({ op: 'test', path: '/metadata/name', value: 'rep-yaml' })),
    ]),
    `${CONFIG_MAPS}/rep-yaml`,
  ),
  change('a large part set to nothing', MERGE_PATCH, JSON.stringify({ data: keys(MAX_KEYS, null) }), `${CONFIG_MAPS}/rep-proto`),
  accepting(change('a patch as a table', MERGE_PATCH, JSON.stringify({ data: keys(10_000, 'z') }), `${CONFIG_MAPS}/rep-proto`), TABLE),
  read(
    'large objects watched from the beginning',
    `${CONFIG_MAPS}?labelSelector=rep&watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  ),
  read('the same as tables', `${CONFIG_MAPS}?labelSelector=rep&watch=1&timeoutSeconds=1`, TABLE),
  read('the same as protobuf', `${CONFIG_MAPS}?labelSelector=rep&watch=1&timeoutSeconds=1`, `${PROTOBUF};stream=watch`),
  { name: 'a collection deleted as a dry run', method: 'DELETE', path: `${CONFIG_MAPS}?labelSelector=rep&dryRun=All` },
  { name: 'a collection deleted', method: 'DELETE', path: `${CONFIG_MAPS}?labelSelector=rep` },
]

/** Made when their turn comes, since all of them together are some hundred megabytes. */
const groups: Record<string, () => readonly HostileRequest[]> = {
  yaml,
  json,
  protobuf,
  patches,
  'other verbs': otherVerbs,
  large,
  custom,
  definitions,
  managers,
  versions,
  reports,
  'as dense as real ones': largest,
  expressions,
  access,
  reading,
  'mean no harm': real,
  'items alike': similar,
  'many managers': crowded,
  represented,
  combinations,
}

export const PREPARATIONS: readonly HostileRequest[] = [...PREPARED, ...STORED].map(request => ({ ...request, ...servedBy(request) }))

/** Definitions and policies full of rules may take longer, in a worker. */
const isValidatedInWorker = ({ path }: HostileRequest) => path.startsWith(DEFINITIONS) || path.startsWith(BINDINGS)

/** All of them in order, each named by its kind. */
export function* hostileRequests(): Generator<HostileRequest> {
  for (const [group, requests] of Object.entries(groups))
    for (const request of requests())
      yield {
        ...request,
        ...servedBy(request),
        name: `${group}: ${request.name}`,
        ...(isValidatedInWorker(request) && { inWorker: true }),
      }
}

/** The path of a definition's objects. */
function servedBy({ path, type = 'application/json', body }: HostileRequest): Pick<HostileRequest, 'serves'> {
  if (path !== DEFINITIONS || type !== 'application/json' || typeof body !== 'string') return {}
  const { spec } = JSON.parse(body)
  return { serves: `/apis/${spec.group}/${spec.versions[0].name}/${spec.names.plural}` }
}
