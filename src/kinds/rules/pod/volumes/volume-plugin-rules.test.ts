import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Rows, volumeErrors } from '../../../../../test/kits/kinds/pod-shapes.ts'

const HOST_PORT = 'must be a host:port pair or multiple pairs separated by commas'
const rows: Rows<object> = [
  [
    'an NFS export is a server and a path',
    { nfs: {} },
    ['nfs.server: Required value', 'nfs.path: Required value', 'nfs.path: Invalid value: "": must be an absolute path'],
  ],
  [
    'a disk of GCE has a name and a partition',
    { gcePersistentDisk: { partition: 256 } },
    ['persistentDisk.pdName: Required value', 'persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive'],
  ],
  [
    'a disk of AWS has an id and a partition',
    { awsElasticBlockStore: { partition: -1 } },
    [
      'awsElasticBlockStore.volumeID: Required value',
      'awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive',
    ],
  ],
  [
    'a target of iSCSI is named in full',
    { iscsi: { lun: 256, chapAuthSession: true, initiatorName: 'odd' } },
    [
      'iscsi.targetPortal: Required value',
      'iscsi.iqn: Required value',
      'iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive',
      'iscsi.secretRef: Required value',
      'iscsi.initiatorname: Invalid value: "odd": must be valid format starting with iqn, eui, or naa',
    ],
  ],
  [
    'names of iSCSI with an initiator are short',
    { iscsi: { targetPortal: 'x'.repeat(64), iqn: 'eui.0123456789abcdef', initiatorName: `naa.${'0'.repeat(32)}` } },
    [
      'name: Invalid value: "data": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    ],
  ],
  ['Gluster has endpoints and a path', { glusterfs: {} }, ['glusterfs.endpoints: Required value', 'glusterfs.path: Required value']],
  ['a dataset is named', { flocker: {} }, ['flocker: Required value: one of datasetName and datasetUUID is required']],
  [
    'a dataset has either a name or a UUID',
    { flocker: { datasetName: 'a/b', datasetUUID: 'u' } },
    [
      'flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
      'flocker.datasetName: Invalid value: "a/b": must not contain \'/\'',
    ],
  ],
  ['RBD has monitors and an image', { rbd: {} }, ['rbd.monitors: Required value', 'rbd.image: Required value']],
  [
    'Cinder has an id, and a secret a name',
    { cinder: { secretRef: {} } },
    ['cinder.volumeID: Required value', 'cinder.secretRef.name: Required value'],
  ],
  ['CephFS has monitors', { cephfs: {} }, ['cephfs.monitors: Required value']],
  [
    'Quobyte has registries and a volume',
    { quobyte: {} },
    [`quobyte.registry: Required value: ${HOST_PORT}`, 'quobyte.volume: Required value'],
  ],
  [
    'registries are hosts and ports',
    { quobyte: { registry: 'a:1,b,[::1]:2,a:b:c', volume: 'v' } },
    Array(2).fill(`quobyte.registry: Invalid value: "a:1,b,[::1]:2,a:b:c": ${HOST_PORT}`),
  ],
  [
    'a tenant is not endless',
    { quobyte: { registry: 'a:1', tenant: 'x'.repeat(65), volume: 'v' } },
    ['quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 characters'],
  ],
  [
    'Fibre Channel has targets or ids',
    { fc: {} },
    ['fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both'],
  ],
  [
    'Fibre Channel has not both, and targets have a lun',
    { fc: { targetWWNs: ['a'], wwids: ['b'] } },
    [
      'fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously',
      'fc.lun: Required value: lun is required if targetWWNs is specified',
    ],
  ],
  ['a lun is a byte', { fc: { targetWWNs: ['a'], lun: -1 } }, ['fc.lun: Invalid value: -1: must be between 0 and 255, inclusive']],
  [
    'drivers keep off names of Kubernetes',
    { flexVolume: { options: { 'X.K8S.io/a': 'b', 'kubernetes.io': 'c', ok: 'd' } } },
    [
      'flexVolume.driver: Required value',
      'flexVolume.options[X.K8S.io/a]: Invalid value: "X.K8S.io/a": kubernetes.io and k8s.io namespaces are reserved',
      'flexVolume.options[kubernetes.io]: Invalid value: "kubernetes.io": kubernetes.io and k8s.io namespaces are reserved',
    ],
  ],
  [
    'a share of Azure has a secret and a name',
    { azureFile: {} },
    ['azureFile.secretName: Required value', 'azureFile.shareName: Required value'],
  ],
  [
    'an Azure disk has a name, a URI and supported modes',
    { azureDisk: { cachingMode: 'Odd', kind: 'Odd' } },
    [
      'azureDisk.diskName: Required value',
      'azureDisk.diskURI: Required value',
      'azureDisk.cachingMode: Unsupported value: "Odd": supported values: "None", "ReadOnly", "ReadWrite"',
      'azureDisk.kind: Unsupported value: "Odd": supported values: "Dedicated", "Managed", "Shared"',
      'azureDisk.diskURI: Unsupported value: "": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
    ],
  ],
  [
    'a managed disk of Azure is of a subscription',
    { azureDisk: { diskName: 'd', diskURI: 'https://x', kind: 'Managed' } },
    [
      'azureDisk.diskURI: Unsupported value: "https://x": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
    ],
  ],
  ['vSphere has a path', { vsphereVolume: {} }, ['vsphereVolume.volumePath: Required value']],
  ['Photon has an id', { photonPersistentDisk: {} }, ['photonPersistentDisk.pdID: Required value']],
  ['Portworx has an id', { portworxVolume: {} }, ['portworxVolume.volumeID: Required value']],
  [
    'StorageOS has a volume, and a secret a name',
    { storageos: { secretRef: {} } },
    ['storageos.volumeName: Required value', 'storageos.secretRef.name: Required value'],
  ],
  [
    'ScaleIO has a gateway, a system and a volume',
    { scaleIO: {} },
    ['scaleIO.gateway: Required value', 'scaleIO.system: Required value', 'scaleIO.volumeName: Required value'],
  ],
]
for (const [name, given, expected] of rows) test(name, () => assert.deepEqual(volumeErrors(given), expected))

test('names of iSCSI have the format of their type', () => {
  const isFine = (iqn: string) => volumeErrors({ iscsi: { targetPortal: 'p', iqn, lun: 0 } }).length === 0
  for (const iqn of ['iqn.2001-04.com.example:storage', 'eui.0123456789abcdef', `naa.${'a'.repeat(32)}`, 'iqn,iqn.2001-04.a:b'])
    assert.ok(isFine(iqn), iqn)
  for (const iqn of ['iqn.2001-04.com.example', 'iqn.2001-04.com.example:', 'iqn.2001-04.a:b,c', 'eui.1', 'naa.1', 'iqn'])
    assert.ok(!isFine(iqn), iqn)
})

test('a long hostile name of iSCSI is read once', () => {
  const name = 'iqn.2001-04.a:'.repeat(200_000)
  assert.equal(volumeErrors({ iscsi: { targetPortal: 'p', iqn: `${name},`, lun: 0 } }).length, 1)
})
