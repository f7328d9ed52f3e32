// Ways around access control that were tried and must stay closed.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  anonymous,
  ask,
  CONFIG_MAPS,
  configMap,
  patient,
  type Scope,
  type Sent,
  type ServedHere,
  serveHere,
  temporaryDirectory,
} from './kit.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const mallory = { ...anonymous, headers: { authorization: 'Bearer mallory-token' } }

async function startServer(t: Scope): Promise<ServedHere> {
  const file = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(file, 'mallory-token,mallory,u1\n')
  return serveHere(t, { flags: ['--token-auth-file', file] })
}

/** Lets mallory do what the rules say in the namespace `default`. */
async function permit(server: ServedHere, name: string, ...rules: object[]): Promise<void> {
  const subjects = [{ kind: 'User', name: 'mallory' }]
  const binding = { metadata: { name }, roleRef: { kind: 'Role', name }, subjects }
  const made = [await create(server, 'roles', { metadata: { name }, rules }), await create(server, 'rolebindings', binding)]
  assert.deepEqual(made, [201, 201])
}
const create = async (server: ServedHere, plural: string, body: object, sent: Sent = {}) =>
  (await ask(server, `${RBAC}/namespaces/default/${plural}`, { ...sent, method: 'POST', body })).status

test('permission for one name does not allow to create others', patient, async t => {
  const server = await startServer(t)
  await permit(server, 'mine', { verbs: ['*'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'] })
  const post = (query: string) => ask(server, CONFIG_MAPS + query, { ...mallory, method: 'POST', body: configMap('other') })
  assert.equal((await post('')).status, 403)
  assert.equal((await post('?fieldSelector=metadata.name%3Dmine')).status, 403)
  const selected = `${CONFIG_MAPS}?fieldSelector=metadata.name%3Dmine`
  assert.equal((await ask(server, selected, { ...mallory, method: 'DELETE' })).status, 403)
  assert.equal((await ask(server, selected, mallory)).status, 200)
})

test('permission to update does not allow to create by replace or apply', patient, async t => {
  const server = await startServer(t)
  const rule = (...verbs: string[]) => ({ verbs, apiGroups: ['', 'coordination.k8s.io'], resources: ['configmaps', 'leases'] })
  await permit(server, 'changer', rule('get', 'update', 'patch'))
  const apply = (dryRun = '') =>
    ask(server, `${CONFIG_MAPS}/applied?fieldManager=m${dryRun}`, {
      ...mallory,
      method: 'PATCH',
      headers: { ...mallory.headers, 'content-type': 'application/apply-patch+yaml' },
      body: configMap('applied'),
    })
  const replace = () => ask(server, `${LEASES}/replaced`, { ...mallory, method: 'PUT', body: { metadata: { name: 'replaced' }, spec: {} } })
  const refused = await apply()
  assert.equal(refused.status, 403)
  assert.equal(
    refused.json.message,
    'configmaps "applied" is forbidden: User "mallory" cannot create resource "configmaps" in API group "" in the namespace "default"',
  )
  assert.equal((await apply('&dryRun=All')).status, 403)
  assert.equal((await replace()).status, 403)
  await permit(server, 'creator', rule('create'))
  assert.equal((await apply()).status, 201)
  assert.equal((await replace()).status, 201)
})

test('an object with very many errors is rejected with a short response', patient, async t => {
  const server = await startServer(t)
  const owner = (i: number) => ({ apiVersion: 'v1', kind: 'Node', name: 'n', uid: `u${i}`, controller: true })
  const ownerReferences = Array.from({ length: 7_000 }, (_, i) => owner(i))
  const body = { metadata: { name: 'owned', ownerReferences } }
  const { status, text } = await ask(server, CONFIG_MAPS, { method: 'POST', body })
  assert.equal(status, 422)
  assert.ok(text.length < 1 << 20)
  assert.equal((await ask(server, '/readyz')).status, 200)
})
