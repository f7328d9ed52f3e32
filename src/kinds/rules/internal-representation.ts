/**
 * Values as kube-apiserver's internal type, which some errors show: fields under their Go names, absent ones included. Metadata and
 * conditions are shown as usual.
 */
import { compareText } from '../../lib/go-text.ts'
import { type Json, setOwn } from '../../lib/json-value.ts'
import type { AnyType } from '../../schema/types.ts'

const GO_NAMES: Readonly<Record<string, string>> = {
  apiGroup: 'APIGroup',
  apiGroups: 'APIGroups',
  apiVersion: 'APIVersion',
  awsElasticBlockStore: 'AWSElasticBlockStore',
  cel: 'CEL',
  cephfs: 'CephFS',
  chapAuthDiscovery: 'DiscoveryCHAPAuth',
  chapAuthSession: 'SessionCHAPAuth',
  csi: 'CSI',
  diskURI: 'DataDiskURI',
  dnsConfig: 'DNSConfig',
  dnsPolicy: 'DNSPolicy',
  fc: 'FC',
  fsGroup: 'FSGroup',
  fsGroupChangePolicy: 'FSGroupChangePolicy',
  fsType: 'FSType',
  gcePersistentDisk: 'GCEPersistentDisk',
  gid: 'GID',
  gmsaCredentialSpec: 'GMSACredentialSpec',
  gmsaCredentialSpecName: 'GMSACredentialSpecName',
  grpc: 'GRPC',
  httpGet: 'HTTPGet',
  httpHeaders: 'HTTPHeaders',
  ip: 'IP',
  ipFamilies: 'IPFamilies',
  ipFamilyPolicy: 'IPFamilyPolicy',
  ipMode: 'IPMode',
  iqn: 'IQN',
  iscsi: 'ISCSI',
  iscsiInterface: 'ISCSIInterface',
  nfs: 'NFS',
  os: 'OS',
  pdName: 'PDName',
  pkixPublicKey: 'PKIXPublicKey',
  rbd: 'RBD',
  seLinuxChangePolicy: 'SELinuxChangePolicy',
  seLinuxOptions: 'SELinuxOptions',
  serviceAccount: 'DeprecatedServiceAccount',
  sslEnabled: 'SSLEnabled',
  storageos: 'StorageOS',
  tcpSocket: 'TCPSocket',
  tty: 'TTY',
  uid: 'UID',
  wwids: 'WWIDs',
}
const SHOWN_AS_USUAL = new Set(['Condition', 'LabelSelector', 'ObjectMeta'])

/** A value as kube-apiserver's internal type. */
export function internalRepresentation(type: AnyType, value: any): Json {
  const { shape, flags } = type
  if (value === undefined || value === null) {
    if (shape.kind === 'message' && flags.orEmpty) return internalRepresentation(type, {})
    return shape.kind !== 'scalar' || flags.optional ? null : zeroOf(shape.name)
  }
  if (shape.kind === 'list') return value.map((item: any) => internalRepresentation(shape.item, item))
  if (shape.kind === 'map') {
    const out: { [key: string]: Json } = {}
    for (const key of Object.keys(value).sort(compareText)) setOwn(out, key, internalRepresentation(shape.value, value[key]))
    return out
  }
  if (shape.kind === 'scalar' || shape.kind === 'either' || SHOWN_AS_USUAL.has(shape.name)) return value
  return Object.assign({}, ...Object.entries(shape.fields).map(([name, [, field]]) => internalField(name, field, value[name])))
}

function internalField(name: string, type: AnyType, value: any): { [name: string]: Json } {
  const internal = internalRepresentation(type, value)
  // Metadata of templates is embedded: its fields are inlined into the template.
  if (type.shape.kind === 'message' && type.shape.name === 'ObjectMeta') return internal as { [name: string]: Json }
  return { [GO_NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1)]: internal }
}

function zeroOf(name: string): Json {
  switch (name) {
    case 'bool':
      return false
    case 'int32':
    case 'int64':
      return 0
    case 'quantity':
      return '0'
    case 'bytes':
    case 'raw':
    case 'time':
      return null
    default:
      return ''
  }
}
