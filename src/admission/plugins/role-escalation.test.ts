import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBench } from '../../../test/kits/registry.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { ClusterRoleBinding } from '../../kinds/rbac/clusterrolebinding.ts'
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts'
import { Role } from '../../kinds/rbac/role.ts'
import { RoleBinding } from '../../kinds/rbac/rolebinding.ts'
import { waitFor } from '../../lib/step.ts'
import type { RoleRef } from '../permission.ts'
import { roleEscalation } from './role-escalation.ts'

const reads: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }
const writes: PolicyRule = { verbs: ['update'], apiGroups: [''], resources: ['pods'] }
const all: PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]
const WHO = 'user "tester" (groups=[]) is attempting to grant RBAC permissions not currently held:'
const LACKS = '{APIGroups:[""], Resources:["pods"], Verbs:["update"]}'

type Situation = {
  readonly held?: readonly PolicyRule[]
  readonly missing?: readonly RoleRef[]
  /** Further permissions, as `verb plural/name in namespace`. */
  readonly may?: readonly string[]
}

async function open({ held = [reads], missing = [], may = [] }: Situation = {}) {
  const asked: string[] = []
  const plugin = roleEscalation({
    groupDomain: 'k8s.io',
    may(_, { verb, resource }) {
      asked.push(`${verb} ${resource!.plural}/${resource!.name} in ${resource!.namespace}`)
      return waitFor(may.includes(asked.at(-1)!))
    },
    roles: {
      ofUser: () => ({ rules: held, missing }),
      referred: ({ name }) => (name === 'reader' ? [reads] : name === 'writer' ? [reads, writes] : undefined),
    },
  })
  const bench = await openBench([ClusterRole, ClusterRoleBinding, Role, RoleBinding], { plugins: [plugin] })
  const send = async (...args: Parameters<typeof bench.send>) => {
    const { code, body } = await bench.send(...args)
    return code < 300 ? code : `${code} ${body.message}`
  }
  return { send, asked, close: bench.close }
}
const role = (name: string, ...rules: PolicyRule[]) => ({ metadata: { name }, rules })
const binding = (name: string, kind: string, roleName: string, more: object = {}) => ({
  metadata: { name, ...more },
  roleRef: { kind, name: roleName },
})

test('writing a role needs all of its permissions', async () => {
  const { send, close } = await open()
  assert.equal(await send('POST clusterroles', role('a', reads)), 201)
  assert.equal(await send('POST roles', role('a', { ...reads, resourceNames: ['x'] })), 201)
  const refused = `is forbidden: ${WHO}\n${LACKS}`
  assert.equal(await send('POST clusterroles', role('b', reads, writes)), `403 clusterroles.rbac.authorization.k8s.io "b" ${refused}`)
  assert.equal(await send('PUT clusterroles/a', role('a', writes)), `403 clusterroles.rbac.authorization.k8s.io "a" ${refused}`)
  assert.equal(await send('PATCH roles/a', { rules: [writes] }), `403 roles.rbac.authorization.k8s.io "a" ${refused}`)
  assert.equal(await send('PATCH clusterroles/a', { rules: null }), 200)
  await close()
})

test('the verb escalate allows to write any role, by name', async () => {
  const { send, asked, close } = await open({ may: ['escalate clusterroles/b in ', 'escalate roles/ in default'] })
  assert.match(String(await send('POST clusterroles', role('b', writes))), /^403/)
  assert.equal(await send('PUT clusterroles/b', role('b', writes)), 201)
  assert.equal(await send('POST roles', role('c', writes)), 201)
  assert.match(String(await send('PATCH roles/c', { rules: [writes], metadata: { labels: { a: 'b' } } })), /^403/)
  assert.deepEqual(asked, [
    'escalate clusterroles/ in ',
    'escalate clusterroles/b in ',
    'escalate roles/ in default',
    'escalate roles/c in default',
  ])
  await close()
})

test('a change of owners and finalizers alone is no escalation', async () => {
  const { send, close } = await open({ may: ['escalate roles/ in default'] })
  assert.equal(await send('POST roles', role('c', writes)), 201)
  assert.equal(await send('PATCH roles/c', { metadata: { finalizers: ['a.b/c'] } }), 200)
  await close()
})

test('writing an aggregationRule needs cluster-admin privileges', async () => {
  const gathering = { ...role('g'), aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }
  const few = await open()
  assert.equal(
    await few.send('POST clusterroles', gathering),
    '403 clusterroles.rbac.authorization.k8s.io "g" is forbidden: must have cluster-admin privileges to use the aggregationRule',
  )
  await few.close()
  const many = await open({ held: all })
  assert.equal(await many.send('POST clusterroles', gathering), 201)
  await many.close()
})

test('binding a role needs its permissions, or the verb bind', async () => {
  const { send, asked, close } = await open({ may: ['bind clusterroles/admin in ', 'bind roles/admin in default'] })
  assert.equal(await send('POST clusterrolebindings', binding('a', 'ClusterRole', 'reader')), 201)
  assert.equal(await send('POST rolebindings', binding('a', 'Role', 'reader')), 201)
  assert.equal(
    await send('POST clusterrolebindings', binding('b', 'ClusterRole', 'writer')),
    `403 clusterrolebindings.rbac.authorization.k8s.io "b" is forbidden: ${WHO}\n${LACKS}`,
  )
  assert.equal(
    await send('POST rolebindings', binding('b', 'ClusterRole', 'writer')),
    `403 rolebindings.rbac.authorization.k8s.io "b" is forbidden: ${WHO}\n${LACKS}`,
  )
  assert.equal(await send('POST rolebindings', binding('b', 'Role', 'gone')), '404 roles.rbac.authorization.k8s.io "gone" not found')
  assert.equal(await send('POST clusterrolebindings', binding('c', 'ClusterRole', 'admin')), 201)
  assert.equal(await send('POST rolebindings', binding('c', 'Role', 'admin')), 201)
  assert.ok(asked.includes('bind clusterroles/writer in default'))
  const other = { subjects: [{ kind: 'User', name: 'eve' }] }
  assert.equal(await send('PATCH clusterrolebindings/c', other), 200)
  // A role that cannot be bound at all is a mistake of the object, not of its sender.
  assert.match(String(await send('POST clusterrolebindings', binding('d', 'Role', 'reader'))), /^422 .*roleRef.kind: Unsupported value/)
  assert.match(String(await send('POST rolebindings', binding('d', '__proto__', 'reader'))), /^422 .*roleRef.kind: Unsupported value/)
  await close()
})

test('a rejection names roles that do not exist', async () => {
  const gone = { kind: 'ClusterRole', name: 'gone' }
  const { send, close } = await open({ held: [], missing: [gone, gone, { kind: 'Role', name: 'too' }] })
  const unresolved = '[[clusterroles.rbac.authorization.k8s.io "gone" not found, roles.rbac.authorization.k8s.io "too" not found]]'
  assert.ok(String(await send('POST roles', role('x', writes))).endsWith(`${LACKS}; resolution errors: ${unresolved}`))
  await close()
})
