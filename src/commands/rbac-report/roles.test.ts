import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccessUse } from '../../public.d.ts'
import { accountsIn, type Binding, type Role, smallestRoles, unusedPermissions } from './roles.ts'

const use = (verb: string, target: string, namespace = '', more: Partial<AccessUse> = {}): AccessUse => {
  const [named = '', subresource = ''] = target.split('/')
  const [resource = '', ...group] = named.split('.')
  const base = { user: 'jane', groups: ['dev'], verb, group: group.join('.'), resource, subresource, namespace }
  return { ...base, names: [], path: '', allowed: 1, refused: 0, ...more }
}

test('resources with the same verbs share a rule, verbs have their usual order', () => {
  const uses = [use('delete', 'pods', 'a'), use('get', 'pods', 'a'), use('get', 'secrets', 'a'), use('delete', 'secrets', 'a')]
  const scale = use('update', 'deployments.apps/scale', 'a')
  assert.deepEqual(smallestRoles([...uses, scale], 'jane'), [
    {
      kind: 'Role',
      metadata: { name: 'jane', namespace: 'a' },
      rules: [
        { apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['get', 'delete'] },
        { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['update'] },
      ],
    },
  ])
})

test('a permission for several namespaces, or for all at once, is one for the cluster', () => {
  const uses = [use('get', 'pods', 'a'), use('get', 'pods', 'b'), use('list', 'pods'), use('list', 'pods', 'b'), use('create', 'pods', 'b')]
  assert.deepEqual(
    smallestRoles(uses, 'jane').map(({ kind, metadata, rules }) => [kind, metadata.namespace, rules?.[0]?.verbs]),
    [
      ['ClusterRole', undefined, ['get', 'list']],
      ['Role', 'b', ['create']],
    ],
  )
  const [role] = smallestRoles([use('get', '', '', { path: '/metrics' })], 'jane')
  assert.deepEqual(role?.rules, [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }])
})

test('administrators, components and public paths are left out', () => {
  const uses = [
    use('get', 'pods', 'a', { user: 'root', groups: ['system:masters'] }),
    use('get', 'pods', 'a', { user: 'system:kube-scheduler' }),
    use('get', '', '', { path: '/apis/apps/v1' }),
    use('create', 'selfsubjectaccessreviews.authorization.k8s.io'),
    use('get', 'pods', 'a', { user: 'system:serviceaccount:a:b' }),
  ]
  assert.deepEqual(
    accountsIn(uses).map(({ user }) => user),
    ['system:serviceaccount:a:b'],
  )
})

const clusterRole = (name: string, rules: Role['rules']): Role => ({ kind: 'ClusterRole', metadata: { name }, ...(rules && { rules }) })
const bind = (name: string, namespace?: string): Binding => ({
  kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  roleRef: { kind: 'ClusterRole', name },
  subjects: [{ kind: 'Group', name: 'dev' }],
})

test('permissions that no request needed, with wildcards, names and namespaces', () => {
  const roles = [
    clusterRole('wide', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]),
    clusterRole('narrow', [{ apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list'] }]),
    clusterRole('named', [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['x'], verbs: ['get'] }]),
    clusterRole('system:basic-user', [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }]),
  ]
  const uses = [use('get', 'pods', 'a'), use('list', 'pods', 'b'), use('get', 'secrets', 'a', { names: ['y'] })]
  const unused = (...bindings: Binding[]) =>
    unusedPermissions({ user: 'jane', groups: ['dev'], uses }, { roles, bindings }).flatMap(({ permissions }) => permissions)
  assert.deepEqual(unused(bind('wide')), [{ target: '*.*', verbs: ['*'], used: ['get', 'list'] }])
  assert.deepEqual(unused(bind('narrow')), [{ target: 'pods/log', verbs: ['get', 'list'] }])
  assert.deepEqual(unused(bind('narrow', 'a')), [
    { target: 'pods', verbs: ['list'] },
    { target: 'pods/log', verbs: ['get', 'list'] },
  ])
  assert.deepEqual(unused(bind('named')), [{ target: 'secrets', verbs: ['get'] }])
  assert.deepEqual(unused(bind('system:basic-user')), [])
})
