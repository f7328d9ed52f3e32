import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podSpec, type Rows, specErrors, volumeErrors } from '../../../../../test/kits/kinds/pod-shapes.ts'

const MODE = 'must be a number between 0 and 0777 (octal), both inclusive'
const ID = 'must be between 0 and 2147483647, inclusive'
const MORE = 'Forbidden: may not specify more than 1 volume type'

const rows: Rows<object> = [
  [
    'a volume has one source',
    { emptyDir: {}, hostPath: {}, gcePersistentDisk: {}, cephfs: {}, downwardAPI: {}, image: {} },
    [`hostPath: ${MORE}`, `gcePersistentDisk: ${MORE}`, `cephFS: ${MORE}`, `downwarAPI: ${MORE}`, `image: ${MORE}`],
  ],
  [
    'a directory has a size and permissions',
    { emptyDir: { sizeLimit: '-1', mode: 0o2000 } },
    [
      'emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity',
      'emptyDir.mode: Invalid value: 1024: must be a number between 0 and 01777 (octal), both inclusive',
    ],
  ],
  ['a path of the node is given', { hostPath: { path: '', type: 'Odd' } }, ['hostPath.path: Required value']],
  [
    'a path of the node does not step back, and has a supported type',
    { hostPath: { path: '/a/..', type: 'Odd' } },
    [
      'hostPath.path: Invalid value: "/a/..": must not contain \'..\'',
      'hostPath.type: Unsupported value: "Odd": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
  ],
  [
    'a repository is named',
    { gitRepo: { repository: '', directory: '/x' } },
    ['gitRepo.repository: Required value', 'gitRepo.directory: Invalid value: "/x": must be a relative path'],
  ],
  [
    'files of a secret have keys, paths and permissions',
    {
      secret: {
        defaultMode: -1,
        defaultUser: -1,
        items: [
          { key: '', path: '..x', mode: 0o1000, user: -1 },
          { key: 'k', path: '' },
        ],
      },
    },
    [
      'secret.secretName: Required value',
      `secret.defaultMode: Invalid value: -1: ${MODE}`,
      `secret.defaultUser: Invalid value: -1: ${ID}`,
      'secret.items[0].key: Required value',
      'secret.items[0].path: Invalid value: "..x": must not start with \'..\'',
      `secret.items[0].mode: Invalid value: 512: ${MODE}`,
      `secret.items[0].user: Invalid value: -1: ${ID}`,
      'secret.items[1].path: Required value',
    ],
  ],
  [
    'files of a config map likewise',
    { configMap: { defaultMode: 0o1000, items: [{ key: 'k', path: '/x' }] } },
    [
      'configMap.name: Required value',
      `configMap.defaultMode: Invalid value: 512: ${MODE}`,
      'configMap.items[0].path: Invalid value: "/x": must be a relative path',
    ],
  ],
  ['a claim is named', { persistentVolumeClaim: {} }, ['persistentVolumeClaim.claimName: Required value']],
  [
    'files about the pod say what they hold',
    {
      downwardAPI: {
        items: [
          { path: '' },
          { path: 'a', fieldRef: { fieldPath: 'status.phase' }, resourceFieldRef: { resource: 'limits.cpu' }, mode: -1 },
          { path: 'b', resourceFieldRef: { resource: 'limits.cpu' } },
        ],
      },
    },
    [
      'downwardAPI.path: Required value',
      'downwardAPI: Required value: one of fieldRef and resourceFieldRef is required',
      'downwardAPI.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
      'downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously',
      `downwardAPI.mode: Invalid value: -1: ${MODE}`,
      'downwardAPI.resourceFieldRef.containerName: Required value',
    ],
  ],
  [
    'a driver is named',
    { csi: { nodePublishSecretRef: {} } },
    ['csi.driver: Required value', 'csi.nodePublishSecretRef.name: Required value'],
  ],
  [
    'a driver has a short DNS name in either case',
    { csi: { driver: `${'A'.repeat(64)}` } },
    ['csi.driver: Too long: may not be more than 63 bytes'],
  ],
  [
    'an image has a reference and a supported pull policy',
    { image: { pullPolicy: 'Odd' } },
    ['image.reference: Required value', 'image.pullPolicy: Unsupported value: "Odd": supported values: "Always", "IfNotPresent", "Never"'],
  ],
  ['a claim made for the pod is described', { ephemeral: {} }, ['ephemeral.volumeClaimTemplate: Required value']],
]
for (const [name, given, expected] of rows) test(name, () => assert.deepEqual(volumeErrors(given), expected))

test('volumes have names of their own', () => {
  const volume = (name: string) => ({ name, emptyDir: {} })
  const errors = specErrors(podSpec({ volumes: [volume(''), volume('A'), volume('a'), volume('a')] }))
  assert.deepEqual(
    errors.map(text => text.slice(0, 50)),
    [
      'spec.volumes[0].name: Required value',
      'spec.volumes[1].name: Invalid value: "A": a lowerc',
      'spec.volumes[3].name: Duplicate value: "a"',
    ],
  )
})

test('a claim made for a pod is named after both, and not used by name', () => {
  const template = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
  const volumes = [
    { name: 'a', ephemeral: { volumeClaimTemplate: template } },
    { name: 'b', persistentVolumeClaim: { claimName: 'p-a' } },
  ]
  assert.deepEqual(specErrors(podSpec({ volumes }), { pod: { name: 'p' } }), [
    'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-a": must not reference a PVC that gets created for an ephemeral volume',
  ])
  const [error] = specErrors(podSpec({ volumes: volumes.slice(0, 1) }), { pod: { name: 'P' } })
  assert.match(error!, /^spec\.volumes\[0\]\.name: Invalid value: "a": PVC name "P-a": a lowercase RFC 1123 subdomain/)
})

const claim = (spec: object, metadata: object = {}) => ({ ephemeral: { volumeClaimTemplate: { metadata, spec } } })
const fine = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const GROUP = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
const claimRows: Rows<object> = [
  ['a claim that is complete is fine', claim(fine, { labels: { a: 'b' } }), []],
  [
    'a claim says how and how much',
    claim({}),
    ['spec.accessModes: Required value: at least 1 access mode is required', 'spec.resources[storage]: Required value'],
  ],
  [
    'access modes are supported and compatible',
    claim({ ...fine, accessModes: ['ReadWriteOncePod', 'ReadWriteOnce', 'Odd'] }),
    [
      'spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
      'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
    ],
  ],
  [
    'a claim requests storage',
    claim({ ...fine, resources: { requests: { storage: '0' } } }),
    ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
  ],
  [
    'a volume has a supported mode',
    claim({ ...fine, volumeMode: 'Tape' }),
    ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
  ],
  [
    'a source of data is named in full',
    claim({ ...fine, dataSource: { kind: '', name: '', apiGroup: null } }),
    ['spec.dataSource.name: Required value', 'spec.dataSource.kind: Required value', `spec.dataSource: Invalid value: "": ${GROUP}`],
  ],
  [
    'two sources of data are the same',
    claim({
      ...fine,
      dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
      dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b' },
    }),
    ['spec: Invalid value: {}: must match dataSourceRef'],
  ],
  [
    'a source of another namespace excludes the other',
    claim({
      ...fine,
      dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
      dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'a', namespace: 'n' },
    }),
    ['spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified'],
  ],
  [
    'only labels and annotations of a claim to be made mean something',
    claim(fine, { name: 'x', uid: 'y', finalizers: ['z/a'] }),
    ['metadata.name: Forbidden: cannot be set', 'metadata.uID: Forbidden: cannot be set', 'metadata.finalizers: Forbidden: cannot be set'],
  ],
]
for (const [name, given, expected] of claimRows)
  test(name, () =>
    assert.deepEqual(
      volumeErrors(given).map(text => text.replace('ephemeral.volumeClaimTemplate.', '')),
      expected,
    ),
  )
