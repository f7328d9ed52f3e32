/**
 * Requests that are small for their cost: each is multiplied by stored data, as a selector is by objects and defaults are by containers, or
 * is parsed by a special parser, as schedules, quantities and certificates are.
 */
import { CONFIG_MAPS } from '../kit.ts'
import {
  APPLY,
  change,
  configMap,
  create,
  DEFINITIONS,
  definition,
  entries,
  type HostileRequest,
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

const JSON_TYPE = 'application/json'
const post = (name: string, path: string, body: object | string): HostileRequest =>
  create(name, typeof body === 'string' ? body : JSON.stringify(body), JSON_TYPE, path)
const nested = (depth: number, open: string, inner: string, close: string) => times(depth, open) + inner + times(depth, close)

const CROWDED = '/api/v1/namespaces/crowded/configmaps'
const CUSTOM = 'hostile.example.com/v1'
const objectsOf = (plural: string) => `/apis/${CUSTOM}/namespaces/default/${plural}`
const custom = (kind: string, name: string, spec: object) => ({ apiVersion: CUSTOM, kind, metadata: { name }, spec })
const containers = (n: number, more: object = {}) => list(n, i => ({ name: `c${i}`, image: 'x', ...more }))
const resources = (n: number) => entries(n, i => [`example.com/r${i}`, '1'])

const keyed = (keys: readonly string[], item: object, more: object = {}) => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', required: [keys[0]], ...item },
  ...more,
})

/** The stored data by which they are multiplied. */
export const STORED: readonly HostileRequest[] = [
  post('a namespace for many objects', '/api/v1/namespaces', { metadata: { name: 'crowded' } }),
  ...list(1_000, i => post('one of many', CROWDED, configMap(`m${i}`, {}, { labels: { a: `b${i}`, app: 'x' } }))),
  post('a namespace with limits', '/api/v1/namespaces', { metadata: { name: 'limited' } }),
  post('limits', '/api/v1/namespaces/limited/limitranges', {
    metadata: { name: 'many' },
    spec: { limits: [{ type: 'Container', max: resources(3_000), default: resources(3_000), defaultRequest: resources(3_000) }] },
  }),
  post('a restricted namespace', '/api/v1/namespaces', {
    metadata: { name: 'restricted', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  }),
  post('a job', '/apis/batch/v1/namespaces/default/jobs', {
    metadata: { name: 'held' },
    spec: {
      completionMode: 'Indexed',
      completions: 100_000,
      parallelism: 10,
      template: { spec: { restartPolicy: 'Never', containers: containers(1) } },
    },
  }),
  post('a node', '/api/v1/nodes', { metadata: { name: 'held' } }),
  post(
    'choices',
    DEFINITIONS,
    definition(
      'choice',
      schema({
        type: 'object',
        properties: {
          texts: { type: 'array', items: { type: 'string', enum: list(4_000, i => `value-${i}`) } },
          states: { type: 'string', pattern: '^(a?){400}a{400}$' },
          history: { type: 'string', pattern: '[ab]*a[ab]{200}[de]' },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          ranges: { type: 'array', items: { type: 'integer', anyOf: list(50, i => ({ minimum: i + 100_000, maximum: i })) } },
          set: {
            type: 'array',
            'x-kubernetes-list-type': 'set',
            items: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: { type: 'integer' } } },
          },
        },
      }),
    ),
  ),
  post(
    'members',
    DEFINITIONS,
    definition(
      'member',
      schema({
        type: 'object',
        properties: {
          three: keyed(['a', 'b', 'c'], {
            properties: {
              a: { type: 'integer' },
              b: { type: 'string', default: 'x' },
              c: { type: 'boolean', default: true },
              inner: keyed(['n'], { properties: { n: { type: 'string' }, v: { type: 'string' } } }),
            },
          }),
          fixed: keyed(
            ['n'],
            {
              properties: {
                n: { type: 'string', maxLength: 20 },
                v: { type: 'string', maxLength: 10, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
              },
            },
            { maxItems: 50_000 },
          ),
        },
      }),
    ),
  ),
]

const labelled = (text: string) => `${CROWDED}?labelSelector=${encodeURIComponent(text)}`
const manyObjects = (): HostileRequest[] => [
  read('many objects, labels that differ', labelled(list(5_000, i => `z${i}!=b`).join())),
  read('many objects, absent labels', labelled(list(6_000, i => `!z${i}`).join())),
  read('many objects, sets of values', labelled(list(400, i => `a notin (${list(10, j => `v${i}-${j}`).join()})`).join())),
  read(
    'many objects, names that differ',
    `${CROWDED}?fieldSelector=${encodeURIComponent(list(2_500, i => `metadata.name!=n${i}`).join())}`,
  ),
  read('many objects, watched', `${labelled(list(5_000, i => `z${i}!=b`).join())}&watch=1&timeoutSeconds=1`),
  read('many objects as YAML', CROWDED, YAML),
  read('many objects as protobuf', CROWDED, PROTOBUF),
  { name: 'many objects, deleted by labels', method: 'DELETE', path: `${labelled(list(5_000, i => `z${i}!=b`).join())}&dryRun=All` },
  read('a continue token of depth', `${CONFIG_MAPS}?continue=${Buffer.from(nested(15_000, '[', '', ']')).toString('base64url')}`),
  read('many media types', CONFIG_MAPS, list(3_500, i => `a/b${i};q=0.${i % 10}`).join()),
]

