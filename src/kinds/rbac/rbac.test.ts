import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, contextWith, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { ClusterRole } from './clusterrole.ts'
import { ClusterRoleBinding } from './clusterrolebinding.ts'
import { Role } from './role.ts'
import { RoleBinding } from './rolebinding.ts'

const GROUP = 'rbac.authorization.k8s.io'
const reading = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }

test('a role permits verbs on resources', () => {
  assert.deepEqual(check(Role, { rules: [reading] }), [])
  assert.deepEqual(check(Role, {}), [])
  assert.deepEqual(withDefaults(Role, {}).rules, null)
  assert.deepEqual(check(Role, { metadata: { name: 'system:reader' }, rules: [reading] }), [])
  assert.deepEqual(check(Role, { rules: [{}] }), [
    'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    'rules[0].resources: Required value: resource rules must supply at least one resource',
    'rules[0].verbs: Required value',
  ])
})

test('non-resource URLs are for cluster roles only, and not in one rule with resources', () => {
  const paths = { verbs: ['get'], nonResourceURLs: ['/healthz'] }
  assert.deepEqual(check(ClusterRole, { rules: [paths] }), [])
  assert.deepEqual(check(Role, { rules: [paths] }), [
    'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs',
  ])
  assert.deepEqual(check(ClusterRole, { rules: [{ ...paths, resources: ['pods'] }] }), [
    'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: rules cannot apply to both regular resources and non-resource URLs',
  ])
})

test('rules are gathered by selectors that can be read', () => {
  const gathering = (clusterRoleSelectors: object[]) => ({ aggregationRule: { clusterRoleSelectors } })
  assert.deepEqual(check(ClusterRole, gathering([{ matchLabels: { a: 'b' } }])), [])
  assert.deepEqual(check(ClusterRole, gathering([])), [
    'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
  ])
  assert.deepEqual(check(ClusterRole, { ...gathering([{ matchExpressions: [{ key: 'a', operator: 'Is' }] }]), rules: [{}] }).slice(2), [
    'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
    'rules[0].verbs: Required value',
  ])
})

test('the API groups of a binding follow from what it names', () => {
  const { roleRef, subjects } = withDefaults(RoleBinding, {
    roleRef: { kind: 'Role', name: 'r' },
    subjects: [
      { kind: 'User', name: 'jane' },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
    ],
  })
  assert.equal(roleRef.apiGroup, GROUP)
  assert.deepEqual(
    subjects.map((s: { apiGroup?: string }) => s.apiGroup),
    [GROUP, undefined],
  )
})

test('a binding names a role and supported kinds of subjects', () => {
  const roleRef = { kind: 'Role', name: 'r' }
  assert.deepEqual(check(RoleBinding, { roleRef, subjects: [{ kind: 'Group', name: 'staff' }] }), [])
  assert.deepEqual(check(RoleBinding, { roleRef: { apiGroup: 'x', kind: 'Rule' }, subjects: [{ kind: 'Robot' }] }), [
    `roleRef.apiGroup: Unsupported value: "x": supported values: "${GROUP}"`,
    'roleRef.kind: Unsupported value: "Rule": supported values: "Role", "ClusterRole"',
    'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    'subjects[0].name: Required value',
    'roleRef.name: Required value',
  ])
  assert.deepEqual(
    check(ClusterRoleBinding, { roleRef, subjects: [{ kind: 'ServiceAccount', name: 'Robot', apiGroup: 'x' }] }).map(e => e.slice(0, 60)),
    [
      'roleRef.kind: Unsupported value: "Role": supported values: "',
      'subjects[0].name: Invalid value: "Robot": a lowercase RFC 11',
      'subjects[0].apiGroup: Unsupported value: "x": supported valu',
      'subjects[0].namespace: Required value',
    ],
  )
})

test('the role of a binding cannot change', () => {
  const old = { roleRef: { kind: 'Role', name: 'r' } }
  assert.deepEqual(check(RoleBinding, old, { old }), [])
  assert.deepEqual(check(RoleBinding, { roleRef: { kind: 'Role', name: 'other' } }, { old }), [
    `roleRef: Invalid value: {"APIGroup":"${GROUP}","Kind":"Role","Name":"other"}: field is immutable`,
  ])
})

test('the group of another domain is that domain', () => {
  const roleRef = { apiGroup: 'rbac.authorization.example.com', kind: 'Role', name: 'r' }
  assert.deepEqual(check(RoleBinding, { roleRef }, { ctx: contextWith({ groupDomain: 'example.com' }) }), [])
})

test('the table shows roles and subjects', () => {
  const subjects = [
    { kind: 'User', name: 'jane' },
    { kind: 'User', name: 'joe' },
    { kind: 'ServiceAccount', name: 'robot', namespace: 'dev' },
  ]
  const { Age: _, ...shown } = cells(RoleBinding, { roleRef: { kind: 'Role', name: 'r' }, subjects })
  assert.deepEqual(shown, { Role: 'Role/r', Users: 'jane, joe', Groups: '', ServiceAccounts: 'dev/robot' })
})
