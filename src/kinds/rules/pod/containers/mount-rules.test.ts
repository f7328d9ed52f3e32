import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerErrors, type Rows } from '../../../../../test/kits/kinds/pod-shapes.ts'

const volumes = [
  { name: 'dir', emptyDir: {} },
  { name: 'disk', persistentVolumeClaim: { claimName: 'c' } },
  { name: 'image', image: { reference: 'example.com/x', pullPolicy: 'Always' } },
]

const rows: Rows<object> = [
  [
    'a mount names a volume and a path',
    { volumeMounts: [{}] },
    ['volumeMounts[0].name: Required value', 'volumeMounts[0].name: Not found: ""', 'volumeMounts[0].mountPath: Required value'],
  ],
  [
    'a path is mounted over once',
    {
      volumeMounts: [
        { name: 'dir', mountPath: '/a' },
        { name: 'dir', mountPath: '/a' },
      ],
    },
    ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
  ],
  [
    'what is mounted is not given as a device too',
    { volumeMounts: [{ name: 'disk', mountPath: '/a' }], volumeDevices: [{ name: 'disk', devicePath: '/a' }] },
    [
      'volumeMounts[0].name: Invalid value: "disk": must not already exist in volumeDevices',
      'volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices',
      'volumeDevices[0].name: Invalid value: "disk": must not already exist in volumeMounts',
      'volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts',
    ],
  ],
  [
    'subpaths do not step back, and are set in one field only',
    { volumeMounts: [{ name: 'dir', mountPath: '/a', subPath: '/x', subPathExpr: 'a/../b' }] },
    [
      'volumeMounts.subPath: Invalid value: "/x": must be a relative path',
      'volumeMounts[0].subPathExpr: Invalid value: "a/../b": subPathExpr and subPath are mutually exclusive',
      'volumeMounts.subPathExpr: Invalid value: "a/../b": must not contain \'..\'',
    ],
  ],
  [
    'mounts propagate both ways from privileged containers only',
    { volumeMounts: [{ name: 'dir', mountPath: '/a', mountPropagation: 'Bidirectional' }] },
    ['volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers'],
  ],
  [
    'mount propagation is a supported value',
    { volumeMounts: [{ name: 'dir', mountPath: '/a', mountPropagation: 'Sideways' }] },
    ['volumeMounts.mountPropagation: Unsupported value: "Sideways": supported values: "Bidirectional", "HostToContainer", "None"'],
  ],
  [
    'recursive read-only requires read-only, and no propagation',
    { volumeMounts: [{ name: 'dir', mountPath: '/a', recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' }] },
    [
      'volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true',
      'volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified',
    ],
  ],
  [
    'recursiveReadOnly is a supported value',
    { volumeMounts: [{ name: 'dir', mountPath: '/a', recursiveReadOnly: 'Half' }] },
    ['volumeMounts.recursiveReadOnly: Unsupported value: "Half": supported values: "Disabled", "Enabled", "IfPossible"'],
  ],
  [
    'mount options are supported, unique, and not for images',
    { volumeMounts: [{ name: 'image', mountPath: '/a', bindMountOptions: ['noexec', 'noexec', 'fast'] }] },
    [
      'volumeMounts[0].bindMountOptions[1]: Duplicate value: "noexec"',
      'volumeMounts[0].bindMountOptions[2]: Unsupported value: "fast": supported values: "nodev", "noexec", "nosuid"',
      'volumeMounts[0].bindMountOptions: Invalid value: ["noexec","noexec","fast"]: bindMountOptions may not be used with image volumes',
    ],
  ],
  [
    'a device names a claim and a path',
    {
      volumeDevices: [
        { name: '', devicePath: '' },
        { name: 'dir', devicePath: '/a/../b' },
      ],
    },
    [
      'volumeDevices[0].name: Required value',
      'volumeDevices[0].name: Not found: ""',
      'volumeDevices[0].devicePath: Required value',
      'volumeDevices[1].name: Invalid value: "dir": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      'volumeDevices[1].devicePath: Invalid value: "/a/../b": can not contain backsteps (\'..\')',
    ],
  ],
  [
    'a device is given once, at one path',
    {
      volumeDevices: [
        { name: 'disk', devicePath: '/a' },
        { name: 'disk', devicePath: '/a' },
      ],
    },
    ['volumeDevices[1].name: Invalid value: "disk": must be unique', 'volumeDevices[1].devicePath: Invalid value: "/a": must be unique'],
  ],
]
for (const [name, given, expected] of rows) test(name, () => assert.deepEqual(containerErrors(given, { volumes }), expected))

test('a volume that is invalid itself cannot be found', () =>
  assert.deepEqual(
    containerErrors({ volumeMounts: [{ name: 'v', mountPath: '/a' }] }, { volumes: [{ name: 'v', hostPath: { path: '' } }] }),
    ['spec.volumes[0].hostPath.path: Required value', 'volumeMounts[0].name: Not found: "v"'],
  ))
