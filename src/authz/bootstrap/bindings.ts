/** Bindings of the bootstrap roles, and the bootstrap roles of namespaces. */
import { EVENTS, type RoleTable } from './notation.ts'

/** `User NAME`, `Group NAME` or `ServiceAccount NAMESPACE/NAME`. */
export type SubjectText = string

/** Subjects by the name of a cluster role and of its binding. */
export const CLUSTER_BINDINGS: Readonly<Record<string, readonly SubjectText[]>> = {
  'cluster-admin': ['Group system:masters'],
  'system:basic-user': ['Group system:authenticated'],
  'system:cluster-trust-bundle-discovery': ['Group system:serviceaccounts'],
  'system:discovery': ['Group system:authenticated'],
  'system:kube-controller-manager': ['User system:kube-controller-manager'],
  'system:kube-dns': ['ServiceAccount kube-system/kube-dns'],
  'system:kube-scheduler': ['User system:kube-scheduler'],
  'system:monitoring': ['Group system:monitoring'],
  // Nodes are authorized individually by the Node authorizer; administrators who grant them the whole role add the group here.
  'system:node': [],
  'system:node-proxier': ['User system:kube-proxy'],
  'system:public-info-viewer': ['Group system:authenticated', 'Group system:unauthenticated'],
  'system:service-account-issuer-discovery': ['Group system:serviceaccounts'],
  'system:volume-scheduler': ['User system:kube-scheduler'],
}

const LEADER_LOCKING: RoleTable[string] = [
  ['read create update', 'coordination.', 'leases'],
  ['read create update', 'coordination.', 'leasecandidates'],
]

/** Roles by namespace, then by name. */
export const NAMESPACE_ROLES: Readonly<Record<string, RoleTable>> = {
  'kube-public': {
    'system:controller:bootstrap-signer': [['read', 'core', 'configmaps'], ['update', 'core', 'configmaps', 'cluster-info'], EVENTS],
  },
  'kube-system': {
    'extension-apiserver-authentication-reader': [['read', 'core', 'configmaps', 'extension-apiserver-authentication']],
    'system::leader-locking-kube-controller-manager': LEADER_LOCKING,
    'system::leader-locking-kube-scheduler': LEADER_LOCKING,
    'system:controller:bootstrap-signer': [['read', 'core', 'secrets']],
    'system:controller:cloud-provider': [['read create', 'core', 'configmaps']],
    'system:controller:token-cleaner': [['read delete', 'core', 'secrets'], EVENTS],
  },
}

type NamespaceBinding = { readonly role?: string; readonly subjects: readonly SubjectText[] }

/** Subjects by namespace, then by the name of the binding, which is also that of the role unless it names another. */
export const NAMESPACE_BINDINGS: Readonly<Record<string, Readonly<Record<string, NamespaceBinding>>>> = {
  'kube-public': { 'system:controller:bootstrap-signer': { subjects: ['ServiceAccount kube-system/bootstrap-signer'] } },
  'kube-system': {
    'system::extension-apiserver-authentication-reader': {
      role: 'extension-apiserver-authentication-reader',
      subjects: ['User system:kube-controller-manager', 'User system:kube-scheduler'],
    },
    'system::leader-locking-kube-controller-manager': {
      subjects: [
        'User system:kube-controller-manager',
        'ServiceAccount kube-system/kube-controller-manager',
        'ServiceAccount kube-system/leader-election-controller',
      ],
    },
    'system::leader-locking-kube-scheduler': {
      subjects: ['User system:kube-scheduler', 'ServiceAccount kube-system/kube-scheduler'],
    },
    'system:controller:bootstrap-signer': { subjects: ['ServiceAccount kube-system/bootstrap-signer'] },
    'system:controller:cloud-provider': { subjects: ['ServiceAccount kube-system/cloud-provider'] },
    'system:controller:token-cleaner': { subjects: ['ServiceAccount kube-system/token-cleaner'] },
  },
}
