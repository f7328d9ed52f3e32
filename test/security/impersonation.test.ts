// Tricks with impersonation: nobody acts as another user, group, uid or attribute than those that a role names.
import { test } from 'node:test'
import { patient } from '../kit.ts'
import { type Attack, NS, runAttacks, startArena } from '../kits/attacks.ts'

const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const SECRETS = `/api/v1/namespaces/${NS}/secrets`
const EXTRAS = 'userextras.authentication.k8s.io'
const who = (headers: Record<string, string | string[]>) => ({
  send: `POST ${WHO}`,
  body: {},
  headers: headers as Record<string, string>,
})
/** With constrained impersonation the refusal of its first mode is reported; without, the one that decided. */
const refused = (resource: string) => ({ answer: 403, says: new RegExp(`cannot impersonate(-on:\\S+ resource| resource "${resource}")`) })

const ROWS: readonly Attack[] = [
  { name: 'without any right', ...who({ 'impersonate-user': 'bob' }), ...refused('users') },
  {
    name: 'another user than the one that is allowed',
    mayAnywhere: ['impersonate users bob'],
    ...who({ 'impersonate-user': 'alice' }),
    ...refused('users'),
  },
  { name: 'the user in capitals', mayAnywhere: ['impersonate users bob'], ...who({ 'impersonate-user': 'Bob' }), ...refused('users') },
  {
    name: 'the user that is allowed, with a group',
    mayAnywhere: ['impersonate users bob'],
    ...who({ 'impersonate-user': 'bob', 'impersonate-group': 'system:masters' }),
    ...refused('groups'),
  },
  {
    name: 'two groups, of which one is allowed',
    mayAnywhere: ['impersonate users bob', 'impersonate groups devs'],
    ...who({ 'impersonate-user': 'bob', 'impersonate-group': ['devs', 'system:masters'] }),
    ...refused('groups'),
  },
  {
    name: 'two groups in one header',
    mayAnywhere: ['impersonate users bob', 'impersonate groups devs'],
    ...who({ 'impersonate-user': 'bob', 'impersonate-group': 'devs,system:masters' }),
    ...refused('groups'),
  },
  {
    name: 'a group with the right on users',
    mayAnywhere: ['impersonate users'],
    ...who({ 'impersonate-user': 'bob', 'impersonate-group': 'devs' }),
    ...refused('groups'),
  },
  {
    name: 'a group without a user',
    mayAnywhere: ['impersonate users,groups'],
    ...who({ 'impersonate-group': 'system:masters' }),
    answer: 400,
    says: 'without impersonating a user name',
  },
  {
    name: 'a group and an empty user',
    mayAnywhere: ['impersonate users,groups'],
    ...who({ 'impersonate-user': '', 'impersonate-group': 'system:masters' }),
    answer: 400,
    says: 'without impersonating a user name',
  },
  {
    name: 'two users: the first counts',
    mayAnywhere: ['impersonate users bob'],
    ...who({ 'impersonate-user': ['bob', 'alice'] }),
    answer: [201, 400, 403],
    hides: /alice/,
  },
  {
    name: 'two users, the one that is allowed last',
    mayAnywhere: ['impersonate users bob'],
    ...who({ 'impersonate-user': ['alice', 'bob'] }),
    answer: 403,
  },
  {
    name: 'a uid with the right on users',
    mayAnywhere: ['impersonate users'],
    ...who({ 'impersonate-user': 'bob', 'impersonate-uid': 'u' }),
    ...refused('uids'),
  },
  {
    name: 'attributes with the right on users',
    mayAnywhere: ['impersonate users'],
    ...who({ 'impersonate-user': 'bob', 'impersonate-extra-scopes': 'all' }),
    ...refused('userextras/scopes'),
  },
  {
    name: 'another value of an attribute',
    mayAnywhere: ['impersonate users', `impersonate ${EXTRAS}/scopes some`],
    ...who({ 'impersonate-user': 'bob', 'impersonate-extra-scopes': 'all' }),
    ...refused('userextras/scopes'),
  },
  {
    name: 'another attribute in other letters',
    mayAnywhere: ['impersonate users', `impersonate ${EXTRAS}/scopes`],
    ...who({ 'impersonate-user': 'bob', 'impersonate-extra-scopes%2fx': 'all' }),
    ...refused('userextras/scopes/x'),
  },
  {
    name: 'attributes with the right on them in another API group',
    mayAnywhere: ['impersonate users,userextras/scopes'],
    ...who({ 'impersonate-user': 'bob', 'impersonate-extra-scopes': 'all' }),
    ...refused('userextras/scopes'),
  },
  {
    name: 'a service account with the right on users',
    mayAnywhere: ['impersonate users'],
    ...who({ 'impersonate-user': 'system:serviceaccount:kube-system:default' }),
    ...refused('serviceaccounts'),
  },
  {
    name: 'a service account of another namespace',
    may: ['impersonate serviceaccounts'],
    ...who({ 'impersonate-user': 'system:serviceaccount:kube-system:default' }),
    ...refused('serviceaccounts'),
  },
  {
    name: 'a service account with another group',
    may: ['impersonate serviceaccounts'],
    ...who({ 'impersonate-user': `system:serviceaccount:${NS}:default`, 'impersonate-group': 'system:masters' }),
    ...refused('groups'),
  },
  {
    name: 'a user with the right on service accounts',
    mayAnywhere: ['impersonate serviceaccounts'],
    ...who({ 'impersonate-user': 'bob' }),
    ...refused('users'),
  },
  {
    name: 'a right that the other user has, too',
    mayAnywhere: ['impersonate users bob'],
    given: [
      [
        '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
        {
          metadata: { name: `bob-${NS}` },
          roleRef: { kind: 'ClusterRole', name: `row-nothing` },
          subjects: [{ kind: 'User', name: 'bob' }],
        },
      ],
    ],
    send: `GET ${SECRETS}`,
    headers: { 'impersonate-user': 'bob' },
    answer: 403,
    says: 'User "bob" cannot list',
  },
  {
    name: 'the own rights are not kept as another user',
    mayAnywhere: ['impersonate users bob', '* secrets'],
    send: `GET ${SECRETS}`,
    headers: { 'impersonate-user': 'bob' },
    answer: 403,
    says: 'User "bob" cannot list',
  },
  {
    name: 'a user to be is not hidden by a header that is dropped',
    mayAnywhere: ['impersonate users bob', '* secrets'],
    send: `GET ${SECRETS}`,
    headers: { 'impersonate-user': 'bob', connection: 'impersonate-user' },
    answer: 403,
    says: 'User "bob" cannot list',
  },
  {
    name: 'a constrained right for one verb is used for another',
    mayAnywhere: ['impersonate:user-info users.authentication.k8s.io bob', 'impersonate-on:user-info:get secrets'],
    send: `GET ${SECRETS}`,
    headers: { 'impersonate-user': 'bob' },
    answer: 403,
  },
  {
    name: 'a constrained right makes no administrator',
    mayAnywhere: [
      'impersonate:user-info users.authentication.k8s.io,groups.authentication.k8s.io',
      'impersonate-on:user-info:list secrets',
    ],
    send: `GET ${SECRETS}`,
    headers: { 'impersonate-user': 'bob', 'impersonate-group': 'system:masters' },
    answer: 403,
  },
  {
    name: 'the front proxy headers of a user without a proxy certificate',
    ...who({ 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' }),
    answer: 201,
    hides: /"username":"admin"|system:masters/,
  },
]

for (const isConstrained of [true, false])
  test(`nobody acts as somebody that no role names, with constrained impersonation ${isConstrained ? 'on' : 'off'}`, patient, async t => {
    await runAttacks(t, await startArena(t, ROWS, { featureGates: `ConstrainedImpersonation=${isConstrained}` }), ROWS)
  })
