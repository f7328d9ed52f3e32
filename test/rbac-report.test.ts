// `keelson rbac-report` on the requests of a run: refused, never used, and roles that are enough for the same run again.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { UserAccess } from '../src/index.ts'
import { keelson, patient, startInProcess, temporaryDirectory } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'

const OPERATOR = 'system:serviceaccount:default:operator'
const RBAC = 'rbac.authorization.k8s.io'
const role = {
  apiVersion: `${RBAC}/v1`,
  kind: 'Role',
  metadata: { name: 'operator' },
  rules: [{ apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['get', 'create'] }],
}
const binding = {
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name: 'operator' },
  roleRef: { apiGroup: RBAC, kind: 'Role', name: 'operator' },
  subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: 'default' }],
}
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })

test('a report names refusals and unused permissions, and its roles are enough for the same run', patient, async t => {
  const server = await startInProcess(t, { testEndpoints: true, controllers: ['none'], apply: [role, binding] })
  const kubeconfig = join(temporaryDirectory(t), 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig)
  const report = (...args: string[]) => keelsonHere('rbac-report', '--kubeconfig', kubeconfig, ...args)
  const early = await keelson('rbac-report', '--kubeconfig', kubeconfig)
  assert.match(early.stderr, /no user with roles has sent a request/)
  const run = async (access: UserAccess) => {
    await access.create(configMap('made'))
    await access.get('configmap/made')
    await access.list('pods').catch(() => {})
  }
  await run(server.as(OPERATOR))
  // A refusal of admission is none of authorization.
  await server
    .as(OPERATOR)
    .create({ ...configMap('lost'), metadata: { name: 'lost', namespace: 'default', ownerReferences: [{}] } })
    .catch(() => {})
  await server.reset()

  const { code, stdout, stderr } = await report()
  assert.deepEqual([code, stderr], [0, ''])
  const text = `${OPERATOR}: 4 requests that need permissions

refused:
  list pods in the cluster, once

never used:
  Role operator (RoleBinding operator)
    secrets: get, create

the smallest roles for this run:
`
  assert.equal(stdout.slice(0, text.length), text)
  assert.match((await report('--user', 'nobody')).stderr, new RegExp(`the user nobody has sent no request; there are ${OPERATOR}`))
  assert.match((await report('--output', 'xml')).stderr, /--output takes text, yaml, json/)
  const everything = JSON.parse((await report('--output', 'json')).stdout)
  assert.deepEqual([everything.isComplete, everything.users[0].requests, everything.users[0].refused.length], [true, 4, 1])

  const manifests = join(temporaryDirectory(t), 'roles.yaml')
  writeFileSync(manifests, (await report('--output', 'yaml', '--include-refused')).stdout)
  await server.delete('role/operator')
  await server.delete('rolebinding/operator')
  const applied = await server.apply(manifests)
  assert.deepEqual(
    applied.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ['ClusterRole operator', 'ClusterRoleBinding operator', 'Role operator', 'RoleBinding operator'],
  )
  const again = server.as(OPERATOR)
  await run(again)
  assert.deepEqual(await again.list('pods'), [])
  assert.equal(server.accessUsage().find(({ user, resource }) => user === OPERATOR && resource === 'pods')?.refused, 1)
})