const cronJob = (schedule: string) => ({
  metadata: { name: 'c' },
  spec: { schedule, jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: containers(1) } } } } },
})
const CRON_JOBS = '/apis/batch/v1/namespaces/default/cronjobs'
const requesting = (cpu: string) => pod({ containers: [{ name: 'a', image: 'b', resources: { requests: { cpu } } }] })
const pem = (text: string) => Buffer.from(text).toString('base64')
const signing = (request: string, usages: readonly string[] = ['client auth']) => ({
  metadata: { name: 'c' },
  spec: { signerName: 'a.b/c', usages, request: pem(request) },
})
const SIGNING = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const deployed = (n: number, m: number, order: (i: number, of: number) => number, value: string) =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'nested' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: {
          containers: list(n, i => ({ name: `c${order(i, n)}`, image: value, env: list(m, j => ({ name: `E${order(j, m)}`, value })) })),
        },
      },
    },
  })
const indexes = list(400_000, i => String(i * 2)).join()

const kinds = (): HostileRequest[] => [
  post('limits times containers', '/api/v1/namespaces/limited/pods', pod({ containers: containers(4_000) })),
  post(
    'containers that a namespace restricts',
    '/api/v1/namespaces/restricted/pods',
    pod({ containers: containers(5_000, { securityContext: { privileged: true } }) }),
  ),
  post('ports of nodes', '/api/v1/namespaces/default/services', {
    metadata: { name: 'ports' },
    spec: { type: 'NodePort', selector: { a: 'b' }, ports: list(2_600, i => ({ name: `p${i}`, port: i + 1 })) },
  }),
  post('a schedule of many minutes', CRON_JOBS, cronJob(`${list(700_000, i => i % 60).join()} * * * *`)),
  post('a schedule of many fields', CRON_JOBS, cronJob(times(1_400_000, '* '))),
  post('a quantity of many digits', PODS, requesting(times(2_900_000, '9'))),
  post('a quantity of many decimals', PODS, requesting(`0.${times(2_900_000, '3')}`)),
  post('a quantity of a large exponent', PODS, requesting('1e999999999')),
  change(
    'indexes of a job',
    MERGE_PATCH,
    JSON.stringify({ status: { completedIndexes: indexes, uncountedTerminatedPods: { succeeded: list(20_000, i => `u${i}`) } } }),
    '/apis/batch/v1/namespaces/default/jobs/held/status',
  ),
  post('topologies', '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name: 'topologies' },
    provisioner: 'a/b',
    allowedTopologies: list(6_000, i => ({ matchLabelExpressions: [{ key: 'z', values: [`v${i}`] }] })),
  }),
  post('a name of dots', CONFIG_MAPS, configMap(times(1_450_000, 'a.'), {})),
  post('a label of dots', CONFIG_MAPS, configMap('a', {}, { labels: { [`${times(1_450_000, 'a.')}/x`]: 'a' } })),
  post('an image', PODS, pod({ containers: [{ name: 'a', image: times(700_000, 'a/:@') }] })),
  post('paths of dots', PODS, pod({ volumes: [{ name: 'v', hostPath: { path: times(900_000, '../') } }] })),
  post('certificates that begin', SIGNING, signing(times(60_000, '-----BEGIN CERTIFICATE REQUEST-----\n'))),
  post(
    'a certificate of depth',
    SIGNING,
    signing(
      `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.alloc(700_000, Buffer.from([0x30, 0x80])).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`,
    ),
  ),
  post('a docker configuration', '/api/v1/namespaces/default/secrets', {
    metadata: { name: 'docker' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': pem(`{"auths":{${list(100_000, i => `"k${i}":{}`).join()}}}`) },
  }),
  change(
    'a node of many addresses',
    STRATEGIC,
    JSON.stringify({ status: { addresses: list(12_000, i => ({ type: `t${i}`, address: 'a' })) } }),
    '/api/v1/nodes/held/status',
  ),
  change(
    'containers in another order',
    STRATEGIC,
    JSON.stringify({ spec: { template: { spec: { '$setElementOrder/containers': list(20_000, i => ({ name: `c${i}` })) } } } }),
    `${DEPLOYMENTS}/held`,
  ),
  change(
    'lists in lists applied',
    APPLY,
    deployed(400, 35, i => i, 'x'),
    `${DEPLOYMENTS}/nested?fieldManager=a`,
  ),
  change(
    'lists in lists applied by another, the other way round',
    APPLY,
    deployed(400, 35, (i, of) => of - 1 - i, 'y'),
    `${DEPLOYMENTS}/nested?fieldManager=b&force=true`,
  ),
  change(
    'half of them given up',
    APPLY,
    deployed(200, 17, i => 2 * i, 'y'),
    `${DEPLOYMENTS}/nested?fieldManager=b&force=true`,
  ),
]

