/** Bootstrap cluster roles for users, and those of all users. */
import type { RoleTable } from './notation.ts'

/** Roles for all users, for administrators and for approvers. */
export const CLUSTER_ROLES: RoleTable = {
  'cluster-admin': [
    ['*', '*', '*'],
    ['*', 'paths', '*'],
  ],
  'system:auth-delegator': [
    ['create', 'authentication.', 'tokenreviews'],
    ['create', 'authorization.', 'subjectaccessreviews'],
  ],
  'system:basic-user': [
    ['create', 'authorization.', 'selfsubjectaccessreviews selfsubjectrulesreviews'],
    ['create', 'authentication.', 'selfsubjectreviews'],
  ],
  'system:certificates.{group_domain}:certificatesigningrequests:nodeclient': [
    ['create', 'certificates.', 'certificatesigningrequests/nodeclient'],
  ],
  'system:certificates.{group_domain}:certificatesigningrequests:selfnodeclient': [
    ['create', 'certificates.', 'certificatesigningrequests/selfnodeclient'],
  ],
  'system:certificates.{group_domain}:kube-apiserver-client-approver': [
    ['approve', 'certificates.', 'signers', 'kubernetes.io/kube-apiserver-client'],
  ],
  'system:certificates.{group_domain}:kube-apiserver-client-kubelet-approver': [
    ['approve', 'certificates.', 'signers', 'kubernetes.io/kube-apiserver-client-kubelet'],
  ],
  'system:certificates.{group_domain}:kubelet-serving-approver': [['approve', 'certificates.', 'signers', 'kubernetes.io/kubelet-serving']],
  'system:certificates.{group_domain}:legacy-unknown-approver': [['approve', 'certificates.', 'signers', 'kubernetes.io/legacy-unknown']],
  'system:cluster-trust-bundle-discovery': [['read', 'certificates.', 'clustertrustbundles']],
  'system:discovery': [['get', 'paths', '/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/']],
  'system:kubelet-api-admin': [
    ['read', 'core', 'nodes'],
    ['proxy', 'core', 'nodes'],
    ['*', 'core', 'nodes/log nodes/metrics nodes/proxy nodes/stats'],
    ['*', 'core', 'nodes/configz nodes/healthz nodes/pods'],
  ],
  'system:monitoring': [
    ['get', 'paths', '/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz'],
    ['get', 'core', 'nodes/metrics'],
  ],
  'system:public-info-viewer': [['get', 'paths', '/healthz /livez /readyz /version /version/']],
  'system:service-account-issuer-discovery': [
    ['get', 'paths', '/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/'],
  ],
}

/** Roles whose rules are aggregated into the roles for users. */
export const AGGREGATED_PARTS: RoleTable = {
  'system:aggregate-to-admin': [
    ['create', 'authorization.', 'localsubjectaccessreviews'],
    ['read write', 'rbac.authorization.', 'rolebindings roles'],
  ],
  'system:aggregate-to-edit': [
    ['read', 'core', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'],
    ['impersonate', 'core', 'serviceaccounts'],
    ['write', 'core', 'pods pods/attach pods/exec pods/portforward pods/proxy'],
    ['create', 'core', 'pods/eviction'],
    [
      'write',
      'core',
      'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
    ],
    ['create', 'core', 'serviceaccounts/token'],
    ['write', 'core events.', 'events'],
    [
      'write',
      'apps',
      'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
    ],
    ['write', 'autoscaling', 'horizontalpodautoscalers'],
    ['write', 'batch', 'cronjobs jobs'],
    [
      'write',
      'extensions',
      'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
    ],
    ['write', 'policy', 'poddisruptionbudgets'],
    ['write', 'networking.', 'ingresses networkpolicies'],
    ['read write', 'coordination.', 'leases'],
    ['write', 'resource.', 'resourceclaims resourceclaimtemplates'],
  ],
  'system:aggregate-to-view': [
    [
      'read',
      'core',
      'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
    ],
    [
      'read',
      'core',
      'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
    ],
    ['read', 'core', 'namespaces'],
    ['read', 'core events.', 'events'],
    ['read', 'discovery.', 'endpointslices'],
    [
      'read',
      'apps',
      'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
    ],
    ['read', 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'],
    ['read', 'batch', 'cronjobs cronjobs/status jobs jobs/status'],
    [
      'read',
      'extensions',
      'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
    ],
    ['read', 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'],
    ['read', 'networking.', 'ingresses ingresses/status networkpolicies'],
    ['read', 'resource.', 'resourceclaims resourceclaims/status resourceclaimtemplates'],
  ],
}
