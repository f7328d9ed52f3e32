// Tricks to get around RBAC: each is refused, for the reason that Kubernetes has.
import { test } from 'node:test'
import { patient } from '../kit.ts'
import { type Attack, ME, NS, runAttacks, startArena } from '../kits/attacks.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const CLUSTER_ROLES = `${RBAC}/clusterroles`
const ROLES = `${RBAC}/namespaces/${NS}/roles`
const BINDINGS = `${RBAC}/namespaces/${NS}/rolebindings`
const CLUSTER_BINDINGS = `${RBAC}/clusterrolebindings`
const SECRETS = `/api/v1/namespaces/${NS}/secrets`
const CONFIG_MAPS = `/api/v1/namespaces/${NS}/configmaps`
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NS}/leases`

const READ_SECRETS = { verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets'] }
const EVERYTHING = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
const ESCALATION = 'is attempting to grant RBAC permissions not currently held'
const manage = (resource: string) => `get,create,update,patch,delete ${resource}.rbac.authorization.k8s.io`
const role = (name: string, ...rules: object[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name },
  rules,
})
const clusterRole = (name: string, ...rules: object[]) => ({ ...role(name, ...rules), kind: 'ClusterRole' })
const binding = (name: string, to: string, ...subjects: object[]) => {
  const [kind, roleName] = to.split(' ')
  return { metadata: { name }, roleRef: { kind, name: roleName }, subjects: subjects.length > 0 ? subjects : [{ kind: 'User', name: ME }] }
}
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const APPLY = 'application/apply-patch+yaml'
const secret = (name: string) => [SECRETS, { metadata: { name }, stringData: { key: 'the-treasure' } }] as const
const treasure = { given: [secret('mine'), secret('other')], hides: /dGhlLXRyZWFzdXJl/ }

/** Giving oneself rights by writing roles. */
const ROLE_WRITES: readonly Attack[] = [
  {
    name: 'a role with rights that its writer lacks is created',
    may: [manage('roles')],
    send: `POST ${ROLES}`,
    body: role('more', READ_SECRETS),
    answer: 403,
    says: ESCALATION,
    absent: [`${ROLES}/more`],
  },
  {
    name: 'the same as a dry run',
    may: [manage('roles')],
    send: `POST ${ROLES}?dryRun=All`,
    body: role('more', READ_SECRETS),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'a cluster role is created with rights that its writer has in one namespace only',
    may: ['get,list secrets'],
    mayAnywhere: [manage('clusterroles')],
    send: `POST ${CLUSTER_ROLES}`,
    body: clusterRole('tried-everywhere', READ_SECRETS),
    answer: 403,
    says: ESCALATION,
    absent: [`${CLUSTER_ROLES}/tried-everywhere`],
  },
  {
    name: 'the own role is replaced by one with more rights',
    may: [manage('roles')],
    send: `PUT ${ROLES}/${NS}`,
    body: role(NS, EVERYTHING),
    answer: 403,
    says: ESCALATION,
    unchanged: [`${ROLES}/${NS}`],
  },
  ...[
    { type: MERGE, body: { rules: [EVERYTHING] } as unknown },
    { type: STRATEGIC, body: { rules: [EVERYTHING] } },
    { type: JSON_PATCH, body: [{ op: 'add', path: '/rules/-', value: EVERYTHING }] },
    { type: JSON_PATCH, body: [{ op: 'add', path: '/rules/0/verbs/-', value: '*' }], how: 'to all verbs' },
    { type: JSON_PATCH, body: [{ op: 'replace', path: '/rules/0/resources/0', value: '*' }], how: 'to all resources' },
    { type: JSON_PATCH, body: [{ op: 'remove', path: '/rules/1/resourceNames' }], how: 'by dropping names' },
    { type: APPLY, body: role(NS, EVERYTHING), query: '?fieldManager=m&force=true' },
  ].map(({ type, body, how = '', query = '' }) => ({
    name: `the own role is widened by ${type} ${how}`.trim(),
    may: [manage('roles'), 'get secrets mine'],
    send: `PATCH ${ROLES}/${NS}${query}`,
    type,
    body,
    answer: 403,
    says: ESCALATION,
    unchanged: [`${ROLES}/${NS}`],
  })),
  {
    name: 'a role is created by a replace without the right to create',
    may: ['update,get roles.rbac.authorization.k8s.io'],
    send: `PUT ${ROLES}/fresh`,
    body: role('fresh'),
    answer: 403,
    says: 'cannot create resource "roles"',
    absent: [`${ROLES}/fresh`],
  },
  {
    name: 'a role with more rights is created by a replace',
    may: [manage('roles')],
    send: `PUT ${ROLES}/fresh`,
    body: role('fresh', EVERYTHING),
    answer: 403,
    says: ESCALATION,
    absent: [`${ROLES}/fresh`],
  },
  {
    name: 'a role with more rights is created by an apply',
    may: [manage('roles')],
    send: `PATCH ${ROLES}/fresh?fieldManager=m`,
    type: APPLY,
    body: role('fresh', EVERYTHING),
    answer: 403,
    says: ESCALATION,
    absent: [`${ROLES}/fresh`],
  },
  {
    name: 'a role gives all subresources where its writer has the resource',
    may: [manage('roles'), '* pods'],
    send: `POST ${ROLES}`,
    body: role('sub', { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] }),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'a role gives a verb that nobody has heard of',
    may: [manage('roles'), 'get,list,watch,create,update,patch,delete,deletecollection secrets'],
    send: `POST ${ROLES}`,
    body: role('verb', { verbs: ['impersonate'], apiGroups: [''], resources: ['secrets'] }),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'a cluster role gives paths that its writer lacks',
    mayAnywhere: [manage('clusterroles'), 'get /healthz/*'],
    send: `POST ${CLUSTER_ROLES}`,
    body: clusterRole('tried-paths', { verbs: ['get'], nonResourceURLs: ['/*'] }),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'a role of a namespace gives paths',
    may: ['escalate,create roles.rbac.authorization.k8s.io'],
    send: `POST ${ROLES}`,
    body: role('paths', { verbs: ['get'], nonResourceURLs: ['/metrics'] }),
    answer: 422,
    says: 'namespaced rules cannot apply to non-resource URLs',
  },
  {
    name: 'the right to escalate on one role is used for another',
    may: [manage('roles'), 'escalate roles.rbac.authorization.k8s.io allowed'],
    send: `POST ${ROLES}`,
    body: role('other', EVERYTHING),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'the right to escalate in a namespace is used for a cluster role',
    may: ['escalate roles.rbac.authorization.k8s.io', 'escalate clusterroles.rbac.authorization.k8s.io'],
    mayAnywhere: [manage('clusterroles')],
    send: `POST ${CLUSTER_ROLES}`,
    body: clusterRole('tried-escalate', EVERYTHING),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'the right to bind is used to escalate',
    may: [manage('roles'), 'bind roles.rbac.authorization.k8s.io'],
    send: `POST ${ROLES}`,
    body: role('more', EVERYTHING),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'a role that gathers others is created',
    mayAnywhere: [manage('clusterroles')],
    send: `POST ${CLUSTER_ROLES}`,
    body: { ...clusterRole('tried-gathering'), aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } },
    answer: 403,
    says: 'must have cluster-admin privileges to use the aggregationRule',
  },
  {
    name: 'a role of its own begins to gather others',
    mayAnywhere: [manage('clusterroles')],
    send: `PATCH ${CLUSTER_ROLES}/${NS}`,
    type: MERGE,
    body: { aggregationRule: { clusterRoleSelectors: [{}] } },
    answer: 403,
    says: 'must have cluster-admin privileges to use the aggregationRule',
    unchanged: [`${CLUSTER_ROLES}/${NS}`],
  },
  {
    name: 'a role with more rights is labelled so that another gathers it',
    mayAnywhere: [manage('clusterroles')],
    send: `PATCH ${CLUSTER_ROLES}/system:kube-controller-manager`,
    type: MERGE,
    body: { metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } } },
    answer: 403,
    says: ESCALATION,
    unchanged: [`${CLUSTER_ROLES}/system:kube-controller-manager`],
  },
  {
    name: 'a role that is gathered is created with more rights',
    mayAnywhere: [manage('clusterroles')],
    send: `POST ${CLUSTER_ROLES}`,
    body: {
      ...clusterRole('tried-gathered', READ_SECRETS),
      metadata: { name: 'tried-gathered', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    },
    answer: 403,
    says: ESCALATION,
  },
]

/** Giving oneself rights by writing bindings. */
const BINDING_WRITES: readonly Attack[] = [
  {
    name: 'cluster-admin is bound in a namespace',
    may: [manage('rolebindings'), '* secrets'],
    send: `POST ${BINDINGS}`,
    body: binding('b', 'ClusterRole cluster-admin'),
    answer: 403,
    says: ESCALATION,
    absent: [`${BINDINGS}/b`],
  },
  {
    name: 'a role is bound everywhere by one who has its rights in one namespace',
    may: ['get,list secrets'],
    mayAnywhere: [manage('clusterrolebindings')],
    given: [[CLUSTER_ROLES, clusterRole(`reads-${NS}`, READ_SECRETS)]],
    send: `POST ${CLUSTER_BINDINGS}`,
    body: binding('tried-binding', `ClusterRole reads-${NS}`),
    answer: 403,
    says: ESCALATION,
    absent: [`${CLUSTER_BINDINGS}/tried-binding`],
  },
  {
    name: 'a subject is added to a binding of rights that one lacks',
    may: [manage('rolebindings')],
    given: [
      [ROLES, role('reads', READ_SECRETS)],
      [BINDINGS, binding('given', 'Role reads', { kind: 'User', name: 'somebody' })],
    ],
    send: `PATCH ${BINDINGS}/given`,
    type: JSON_PATCH,
    body: [{ op: 'add', path: '/subjects/-', value: { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: ME } }],
    answer: 403,
    says: ESCALATION,
    unchanged: [`${BINDINGS}/given`],
  },
  {
    name: 'a binding is turned to another role',
    may: [manage('rolebindings'), 'bind roles.rbac.authorization.k8s.io'],
    given: [
      [ROLES, role('none')],
      [ROLES, role('reads', READ_SECRETS)],
      [BINDINGS, binding('given', 'Role none')],
    ],
    send: `PATCH ${BINDINGS}/given`,
    type: MERGE,
    body: { roleRef: { name: 'reads' } },
    answer: 422,
    says: 'field is immutable',
    unchanged: [`${BINDINGS}/given`],
  },
  {
    name: 'the right to bind one role is used for another',
    may: [manage('rolebindings'), 'bind clusterroles.rbac.authorization.k8s.io view'],
    send: `POST ${BINDINGS}`,
    body: binding('b', 'ClusterRole edit'),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'the right to bind roles is used for cluster roles',
    may: [manage('rolebindings'), 'bind roles.rbac.authorization.k8s.io'],
    send: `POST ${BINDINGS}`,
    body: binding('b', 'ClusterRole edit'),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'the right to bind in a namespace is used for the cluster',
    may: ['bind clusterroles.rbac.authorization.k8s.io'],
    mayAnywhere: [manage('clusterrolebindings')],
    send: `POST ${CLUSTER_BINDINGS}`,
    body: binding('tried-cluster', 'ClusterRole cluster-admin'),
    answer: 403,
    says: ESCALATION,
    absent: [`${CLUSTER_BINDINGS}/tried-cluster`],
  },
  {
    name: 'the right to escalate is used to bind',
    may: [manage('rolebindings'), 'escalate roles.rbac.authorization.k8s.io'],
    given: [[ROLES, role('reads', READ_SECRETS)]],
    send: `POST ${BINDINGS}`,
    body: binding('b', 'Role reads'),
    answer: 403,
    says: ESCALATION,
  },
  {
    name: 'a role is bound before it is there',
    may: [manage('rolebindings')],
    send: `POST ${BINDINGS}`,
    body: binding('early', 'Role later'),
    answer: [403, 404],
    absent: [`${BINDINGS}/early`],
  },
  {
    name: 'a binding of the cluster names a role of a namespace',
    mayAnywhere: [manage('clusterrolebindings'), 'bind roles.rbac.authorization.k8s.io'],
    given: [[ROLES, role('reads', READ_SECRETS)]],
    send: `POST ${CLUSTER_BINDINGS}`,
    body: binding('tried-role', 'Role reads'),
    answer: [403, 404, 422],
    absent: [`${CLUSTER_BINDINGS}/tried-role`],
  },
  {
    name: 'a binding is created by a replace without the right to create',
    may: ['update,get rolebindings.rbac.authorization.k8s.io', 'bind clusterroles.rbac.authorization.k8s.io'],
    send: `PUT ${BINDINGS}/fresh`,
    body: binding('fresh', 'ClusterRole view'),
    answer: 403,
    says: 'cannot create resource "rolebindings"',
    absent: [`${BINDINGS}/fresh`],
  },
]

const bound = (to: string, ...subjects: object[]) => ({ given: [[BINDINGS, binding('given', to, ...subjects)] as const] })

/** Subjects that are almost the user. */
const SUBJECTS: readonly Attack[] = [
  ...[
    { name: 'a binding to the user name in another case', subject: { kind: 'User', name: 'MALLORY' }, user: 'mallory' },
    { name: 'a binding to all users by an asterisk', subject: { kind: 'User', name: '*' } },
    { name: 'a binding to all groups by an asterisk', subject: { kind: 'Group', name: '*' } },
    { name: 'a binding to a group with the name of the user', subject: { kind: 'Group', name: ME } },
    { name: 'a binding to a user with the name of the group', subject: { kind: 'User', name: 'devs' }, groups: ['devs'] },
    { name: 'a binding to the name with a blank', subject: { kind: 'User', name: `${ME} ` } },
    {
      name: 'a binding to a service account with the name of the user',
      subject: { kind: 'ServiceAccount', name: 'sa', namespace: NS },
      user: 'sa',
    },
    {
      name: 'a binding to a service account of another namespace',
      subject: { kind: 'ServiceAccount', name: 'sa', namespace: 'default' },
      user: 'system:serviceaccount:other:sa',
    },
    {
      name: 'a binding to the prefix of a group',
      subject: { kind: 'Group', name: 'system:serviceaccounts' },
      groups: ['system:serviceaccounts:x'],
    },
  ].map(({ subject, ...row }) => ({
    ...row,
    ...bound('ClusterRole cluster-admin', subject),
    send: `GET ${SECRETS}`,
    answer: 403,
    says: 'cannot list resource "secrets"',
  })),
  ...[
    { name: 'a user is called as the group of administrators', user: 'system:masters' },
    { name: 'a user is called system:admin', user: 'system:admin' },
    { name: 'a group is almost that of administrators', groups: ['System:Masters', 'system:master', 'system:masters:x', 'masters'] },
    { name: 'a user has the name of a controller', user: 'system:serviceaccount:kube-system:nobody-bound' },
  ].map(row => ({ ...row, send: 'GET /api/v1/secrets', answer: 403, says: 'cannot list resource "secrets"' })),
  {
    name: 'a subject of an unknown kind is bound',
    may: [manage('rolebindings'), 'bind clusterroles.rbac.authorization.k8s.io'],
    send: `POST ${BINDINGS}`,
    body: binding('odd', 'ClusterRole cluster-admin', { kind: 'user', name: ME }),
    answer: 422,
  },
]

/** Rights on one thing used for another. */
const SCOPES: readonly Attack[] = [
  {
    name: 'a role with all subresources of pods, as nobody writes it',
    may: ['get pods/*'],
    send: `GET /api/v1/namespaces/${NS}/pods/p/log`,
    answer: 403,
  },
  { name: 'a right on a subresource of all resources', may: ['get */status'], send: `GET /api/v1/namespaces/${NS}/pods/p`, answer: 403 },
  { name: 'one name is allowed and all are listed', may: ['get,list secrets mine'], ...treasure, send: `GET ${SECRETS}`, answer: 403 },
  {
    name: 'one name is allowed and all others are selected',
    may: ['list secrets mine'],
    ...treasure,
    send: `GET ${SECRETS}?fieldSelector=metadata.name!%3Dmine`,
    answer: 403,
  },
  {
    name: 'one name is allowed and selected beside another in a second parameter',
    may: ['list secrets mine'],
    given: [secret('mine'), secret('other')],
    send: `GET ${SECRETS}?fieldSelector=metadata.name%3Dmine&fieldSelector=metadata.name%3Dother`,
    answer: [200, 400, 403],
    hides: /"name":"other"/,
  },
  {
    name: 'another name is selected first, the allowed one second',
    may: ['list secrets mine'],
    ...treasure,
    send: `GET ${SECRETS}?fieldSelector=metadata.name%3Dother&fieldSelector=metadata.name%3Dmine`,
    answer: 403,
  },
  {
    name: 'one name is allowed, and another is in the path',
    may: ['get,list,watch secrets mine'],
    ...treasure,
    send: `GET ${SECRETS}/other?fieldSelector=metadata.name%3Dmine`,
    answer: 403,
  },
  {
    name: 'one name is allowed, and another is in the older path of watches',
    may: ['get,list,watch secrets mine'],
    ...treasure,
    send: `GET /api/v1/watch/namespaces/${NS}/secrets/other?fieldSelector=metadata.name%3Dmine&timeoutSeconds=1`,
    answer: 403,
  },
  {
    name: 'one name is allowed and all are deleted with its selector',
    may: ['* secrets mine'],
    ...treasure,
    send: `DELETE ${SECRETS}?fieldSelector=metadata.name%3Dmine`,
    answer: 403,
    unchanged: [`${SECRETS}/mine`, `${SECRETS}/other`],
  },
  {
    name: 'one name is allowed and is created',
    may: ['* secrets fresh'],
    send: `POST ${SECRETS}`,
    body: { metadata: { name: 'fresh' } },
    answer: 403,
    absent: [`${SECRETS}/fresh`],
  },
  {
    name: 'one name is allowed and another is in the body',
    may: ['* secrets mine'],
    ...treasure,
    send: `PUT ${SECRETS}/mine`,
    body: { metadata: { name: 'other' } },
    answer: 400,
    unchanged: [`${SECRETS}/mine`, `${SECRETS}/other`],
  },
  {
    name: 'one namespace is allowed and another is in the body',
    may: ['* secrets'],
    send: `POST ${SECRETS}`,
    body: { metadata: { name: 'smuggled', namespace: 'kube-system' } },
    answer: 400,
    absent: ['/api/v1/namespaces/kube-system/secrets/smuggled'],
  },
  { name: 'a list of all namespaces with the rights of one', may: ['* secrets'], send: 'GET /api/v1/secrets', answer: 403 },
  {
    name: 'a list of all namespaces with a selector for the own one',
    may: ['* secrets'],
    send: `GET /api/v1/secrets?fieldSelector=metadata.namespace%3D${NS}`,
    answer: 403,
  },
  {
    name: 'another namespace by a path that climbs',
    may: ['* secrets'],
    send: `GET ${SECRETS}/../../kube-system/secrets`,
    answer: [400, 403, 404],
  },
  {
    name: 'another namespace by an encoded slash',
    may: ['* secrets'],
    send: `GET /api/v1/namespaces/${NS}%2f..%2fkube-system/secrets`,
    answer: [400, 403, 404],
  },
  {
    name: 'another namespace by two dots as its name',
    may: ['* secrets'],
    send: 'GET /api/v1/namespaces/../secrets',
    answer: [400, 403, 404],
  },
  { name: 'an empty namespace in the path', may: ['* secrets'], send: 'GET /api/v1/namespaces//secrets', answer: [400, 403, 404] },
  { name: 'the resource in another case', may: ['* configmaps'], send: `GET /api/v1/namespaces/${NS}/Secrets`, answer: 403 },
  {
    name: 'the resource in other letters',
    may: ['* configmaps'],
    send: `GET /api/v1/namespaces/${NS}/%73ecrets`,
    answer: 403,
    says: '"secrets"',
  },
  { name: 'two slashes before the path', may: ['* configmaps'], send: `GET /${SECRETS}`, answer: 403 },
  {
    name: 'a role on the older group of a kind',
    may: ['* deployments.extensions'],
    send: `GET /apis/apps/v1/namespaces/${NS}/deployments`,
    answer: 403,
  },
  {
    name: 'events of one group with rights on those of the other',
    may: ['* events'],
    send: `GET /apis/events.k8s.io/v1/namespaces/${NS}/events`,
    answer: 403,
  },
  {
    name: 'a cluster role that is bound in a namespace is used for the cluster',
    ...bound('ClusterRole cluster-admin'),
    send: 'GET /api/v1/nodes',
    answer: 403,
  },
  {
    name: 'paths of a cluster role that is bound in a namespace',
    ...bound('ClusterRole cluster-admin'),
    send: 'GET /metrics',
    answer: 403,
  },
  {
    name: 'a namespace is created by an administrator of one',
    ...bound('ClusterRole cluster-admin'),
    send: 'POST /api/v1/namespaces',
    body: { metadata: { name: 'tried-namespace' } },
    answer: 403,
    absent: ['/api/v1/namespaces/tried-namespace'],
  },
  { name: 'a right on paths is used for resources', mayAnywhere: ['* /*'], send: 'GET /api/v1/secrets', answer: 403 },
  { name: 'a right on all resources is used for paths', mayAnywhere: ['* *'], send: 'GET /metrics', answer: 403 },
  {
    name: 'a path that climbs out of an allowed one',
    mayAnywhere: ['get /healthz/*'],
    send: 'GET /healthz/../metrics',
    answer: [403, 404],
    hides: /apiserver_/,
  },
  { name: 'a path that continues an allowed one', mayAnywhere: ['get /metric'], send: 'GET /metrics', answer: 403 },
]

/** One verb used for another. */
const VERBS: readonly Attack[] = [
  { name: 'a watch with the right to list', may: ['get,list secrets'], send: `GET ${SECRETS}?watch=1&timeoutSeconds=1`, answer: 403 },
  {
    name: 'a watch by the older path with the right to list',
    may: ['get,list secrets'],
    send: `GET /api/v1/watch/namespaces/${NS}/secrets?timeoutSeconds=1`,
    answer: 403,
  },
  { name: 'a list with the right to watch', may: ['get,watch secrets'], send: `GET ${SECRETS}?watch=false`, answer: 403 },
  { name: 'a HEAD with no right', send: `HEAD ${SECRETS}`, answer: 403 },
  { name: 'an unknown method', may: ['get,list secrets'], send: `PROPFIND ${SECRETS}`, answer: 403 },
  {
    name: 'another method in a header',
    may: ['get,list secrets'],
    given: [secret('mine')],
    send: `GET ${SECRETS}/mine`,
    headers: { 'x-http-method-override': 'DELETE' },
    answer: 200,
    unchanged: [`${SECRETS}/mine`],
  },
  {
    name: 'a patch with the right to update',
    may: ['get,update configmaps'],
    given: [[CONFIG_MAPS, { metadata: { name: 'c' } }]],
    send: `PATCH ${CONFIG_MAPS}/c`,
    type: MERGE,
    body: { data: { a: 'b' } },
    answer: 403,
    unchanged: [`${CONFIG_MAPS}/c`],
  },
  {
    name: 'a replace with the right to patch',
    may: ['get,patch configmaps'],
    given: [[CONFIG_MAPS, { metadata: { name: 'c' } }]],
    send: `PUT ${CONFIG_MAPS}/c`,
    body: { metadata: { name: 'c' }, data: { a: 'b' } },
    answer: 403,
    unchanged: [`${CONFIG_MAPS}/c`],
  },
  {
    name: 'an apply that creates with the rights to patch and update',
    may: ['get,patch,update leases.coordination.k8s.io'],
    send: `PATCH ${LEASES}/l?fieldManager=m`,
    type: APPLY,
    body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' } },
    answer: 403,
    says: 'cannot create',
    absent: [`${LEASES}/l`],
  },
  {
    name: 'a delete with the right to delete collections',
    may: ['deletecollection configmaps'],
    given: [[CONFIG_MAPS, { metadata: { name: 'c' } }]],
    send: `DELETE ${CONFIG_MAPS}/c`,
    answer: 403,
    unchanged: [`${CONFIG_MAPS}/c`],
  },
  {
    name: 'a collection is deleted with the right to delete',
    may: ['delete configmaps'],
    given: [[CONFIG_MAPS, { metadata: { name: 'c' } }]],
    send: `DELETE ${CONFIG_MAPS}`,
    answer: 403,
    unchanged: [`${CONFIG_MAPS}/c`],
  },
  {
    name: 'a dry run without the right',
    may: ['get configmaps'],
    send: `POST ${CONFIG_MAPS}?dryRun=All`,
    body: { metadata: { name: 'c' } },
    answer: 403,
  },
]

const AUTHORIZATION = '/apis/authorization.k8s.io/v1'
const wanted = { verb: 'list', resource: 'secrets', namespace: NS }

/** Reviews as an oracle about others. */
const REVIEWS: readonly Attack[] = [
  {
    name: 'a review of another user',
    send: `POST ${AUTHORIZATION}/subjectaccessreviews`,
    body: { spec: { user: 'admin', resourceAttributes: wanted } },
    answer: 403,
  },
  {
    name: 'a review of another user in the own namespace by its editor',
    ...bound('ClusterRole edit'),
    send: `POST ${AUTHORIZATION}/namespaces/${NS}/localsubjectaccessreviews`,
    body: { metadata: { namespace: NS }, spec: { user: 'admin', resourceAttributes: wanted } },
    answer: 403,
  },
  {
    name: 'a local review about another namespace',
    may: ['create localsubjectaccessreviews.authorization.k8s.io'],
    send: `POST ${AUTHORIZATION}/namespaces/${NS}/localsubjectaccessreviews`,
    body: { metadata: { namespace: NS }, spec: { user: 'admin', resourceAttributes: { ...wanted, namespace: 'kube-system' } } },
    answer: [400, 422],
  },
  {
    name: 'a review of oneself that names a group',
    send: `POST ${AUTHORIZATION}/selfsubjectaccessreviews`,
    body: { spec: { user: 'admin', groups: ['system:masters'], resourceAttributes: wanted } },
    answer: 201,
    says: '"allowed":false',
  },
  {
    name: "a review of one's own rules names those of others",
    given: [[BINDINGS, binding('others', 'ClusterRole cluster-admin', { kind: 'User', name: 'somebody' })]],
    send: `POST ${AUTHORIZATION}/selfsubjectrulesreviews`,
    body: { spec: { namespace: NS } },
    answer: 201,
    hides: /"resources":\["\*"\]/,
  },
  { name: 'a review of tokens', send: 'POST /apis/authentication.k8s.io/v1/tokenreviews', body: { spec: { token: 'x' } }, answer: 403 },
]

const ROWS = [...ROLE_WRITES, ...BINDING_WRITES, ...SUBJECTS, ...SCOPES, ...VERBS, ...REVIEWS]

test('nobody gets more rights from RBAC than they were given', patient, async t => {
  await runAttacks(t, await startArena(t, ROWS), ROWS)
})
