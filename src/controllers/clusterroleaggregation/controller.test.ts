import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Draft, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { NOW, openBench } from '../../../test/kits/registry.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { inShortestSlices } from '../../lib/turns.ts'
import { LocalClient } from '../../registry/local-client.ts'
import { resourceOf } from '../../schema/resource.ts'
import { startClusterRoleAggregationController } from './controller.ts'
import { gatheredRules as gathered, type Role } from './reconcile.ts'

const gatheredRules = (role: Role, roles: readonly Role[]) => inShortestSlices(gathered(role, roles))
const rule = (verb: string) => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] })
const role = (name: string, labels: Record<string, string>, ...verbs: string[]) => ({ metadata: { name, labels }, rules: verbs.map(rule) })
const gathering = (name: string, selectors: object[], labels: Record<string, string> = {}) => ({
  metadata: { name, labels },
  aggregationRule: { clusterRoleSelectors: selectors },
})
const TO_VIEW = { matchLabels: { to: 'view' } }
const stored = (draft: Draft) => withDefaults(ClusterRole, draft) as Role

test('rules are gathered by selector and name, each once, never from the role itself', () => {
  const all = [
    role('b', { to: 'view' }, 'list', 'get'),
    role('a', { to: 'view' }, 'get', 'watch'),
    role('c', { to: 'edit' }, 'update'),
    { ...role('v', { to: 'view' }, 'delete'), ...gathering('v', [{ matchLabels: { to: 'edit' } }, TO_VIEW], { to: 'view' }) },
  ].map(stored)
  assert.deepEqual(
    gatheredRules(all[3]!, all)?.map(({ verbs }) => verbs[0]),
    ['update', 'get', 'watch', 'list'],
  )
  assert.equal(gatheredRules(all[0]!, all), undefined)
})

test('nothing is written for a role that is as it should be, or whose selectors cannot be read', () => {
  const parts = [stored(role('a', { to: 'view' }, 'get'))]
  const done = stored({ ...gathering('v', [TO_VIEW]), rules: [rule('get')] })
  assert.equal(gatheredRules(done, parts), undefined)
  const strange = stored({ ...gathering('v', [{ matchExpressions: [{ key: 'a', operator: 'Sounds' }] }]), rules: [rule('x')] })
  assert.equal(gatheredRules(strange, parts), undefined)
  assert.deepEqual(gatheredRules(stored({ ...gathering('v', [TO_VIEW]), rules: [rule('get')] }), []), [])
})

test('roles that gather from roles that gather settle, and follow every change', async t => {
  const bench = await openBench([ClusterRole])
  const ending = new AbortController()
  t.after(async () => {
    ending.abort()
    await bench.close()
  })
  const { registry, caches, send } = bench
  const parts = { registry, caches, user: { name: 'server', groups: [] }, groupDomain: 'k8s.io', gate: () => false, now: () => NOW }
  const api = new LocalClient({ ...parts, manager: 'clusterrole-aggregation-controller' })
  await send('POST clusterroles', gathering('admin', [{ matchLabels: { to: 'admin' } }]))
  await send('POST clusterroles', gathering('view', [TO_VIEW], { to: 'admin' }))
  await send('POST clusterroles', role('a', { to: 'view' }, 'get'))
  await startClusterRoleAggregationController({
    api,
    roles: resourceOf(ClusterRole, 'k8s.io'),
    onError: assert.ifError,
    signal: ending.signal,
  })
  const verbs = async (name: string) => (await send(`GET clusterroles/${name}`)).body.rules?.map((each: any) => each.verbs[0]) ?? []
  const becomes = async (name: string, expected: string[]) => {
    for (let turn = 0; turn < 100_000; turn++) {
      if (String(await verbs(name)) === String(expected)) return
      await new Promise(setImmediate)
    }
    assert.deepEqual(await verbs(name), expected)
  }
  await becomes('admin', ['get'])
  const { body } = await send('GET clusterroles/view')
  const owner = body.metadata.managedFields.find(({ manager }: any) => manager === 'clusterrole-aggregation-controller')
  assert.deepEqual([owner.operation, owner.fieldsV1], ['Apply', { 'f:rules': {} }])
  await send('POST clusterroles', role('b', { to: 'view' }, 'list'))
  await becomes('admin', ['get', 'list'])
  await send('DELETE clusterroles/a')
  await becomes('admin', ['list'])
  await send('PATCH clusterroles/view', { rules: [rule('steal')] })
  await becomes('view', ['list'])
})
