import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerErrors, type Rows } from '../../../../../test/kits/kinds/pod-shapes.ts'

const FIELDS =
  'supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"'
const RESOURCES =
  'supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"'
const from = (valueFrom: object) => ({ env: [{ name: 'A', valueFrom }] })
const field = (fieldPath: string, apiVersion = 'v1') => from({ fieldRef: { fieldPath, apiVersion } })
const resource = (resource: string, divisor = '0') => from({ resourceFieldRef: { resource, divisor } })

const rows: Rows<object> = [
  [
    'variables have names of printable characters',
    { env: [{ name: '' }, { name: 'a=b' }, { name: 'a b.c' }] },
    [
      'env[0].name: Required value',
      'env[1].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than \'=\'',
    ],
  ],
  [
    'a source must be named',
    from({}),
    [
      'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    ],
  ],
  [
    'a source excludes a value',
    { env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
    ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
  ],
  [
    'there is one source',
    from({ configMapKeyRef: { name: 'c', key: 'k' }, secretKeyRef: { name: 's', key: 'k' } }),
    ['env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time'],
  ],
  [
    'keys of config maps and secrets are named and valid',
    from({ configMapKeyRef: { name: '', key: '' } }),
    [
      "env[0].valueFrom.configMapKeyRef.name: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'env[0].valueFrom.configMapKeyRef.key: Required value',
    ],
  ],
  [
    'keys of secrets become file names',
    from({ secretKeyRef: { name: 's', key: '..' } }),
    ['env[0].valueFrom.secretKeyRef.key: Invalid value: "..": must not be \'..\''],
  ],
  [
    'variables in files are named in full',
    from({ fileKeyRef: {} }),
    [
      'env[0].valueFrom.fileKeyRef.key: Required value',
      'env[0].valueFrom.fileKeyRef.volumeName: Required value',
      'env[0].valueFrom.fileKeyRef.path: Required value',
      'env[0].valueFrom.fileKeyRef.volumeName: Not found: ""',
    ],
  ],
  ['a field needs a path', field(''), ['env[0].valueFrom.fieldRef.fieldPath: Required value']],
  [
    'only pods of v1 are read',
    field('metadata.name', 'v2'),
    ['env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2'],
  ],
  [
    'fields that do not exist cannot be read',
    field('metadata.whoops'),
    [
      'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.whoops": error converting fieldPath: field label not supported: metadata.whoops',
    ],
  ],
  [
    'fields that variables cannot hold are refused',
    field('metadata.labels'),
    [`env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": ${FIELDS}`],
  ],
  [
    'one label or annotation can be held',
    { env: [...field("metadata.labels['a/b']").env, ...field("metadata.annotations['UPPER/b']").env] },
    [],
  ],
  [
    'other fields have no parts',
    field("metadata.name['a']"),
    [
      "env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"metadata.name['a']\": error converting fieldPath: field label does not support subscript: metadata.name['a']",
    ],
  ],
  [
    'the label must be a label',
    field("metadata.labels['a b']"),
    [
      "env[0].valueFrom.fieldRef: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
  ['the old name of the node is still read', field('spec.host'), []],
  ['a resource must be named', resource(''), ['env[0].valueFrom.resourceFieldRef.resource: Required value']],
  [
    'a resource must be supported',
    resource('limits.gold'),
    [`env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gold": ${RESOURCES}`],
  ],
  ['huge pages are supported', resource('limits.hugepages-2Mi', '1Mi'), []],
  [
    'the divisor of cpu is 1 or 1m',
    resource('limits.cpu', '2'),
    [
      'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
    ],
  ],
  [
    'the divisor of memory is a number of bytes or a multiple',
    resource('requests.memory', '3Mi'),
    [
      'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.memory": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource',
    ],
  ],
  [
    'imported variables have one source each',
    { envFrom: [{}, { prefix: 'a=', configMapRef: { name: '' } }, { configMapRef: { name: 'a' }, secretRef: { name: 'B' } }] },
    [
      'envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
      'envFrom[1].prefix: Invalid value: "a=": a valid environment variable name must consist only of printable ASCII characters other than \'=\'',
      'envFrom[1].configMapRef.name: Required value',
      "envFrom[2].secretRef.name: Invalid value: \"B\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'envFrom: Invalid value: "": may not have more than one field specified at a time',
    ],
  ],
]
for (const [name, given, expected] of rows) test(name, () => assert.deepEqual(containerErrors(given), expected))

test('a variable of a file needs a volume that the pod writes', () =>
  assert.deepEqual(
    containerErrors(from({ fileKeyRef: { volumeName: 'v', path: '../x', key: 'K' } }), {
      volumes: [{ name: 'v', hostPath: { path: '/x' } }],
    }),
    [
      'env[0].valueFrom.fileKeyRef.path: Invalid value: "../x": must not contain \'..\'',
      'env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir',
    ],
  ))