const owned = (name: string, fieldsV1: string) =>
  `{"metadata":{"name":"${name}","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":${fieldsV1}}]}}`
const ownedParts = (n: number, part: (i: number) => string) => JSON.stringify({ 'f:data': entries(n, i => [part(i), {}]) })
/** Unknown and duplicate fields are reported with their paths. */
const below = (fields: string) =>
  `{"spec":{"versions":[{"schema":{"openAPIV3Schema":${nested(480, '{"properties":{"aaaaaaaaaaaaaaaaaaaa":', fields, '}}')}}}]}}`

/** Pseudo-random letters. */
function letters(n: number): string {
  let state = 1
  return list(n, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state > 2 ** 30 ? 'a' : 'b'
  }).join('')
}

const schemas = (): HostileRequest[] => [
  post('values of an enumeration', objectsOf('choices'), custom('Choice', 'a', { texts: list(40_000, i => `value-${3_999 - (i % 10)}`) })),
  post('values of none', objectsOf('choices'), custom('Choice', 'b', { texts: list(40_000, i => `other-${i}`) })),
  post('a pattern of many states', objectsOf('choices'), custom('Choice', 'c', { states: times(2_900_000, 'a') })),
  post('a pattern of many states that fits', objectsOf('choices'), custom('Choice', 'd', { states: times(700, 'a') })),
  post('a pattern of which each character makes a new state', objectsOf('choices'), custom('Choice', 'h', { history: letters(300_000) })),
  post('ranges of which none fits', objectsOf('choices'), custom('Choice', 'e', { ranges: list(40_000, i => i) })),
  post('a set of objects', objectsOf('choices'), custom('Choice', 'f', { set: list(15_000, i => ({ a: i })) })),
  post(
    'depth',
    objectsOf('choices'),
    `{"apiVersion":"${CUSTOM}","kind":"Choice","metadata":{"name":"deep"},"spec":{"free":${nested(990, '{"a":', '1', '}')}}}`,
  ),
  read('depth as YAML', `${objectsOf('choices')}/deep`, YAML),
  change('depth merged', MERGE_PATCH, `{"spec":{"free":${nested(990, '{"a":', '2', '}')}}}`, `${objectsOf('choices')}/deep`),
  change(
    'items of three keys applied',
    APPLY,
    JSON.stringify(custom('Member', 'three', { three: list(7_000, i => ({ a: i, b: 'y' })) })),
    `${objectsOf('members')}/three?fieldManager=m`,
  ),
  change(
    'the same by another, the other way round',
    APPLY,
    JSON.stringify(custom('Member', 'three', { three: list(7_000, i => ({ a: 6_999 - i, b: 'y', c: true })) })),
    `${objectsOf('members')}/three?fieldManager=n&force=true`,
  ),
  post(
    'items that may not change',
    objectsOf('members'),
    custom('Member', 'fixed', { fixed: list(12_000, i => ({ n: `n${i}`, v: 'a' })) }),
  ),
  change(
    'the same changed',
    MERGE_PATCH,
    JSON.stringify({ spec: { fixed: list(12_000, i => ({ n: `n${i}`, v: 'b' })) } }),
    `${objectsOf('members')}/fixed`,
  ),
  post(
    'owned items of keys',
    CONFIG_MAPS,
    owned(
      'owned-keys',
      ownedParts(8_000, i => `k:{"b":${i},"a": "x"}`),
    ),
  ),
  post(
    'owned values',
    CONFIG_MAPS,
    owned(
      'owned-values',
      ownedParts(8_000, i => `v:[[[{"b":${(i * 7919) % 8_000},"a": "x"}]]]`),
    ),
  ),
  post(
    'more owned values than are read',
    CONFIG_MAPS,
    owned(
      'owned-odd',
      ownedParts(20_000, i => `v:[[[{"b":${i},"a": "x"}]]]`),
    ),
  ),
  post(
    'owned items in no order',
    CONFIG_MAPS,
    owned(
      'owned-order',
      ownedParts(24_000, i => `k:{"a":${(i * 7919) % 24_000},"b":"x"}`),
    ),
  ),
  post('owned fields of depth', CONFIG_MAPS, owned('owned-depth', nested(990, '{"f:a":', '{}', '}'))),
  post('unknown fields far below', `${DEFINITIONS}?fieldValidation=Strict`, below(JSON.stringify(entries(20_000, i => [`k${i}`, 1])))),
  post('repeated fields far below', `${DEFINITIONS}?fieldValidation=Strict`, below(`{${list(20_000, () => '"a":1').join()}}`)),
]

export const combinations = (): readonly HostileRequest[] => [...manyObjects(), ...kinds(), ...schemas()]
