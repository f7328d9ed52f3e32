import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientsOver } from '../../../test/kits/controllers.ts'
import { openBench } from '../../../test/kits/registry.ts'
import { clusterPolicy, namespacePolicy } from '../../authz/bootstrap/policy.ts'
import { serverIdentity } from '../../client/identity.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { ClusterRoleBinding } from '../../kinds/rbac/clusterrolebinding.ts'
import { Role } from '../../kinds/rbac/role.ts'
import { RoleBinding } from '../../kinds/rbac/rolebinding.ts'
import { resourcesOf } from '../../schema/resource.ts'
import { type Ensuring, ensureClusterRoles, ensureNamespaceRoles } from './roles.ts'

const KINDS = [ClusterRole, ClusterRoleBinding, Role, RoleBinding]
const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate'

async function openServer() {
  const bench = await openBench(KINDS)
  const { clientFor } = clientsOver(bench, KINDS)
  const ensuring: Ensuring = { client: clientFor(serverIdentity()), caches: bench.caches, groupDomain: 'k8s.io' }
  const ensureAll = async () => {
    await ensureClusterRoles(ensuring)
    await ensureNamespaceRoles(ensuring)
  }
  return { ...bench, ensureAll }
}

test('what a fresh server has is what plain creates would have stored', async () => {
  const [seeded, plain] = await Promise.all([openServer(), openBench(KINDS)])
  await seeded.ensureAll()
  const wanted = [...clusterPolicy('k8s.io'), ...namespacePolicy('k8s.io')]
  for (const { resource, object } of wanted) {
    const sending = { ...(object.metadata.namespace && { namespace: object.metadata.namespace }), userAgent: 'kube-apiserver' }
    const { code, body } = await plain.send(`POST ${resource}`, object, sending)
    assert.equal(code, 201, JSON.stringify(body))
  }
  const contentOf = (json: Uint8Array) =>
    JSON.parse(
      Buffer.from(json)
        .toString()
        .replace(/"(uid|resourceVersion)":"[^"]+"/g, '"$1":""'),
    )
  for (const resource of resourcesOf(KINDS, 'k8s.io')) {
    const all = (bench: typeof plain) => [...bench.caches.of(resource).list({ selection: { namespace: '', name: '' } }).objects]
    const stored = all(plain)
    for (const [i, { json }] of all(seeded).entries()) assert.deepEqual(contentOf(json), contentOf(stored[i]!.json))
  }
  assert.equal(wanted.length, 139)
  await Promise.all([seeded.close(), plain.close()])
})

test('later starts write nothing, and restore what was removed', async () => {
  const server = await openServer()
  await server.ensureAll()
  const before = server.caches.revision
  await server.ensureAll()
  assert.equal(server.caches.revision, before)

  const edit = {
    metadata: { labels: { mine: 'yes' }, annotations: { [AUTOUPDATE]: null } },
    rules: [{ verbs: ['x'], apiGroups: [''], resources: ['y'] }],
  }
  await server.send('PATCH clusterroles/system:auth-delegator', edit)
  await server.send('PATCH clusterrolebindings/system:discovery', { subjects: null })
  await server.send('DELETE clusterroles/system:basic-user')
  await server.send('DELETE clusterrolebindings/system:kube-dns')
  const other = { metadata: { name: 'system:kube-dns' }, roleRef: { kind: 'ClusterRole', name: 'cluster-admin' } }
  await server.send('POST clusterrolebindings', other)
  await server.ensureAll()

  const get = async (path: string) => (await server.send(`GET ${path}`)).body
  const delegator = await get('clusterroles/system:auth-delegator')
  assert.deepEqual(delegator.rules, [
    { verbs: ['x'], apiGroups: [''], resources: ['y'] },
    { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] },
    { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'] },
  ])
  assert.deepEqual([delegator.metadata.labels.mine, delegator.metadata.annotations], ['yes', { [AUTOUPDATE]: 'true' }])
  assert.equal((await get('clusterrolebindings/system:discovery')).subjects[0].name, 'system:authenticated')
  assert.equal((await get('clusterroles/system:basic-user')).metadata.name, 'system:basic-user')
  assert.equal((await get('clusterrolebindings/system:kube-dns')).roleRef.name, 'system:kube-dns')
  await server.close()
})

test('what is marked as not to be updated stays as it is', async () => {
  const server = await openServer()
  await server.ensureAll()
  const frozen = { metadata: { annotations: { [AUTOUPDATE]: 'false' } } }
  await server.send('PATCH clusterroles/system:discovery', { ...frozen, rules: null })
  await server.send('PATCH clusterrolebindings/system:discovery', { ...frozen, subjects: null })
  await server.ensureAll()
  const [role, binding] = [
    await server.send('GET clusterroles/system:discovery'),
    await server.send('GET clusterrolebindings/system:discovery'),
  ]
  assert.deepEqual([role.body.rules, binding.body.subjects], [null, undefined])
  await server.close()
})
