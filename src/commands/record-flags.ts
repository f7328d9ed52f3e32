/** Flags of serve with which a command finds and decodes records. */
export const RECORD_FLAGS = [
  'encryption-provider-config',
  'etcd-cafile',
  'etcd-certfile',
  'etcd-keyfile',
  'etcd-prefix',
  'group-domain',
] as const
